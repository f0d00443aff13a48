"""What a run writes: one stream's bytes as text, its head at once and its tail at the end.

A line that is written over, as progress bars do with carriage returns, counts
with its last state only. The host folds it in the same way: it is passed what
a terminal would need.
"""

import re
from codecs import getincrementaldecoder
from collections import deque

# What of a line within one piece of output is written over by what follows.
OVER = re.compile(rb"[^\n]*\r(?=[^\r\n])")


class Stream:
    """The bytes of one stream within one run.

    The first `keep` bytes are passed on as they come. After that only the last
    `keep` bytes are held, and how many were left out before them.
    """

    def __init__(self, keep):
        # Bytes that are not UTF-8 are shown as \xNN, characters that are cut
        # in two by a read are put together.
        self.decoder = getincrementaldecoder("utf-8")("backslashreplace")
        self.keep = keep
        self.room = keep
        self.ring = deque()
        self.size = 0
        self.skipped = 0
        self.line = 0  # bytes passed on of the line that has not ended
        self.returned = False  # the last byte was a carriage return

    def take(self, data):
        """Add bytes; return the text to pass on now, often empty."""
        if self.returned or b"\r" in data:
            data = self.fold(data)
        self.returned = data.endswith(b"\r")
        head = data[: self.room]
        self.room -= len(head)
        last = head.rfind(b"\n")
        self.line = len(head) - last - 1 if last >= 0 else self.line + len(head)
        rest = data[len(head) :]
        if rest:
            self.ring.append(rest)
            self.size += len(rest)
            while self.size - len(self.ring[0]) >= self.keep:
                first = len(self.ring.popleft())
                self.size -= first
                self.skipped += first
        return self.decoder.decode(head) if head else ""

    def fold(self, data):
        """Leave out what is written over, in these bytes and in those before."""
        if self.returned and data[:1] not in (b"\r", b"\n"):
            self.unwind()
        first, *others = data.split(b"\n", 1)
        folded = OVER.sub(b"\r", first)
        if folded[:1] == b"\r" and folded[1:2] not in (b"", b"\r"):
            self.unwind()
        return b"\n".join([folded, *(OVER.sub(b"", other) for other in others)])

    def unwind(self):
        """Make room again for the line that is written over."""
        if not self.ring:
            self.room += self.line
            self.line = 0
            return
        while self.ring:
            piece = self.ring.pop()
            self.size -= len(piece)
            end = piece.rfind(b"\n") + 1
            if end:
                self.ring.append(piece[:end])
                self.size += end
                return
        # The line has begun before what is held.
        self.ring.append(b"\r")
        self.size += 1

    def end(self):
        """Return the rest as text and the number of bytes left out before it."""
        tail = b"".join(self.ring)
        over = len(tail) - self.keep
        if over > 0:
            tail = tail[over:]
            self.skipped += over
        if self.skipped:
            self.skipped += len(self.decoder.getstate()[0])
            self.decoder.reset()
            cut = 0
            while cut < 3 and tail[cut : cut + 1] and 0x80 <= tail[cut] < 0xC0:
                cut += 1
            tail = tail[cut:]
            self.skipped += cut
        return self.decoder.decode(tail, True), self.skipped
