"""What a run writes: one stream's bytes as text, its head at once and its tail at the end."""

from codecs import getincrementaldecoder
from collections import deque


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

    def take(self, data):
        """Add bytes; return the text to pass on now, often empty."""
        head = data[: self.room]
        self.room -= len(head)
        rest = data[len(head) :]
        if rest:
            self.ring.append(rest)
            self.size += len(rest)
            while self.size - len(self.ring[0]) >= self.keep:
                first = len(self.ring.popleft())
                self.size -= first
                self.skipped += first
        return self.decoder.decode(head) if head else ""

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
