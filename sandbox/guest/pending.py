"""The requests of a run: those that wait for an answer, and those that wait to be sent."""

import _thread
from collections import deque

INFLIGHT = 256  # requests that wait for an answer at once; the host refuses more
CARRIED = 16 << 20  # bytes of theirs, but for a single one; the host refuses more


class Pending:
    """A table of requests. Each has a number and `done`, which its answer is given to."""

    def __init__(self):
        self.lock = _thread.allocate_lock()  # held while the tables change
        self.sent = {}  # number: (done, bytes)
        self.bytes = 0  # the sum of these
        self.queue = deque()  # (number, text, done) of requests that wait for room

    def add(self, number, text, done):
        """Note a request; tell whether it is to be sent now."""
        with self.lock:
            if self.queue or not self.room(text):
                self.queue.append((number, text, done))
                return False
            self.open(number, text, done)
            return True

    def room(self, text):
        """Tell whether one more request may be sent. The caller holds the lock."""
        if len(self.sent) >= INFLIGHT:
            return False
        return not self.sent or self.bytes + len(text) <= CARRIED

    def open(self, number, text, done):
        """Note that a request is sent. The caller holds the lock."""
        self.sent[number] = done, len(text)
        self.bytes += len(text)

    def next(self):
        """Return the text of a request for which there is room now; None if there is none."""
        with self.lock:
            if not self.queue or not self.room(self.queue[0][1]):
                return None
            number, text, done = self.queue.popleft()
            self.open(number, text, done)
            return text

    def answered(self, number):
        """Take out a request that has its answer; return its `done`, and whether others wait."""
        with self.lock:
            done, size = self.sent.pop(number, (None, 0))
            self.bytes -= size
            return done, bool(self.queue)

    def forget(self, number):
        """Give up a request: it is not sent if it was not yet, and its answer is ignored."""
        with self.lock:
            if number in self.sent:
                # It still counts as in flight, until the host answers.
                self.sent[number] = ignore, self.sent[number][1]
                return
            for item in self.queue:
                if item[0] == number:
                    self.queue.remove(item)
                    return

    def clear(self, left):
        """Take out all requests; every `done` goes to a list."""
        with self.lock:
            left += [*(done for done, _ in self.sent.values()), *(done for _, _, done in self.queue)]
            self.sent.clear()
            self.bytes = 0
            self.queue.clear()


def ignore(_result, _error):
    """Take an answer nobody waits for."""
