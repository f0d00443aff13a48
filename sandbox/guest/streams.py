"""The standard streams of the session's Python, put right again before each run."""

import io
import os
import sys


class Streams:
    """sys.stdin, sys.stdout and sys.stderr, and the descriptors below them."""

    def __init__(self, out, err):
        self.kept = {1: out, 2: err}  # private duplicates, to restore 1 and 2 from
        self.marks = {fd: self.mark(kept) for fd, kept in self.kept.items()}
        self.open = {}
        self.libc = None
        self.restore()

    def restore(self):
        """Undo what code did to the streams: closed, replaced, redirected."""
        for fd, kept in self.kept.items():
            if self.mark(fd) != self.marks[fd]:
                os.dup2(kept, fd)
        for fd, name in ((1, "stdout"), (2, "stderr")):
            stream = self.open.get(fd)
            if stream is None or stream.closed:
                stream = self.open[fd] = writer(fd, name)
            if getattr(sys, name, None) is not stream:
                setattr(sys, name, stream)
                setattr(sys, "__%s__" % name, stream)
        stdin = self.open.get(0)
        if stdin is None or stdin.closed:
            self.open[0] = stdin = open(os.devnull, encoding="utf-8")
        if getattr(sys, "stdin", None) is not stdin:
            sys.stdin = sys.__stdin__ = stdin

    @staticmethod
    def mark(fd):
        """Tell what file a descriptor is, None if it is closed."""
        try:
            status = os.fstat(fd)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def flush(self):
        """Send on whatever is still buffered, in C's streams too."""
        for stream in (getattr(sys, "stdout", None), getattr(sys, "stderr", None), self.open[1], self.open[2]):
            try:
                stream.flush()
            except Exception:
                pass  # Closed, or replaced by something that cannot.
        if self.libc is not None:
            self.libc.fflush(None)

    def line_up(self):
        """Make C's stdout write line by line, so that its lines keep their place."""
        if self.libc is not None:
            return
        try:
            import ctypes

            libc = ctypes.CDLL(None)
            stdout = ctypes.c_void_p.in_dll(libc, "stdout")
            libc.setvbuf(stdout, None, 1, 0)  # _IOLBF
        except (ImportError, OSError, ValueError, AttributeError):
            return
        self.libc = libc


def writer(fd, name):
    """Open a text stream that writes each line at once and never fails on a character."""
    raw = io.FileIO(fd, "w", closefd=False)
    stream = io.TextIOWrapper(
        io.BufferedWriter(raw, 1 << 16), encoding="utf-8", errors="backslashreplace", newline="\n", line_buffering=True
    )
    stream.mode = "w"
    raw.name = "<%s>" % name
    return stream
