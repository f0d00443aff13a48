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


# --- folders of the host that are shown

@needed
def shown_folder():
    return open("/data/seen").read()


@closed
def shown_folder_with_rights():
    # Neither devices nor rights of files count in what is the host's.
    flags = os.statvfs("/data").f_flag
    return [name for name in ("ST_NODEV", "ST_NOSUID", "ST_RDONLY") if not flags & getattr(os, name)] or refuse(errno.EACCES)


@closed
def host_paths():
    # Of a process that began later, too.
    child = subprocess.Popen(["sleep", "10"])
    try:
        found = []
        for pid in "self", "1", "thread-self", str(child.pid):
            for name in "mountinfo", "mounts", "mountstats":
                try:
                    text = open("/proc/%s/%s" % (pid, name)).read()
                except OSError:
                    continue
                if HOST["shown"] in text or "/usr" in text:
                    found.append("%s/%s" % (pid, name))
        return found or refuse(errno.ENOENT)
    finally:
        child.kill()
        child.wait()


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
    return [m for m in mounted_without(os.ST_NODEV) if m not in DEVICES] or refuse(errno.EACCES)
