"""The interruption of a run, and the signal handlers of the session's code.

An interrupt is KeyboardInterrupt in the main thread, for the right run only.
It does not depend on SIGINT, which code may ignore or handle: the interrupt
comes with a real-time signal of its own, sent to the main thread by the thread
that reads the wire. A late one finds its run over and does nothing.

What code handles itself acts in code only. Python calls a handler in the main
thread whenever it likes, and one that raises would cost the session the run
that it was about to begin or to answer. So it is told later what came
meanwhile.
"""

import _signal
import _thread
from _signal import getsignal, pthread_kill, pthread_sigmask
from _signal import signal as set_signal
from os import getpid
from sys import _getframe

NUMBER = _signal.SIGRTMAX - 3
EVERY = range(1, _signal.NSIG)


class Interrupts:
    """Which run may be interrupted, and how; which handlers code has set."""

    def __init__(self):
        self.thread = _thread.get_ident()
        self.process = getpid()
        self.run = None  # the run whose code is going on, None outside of code
        self.wanted = None  # the run to interrupt
        self.heard = None  # the run that the host has interrupted
        self.cancel = None  # asked first: a running event loop cancels its task instead
        self.every = set(EVERY) - {_signal.SIGKILL, _signal.SIGSTOP, 32, 33}
        self.depth = 0  # how often the main thread holds signals
        self.pressed = None  # the run that a SIGINT came for meanwhile
        self.missed = []  # signals of code's handlers that came while none could be called
        self.forked = False
        # The library's signal module looks these up at each call.
        _signal.signal = self.set_handler
        _signal.getsignal = self.get_handler

    def install(self):
        """Take the two signals, whatever code did to them; the main thread gets all signals."""
        set_signal(NUMBER, self.arrive)
        set_signal(_signal.SIGINT, self.sigint)
        self.depth = 0
        pthread_sigmask(_signal.SIG_SETMASK, ())

    def enter(self, run):
        """From here on the run can be interrupted; one that was meanwhile is so now."""
        self.run = run
        self.arrive(NUMBER, None)
        self.catch_up()

    def leave(self):
        """In a forked child: an ordinary Python again."""
        self.run = None
        self.forked = True
        if getsignal(_signal.SIGINT) == self.sigint:
            set_signal(_signal.SIGINT, _signal.default_int_handler)

    def ask(self, run):
        """Interrupt a run. Called by the thread that reads the wire.

        The host asks again until the run has ended: a signal that comes just
        before the main thread waits in the kernel is noted, and does not end
        the waiting. Code that has been interrupted is not interrupted again.
        """
        if run == self.heard:
            return
        self.wanted = run
        pthread_kill(self.thread, NUMBER)

    def sigint(self, number, frame):
        """Interrupt whatever run there is."""
        if self.depth:
            self.pressed = self.run
            return
        self.wanted = self.run
        self.arrive(number, frame)

    def arrive(self, number, frame):
        """Raise KeyboardInterrupt if the run that was meant is still going."""
        if self.run is None or self.wanted != self.run or self.depth:
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
        interrupt nor what a signal handler of the session's code raises: not
        even if another thread takes the signal.
        """
        if _thread.get_ident() == self.thread:
            self.depth += 1  # First: from here on nothing is raised.
        return pthread_sigmask(_signal.SIG_BLOCK, self.every)

    def release(self, held):
        """Let signals in again. Those that came meanwhile act here."""
        pthread_sigmask(_signal.SIG_SETMASK, held)
        if _thread.get_ident() != self.thread:
            return
        self.depth -= 1
        if self.depth == 0 and self.run is not None:
            self.arrive(NUMBER, _getframe(1))
            if self.pressed == self.run:
                self.pressed = None
                self.sigint(_signal.SIGINT, _getframe(1))
            self.catch_up()

    # The handlers of code.

    def set_handler(self, number, handler):
        """Do what signal.signal does; a function is called while code runs."""
        if callable(handler) and not isinstance(handler, Handler):
            handler = Handler(self, handler)
        return own(set_signal(number, handler))

    def get_handler(self, number):
        """Do what signal.getsignal does."""
        return own(getsignal(number))

    def catch_up(self):
        """Call the handlers of what came while none could be called."""
        while self.missed:
            number = self.missed.pop(0)
            handler = getsignal(number)
            if isinstance(handler, Handler):
                handler(number, _getframe(1))


class Handler:
    """A signal handler of code: called while code runs, later if it does not."""

    def __init__(self, interrupts, function):
        self.interrupts = interrupts
        self.function = function

    def __call__(self, number, frame):
        """Handle a signal, now or when the next run begins."""
        interrupts = self.interrupts
        if interrupts.forked or not (interrupts.run is None or interrupts.depth or between(frame)):
            return self.function(number, frame)
        if number not in interrupts.missed:
            interrupts.missed.append(number)
        return None


def between(frame):
    """Tell whether a run was just about to begin or to end: these modules are never below code."""
    return frame is not None and frame.f_globals.get("__name__") in ("_guest.session", "_guest.worker")


def own(handler):
    """Return a handler as code knows it."""
    return handler.function if isinstance(handler, Handler) else handler
