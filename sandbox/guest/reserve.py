"""Memory that is kept for the session's own work, for when code has taken all there is.

Where the memory of each process is bounded, code gets a little less than the
bound. What the session needs to read a frame, to tell of the error and to
begin the run that gives memory back, it takes from the rest.
"""

import os
from _functools import partial
from resource import RLIM_INFINITY, RLIMIT_DATA, getpagesize, getrlimit, setrlimit

ROOM = 4 << 20  # bytes
LEAST = ROOM // 8  # bytes for code that begins when there is less
PAGE = getpagesize()


class Reserve:
    """What is kept. A limit of code's own that is below it stays as it is."""

    def __init__(self):
        self.ballast = None  # what it takes to ask for the room, when there is not a byte left
        self.keep(getrlimit(RLIMIT_DATA)[1])

    def keep(self, hard):
        """Prepare to have all of the bound, where there is no memory to call a function of Python."""
        self.hard = hard
        self.force = partial(setrlimit, RLIMIT_DATA, (hard, hard))

    def shut(self):
        """Keep what is free of it from code that is going to run."""
        try:
            soft, hard = getrlimit(RLIMIT_DATA)
            if hard == RLIM_INFINITY or soft < hard - ROOM:
                return
            if hard != self.hard:
                self.keep(hard)
            if self.ballast is None:
                # Numbers and these bytes have the sizes of all that is allocated in small pieces.
                self.ballast = [(1 << 40) + size for size in range(64)]
                self.ballast += [bytes(size) for size in range(1, 512, 16) for _ in range(8)]
            setrlimit(RLIMIT_DATA, (min(max(hard - ROOM, taken() + LEAST), hard), hard))
        except (OSError, MemoryError):
            self.ballast = None  # Code can run all the same.

    def open(self):
        """Have it for the session: code has ended."""
        soft, hard = getrlimit(RLIMIT_DATA)
        if hard - ROOM <= soft < hard:
            setrlimit(RLIMIT_DATA, (hard, hard))

    def tap(self):
        """Have it when there is nothing else."""
        self.ballast = None
        self.open()

    def short(self):
        """Tell whether little more than the reserve is left."""
        try:
            hard = getrlimit(RLIMIT_DATA)[1]
            return hard != RLIM_INFINITY and taken() + 2 * ROOM > hard
        except (OSError, MemoryError):
            return True


def taken():
    """Return how much counts towards the limit, or a little more."""
    fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return int(os.read(fd, 256).split()[5]) * PAGE
    finally:
        os.close(fd)


reserve = Reserve()


def insist(action, *args):
    """Do something that memory may be missing for, and that can be done again."""
    try:
        return action(*args)
    except MemoryError:
        reserve.tap()
        return action(*args)
