"""JSON Schemas as Python types, and whether a value can be of one."""

NAMES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}


class Shape:
    """A type as a signature shows it."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def resolve(schema, root):
    """Follow references within the schema."""
    for _ in range(20):
        if not isinstance(schema, dict):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        target = root
        for part in reference[1:].split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            target = target.get(part) if isinstance(target, dict) else None
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **rest} if isinstance(target, dict) else rest
    return {}


def shape(schema, root, depth=0):
    """Return the Python type for a schema."""
    schema = resolve(schema, root)
    if "const" in schema:
        return Shape(short(schema["const"]))
    if isinstance(schema.get("enum"), list):
        values = [short(value) for value in schema["enum"]]
        return Shape(" | ".join(values[:8]) + (" | ..." if len(values) > 8 else ""))
    kinds = schema.get("type")
    if isinstance(kinds, str):
        kinds = [kinds]
    if not isinstance(kinds, list):
        parts = schema.get("anyOf") or schema.get("oneOf") or ()
        names = [str(shape(part, root, depth + 1)) for part in parts] if depth < 3 else []
        if not names and len(schema.get("allOf") or ()) == 1:
            return shape(schema["allOf"][0], root, depth + 1)
    else:
        names = [NAMES.get(kind, "Any") for kind in kinds]
        items = schema.get("items")
        if names == ["list"] and isinstance(items, dict) and depth < 3:
            inner = str(shape(items, root, depth + 1))
            names = ["list" if inner == "Any" else f"list[{inner}]"]
    if not names or "Any" in names:
        return Shape("Any")
    return Shape(" | ".join(dict.fromkeys(names)))


def fits(schema, value, root, depth=0):
    """Tell whether a JSON value can be of a schema: its type and enumeration, not what is inside it."""
    schema = resolve(schema, root)
    if depth > 5:
        return True
    if "const" in schema and not same(schema["const"], value):
        return False
    if isinstance(schema.get("enum"), list) and not any(same(item, value) for item in schema["enum"]):
        return False
    for key in ("anyOf", "oneOf"):
        parts = schema.get(key)
        if isinstance(parts, list) and parts and not any(fits(part, value, root, depth + 1) for part in parts):
            return False
    for part in schema.get("allOf") or ():
        if not fits(part, value, root, depth + 1):
            return False
    kinds = schema.get("type")
    if isinstance(kinds, str):
        kinds = [kinds]
    if value is None and schema.get("nullable") is True:
        return True
    return not isinstance(kinds, list) or any(is_kind(kind, value) for kind in kinds)


def is_kind(kind, value):
    """Tell whether a JSON value is of a JSON type."""
    if kind == "string":
        return isinstance(value, str)
    if kind == "integer":
        return type(value) is int or (type(value) is float and value.is_integer())
    if kind == "number":
        return type(value) in (int, float)
    if kind == "boolean":
        return type(value) is bool
    if kind == "array":
        return isinstance(value, list)
    if kind == "object":
        return isinstance(value, dict)
    if kind == "null":
        return value is None
    return True


def same(one, other):
    """Compare as JSON does: true is not 1."""
    return one == other and (type(one) is bool) == (type(other) is bool)


def short(value):
    """Return a short repr."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
