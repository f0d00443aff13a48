"""What is in a value: the parts of containers, however deep."""

from collections import deque
from collections.abc import ItemsView, KeysView, ValuesView

LOOKED = 20000  # parts of a value that are looked at
PLAIN = (str, bytes, int, float, complex, bool, type(None))
CONTAINERS = (dict, list, tuple, set, frozenset, deque, KeysView, ItemsView, ValuesView)


def inside(value, wanted):
    """Yield the parts in a container or beside an answer that are wanted, each once, in their order."""
    seen = {id(value): value}  # held, as views make their parts anew
    left = LOOKED
    stack = [parts(value)]
    while stack and left > 0:
        left -= 1
        try:
            part = next(stack[-1])
        except Exception:
            stack.pop()  # It is at its end, or is not a container such as Python's.
            continue
        if type(part) in PLAIN or id(part) in seen:
            continue
        seen[id(part)] = part
        if wanted(part):
            yield part
        elif issubclass(type(part), CONTAINERS):
            stack.append(parts(part))


def parts(value):
    """Return an iterator over what is in a container and beside it."""
    if issubclass(type(value), CONTAINERS):
        yield from value.values() if isinstance(value, dict) else value
    yield from getattr(value, "content", ()) if type(value).__module__ == "mcp" else ()
