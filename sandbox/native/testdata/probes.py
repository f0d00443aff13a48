"""Try what a sandbox must refuse, and what it must allow.

Each probe either returns (what it tried is open) or raises OSError (it is
closed). The group says what is expected:

needed  open inside
sealed  closed inside, open to the same user outside: the control
rooted  closed inside, open to root outside
closed  closed inside; not tried outside, where it would do harm or depends
        on the machine

Usage: python3 -I -c SOURCE GROUPS SETTINGS, both JSON. Prints one JSON line a probe.
"""
import ctypes, errno, fcntl, glob, json, mmap, os, platform, resource, signal, socket, stat, struct, subprocess, sys, termios

GROUPS, HOST = json.loads(sys.argv[1]), json.loads(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
probes = {}


def probe(group):
    def add(f):
        assert f.__name__ not in probes, f.__name__
        probes[f.__name__] = (group, f)
        return f
    return add


needed, sealed, rooted, closed = (probe(g) for g in ("needed", "sealed", "rooted", "closed"))


def refuse(number, text=""):
    raise OSError(number, text or os.strerror(number))


# Numbers on x86-64 and on arm64; None where there is no such call.
NUMBERS = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "capset": (126, 91), "chroot": (161, 51),
    "clock_settime": (227, 112), "clone": (56, 220), "clone3": (435, 435), "delete_module": (176, 106),
    "fanotify_init": (300, 262), "finit_module": (313, 273), "fsconfig": (431, 431), "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433),
    "init_module": (175, 105), "inotify_init1": (294, 26), "io_setup": (206, 0), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425), "iopl": (172, None), "ioperm": (173, None), "kcmp": (312, 272), "kexec_file_load": (320, 294), "kexec_load": (246, 104),
    "keyctl": (250, 219), "landlock_create_ruleset": (444, 444), "listmount": (458, 458), "mbind": (237, 235), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "mknodat": (259, 33), "modify_ldt": (154, None), "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429), "mq_open": (240, 180),
    "msgget": (68, 186), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241),
    "personality": (135, 92), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pivot_root": (155, 41), "pkey_alloc": (330, 289),
    "prctl": (157, 167), "process_madvise": (440, 440), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60),
    "reboot": (169, 142), "remap_file_pages": (216, 234), "request_key": (249, 218), "sched_setaffinity": (203, 122), "sched_setattr": (314, 274),
    "sched_setscheduler": (144, 119), "seccomp": (317, 277), "semget": (64, 190), "setdomainname": (171, 162), "setfsuid": (122, 151), "setgroups": (116, 159), "sethostname": (170, 161),
    "setns": (308, 268), "setresgid": (119, 149), "setresuid": (117, 147), "settimeofday": (164, 170), "setuid": (105, 146), "setxattr": (188, 5), "shmctl": (31, 195), "shmget": (29, 194),
    "socket": (41, 198), "statmount": (457, 457), "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116), "umount2": (166, 39), "unshare": (272, 97),
    "userfaultfd": (323, 282), "vhangup": (153, 58), "vmsplice": (278, 75),
}
MACHINE = {"x86_64": 0, "aarch64": 1}[platform.machine()]


def call(name, *args):
    """Make a system call; a name or a number. Raises OSError."""
    number = NUMBERS[name][MACHINE] if isinstance(name, str) else name
    if number is None:
        refuse(errno.ENOSYS, "no such call on this architecture")
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *wide)
    if got == -1:
        refuse(ctypes.get_errno())
    return got


@closed
def inherited_descriptors():
    listing = os.open("/proc/self/fd", os.O_RDONLY)
    return [n for n in os.listdir(listing) if int(n) not in (0, 1, 2, listing) and os.path.exists("/proc/self/fd/" + n)] or refuse(errno.EBADF)


def filtered(name, *args):
    """Make a call whose arguments the kernel would refuse: open if it came to look at them."""
    try:
        call(name, *args)
    except OSError as e:
        if e.errno in (errno.EPERM, errno.ENOSYS):
            raise
        return "reached: " + errno.errorcode[e.errno]
    return "done"


def by_filter(group, name, *args):
    def f():
        return filtered(name, *args)
    f.__name__ = "call_" + name
    probe(group)(f)


