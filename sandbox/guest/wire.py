"""The worker's end of the wire: frames out through the first process, frames in by one thread."""

import _thread
from collections import deque
from json import JSONDecoder, JSONEncoder
from os import _exit
from os import read as read_fd
from os import write as write_fd

from _guest.errors import MCPError, from_wire
from _guest.files import fetch
from _guest.pending import Pending
from _guest.reserve import insist

encode = JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
decode = JSONDecoder().decode
PREFIX = b'{"jsonrpc":"2.0","id":'  # of the host's answers


class Wire:
    """Requests to the host and the runs it sends.

    `output` is held while a frame is written. The host reads whatever it
    writes, so a writer never waits for long.
    """

    def __init__(self, source, control, rest, frame, interrupts):
        self.source = source
        self.control = control
        self.rest = rest
        self.frame = frame
        self.interrupts = interrupts
        self.output = _thread.allocate_lock()
        self.run = None
        self.unanswered = None  # the id of the request that the run came by
        self.left = []  # done, of requests that had no answer when their run ended
        self.serial = 0
        self.pending = Pending()
        self.inbox = deque()  # run requests of the host
        self.ending = False  # the host wants no more runs
        self.mail = _thread.allocate_lock()
        self.mail.acquire()
        self.closed = None  # why nothing can be sent

    # Out.

    def write(self, kind, text):
        """Write one frame. The caller holds `output` and no signals come."""
        view = memoryview(insist(frame, kind, text))
        while view:
            view = view[write_fd(self.control, view) :]

    def exclusive(self, action, *args):
        """Do something that writes: one thread at a time, and never cut short by an exception."""
        held = self.interrupts.hold()
        try:
            with self.output:
                return action(*args)
        finally:
            self.interrupts.release(held)

    def notify(self, method, params):
        """Send a notification."""
        self.exclusive(self.write, b"F", encode({"jsonrpc": "2.0", "method": method, "params": params}))

    def tell(self, method, params):
        """Send a notification that belongs to the run that is going on."""
        if self.closed:
            raise MCPError(self.closed)
        self.exclusive(self._tell, method, params)

    def _tell(self, method, params):
        if self.run is None:
            raise MCPError("no run is going on: nothing can be shown until the next one")
        self.write(b"F", encode({"jsonrpc": "2.0", "method": method, "params": {"run": self.run, **params}}))

    def begin(self, run, output, identity):
        """Announce that a run begins: what is written from now on is its output."""
        self.unanswered = identity
        self.exclusive(self._begin, run, output)

    def _begin(self, run, output):
        self.write(b"B", "%d %d" % (run, output))
        self.run = run

    def end(self, result):
        """Answer the run, once. Nothing is sent for it after that."""
        if self.unanswered is not None:
            self.exclusive(self._end, encode({"jsonrpc": "2.0", "id": self.unanswered, "result": result}))
        while self.left:
            insist(self.left.pop(), None, MCPError("the run ended before the answer came"))

    def _end(self, text):
        self.run = None
        self.pending.clear(self.left)
        self.write(b"E", text)
        self.unanswered = None

    def request(self, method, params, done):
        """Send a request; `done(result, error)` is called by the reading thread."""
        if self.closed:
            raise MCPError(self.closed)
        return self.exclusive(self._request, method, params, done)

    def _request(self, method, params, done):
        if self.run is None:
            raise MCPError("no run is going on: servers can be reached only while one is")
        self.serial += 1
        identity = self.serial
        text = encode({"jsonrpc": "2.0", "id": identity, "method": method, "params": {"run": self.run, **params}})
        if len(text) > self.frame - 64:
            raise MCPError(f"the arguments are {len(text)} bytes as JSON; at most {self.frame - 64} can be sent")
        if self.pending.add(identity, text, done):
            self.write(b"F", text)
        return identity

    def forget(self, identity):
        """Give up a request, whose answer is ignored."""
        self.pending.forget(identity)

    def _next(self):
        """Send requests that waited, as long as there is room."""
        while text := self.pending.next():
            self.write(b"F", text)

    def ask(self, method, params):
        """Send a request and wait for its answer, in any thread."""
        answer = []
        came = _thread.allocate_lock()
        came.acquire()

        def done(result, error):
            answer.append((result, error))
            came.release()

        identity = self.request(method, params, done)
        try:
            came.acquire()
        except BaseException:
            self.forget(identity)
            raise
        result, error = answer[0]
        if error is not None:
            raise error
        return result

    async def asked(self, method, params):
        """Send a request and await its answer, in any event loop."""
        from asyncio import get_running_loop

        loop = get_running_loop()
        future = loop.create_future()

        def settle(result, error):
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        def done(result, error):
            try:
                loop.call_soon_threadsafe(settle, result, error)
            except RuntimeError:
                pass  # The loop is closed: nobody waits any more.

        identity = self.request(method, params, done)
        try:
            return await future
        except BaseException:
            self.forget(identity)
            raise

    # In.

    def listen(self):
        """Read frames for ever. The end of the wire is the end of the process."""
        self.interrupts.hold()
        buffer = bytearray(self.rest)
        try:
            while True:
                if b"\n" in buffer:
                    *lines, buffer = insist(buffer.split, b"\n")
                    for line in lines:
                        self.receive(insist(understand, line))
                if not self.read(buffer):
                    _exit(0)
        except BaseException as error:
            text = f"the wire of the session broke: {type(error).__name__}: {error}\n"
            try:
                write_fd(2, text.encode("utf-8", "replace"))
            finally:
                _exit(70)

    def read(self, buffer):
        """Read until at least one line is complete."""
        while True:
            data = insist(read_fd, self.source, 1 << 18)
            insist(buffer.extend, data)
            if not data or b"\n" in data:
                return data

    def receive(self, message):
        """Act on one frame of the host."""
        method = message.get("method")
        if method == "run":
            insist(self.inbox.append, message)
            if self.mail.locked():
                self.mail.release()
        elif method == "interrupt":
            self.interrupts.ask(message["params"]["run"])
        elif method == "end":
            self.ending = True
            self.interrupts.ask(self.run)
            if self.mail.locked():
                self.mail.release()
        elif method == "read":
            self.exclusive(self.reply, message["id"], fetch(**message["params"]))
        elif method is None:
            self.answered(message)

    def reply(self, identity, result):
        """Answer a request of the host. The caller holds `output`."""
        self.write(b"F", encode({"jsonrpc": "2.0", "id": identity, "result": result}))

    def answered(self, message):
        """Hand an answer to who waits for it."""
        done, waiting = self.pending.answered(message["id"])
        if waiting:
            # This may wait for room to write; the host reads meanwhile.
            self.exclusive(self._next)
        if done is None:
            return
        error = message.get("error")
        if error is None:
            insist(done, message.get("result"), None)
        else:
            insist(done, None, insist(from_wire, error))

    def receive_run(self):
        """Wait for the next run request; return None if there is to be none."""
        while not self.inbox and not self.ending:
            self.mail.acquire()
        return None if self.ending else self.inbox.popleft()


def frame(kind, text):
    """Return the line of a frame."""
    return kind + text.encode() + b"\n"


def understand(line):
    """Decode a frame; an answer that this process cannot take is an error in its place.

    A server's result may be nested more deeply than the stack here has room
    for, larger than the memory, or have a number of more digits than Python
    reads. That must not cost the session, nor must bytes that are not text.
    """
    try:
        return decode(line.decode("utf-8", "replace"))
    except (RecursionError, MemoryError, ValueError) as error:
        identity = line[len(PREFIX) : len(PREFIX) + 20].split(b",")[0] if line.startswith(PREFIX) else b""
        if not identity.isdigit():
            raise
        text = f"the answer is too much for this session: {error or 'out of memory'} ({len(line)} bytes)"
        return {"id": int(identity), "error": {"message": text, "data": {"kind": "server"}}}
