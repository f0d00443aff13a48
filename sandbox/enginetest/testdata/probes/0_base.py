"""Try what a sandbox must refuse, and what it must allow.

Each probe either returns (what it tried is open) or raises OSError (it is
closed). The group says what is expected:

needed  open inside
sealed  closed inside, open to the same user outside: the control
rooted  closed inside, open to root outside
closed  closed inside; not tried outside, where it would do harm or depends
        on the machine

The files of this folder are one program, in the order of their names.

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


DEVICES = ["/dev/" + n for n in ("null", "zero", "full", "random", "urandom")]


def mounted_without(flag):
    """The mounts that lack a flag: those that are told of, and those that a sandbox has."""
    places = {line.split()[4] for line in open("/proc/self/mountinfo")}
    places |= {"/", "/usr", "/proc", "/etc/alternatives", "/data", "/tmp", "/workspace", "/dev/shm", *DEVICES, *HOST["prefixes"]}
    return sorted(p for p in places if os.access(p, os.F_OK) and not os.statvfs(p).f_flag & flag)


@closed
def inherited_descriptors():
    listing = os.open("/proc/self/fd", os.O_RDONLY)
    return [n for n in os.listdir(listing) if int(n) not in (0, 1, 2, listing) and os.path.exists("/proc/self/fd/" + n)] or refuse(errno.EBADF)
