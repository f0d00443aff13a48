# --- privileges

@sealed
def mounts_with_setuid():
    return mounted_without(os.ST_NOSUID) or refuse(errno.EACCES)


@closed
def own_setuid_file():
    with open("/tmp/tool", "wb") as f:
        f.write(open("/usr/bin/env", "rb").read())
    os.chmod("/tmp/tool", 0o6755)
    got = subprocess.run(["/tmp/tool", "sh", "-c", "grep ^Uid: /proc/self/status"], capture_output=True, text=True).stdout.split()[1:]
    return got if set(got) != {str(os.getuid())} else refuse(errno.EPERM)


@closed
def become_root():
    return call("setuid", 0)


@closed
def become_root_thrice():
    return call("setresuid", 0, 0, 0)


@closed
def leave_groups():
    return call("setgroups", 0, 0)


@sealed
def own_user_namespace_map():
    # Opening it for writing needs a writable /proc.
    return os.open("/proc/self/uid_map", os.O_WRONLY)


def makes(name, flag):
    def f():
        pid = call("clone", flag | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        return pid
    f.__name__ = "clone_" + name
    (sealed if name == "user" else rooted)(f)

    def g():
        pid = os.fork()
        if pid == 0:
            try:
                call("unshare", flag)
            except OSError as e:
                os._exit(e.errno)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return "done" if code == 0 else refuse(code)
    g.__name__ = "unshare_" + name
    (sealed if name == "user" else rooted)(g)


for name, flag in {"user": 0x10000000, "mnt": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000, "cgroup": 0x2000000}.items():
    makes(name, flag)


@closed
def enter_namespace():
    return call("setns", os.open("/proc/self/ns/mnt", os.O_RDONLY), 0)


def lift(limit):
    try:
        resource.setrlimit(limit, (resource.getrlimit(limit)[1] + 1,) * 2)
    except ValueError as e:
        refuse(errno.EPERM, str(e))
    return "raised"


@closed
def raise_open_files():
    return lift(resource.RLIMIT_NOFILE)


@closed
def raise_processes():
    return lift(resource.RLIMIT_NPROC)


@closed
def raise_memory():
    return lift(resource.RLIMIT_DATA)


@closed
def raise_priority():
    return os.setpriority(os.PRIO_PROCESS, 0, -20) or "raised"


@sealed
def choose_processor():
    return os.sched_setaffinity(0, os.sched_getaffinity(0)) or "chosen"


# --- its own confinement

@sealed
def outlive_the_parent():
    return call("prctl", 1, 0, 0, 0, 0)


@sealed
def outlive_the_parent_with_high_bits():
    return call("prctl", 1 | 1 << 32, 0, 0, 0, 0)


@sealed
def hide_from_the_parent():
    return call("prctl", 4, 1, 0, 0, 0)


@sealed
def add_filter():
    return filtered("prctl", 22, 2, 0, 0, 0)


@sealed
def keep_from_the_oom_killer():
    return os.open("/proc/self/oom_score_adj", os.O_WRONLY)


@sealed
def own_memory_as_file():
    return os.open("/proc/self/mem", os.O_RDWR)


@closed
def memory_of_the_first_process():
    for path in "/proc/1/mem", "/proc/1/task/1/mem":
        if os.fstat(os.open(path, os.O_RDWR)).st_rdev != os.makedev(1, 3):  # /dev/null
            return path
    refuse(errno.EACCES, "masked")


@sealed
def core_pattern():
    return open("/proc/sys/kernel/core_pattern").read()


@closed
def x32_call():
    if MACHINE:
        refuse(errno.ENOSYS)
    return call(0x40000000 + 39)


@closed
def i386_call():
    if MACHINE:
        refuse(errno.ENOSYS)
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("b814000000cd80c3"))  # getpid by int 0x80
    got = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    return got if got > 0 else refuse(-got)