BAD = -1  # a bad descriptor, address or flag
# The control outside shows that it is the filter that says no.
for name, args in {
    "add_key": (0, 0, 0, 0, 0), "clone3": (0, 0), "chroot": (0,), "capset": (0, 0), "inotify_init1": (BAD,), "io_setup": (0, 0),
    "kcmp": (BAD, BAD, 99, 0, 0), "keyctl": (99, 0, 0, 0, 0), "landlock_create_ruleset": (0, 0, 99), "mbind": (0, 0, 99, 0, 0, 99), "memfd_create": (0, 0), "mknodat": (BAD, 0, 0, 0),
    "mq_open": (0, 0, 0, 0), "msgget": (1, 0), "name_to_handle_at": (BAD, 0, 0, 0, 0), "pidfd_getfd": (BAD, 0, 0), "pidfd_open": (BAD, 0), "pidfd_send_signal": (BAD, 0, 0, 0),
    "process_madvise": (BAD, 0, 0, 0, 0), "process_vm_readv": (BAD, 0, 0, 0, 0, 0), "process_vm_writev": (BAD, 0, 0, 0, 0, 0), "ptrace": (99, BAD, 0, 0),
    "personality": (0xFFFFFFFF,), "remap_file_pages": (0, 0, 1, 0, 0), "request_key": (0, 0, 0, 0), "sched_setattr": (0, 0, 0), "sched_setscheduler": (0, BAD, 0), "seccomp": (99, 0, 0),
    "semget": (1, BAD, 0), "setfsuid": (BAD,), "setns": (BAD, 0), "setresgid": (BAD, BAD, BAD), "setresuid": (BAD, BAD, BAD), "setxattr": (0, 0, 0, 0, 0),
    "shmget": (1, 0, 0), "unshare": (0,), "vmsplice": (BAD, 0, 0, 0),
}.items():
    by_filter("sealed", name, *args)
for name, args in {
    "acct": (1,), "fanotify_init": (BAD, 0), "bpf": (99, 0, 0), "clock_settime": (99, 0), "fsconfig": (BAD, 0, 0, 0, 0), "fsmount": (BAD, 0, 0), "fsopen": (0, 0), "fspick": (BAD, 0, 0), "mount": (0, 0, 0, 0, 0),
    "mount_setattr": (BAD, 0, 99, 0, 0), "move_mount": (BAD, 0, BAD, 0, 99), "open_by_handle_at": (BAD, 0, 0), "open_tree": (BAD, 0, 1), "perf_event_open": (0, 0, 0, 0, 0), "pivot_root": (0, 0),
    "sethostname": (0, BAD), "setdomainname": (0, BAD), "setgroups": (BAD, 0), "settimeofday": (1, 1), "umount2": (0, 0x100), "syslog": (99, 0, 0),
}.items():
    by_filter("rooted", name, *args)
for name, args in {
    "delete_module": (0, 0), "finit_module": (BAD, 0, 0), "init_module": (0, 0, 0), "io_uring_enter": (BAD, 0, 0, 0, 0), "io_uring_register": (BAD, 0, 0, 0),
    "io_uring_setup": (0, 0), "ioperm": (0, 0, 0), "iopl": (0,), "kexec_file_load": (BAD, BAD, 0, 0, 0), "kexec_load": (0, 0, 0, BAD), "listmount": (0, 0, 0, 0), "memfd_secret": (BAD,),
    "modify_ldt": (99, 0, 0), "pkey_alloc": (BAD, 0), "quotactl": (0, 0, 0, 0), "reboot": (0, 0, 0, 0), "statmount": (0, 0, 0, 0), "swapoff": (0,), "swapon": (0, 0), "userfaultfd": (BAD,), "vhangup": (),
}.items():
    by_filter("closed", name, *args)


# --- files of the host

@sealed
def host_file():
    return open(HOST["secret"]).read()


@sealed
def host_file_by_link():
    os.symlink(HOST["secret"], HOST["scratch"] + "/link")
    try:
        return open(HOST["scratch"] + "/link").read()
    finally:
        os.unlink(HOST["scratch"] + "/link")


@sealed
def host_file_by_dots():
    return open("/tmp" + "/.." * 30 + HOST["secret"]).read()


@sealed
def host_file_by_own_root():
    return open("/proc/self/root" + HOST["secret"]).read()


