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


@sealed
def shared_memory_of_a_device():
    # No limit of a process counts it.
    with open("/dev/zero", "r+b", buffering=0) as f:
        return len(mmap.mmap(f.fileno(), 4096))


@sealed
def larger_socket_buffers():
    a, _ = socket.socketpair()
    a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return "set"


@closed
def abstract_names():
    return open("/proc/net/unix").read()
