"""What code keeps for later sessions: values under keys, and functions.

* ``save_memory("plan", {"step": 2})``
* ``load_memory("plan", default={})``
* ``update_memory("count", lambda n: (n or 0) + 1)``
* ``save_tool(function)``

They are plain functions. ``/projects/memory/`` shows the files, read-only.
"""

from math import isfinite

from _guest import hub as state

DEPTH = 200

NAMES = [
    "delete_memory",
    "get_memory_info",
    "list_memories",
    "load_memory",
    "memory_exists",
    "save_memory",
    "save_tool",
    "update_memory",
]


class Note(str):
    """A text that can be awaited as well."""

    def __await__(self):
        yield from ()
        return self


def save_memory(key: str, value: object, *, metadata: "dict | None" = None) -> str:
    """Keep a JSON value under a key, in place of what was there.

    The value is made of dicts with text as keys, lists, text, numbers, booleans
    and None; anything else is a TypeError, and nothing is saved. ``metadata``
    is a dict to keep beside it.
    """
    params = {"key": key_of(key), "value": plain(value, "value")}
    if metadata is not None:
        params["metadata"] = metadata_of(metadata)
    ask("save", params)
    return Note(f"memory {key!r} saved")


def load_memory(key: str, default: object = None):
    """Return the value of a key, or the default if there is none."""
    memory = ask("load", {"key": key_of(key)})["memory"]
    return default if memory is None else memory["value"]


def update_memory(key: str, f):
    """Keep ``f(value)`` under a key and return it. ``f`` gets None if there is no value yet.

    No update is lost, whoever else makes one: if the value has changed
    meanwhile, ``f`` is called again with the new one.
    """
    key = key_of(key)
    if not callable(f):
        raise TypeError(f"update_memory takes a function of the old value, not {kind_of(f)}")
    answer = ask("load", {"key": key})
    while True:
        memory = answer["memory"]
        old = None if memory is None else memory["value"]
        new = f(old)
        if new is None and memory is not None and isinstance(old, (dict, list)):
            check_in_place(key, old, answer["version"])
        answer = ask("save", {"key": key, "value": plain(new, "value"), "version": answer["version"]})
        if answer.get("saved"):
            return new


def check_in_place(key, old, version):
    """Refuse a None that stands for a value changed in place: it would be lost."""
    answer = ask("load", {"key": key})
    if answer["version"] == version and answer["memory"]["value"] != old:
        raise TypeError(
            "update_memory: the function changed the value and returned None; it has to return the new value"
        )


def delete_memory(key: str) -> bool:
    """Forget a key; tell whether there was one."""
    return ask("delete", {"key": key_of(key)})["deleted"]


def list_memories() -> list:
    """Return what is kept, in the order of the keys: dicts with key, metadata, created_at and updated_at."""
    from _guest.docs import Names

    return Names(ask("list", {})["memories"])


def memory_exists(key: str) -> bool:
    """Tell whether there is a value under a key."""
    return ask("load", {"key": key_of(key), "bare": True})["memory"] is not None


def get_memory_info(key: str) -> "dict | None":
    """Return key, value, metadata, created_at and updated_at of a key; None if there is none."""
    return ask("load", {"key": key_of(key)})["memory"]


def save_tool(f):
    """Keep a function for later sessions, in place of one of the same name; return it.

    Its source is kept, with the imports that it needs from the cell it was
    defined in. In later sessions it is there by its name, and in the module
    user_tools.
    """
    from _guest.saved import keep

    keep(f)
    return f


FUNCTIONS = {name: globals()[name] for name in NAMES}
for _function in FUNCTIONS.values():
    _function.__module__ = "mcp.runtime"


def ask(what, params):
    """Ask the host, and wait for the answer."""
    return state.current.wire.ask("memory." + what, params)


def key_of(key):
    """Return a key, which is text."""
    if not isinstance(key, str):
        raise TypeError(f"the key of a memory is text, not {kind_of(key)}")
    return text_of(key, "key")


def metadata_of(value):
    """Return metadata, which is a dict."""
    if not isinstance(value, dict):
        raise TypeError(f"metadata is a dict, not {kind_of(value)}")
    return plain(value, "metadata")


def plain(value, path, depth=0):
    """Return a copy of a JSON value; TypeError that names the place of what is none."""
    if value is None or value is True or value is False:
        return value
    if depth > DEPTH:
        raise TypeError(f"{path[:100]}… is nested too deeply, or contains itself")
    if isinstance(value, str):
        return text_of(value, path)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise TypeError(f"{path} is {value}, which JSON has no form for")
        return float(value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{path} has the key {key!r}; the keys of JSON objects are text")
        return {text_of(key, path): plain(item, f"{path}[{key!r}]", depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    raise TypeError(f"{path} is {kind_of(value)}, which JSON has no form for")


def text_of(value, path):
    """Return text that can be written as UTF-8."""
    value = str.__str__(value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise TypeError(f"{path} has half of a surrogate pair, which is not text") from None
    return value


def kind_of(value):
    """Return the name of a value's class for a message."""
    kind = type(value)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
