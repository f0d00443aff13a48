//go:build linux

package native

import (
	"syscall"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
)

// filling writes files, takes memory in several processes, or maps the files
// in several processes, and stays long enough to be noticed.
const filling = `
import mmap, os, sys, time

def write(path, mib):
    with open(path, "wb", buffering=0) as f:
        for _ in range(mib):
            f.write(b"x" * (1 << 20))

def touch(block):
    for at in range(0, len(block), 4096):
        block[at] = 1

def nameless():
    for folder in ("/tmp", "/workspace"):
        f = os.open(folder + "/gone", os.O_RDWR | os.O_CREAT)
        os.unlink(folder + "/gone")
        for _ in range(50):
            os.write(f, b"x" * (1 << 20))

def files():
    for folder in ("/tmp", "/workspace", "/dev/shm"):
        write(folder + "/file", 40)

def memory():
    block = bytearray(110 << 20)
    touch(block)
    return block

def shared():
    block = mmap.mmap(-1, 110 << 20)
    touch(block)
    return block

def maps():
    return [mapped(folder) for folder in ("/tmp", "/workspace", "/dev/shm")]

def mapped(folder):
    with open(folder + "/file", "r+b") as f:
        block = mmap.mmap(f.fileno(), 0)
    touch(block)
    return block

def pair():
    kept = maps()
    if os.fork() == 0:
        kept += maps()
        time.sleep(30)
    return kept

# leave has processes that map the files end at all times, also while the
# watchdog looks.
def leave():
    for _ in range(40):
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                kept = maps()
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)

kept = [globals()[name]() for name in sys.argv[1:]]
print("had", flush=True)
time.sleep(1)
print("kept", flush=True)
os._exit(0)
`

// TestMemoryOfFiles fills the sandbox's folders: their files are memory like
// that of the processes, and what is both is counted once.
func TestMemoryOfFiles(t *testing.T) {
	e := newEngine(t)
	limits := sandbox.Limits{Memory: 192 << 20, Tmp: 64 << 20, Workspace: 64 << 20, Shm: 64 << 20}
	for _, c := range []struct {
		name string
		what []string
		over bool
	}{
		{"files", []string{"files"}, false},
		{"memory", []string{"memory"}, false},
		{"shared memory", []string{"shared"}, false},
		{"mapped files", []string{"files", "pair"}, false},
		{"mapped files of processes that end", []string{"files", "leave"}, false},
		{"files and memory", []string{"files", "memory"}, true},
		{"files and shared memory", []string{"files", "shared"}, true},
		{"nameless files and memory", []string{"nameless", "memory"}, true},
		{"mapped files and memory", []string{"files", "pair", "memory"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := enginetest.Start(t, e, sandbox.Spec{Limits: limits}, filling, c.what...)
			stdout, stderr, exit := enginetest.Collect(t, b)
			switch {
			case c.over && (!b.OutOfMemory() || exit.Signal != int(syscall.SIGKILL)):
				t.Errorf("not killed: %q, ended with %+v\n%s", stdout, exit, stderr)
			case !c.over && (b.OutOfMemory() || stdout != "had\nkept\n"):
				t.Errorf("killed (out of memory %v): %q, ended with %+v\n%s", b.OutOfMemory(), stdout, exit, stderr)
			}
		})
	}
}
