//go:build linux

package native

import (
	"syscall"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
)

// holding has the kernel hold memory that no page table and no file has, in
// several processes, or as much of it as programs do, and stays.
const holding = `
import asyncio, ctypes, fcntl, mmap, multiprocessing, os, socket, sqlite3, sys, time
from multiprocessing import shared_memory

def several(take):
    kept = []
    for _ in range(20):
        if os.fork() == 0:
            take(kept)
            time.sleep(30)
    take(kept)
    return kept

def fill(kept):
    for _ in range(100):
        pair = socket.socketpair()
        kept.append(pair[1])
        pair[0].setblocking(False)
        try:
            while True: pair[0].send(b"x" * 65536)
        except BlockingIOError:
            kept.append(pair[0])

def fill_and_close(kept):
    for _ in range(200):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        kept.append(theirs)
        ours.setblocking(False)
        try:
            while True: ours.send(b"x" * 100000)
        except BlockingIOError:
            ours.close()

def lock(kept):
    for n in range(200):
        f = open("/tmp/%d-%d" % (os.getpid(), n), "w")
        kept.append(f)
        for at in range(0, 2000, 2): fcntl.lockf(f, fcntl.LOCK_EX, 1, at)

def split(kept):
    libc, size = ctypes.CDLL(None), 60000 * 4096
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, ctypes.c_long(0))
    for n in range(0, size, 8192): libc.mprotect(ctypes.c_void_p(at + n), ctypes.c_size_t(4096), 0)

def mappings(): return several(split)
def sockets(): return several(fill)
def closed(): return several(fill_and_close)
def locks(): return several(lock)

def ordinary():
    kept = []
    async def tools():
        ps = [await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1) for _ in range(10)]
        return [await p.communicate(b"x" * 100000) for p in ps]
    asyncio.run(tools())
    with multiprocessing.Manager() as m:
        m.list(range(1000)).append(1)
    db = sqlite3.connect("/workspace/a.db")
    db.execute("create table t(a)")
    for n in range(300):
        db.execute("insert into t values (?)", (n,))
        db.commit()
    for _ in range(50):
        mmap.mmap(-1, 60 << 20).close()
    kept += [mmap.mmap(-1, 60 << 20), shared_memory.SharedMemory(create=True, size=8 << 20)]
    for at in range(0, 60 << 20, 4096): kept[0][at] = 1
    if os.fork() == 0:
        kept[0][0] = 7
        os._exit(0)
    os.wait()
    assert kept[0][0] == 7
    kept[1].unlink()
    kept.append(db)
    return kept

kept = globals()[sys.argv[1]]()
# To be killed may take a while on a busy machine: the maps of all processes are read.
time.sleep(1 if sys.argv[1] == "ordinary" else 25)
print("kept", flush=True)
os._exit(0)
`

// TestMemoryOfTheKernel takes memory of the kernel: the sandbox is killed for it
// as for its own, and not for what programs do.
func TestMemoryOfTheKernel(t *testing.T) {
	e := newEngine(t)
	limits := sandbox.Limits{Memory: 192 << 20, Files: 256, PIDs: 64}
	for _, name := range []string{"sockets", "closed", "locks", "mappings", "ordinary"} {
		t.Run(name, func(t *testing.T) {
			b := enginetest.Start(t, e, sandbox.Spec{Limits: limits}, holding, name)
			if b.Limits()["memory"] != "watchdog" {
				t.Skip("a cgroup holds the memory, and what the kernel counts to it")
			}
			stdout, stderr, exit := enginetest.Collect(t, b)
			switch killed := b.OutOfMemory() && exit.Signal == int(syscall.SIGKILL); {
			case name == "ordinary" && (killed || stdout != "kept\n"):
				t.Errorf("%q, ended with %+v (out of memory %v)\n%s", stdout, exit, b.OutOfMemory(), stderr)
			case name != "ordinary" && !killed:
				t.Errorf("not killed: %q, ended with %+v\n%s", stdout, exit, stderr)
			}
		})
	}
}
