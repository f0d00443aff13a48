"""The sandbox's first process: it reaps, forks the worker, carries signals and output.

The worker is the session's Python. What it and its children write to their
file descriptors 1 and 2 arrives here through pipes, so a crash of the worker
loses nothing that was printed. The worker's frames pass through as well: a
frame that it had not finished when it died never reaches the host.

A line of the worker begins with one byte: ``F`` forward the frame, ``B`` a run
begins (its number and how many bytes to show of each stream), ``E`` send what
is left of the output, then forward the frame.
"""

import os
import select
import signal
from _json import encode_basestring_ascii as quote
from fcntl import fcntl

from _guest.capture import Stream

SETPIPE_SZ = 1031  # F_SETPIPE_SZ, which the fcntl module names from Python 3.10 on
CAPACITY = 1 << 20
PIECE = 1 << 18  # characters of text in one frame, at most
GATHER = 2  # milliseconds: small writes that follow each other become one frame
STARVED = 2000  # milliseconds the worker gets to end by itself once the host is gone


def main(params, rest):
    """Fork the worker and serve it until it ends."""
    pipes = [pipe() for _ in range(3)]
    worker = os.fork()
    if worker == 0:
        for read, _ in pipes:
            os.close(read)
        from _guest import worker as process

        process.main(params, rest, [write for _, write in pipes])
    for _, write in pipes:
        os.close(write)
    Init(worker, [read for read, _ in pipes]).serve()


def pipe():
    """Make a pipe as large as the kernel allows, up to CAPACITY; reading never blocks."""
    read, write = os.pipe()
    try:
        fcntl(write, SETPIPE_SZ, CAPACITY)
    except OSError:
        pass
    os.set_blocking(read, False)
    return read, write


class Init:
    """The state of the first process."""

    def __init__(self, worker, fds):
        self.worker = worker
        self.control, out, err = fds
        self.names = {out: "stdout", err: "stderr"}
        self.line = bytearray()
        self.open = True  # the worker still has its end of the control pipe
        self.run = None  # the number of the run that is going on
        self.keep = 1 << 15
        self.streams = {}
        self.held = []  # what was read of which stream, and belongs to no run yet
        self.idle()
        self.wake, wakeup = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.carry)
        self.urgent = select.poll()
        self.all = select.poll()
        for fd in (self.control, self.wake):
            self.urgent.register(fd, select.POLLIN)
            self.all.register(fd, select.POLLIN)
        for fd in self.names:
            self.all.register(fd, select.POLLIN)
        # Not to read it, only to learn that the host is gone.
        self.all.register(0, getattr(select, "POLLRDHUP", 0))

    def carry(self, number, _frame):
        """Pass a signal on to the worker."""
        try:
            os.kill(self.worker, number)
        except ProcessLookupError:
            pass

    def serve(self):
        """Carry frames and output until the worker ends."""
        self.reap()
        while True:
            ready = dict(self.all.poll())
            # The worker announces a run before the run writes anything, so
            # its announcements are read before the output is.
            if self.control in ready:
                self.commands()
            if self.wake in ready:
                self.reap()
            if 0 in ready:
                self.abandon()
            full = [self.read(fd, CAPACITY // 16) for fd in self.names if fd in ready]
            if full and not any(full):
                self.urgent.poll(GATHER)

    def commands(self):
        """Do what the worker's complete lines say."""
        try:
            data = os.read(self.control, CAPACITY)
        except BlockingIOError:
            return False
        if not data:
            if self.open:
                self.open = False
                self.urgent.unregister(self.control)
                self.all.unregister(self.control)
            return False
        self.line += data
        if b"\n" in data:
            *lines, rest = bytes(self.line).split(b"\n")
            self.line = bytearray(rest)
            for line in lines:
                self.command(line[:1], line[1:])
        return True

    def command(self, kind, body):
        """Do what one line of the worker says."""
        if kind == b"B":
            run, keep = body.split()
            self.begin(int(run), int(keep))
            self.release()
            return
        if kind == b"E":
            self.end()
        self.write(body + b"\n")

    def idle(self):
        """Collect what is written while there is no run."""
        self.run = None
        self.background = Stream(self.keep)
        self.heads = []

    def begin(self, run, keep):
        """Start a run: first comes what was written before it."""
        self.run = run
        self.keep = keep
        text, skipped = self.background.end()
        self.show("background", "".join(self.heads), 0)
        self.show("background", text, skipped)
        self.streams = {fd: Stream(keep) for fd in self.names}

    def end(self):
        """Send everything that was written until now."""
        for fd in self.names:
            self.drain(fd)
        if self.run is not None:
            for fd, name in self.names.items():
                self.show(name, *self.streams[fd].end())
        self.idle()

    def drain(self, fd):
        """Read what is in a pipe now, and not what a busy writer adds for ever."""
        left = CAPACITY
        while left > 0:
            try:
                data = os.read(fd, min(left, CAPACITY // 16))
            except BlockingIOError:
                return
            if not data:
                return
            left -= len(data)
            self.add(fd, data)

    def read(self, fd, size):
        """Read a stream once; tell whether there is likely more."""
        try:
            data = os.read(fd, size)
        except BlockingIOError:
            return False
        if not data:
            # All writers are gone; the worker ends soon, or has closed its own.
            self.all.unregister(fd)
            return False
        if self.run is None:
            # A run may have begun since, and this be its first output: its
            # announcement was written before. That some of it was written
            # before the run cannot be told from this end.
            self.held.append((fd, data))
            self.commands()
            self.release()
        else:
            self.add(fd, data)
        return len(data) == size

    def release(self):
        """Pass on what was held back."""
        held, self.held = self.held, []
        for fd, data in held:
            self.add(fd, data)

    def add(self, fd, data):
        """Pass on or keep what one stream brought."""
        if self.run is None:
            self.heads.append(self.background.take(data))
            return
        self.show(self.names[fd], self.streams[fd].take(data), 0)

    def show(self, stream, text, skipped):
        """Send text of a stream."""
        for start in range(0, len(text) or (skipped > 0), PIECE):
            self.write(
                b'{"jsonrpc":"2.0","method":"output","params":{"run":%d,"stream":"%s","text":%s,"skipped":%d}}\n'
                % (self.run, stream.encode(), quote(text[start : start + PIECE]).encode(), skipped)
            )
            skipped = 0

    def write(self, data):
        """Write to the host."""
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]

    def reap(self):
        """Collect children that have ended, orphans too; end with the worker."""
        try:
            os.read(self.wake, 4096)
        except BlockingIOError:
            pass
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.worker:
                self.exited(status)

    def exited(self, status):
        """Send what is left, then how the worker ended, and end."""
        while self.commands():
            pass
        self.end()
        if os.WIFSIGNALED(status):
            params = b'{"signal":%d}' % os.WTERMSIG(status)
        else:
            params = b'{"code":%d}' % os.WEXITSTATUS(status)
        self.write(b'{"jsonrpc":"2.0","method":"exited","params":%s}\n' % params)
        os._exit(0)

    def abandon(self):
        """End the sandbox: the host has closed the wire."""
        self.all.unregister(0)
        ended = select.poll()
        ended.register(self.wake, select.POLLIN)
        ended.poll(STARVED)
        try:
            if os.waitpid(self.worker, os.WNOHANG)[0] == 0:
                os.kill(self.worker, signal.SIGKILL)
        except (ChildProcessError, ProcessLookupError):
            pass
        os._exit(0)
