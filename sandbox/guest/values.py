"""Values that cross the wire: arguments as JSON, results as native values."""

import base64
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence, Set, ValuesView

from _guest.blocks import Block, carry, revive, words
from _guest.errors import ToolError
from _guest.shape import resolve

DEPTH = 200


def plain(value, name, schema, root=None, depth=0):
    """Return a value as JSON has it; TypeError or ValueError naming the argument if there is none.

    The schema, resolved within its root, tells how bytes and decimals are wanted.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if depth > DEPTH:
        raise ValueError(f"argument {name!r} is nested too deeply, or contains itself")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"argument {name!r} is {value}: JSON has no such number")
        return float(value)
    schema = schema or {}
    if isinstance(value, Mapping):
        known = schema.get("properties")
        return {
            key_of(key, name): plain(item, f"{name}[{key!r}]", within(known, key, root), root, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (bytes, bytearray, memoryview)):
        return text_of(bytes(value), name, schema)
    converted = convert(value, name, schema)
    if converted is not value:
        return plain(converted, name, schema, root, depth + 1)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (Sequence, Set, ValuesView)) or kind.__name__ == "deque":
        part = within(schema, "items", root)
        return [plain(item, f"{name}[{index}]", part, root, depth + 1) for index, item in enumerate(value)]
    where = "" if kind.__module__ == "builtins" else kind.__module__ + "."
    raise TypeError(f"argument {name!r} is a {where}{kind.__qualname__}, which JSON has no form for")


def within(schemas, key, root):
    """Return the schema of a part, None if there is none."""
    part = schemas.get(key) if isinstance(schemas, dict) and isinstance(key, str) else None
    return resolve(part, root or {}) if isinstance(part, dict) else None


def convert(value, name, schema):
    """Return what stands for a value of a known library type, else the value itself."""
    module = type(value).__module__.split(".")[0]
    if is_a(value, "enum", "Enum"):
        return value.value
    if is_a(value, "datetime", "date") or is_a(value, "datetime", "time"):
        return None if value != value else value.isoformat()  # pandas.NaT is a date as well
    if is_a(value, "decimal", "Decimal"):
        if "number" in str(schema.get("type")) or "integer" in str(schema.get("type")):
            return int(value) if value == value.to_integral_value() else float(value)
        return str(value)
    if is_a(value, "uuid", "UUID"):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return {field: getattr(value, field) for field in value.__dataclass_fields__}
    if module == "pandas":
        return of_pandas(value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        if value.dtype.kind == "M":  # In nanoseconds, tolist gives numbers.
            value = value.astype("datetime64[us]")
        return value.tolist()
    return value


def of_pandas(value):
    """Return a frame as records, a series or an index as a list; None stands for what is missing."""
    import pandas

    if isinstance(value, pandas.DataFrame):
        return [dict(zip(value.columns, row)) for row in zip(*(of_pandas(value[name]) for name in value.columns))]
    if isinstance(value, (pandas.Series, pandas.Index)):
        return [None if missing else item for item, missing in zip(value.tolist(), value.isna())]
    if value is pandas.NA:
        return None
    if isinstance(value, (pandas.Period, pandas.Interval)):
        return str(value)
    return value.tolist() if hasattr(value, "tolist") else value


def is_a(value, module, name):
    """Tell whether a value is of a class of the library, which need not be loaded."""
    loaded = sys.modules.get(module)
    kind = getattr(loaded, name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def key_of(key, name):
    """Return an object's key."""
    if type(key) is str:
        return key
    key = convert(key, name, {})
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, int) and not isinstance(key, bool):
        return str(int(key))
    raise TypeError(f"argument {name!r} has the key {key!r}: the keys of JSON objects are text")


def text_of(data, name, schema):
    """Return bytes as the schema wants them: base64 if it says so, else text."""
    if schema.get("contentEncoding") == "base64" or schema.get("format") in ("byte", "base64"):
        return base64.b64encode(data).decode()
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError(
            f"argument {name!r} is bytes that are not UTF-8 text, and the tool does not say that it takes base64; "
            "pass base64.b64encode(data).decode() if it does"
        ) from None


def native(result, server, tool):
    """Return the value of a CallToolResult; ToolError if it reports an error."""
    content = result.get("content") or []
    if result.get("isError"):
        raise ToolError(
            words(content) or f"{server}.{tool}: no message", {"server": server, "tool": tool, "result": result}
        )
    structured = result.get("structuredContent")
    if structured is not None:
        structured = revive(structured)
        if isinstance(structured, dict) and len(structured) == 1:
            (name, value), *_ = structured.items()
            # A sole text that is the text block again says nothing more than it.
            if name == "result" or isinstance(value, str) and value == words(content):
                return carry(value, structured, content)
        return carry(structured, structured, content)
    if not content:
        return None
    if len(content) == 1 and content[0].get("type") == "text":
        return parsed(content[0].get("text") or "")
    return [Block(block) for block in content]


def parsed(text):
    """Return the value of a text that is a JSON object or array, else the text."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return revive(json.loads(text))
        except (ValueError, RecursionError):
            pass
    return text
