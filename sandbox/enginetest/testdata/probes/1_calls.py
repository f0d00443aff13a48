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
