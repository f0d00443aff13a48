"""Memory that is kept for the session's own work, for when code has taken all there is.

Where the memory of each process is bounded, code gets a little less than the
bound. What the session needs to read a frame, to tell of the error and to
begin the run that gives memory back, it takes from the rest.
"""

from resource import RLIM_INFINITY, RLIMIT_DATA, getpagesize, getrlimit, setrlimit

ROOM = 4 << 20  # bytes
LEAST = ROOM // 8  # bytes for code that begins when there is less


class Reserve:
    """What is kept, and whether it was opened."""

    def __init__(self):
        self.open = True
        self.ballast = None  # what it takes to ask for the room, when there is not a byte left

    def shut(self):
        """Put aside what is free of it, before code runs."""
        if not self.open:
            return
        soft, hard = getrlimit(RLIMIT_DATA)
        if hard == RLIM_INFINITY:
            self.open = False  # Nothing bounds this process alone.
            return
        if soft != hard:
            return  # Code has set a limit of its own.
        soft = max(hard - ROOM, taken() + LEAST)
        if soft < hard:
            self.ballast = [bytes(size) for size in range(16, 512, 16) for _ in range(8)]
            setrlimit(RLIMIT_DATA, (soft, hard))
            self.open = False

    def tap(self):
        """Open it; tell whether there was one."""
        if self.open:
            return False
        self.ballast = None
        self.open = True
        soft, hard = getrlimit(RLIMIT_DATA)
        if soft < hard - ROOM:
            return False
        setrlimit(RLIMIT_DATA, (hard, hard))
        return True


def taken():
    """Return how much counts towards the limit, or a little more."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[5]) * getpagesize()


reserve = Reserve()


def insist(action, *args):
    """Do something that memory may be missing for."""
    try:
        return action(*args)
    except MemoryError:
        if not reserve.tap():
            raise
        return action(*args)
