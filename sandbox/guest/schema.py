"""A tool's input schema as a Python signature, and the check of arguments against it."""

import keyword
import re

from _guest.errors import ArgumentError
from _guest.values import plain

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


class Parameter:
    """One property of a tool's input."""

    def __init__(self, alias, raw, schema, required, root):
        self.alias = alias
        self.raw = raw
        self.schema = resolve(schema, root)
        self.required = required
        self.root = root
        self.shape = shape(self.schema, root)

    @property
    def nullable(self):
        """Whether None is a value of it."""
        return fits(self.schema, None, self.root)

    def text(self):
        """Return it as a signature shows it."""
        if self.required:
            return f"{self.alias}: {self.shape}"
        return f"{self.alias}: {self.shape} = {short(self.schema.get('default'))}"

    def line(self):
        """Return it as the documentation shows it."""
        note = "" if self.required else " (optional)"
        return f"{self.alias}: {self.shape}{note}  {self.schema.get('description') or ''}".rstrip()


class Parameters:
    """All properties of a tool's input: those that are required first, each kind in the schema's order."""

    def __init__(self, schema):
        root = schema if isinstance(schema, dict) else {}
        properties, required, self.open = collect(resolve(root, root), root)
        self.all = []
        taken = set()
        for raw in sorted(properties, key=lambda name: name not in required):
            alias = unique(identifier(raw), taken)
            self.all.append(Parameter(alias, raw, properties[raw], raw in required, root))
        self.names = {parameter.alias: parameter for parameter in self.all}
        self.names.update((parameter.raw, parameter) for parameter in self.all)

    def text(self, name):
        """Return the signature as text."""
        parts = [parameter.text() for parameter in self.all]
        if self.open:
            parts.append("**more")
        return f"{name}({', '.join(parts)})"

    def signature(self):
        """Return the signature as inspect and help want it."""
        from inspect import Parameter as P
        from inspect import Signature

        parts = []
        for parameter in self.all:
            default = P.empty if parameter.required else parameter.schema.get("default")
            parts.append(P(parameter.alias, P.POSITIONAL_OR_KEYWORD, default=default, annotation=parameter.shape))
        if self.open:
            parts.append(P(unique("more", set(self.names)), P.VAR_KEYWORD))
        return Signature(parts)

    def bind(self, label, name, args, kwargs):
        """Return the arguments to send, by the schema's names; ArgumentError if they do not fit."""

        def wrong(text):
            return ArgumentError(f"{label}: {text}; signature: {self.text(name)}")

        if len(args) > len(self.all):
            raise wrong(f"{len(args)} positional arguments given, at most {len(self.all)} taken")
        given = [(parameter, value) for parameter, value in zip(self.all, args)]
        result = {}
        for key, value in kwargs.items():
            parameter = self.names.get(key)
            if parameter is not None:
                given.append((parameter, value))
            elif self.open:
                result[key] = self.convert(label, key, {}, value)
            elif key != "timeout":
                # A timeout that the tool does not know is the profile's matter.
                raise wrong(f"unknown argument {key!r}")
        for parameter, value in given:
            if parameter.raw in result:
                raise wrong(f"argument {parameter.alias!r} given twice")
            if value is None and not parameter.required and not parameter.nullable:
                continue
            value = self.convert(label, parameter.alias, parameter.schema, value)
            if not fits(parameter.schema, value, parameter.root):
                raise wrong(f"argument {parameter.alias!r} must be {parameter.shape}, not {short(value)}")
            result[parameter.raw] = value
        missing = [p.alias for p in self.all if p.required and p.raw not in result]
        if missing:
            plural = "arguments" if len(missing) > 1 else "argument"
            raise wrong(f"missing {plural} {', '.join(map(repr, missing))}")
        return result

    @staticmethod
    def convert(label, name, schema, value):
        """Return a value as JSON has it."""
        try:
            return plain(value, name, schema)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"{label}: {error}") from None


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


def collect(schema, root, depth=0):
    """Return an object schema's properties, which are required, and whether it takes others."""
    properties = {}
    required = set()
    for name, value in (schema.get("properties") or {}).items():
        properties[name] = value
    required.update(name for name in schema.get("required") or () if isinstance(name, str))
    parts = [(key, part) for key in ("allOf", "anyOf", "oneOf") for part in schema.get(key) or ()]
    extra = schema.get("additionalProperties")
    unknown = "properties" not in schema and extra is not False and not parts
    is_open = extra is True or (isinstance(extra, dict) and extra != {"not": {}}) or "patternProperties" in schema
    for key, part in parts if depth < 5 else ():
        more, needs, opens = collect(resolve(part, root), root, depth + 1)
        for name, value in more.items():
            properties.setdefault(name, value)
        if key == "allOf":
            required |= needs
        is_open = is_open or (opens and not more)
    required &= set(properties)
    return properties, required, is_open or unknown


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


def identifier(name):
    """Return a property's name as a Python name."""
    text = re.sub(r"[^0-9A-Za-z_]", "_", name)
    if not text or text[0].isdigit():
        text = "_" + text
    return text + "_" if keyword.iskeyword(text) else text


def unique(name, taken):
    """Return a name that is not taken yet, and take it."""
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate


def short(value):
    """Return a short repr."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