@closed
def host_file_by_root_of_first():
    return open("/proc/1/root" + HOST["secret"]).read()


@closed
def host_file_by_cwd_of_first():
    return open("/proc/1/cwd" + "/.." * 30 + HOST["secret"]).read()


@sealed
def host_file_by_descriptor():
    at = os.open("/", os.O_RDONLY)
    for _ in range(10):
        at = os.open("..", os.O_RDONLY, dir_fd=at)
    return os.open(HOST["secret"][1:], os.O_RDONLY, dir_fd=at)


@sealed
def host_folders():
    found = [p for p in ("/sys", "/var", "/run", "/boot", "/opt", "/srv", "/media", "/mnt", "/etc/hosts", "/etc/ssl", "/etc/shadow", "/etc/hostname") if os.path.lexists(p)]
    return found or refuse(errno.ENOENT)


@rooted
def host_shadow():
    return open("/etc/shadow").read(1)


@sealed
def host_home():
    # The folders above an interpreter are there, but hold nothing else.
    found = []
    for top in ("/root", "/home"):
        for folder, _, files in os.walk(top):
            if any(folder.startswith(p) for p in HOST["prefixes"]):
                continue
            found += [os.path.join(folder, f) for f in files]
    if HOST["home"] and os.path.exists(HOST["home"] + "/seen"):
        found.append(HOST["home"])
    return found[:3] or refuse(errno.ENOENT)


@sealed
def host_socket_file():
    s = socket.socket(socket.AF_UNIX)
    s.connect(HOST["socket"])
    return "connected"


def writes(path, group=closed):
    def f():
        new = not os.path.exists(path)
        os.close(os.open(path, os.O_WRONLY | (os.O_CREAT if new else 0)))
        if new:
            os.unlink(path)
        return "written"
    f.__name__ = "write_" + path
    group(f)


for path in {"/usr/lib/x", "/usr/x", "/etc/x", "/x", "/bin/x", "/dev/x", "/root/x", "/proc/x", "/etc/passwd", "/etc/ld.so.cache", "/etc/ld.so.preload", "/proc/self/root/usr/x", "/proc/self/cwd/../usr/x",
             "/usr/bin/env", sys.executable, os.path.dirname(os.__file__) + "/x"}:
    writes(path)


@closed
def chmod_of_the_host():
    return os.chmod("/usr/bin/env", os.stat("/usr/bin/env").st_mode & 0o7777) or "changed"


@closed
def hard_link_of_the_host():
    return os.link("/usr/bin/env", "/tmp/env") or "linked"


@closed
def rename_across():
    return os.rename("/etc/passwd", "/tmp/passwd") or "renamed"


@closed
def remount_writable():
    MS_REMOUNT, MS_BIND = 32, 4096
    return call("mount", 0, ctypes.c_char_p(b"/usr"), 0, MS_REMOUNT | MS_BIND, 0)


@closed
def unmount():
    return call("umount2", ctypes.c_char_p(b"/usr"), 2)


@closed
def move_root():
    return call("pivot_root", ctypes.c_char_p(b"/tmp"), ctypes.c_char_p(b"/tmp"))


# --- devices and terminals

@closed
def device_files():
    known = {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "shm"}
    return sorted(set(os.listdir("/dev")) - known) or refuse(errno.ENOENT)


@closed
def make_block_device():
    return os.mknod("/tmp/disk", stat.S_IFBLK | 0o666, os.makedev(254, 0)) or "made"


@closed
def make_char_device():
    return os.mknod("/tmp/mem", stat.S_IFCHR | 0o666, os.makedev(1, 1)) or "made"


@closed
def controlling_terminal():
    return os.open("/dev/tty", os.O_RDWR)


@closed
def push_input():
    for fd in (0, 1, 2):
        try:
            return fcntl.ioctl(fd, termios.TIOCSTI, b"x")
        except OSError as e:
            last = e
    raise last


@sealed
def new_terminal():
    return os.openpty()


@closed
def device_by_mount():
    # A device in a tmpfs must not work even if it could be made.
    flags = {line.split()[4]: line.split()[5].split(",") for line in open("/proc/self/mountinfo")}
    devices = {"/dev/" + n for n in ("null", "zero", "full", "random", "urandom")}
    return [m for m, f in flags.items() if "nodev" not in f and m not in devices] or refuse(errno.EACCES)


