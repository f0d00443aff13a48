# --- what a session needs

@needed
def identity():
    fields = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
    return {k: fields[k].strip() for k in ("Uid", "Gid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")}


@needed
def host_name():
    return socket.gethostname()


@needed
def pipes_for_files():
    return [os.readlink("/proc/self/fd/%d" % n).split(":")[0] for n in (0, 1, 2)]


@needed
def account():
    return open("/etc/passwd").read()


@needed
def environment():
    return dict(os.environ)


@needed
def version():
    return list(sys.version_info[:3])


@needed
def own_processes_only():
    return sorted(p for p in os.listdir("/proc") if p.isdigit())


@needed
def threads():
    import threading
    done = []
    ts = [threading.Thread(target=done.append, args=(i,)) for i in range(8)]
    [t.start() for t in ts], [t.join() for t in ts]
    return len(done)


@needed
def event_loop():
    import asyncio

    async def both():
        p = await asyncio.create_subprocess_exec("sh", "-c", "echo 5", stdout=asyncio.subprocess.PIPE)
        return (await p.communicate())[0].decode()
    return asyncio.run(both())


@needed
def processes():
    import multiprocessing
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(abs, [-1, -2])


@needed
def database():
    import sqlite3
    c = sqlite3.connect("/workspace/a.db")
    c.execute("create table t(a)")
    c.execute("insert into t values (1)")
    c.commit()
    return c.execute("select * from t").fetchall()


@needed
def commands():
    return subprocess.run("ls /usr/bin | head -1; sort --version | head -1", shell=True, capture_output=True, text=True, check=True).stdout


@needed
def another_python():
    return subprocess.run([sys.executable, "-I", "-c", "import json, ssl, ctypes, decimal, zlib; print(5)"], capture_output=True, text=True, check=True).stdout


@needed
def python_on_path():
    return subprocess.run(["python3", "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True).stdout


@needed
def places_to_write():
    for place in ("/workspace", "/tmp", "/dev/shm", os.path.expanduser("~")):
        with open(place + "/file", "w") as f:
            f.write("x")
        os.unlink(place + "/file")
    return os.getcwd()


@needed
def programs_of_its_own():
    got = []
    for place in ("/workspace", "/tmp"):
        with open(place + "/tool", "w") as f:
            f.write("#!/bin/sh\necho ran\n")
        os.chmod(place + "/tool", 0o755)
        got.append(subprocess.run([place + "/tool"], capture_output=True, text=True, check=True).stdout)
        os.unlink(place + "/tool")
    return got


@needed
def temporary_files():
    import tempfile
    with tempfile.NamedTemporaryFile() as f:
        return f.name


@needed
def local_sockets():
    a, b = socket.socketpair()
    a.send(b"x")
    s = socket.socket(socket.AF_UNIX)
    s.bind("/tmp/own.sock")
    s.listen()
    c = socket.socket(socket.AF_UNIX)
    c.connect("/tmp/own.sock")
    return b.recv(1).decode()


@needed
def signals_among_its_own():
    pid = os.fork()
    if pid == 0:
        signal.pause()
    os.kill(pid, signal.SIGTERM)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@needed
def shared_memory():
    from multiprocessing import shared_memory
    m = shared_memory.SharedMemory(create=True, size=4096)
    m.close()
    m.unlink()
    return "made"


@needed
def random_bytes():
    return len(os.urandom(16)) + len(open("/dev/urandom", "rb").read(16))


@needed
def standard_devices():
    open("/dev/null", "w").write("x")
    subprocess.run("echo -n > /dev/stdout; cat < /dev/fd/0", shell=True, stdin=subprocess.DEVNULL, check=True)
    return "written"


@needed
def thread_names():
    return call("prctl", 15, ctypes.c_char_p(b"name"), 0, 0, 0)


@needed
def executable_memory():
    return mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) and "mapped"


@needed
def newest_calls():
    # As on an older kernel, so that programs take another way.
    try:
        call(1000)
    except OSError as e:
        return errno.errorcode[e.errno]


@needed
def time_zones():
    return os.path.isdir("/usr/share/zoneinfo") and str(__import__("zoneinfo").ZoneInfo("Europe/Berlin"))


@needed
def locks_on_files():
    with open("/tmp/lock", "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        fcntl.lockf(f, fcntl.LOCK_EX)
    return "locked"
