"""The value of a run's last expression as text, bounded whatever the value is."""

from base64 import b64decode
from collections import deque

from _guest.inside import inside

BRACKETS = {list: "[]", tuple: "()", set: "{}", frozenset: ("frozenset({", "})"), deque: ("deque([", "])")}


class Full(Exception):
    """There is no more room."""


class Writer:
    """repr, piece by piece, until there is no more room.

    Built-in containers are walked here, because repr of a list of a hundred
    million numbers would take all the memory there is.
    """

    def __init__(self, room):
        self.room = room
        self.parts = []
        self.open = set()  # the containers that are being written, by identity

    def put(self, text):
        """Add text."""
        self.parts.append(text[: self.room])
        self.room -= len(text)
        if self.room < 0:
            raise Full

    def write(self, value):
        """Add the repr of a value."""
        kind = getattr(type(value), "plain", None) if type(value).__module__ == "mcp" else None
        if kind is not None:
            self.write(kind(value))
            if value.content:
                self.put(" with content ")
                self.write(list(value.content))
            return
        kind = type(value)
        if kind in (str, bytes) and len(value) > self.room:
            self.put(repr(value[: self.room + 1])[:-1])
            raise Full
        if kind in BRACKETS and not (kind is deque and value.maxlen is not None):
            self.items(value, *BRACKETS[kind])
        elif kind is dict:
            held = media(value) if "type" in value else None
            if held:
                self.put(held)
            else:
                self.pairs(value)
        else:
            self.put(without_media(value, text_of(value)))

    def items(self, value, start, end):
        """Add a container's items."""
        if not value and type(value) in (set, frozenset, tuple):
            self.put(repr(value))
            return
        if not self.enter(value, start + "..." + end):
            return
        self.put(start)
        for index, item in enumerate(value):
            if index:
                self.put(", ")
            self.write(item)
        self.put(",)" if type(value) is tuple and len(value) == 1 else end)
        self.open.discard(id(value))

    def pairs(self, value):
        """Add a dict's items."""
        if not self.enter(value, "{...}"):
            return
        self.put("{")
        for index, (key, item) in enumerate(value.items()):
            if index:
                self.put(", ")
            self.write(key)
            self.put(": ")
            self.write(item)
        self.put("}")
        self.open.discard(id(value))

    def enter(self, value, again):
        """Note that a container is being written; a container within itself is shown as repr does."""
        if id(value) in self.open:
            self.put("set(...)" if type(value) is set else again)
            return False
        self.open.add(id(value))
        return True


def media(block):
    """Return what stands for an image, a sound or a resource whose bytes are in base64, None for anything else."""
    kind = block.get("type")
    held = block.get("resource") if kind == "resource" else block
    if kind not in ("image", "audio", "resource") or not isinstance(held, dict):
        return None
    data, mime = held.get("blob" if kind == "resource" else "data"), held.get("mimeType")
    data = decoded(data) if isinstance(mime, str) or kind == "resource" else None
    if not data:
        return None
    where = f" {held.get('uri')}"[:200] if kind == "resource" else ""
    return f"<{kind}{where} {str(mime)[:80]}, {len(data)} bytes>"


def without_media(value, text):
    """Return the repr of a container of any other class, with what stands for the images and sounds in it."""
    for block in inside(value, lambda part: type(part) is dict and media(part)):
        text = text.replace(text_of(block), media(block))
    return text


def decoded(text):
    """Return the bytes of a text that is base64, None for anything else."""
    try:
        return b64decode("".join(text.split()), validate=True) if isinstance(text, str) else None
    except ValueError:
        return None


def text_of(value):
    """Return repr, or what went wrong with it."""
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}: {message_of(error)}>"


def message_of(error):
    """Return an exception's text, or what went wrong with it."""
    try:
        return str(error)
    except Exception as second:
        return f"<text that raises {type(second).__name__}>"


def show(value, room):
    """Return the repr of a value, at most about `room` characters of it."""
    writer = Writer(room)
    try:
        writer.write(value)
    except Full:
        try:
            size = f", {len(value)} items" if not isinstance(value, (str, bytes)) else f", length {len(value)}"
        except Exception:
            size = ""
        writer.parts.append(f"… (cut{size})")
    except RecursionError:
        writer.parts.append("… (too deep)")
    return "".join(writer.parts)