# --- privileges

@sealed
def mounts_with_setuid():
    flags = {line.split()[4]: line.split()[5].split(",") for line in open("/proc/self/mountinfo")}
    return [m for m, f in flags.items() if "nosuid" not in f] or refuse(errno.EACCES)


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


# --- other processes

@sealed
def host_process():
    return os.path.exists("/proc/%d" % HOST["pid"]) or refuse(errno.ENOENT)


@sealed
def signal_host_process():
    return os.kill(HOST["pid"], 0) or "signalled"


@closed
def signal_parent():
    parent = os.getppid()
    return refuse(errno.ESRCH) if parent == 0 else os.kill(parent, 0)


@closed
def signal_everyone():
    return os.kill(-1, 0) or "signalled"


@sealed
def trace_child():
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    try:
        call("ptrace", 16, pid, 0, 0)  # PTRACE_ATTACH
        os.waitpid(pid, 0)
        return "attached"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@sealed
def read_memory_of_another():
    here, there = ctypes.create_string_buffer(8), ctypes.create_string_buffer(b"secret")
    local = (ctypes.c_size_t * 2)(ctypes.addressof(here), 8)
    remote = (ctypes.c_size_t * 2)(ctypes.addressof(there), 7)
    return call("process_vm_readv", os.getpid(), local, 1, remote, 1, 0)


@sealed
def kernel_version_file():
    return open("/proc/version").read()


@closed
def kernel_files():
    names = ("kallsyms", "keys", "kcore", "modules", "config.gz", "sysrq-trigger", "sys", "net", "bus", "fs", "irq", "acpi", "timer_list", "meminfo", "cpuinfo", "cmdline")
    return [n for n in names if os.path.exists("/proc/" + n)] or refuse(errno.ENOENT)


@sealed
def secret_in_environment():
    return os.environ["BRIDGE_PROBE_SECRET"] if "BRIDGE_PROBE_SECRET" in os.environ else refuse(errno.ENOENT)


@sealed
def secret_in_environment_of_a_process():
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            if b"BRIDGE_PROBE_SECRET" in open(path, "rb").read():
                return path
        except OSError:
            pass
    refuse(errno.ENOENT)


# --- network and ipc

@sealed
def host_listener():
    return socket.create_connection(("127.0.0.1", HOST["port"]), 5) and "connected"


@sealed
def host_abstract_socket():
    s = socket.socket(socket.AF_UNIX)
    s.connect("\0" + HOST["abstract"])
    return "connected"


def opens(family, number, kind=socket.SOCK_STREAM, group=closed):
    def f():
        return socket.socket(number, kind) and "open"
    f.__name__ = "socket_" + family
    group(f)


opens("inet", socket.AF_INET, group=sealed)
opens("inet_udp", socket.AF_INET, socket.SOCK_DGRAM, group=sealed)
opens("inet_raw", socket.AF_INET, socket.SOCK_RAW)
opens("inet6", socket.AF_INET6)
opens("netlink", 16, socket.SOCK_RAW, group=sealed)
opens("packet", 17, socket.SOCK_RAW)
opens("alg", 38, socket.SOCK_SEQPACKET)
opens("vsock", 40)
opens("bluetooth", 31, socket.SOCK_RAW)
opens("xdp", 44, socket.SOCK_RAW)


@sealed
def socket_with_high_bits():
    return call("socket", socket.AF_INET | 1 << 32, socket.SOCK_STREAM, 0)


@closed
def listen_on_tcp():
    return socket.create_server(("127.0.0.1", 0)) and "listening"


@sealed
def anonymous_file():
    return os.memfd_create("x")


@sealed
def system_v_shared_memory():
    segment = call("shmget", 0, 4096, 0o1600)
    call("shmctl", segment, 0, 0)
    return "made"


@closed
def abstract_names():
    return open("/proc/net/unix").read()


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


for name, (group, f) in probes.items():
    if group not in GROUPS:
        continue
    try:
        result = {"open": True, "detail": f()}
    except OSError as e:
        result = {"open": False, "detail": errno.errorcode.get(e.errno, str(e.errno)) + " " + str(e)}
    except BaseException as e:
        result = {"broken": True, "detail": repr(e)}
    print(json.dumps({"name": name, "group": group, **result}, default=repr), flush=True)
