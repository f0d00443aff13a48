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
        if not names and schema.get("properties"):
            names = [fields(schema)]
        if not names and len(schema.get("allOf") or ()) == 1:
            return shape(schema["allOf"][0], root, depth + 1)
    else:
        names = [fields(schema) if kind == "object" else NAMES.get(kind, "Any") for kind in kinds]
        items = schema.get("items")
        if names == ["list"] and isinstance(items, dict) and depth < 3:
            inner = str(shape(items, root, depth + 1))
            names = ["list" if inner == "Any" else f"list[{inner}]"]
    if not names or "Any" in names:
        return Shape("Any")
    return Shape(" | ".join(dict.fromkeys(names)))


def fields(schema):
    """Return an object as a signature shows it: by the names of its fields, if they are known."""
    known = schema.get("properties")
    needed = schema.get("required") or ()
    if not isinstance(known, dict) or not known:
        return "dict"
    names = [name if name in needed else name + "?" for name in known]
    return "{" + ", ".join(names[:8]) + (", ..." if len(names) > 8 else "") + "}"


def fits(schema, value, root, depth=0):
    """Tell whether a JSON value can be of a schema."""
    return misfit(schema, value, root, "", depth) is None


def misfit(schema, value, root, path, depth=0):
    """Return what of a JSON value is wrong by its schema, and why; None if nothing is.

    Patterns and formats are left to the server: each knows its own kind.
    """
    schema = resolve(schema, root)
    if depth > 8 or (value is None and schema.get("nullable") is True):
        return None
    for key in ("anyOf", "oneOf"):
        parts = schema.get(key)
        if isinstance(parts, list) and parts:
            found = [misfit(part, value, root, path, depth + 1) for part in parts]
            if None not in found:
                # The one that got furthest says most.
                best = max(found, key=lambda item: len(item[0]))
                return best if len(best[0]) > len(path) else (path, is_not(shape(schema, root), value))
    for part in schema.get("allOf") or ():
        found = misfit(part, value, root, path, depth + 1)
        if found:
            return found
    if "const" in schema and not same(schema["const"], value):
        return path, is_not(shape(schema, root), value)
    if isinstance(schema.get("enum"), list) and not any(same(item, value) for item in schema["enum"]):
        return path, is_not(shape(schema, root), value)
    kinds = schema.get("type")
    if isinstance(kinds, str):
        kinds = [kinds]
    if isinstance(kinds, list) and not any(is_kind(kind, value) for kind in kinds):
        return path, is_not(shape(schema, root), value)
    bound = out_of_bounds(schema, value)
    if bound:
        return path, bound
    if isinstance(value, list):
        return misfit_items(schema, value, root, path, depth)
    if isinstance(value, dict):
        return misfit_members(schema, value, root, path, depth)
    return None


def is_not(wanted, value):
    """Word a value that is another one than wanted."""
    return f"must be {wanted}, not {short(value)}"


BOUNDS = (
    ("minimum", lambda value, bound: value < bound, "at least"),
    ("maximum", lambda value, bound: value > bound, "at most"),
    ("exclusiveMinimum", lambda value, bound: value <= bound, "more than"),
    ("exclusiveMaximum", lambda value, bound: value >= bound, "less than"),
)
SIZES = {str: ("Length", "characters"), list: ("Items", "items")}


def out_of_bounds(schema, value):
    """Return how a number, a text or a list is out of its bounds, None if it is not."""
    if type(value) in (int, float):
        for key, wrong, words in BOUNDS:
            bound = schema.get(key)
            if type(bound) in (int, float) and wrong(value, bound):
                return f"must be {words} {bound}, not {short(value)}"
    elif type(value) in SIZES:
        key, unit = SIZES[type(value)]
        for name, wrong, words in (("min", len(value).__lt__, "at least"), ("max", len(value).__gt__, "at most")):
            bound = schema.get(name + key)
            if type(bound) is int and wrong(bound):
                return f"must have {words} {bound} {unit}, not {len(value)}"
    return None


def misfit_items(schema, value, root, path, depth):
    """Return what is wrong in a list."""
    first = schema.get("prefixItems")
    first = first if isinstance(first, list) else []
    items = schema.get("items")
    for index, item in enumerate(value):
        part = first[index] if index < len(first) else items
        if isinstance(part, dict):
            found = misfit(part, item, root, f"{path}[{index}]", depth + 1)
            if found:
                return found
    return None


def misfit_members(schema, value, root, path, depth):
    """Return what is wrong in an object."""
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    for name in schema.get("required") or ():
        if isinstance(name, str) and name not in value:
            return path, f"must have {name!r}: {shape(known.get(name, {}), root)}"
    others = schema.get("additionalProperties")
    for name, item in value.items():
        part = known.get(name, others)
        if part is False and "patternProperties" not in schema:
            return path, f"must not have {name!r}{nearest(name, known)}; it has {', '.join(known) or 'nothing'}"
        if isinstance(part, dict) and (name in known or "patternProperties" not in schema):
            found = misfit(part, item, root, f"{path}[{name!r}]", depth + 1)
            if found:
                return found
    return None


def nearest(name, names):
    """Return a question after the name that was meant, empty if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), list(names), 1, 0.6)
    return f"; did you mean {near[0]}?" if near else ""


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
