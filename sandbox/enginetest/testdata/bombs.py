"""Take as much as there is of one thing, and say how much that was.

Usage: python3 -I -c SOURCE NAME. Prints one JSON line: what was had before
the limit, and how the limit showed; or {"unlimited": true} past a bound that
no limit of the test comes near.
"""
import errno
import fcntl
import json
import mmap
import os
import signal
import sys
import threading
import time

MIB = 1 << 20


def disk(folder):
    written = 0
    try:
        for n in range(4096):
            with open("%s/%d" % (folder, n), "wb", buffering=0) as f:
                for _ in range(4):
                    written += f.write(b"x" * MIB)
    except OSError as e:
        return {"had": written / MIB, "how": errno.errorcode[e.errno]}
    return {"unlimited": True}


def one_file():
    with open("/tmp/one", "wb", buffering=0) as f:
        try:
            for _ in range(4096):
                f.write(b"x" * MIB)
        except OSError as e:
            return {"had": f.tell() / MIB, "how": errno.errorcode[e.errno]}
    return {"unlimited": True}


def inodes(folder):
    for n in range(100000):
        try:
            os.close(os.open("%s/%d" % (folder, n), os.O_CREAT | os.O_WRONLY))
        except OSError as e:
            return {"had": n, "how": errno.errorcode[e.errno]}
    return {"unlimited": True}


def forks():
    pids, how = [], None
    for _ in range(1000):
        try:
            pid = os.fork()
        except OSError as e:
            how = errno.errorcode[e.errno]
            break
        if pid == 0:
            signal.pause()
        pids.append(pid)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return {"had": len(pids), "how": how} if how else {"unlimited": True}


def threads():
    stop, ts, how = threading.Event(), [], None
    for _ in range(1000):
        t = threading.Thread(target=stop.wait)
        try:
            t.start()
        except RuntimeError as e:
            how = str(e)
            break
        ts.append(t)
    stop.set()
    for t in ts:
        t.join()
    return {"had": len(ts), "how": how} if how else {"unlimited": True}


def descriptors():
    had = 0
    while had < 100000:
        try:
            os.open("/dev/null", os.O_RDONLY)
        except OSError as e:
            return {"had": had, "how": errno.errorcode[e.errno]}
        had += 1
    return {"unlimited": True}


def heap():
    blocks = []
    while len(blocks) < 1000:
        try:
            blocks.append(bytearray(16 * MIB))
        except MemoryError:
            return {"had": 16 * len(blocks), "how": "MemoryError"}
    return {"unlimited": True}


def map_of(kind, touch):
    blocks = []
    while len(blocks) < 1000:
        try:
            m = mmap.mmap(-1, 16 * MIB, flags=kind | mmap.MAP_ANONYMOUS)
        except (OSError, MemoryError):
            return {"had": 16 * len(blocks), "how": "refused"}
        if touch:
            for at in range(0, len(m), 4096):
                m[at] = 1
        blocks.append(m)
        print(json.dumps({"so far": 16 * len(blocks)}), flush=True)
    return {"unlimited": True}


def pipes():
    had, ends = 0, []
    try:
        while had < 4096 * MIB:
            r, w = os.pipe()
            ends += [r, w]
            try:
                fcntl.fcntl(w, 1031, MIB)  # F_SETPIPE_SZ
            except OSError:
                pass
            os.set_blocking(w, False)
            try:
                while True:
                    had += os.write(w, b"x" * 65536)
            except BlockingIOError:
                pass
    except OSError as e:
        return {"had": had / MIB, "how": errno.errorcode[e.errno]}
    return {"unlimited": True}


BLOCK = """
block = bytearray(24 << 20)
for at in range(0, len(block), 4096): block[at] = 1
import os, signal
os.write(1, b".")
signal.pause()
"""


def hog(run=lambda: exec(BLOCK)):
    """Memory in several processes, each within its own limit."""
    for n in range(40):
        touched, tell = os.pipe()
        if os.fork() == 0:
            os.dup2(tell, 1)
            run()
        os.close(tell)
        os.read(touched, 1)
        print(json.dumps({"so far": 24 * (n + 1)}), flush=True)
    time.sleep(5)
    return {"unlimited": True}


def hog_that_hides():
    """The same by a program that keeps its memory map from being read."""
    tool = "/tmp/python"
    with open(sys.executable, "rb") as f, open(tool, "wb") as g:
        g.write(f.read())
    os.chmod(tool, 0o111)
    return hog(lambda: os.execve(tool, [sys.executable, "-I", "-S", "-c", BLOCK], {"PYTHONHOME": sys.base_prefix}))


def shared(hide):
    """Memory that can be shared, in pieces, each of which is then hidden."""
    kept = []
    for n in range(200):
        try:
            m = mmap.mmap(-1, 4 * MIB)
        except (OSError, MemoryError):
            return {"had": 4 * n, "how": "refused"}
        for at in range(0, len(m), 4096):
            m[at] = 1
        kept.append(hide(m) or m)
        print(json.dumps({"so far": 4 * (n + 1)}), flush=True)
    time.sleep(5)
    return {"unlimited": True}


def discard(m):
    """The pages are in no page table any more."""
    m.madvise(mmap.MADV_DONTNEED)


def trim(m):
    """All but one page is unmapped, which keeps the others."""
    import ctypes
    libc = ctypes.CDLL(None)
    at = ctypes.c_char.from_buffer(m)
    libc.munmap(ctypes.c_void_p(ctypes.addressof(at) + 4096), ctypes.c_size_t(len(m) - 4096))
    return at


def bequeath(m):
    """Only a child has it, and does not touch it."""
    if not bequeath.children or len(bequeath.pieces) == 16:
        bequeath.pieces = []
    bequeath.pieces.append(m)
    if len(bequeath.pieces) == 16:
        bequeath.children += 1
        if os.fork() == 0:
            signal.pause()
        for piece in bequeath.pieces:
            piece.close()


bequeath.children, bequeath.pieces = 0, []


def processors():
    return {"had": len(os.sched_getaffinity(0)), "how": "affinity"}


bombs = {
    "tmp": lambda: disk("/tmp"), "workspace": lambda: disk("/workspace"), "shm": lambda: disk("/dev/shm"),
    "one file": one_file, "inodes": lambda: inodes("/workspace"), "forks": forks, "threads": threads, "files": descriptors,
    "heap": heap, "private": lambda: map_of(mmap.MAP_PRIVATE, False), "shared": lambda: map_of(mmap.MAP_SHARED, True),
    "discarded": lambda: shared(discard), "trimmed": lambda: shared(trim), "bequeathed": lambda: shared(bequeath),
    "pipes": pipes, "hog": hog, "hidden hog": hog_that_hides, "processors": processors,
}
print(json.dumps(bombs[sys.argv[1]]()), flush=True)
