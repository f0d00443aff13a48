"""The session's Python: private descriptors, its streams, and one run after the other."""

import _thread
import os
import sys
from fcntl import F_DUPFD_CLOEXEC, fcntl

from _guest.interrupts import Interrupts
from _guest.reserve import reserve
from _guest.streams import Streams
from _guest.wide import widen
from _guest.wire import Wire

LIMIT = 16 << 20


def main(params, rest, pipes):
    """Become the session's Python and serve runs until the wire ends."""
    # A process group of its own: code that signals its group reaches itself only.
    os.setsid()
    prefer_death()
    source, control, streams = descriptors(pipes)
    interrupts = Interrupts()
    wire = Wire(source, control, rest, params.get("frame", LIMIT), interrupts)
    interrupts.install()
    # A child made by os.fork has no business on the wire.
    os.register_at_fork(before=streams.flush, after_in_child=lambda: sever(wire, interrupts))
    prepare()
    _thread.start_new_thread(wire.listen, ())
    version = ".".join(map(str, sys.version_info[:3]))
    wire.notify("ready", {"python": version, "implementation": sys.implementation.name})

    from _guest.session import Session

    session = Session(wire, interrupts, streams)
    serve(session)
    session.close()
    # The thread that reads the wire does not end; some versions crash if they finalize beside one.
    os._exit(0)


def serve(session):
    """Run what comes, until the host wants the end. Nothing that code left behind ends this loop."""
    while True:
        try:
            session.warm()
            request = session.wire.receive_run()
            if request is None:
                return
            session.serve(request)
        except BaseException as error:
            # No memory, perhaps, or a signal handler of the session's code
            # that raised while its run was ending.
            try:
                reserve.force()
            except (OSError, ValueError):
                pass  # Code has lowered the bound itself.
            session.interrupts.run = None
            reserve.tap()
            leftover()
            session.give_up(error)


def leftover():
    """Show an exception that belongs to no run."""
    try:
        import traceback

        traceback.print_exc()
    except BaseException:
        pass


def prefer_death():
    """Have the kernel choose this process, not the first one, when memory is short."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("500")
    except OSError:
        pass


def descriptors(pipes):
    """Move the wire and the output pipes to high numbers; 0 is empty, 1 and 2 are captured.

    Code that closes the low descriptors one by one does not reach them.
    """
    import resource

    control, out, err = pipes
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    top = 1000 if soft == resource.RLIM_INFINITY else max(16, min(soft, 1000) - 16)
    source = fcntl(0, F_DUPFD_CLOEXEC, top)
    moved = [fcntl(fd, F_DUPFD_CLOEXEC, top) for fd in (control, out, err)]
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    for fd in (null, control, out, err):
        if fd > 2:
            os.close(fd)
    return source, moved[0], Streams(moved[1], moved[2])


def sever(wire, interrupts):
    """In a child made by os.fork: no wire."""
    wire.closed = "this process is a child of the session: only the session itself reaches servers"
    interrupts.leave()
    for fd in (wire.source, wire.control):
        try:
            os.close(fd)
        except OSError:
            pass


def prepare():
    """Set what code expects of an ordinary Python."""
    import faulthandler
    import warnings

    faulthandler.enable(2, all_threads=False)
    sys.argv = [""]
    # There is no screen, and only /tmp to keep what was worked out once.
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("MPLCONFIGDIR", "/tmp/.matplotlib")
    os.environ.setdefault("XDG_CACHE_HOME", "/tmp/.cache")
    widen()
    # There is no network: pip says so, and does not try five times.
    os.environ.setdefault("PIP_RETRIES", "1")
    os.environ.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    # Last, so that no file of the session stands in for a module of the library.
    sys.path.append("")
    sys.breakpointhook = no_debugger
    # The second thread is ours; forking is safe beside it.
    warnings.filterwarnings("ignore", message=".*multi-threaded, use of f", category=DeprecationWarning)


def no_debugger(*_args, **_kwargs):
    """Go on: there is no terminal to debug from."""
    print("breakpoint() passed over: a session has no terminal", file=sys.stderr)
