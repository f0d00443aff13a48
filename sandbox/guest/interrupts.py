"""The interruption of a run: KeyboardInterrupt in the main thread, for the right run only.

It does not depend on SIGINT, which code may ignore or handle: the interrupt
comes with a real-time signal of its own, sent to the main thread by the thread
that reads the wire. A late one finds its run over and does nothing.
"""

import _signal
import _thread
from os import getpid

NUMBER = _signal.SIGRTMAX - 3
EVERY = range(1, _signal.NSIG)


class Interrupts:
    """Which run may be interrupted, and how."""

    def __init__(self):
        self.thread = _thread.get_ident()
        self.process = getpid()
        self.run = None  # the run whose code is going on, None outside of code
        self.wanted = None  # the run to interrupt
        self.heard = None  # the run that the host has interrupted
        self.cancel = None  # asked first: a running event loop cancels its task instead
        self.every = set(EVERY) - {_signal.SIGKILL, _signal.SIGSTOP, 32, 33}

    def install(self):
        """Take the two signals, whatever code did to them; the main thread gets all signals."""
        _signal.signal(NUMBER, self.arrive)
        _signal.signal(_signal.SIGINT, self.sigint)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())

    def enter(self, run):
        """From here on the run can be interrupted; one that was meanwhile is so now."""
        self.run = run
        self.arrive(NUMBER, None)

    def leave(self):
        """In a forked child: an ordinary Python again."""
        self.run = None
        if _signal.getsignal(_signal.SIGINT) == self.sigint:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)

    def ask(self, run):
        """Interrupt a run. Called by the thread that reads the wire.

        The host asks again until the run has ended: a signal that comes just
        before the main thread waits in the kernel is noted, and does not end
        the waiting. Code that has been interrupted is not interrupted again.
        """
        if run == self.heard:
            return
        self.wanted = run
        _signal.pthread_kill(self.thread, NUMBER)

    def sigint(self, number, frame):
        """Interrupt whatever run there is."""
        self.wanted = self.run
        self.arrive(number, frame)

    def arrive(self, number, frame):
        """Raise KeyboardInterrupt if the run that was meant is still going."""
        if self.run is None or self.wanted != self.run:
            return
        self.wanted = None
        if number == NUMBER:
            self.heard = self.run
        if self.cancel is not None and self.cancel(frame):
            return
        raise KeyboardInterrupt

    def hold(self):
        """Block signals in the calling thread; return what `release` wants.

        Between the two nothing is raised in the main thread, neither an
        interrupt nor what a signal handler of the session's code raises.
        """
        return _signal.pthread_sigmask(_signal.SIG_BLOCK, self.every)

    def release(self, held):
        """Let signals in again. Those that came meanwhile act here."""
        _signal.pthread_sigmask(_signal.SIG_SETMASK, held)
