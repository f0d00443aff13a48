"""A tool's input schema as a Python signature, and the check of arguments against it."""

import keyword
import re

from _guest.errors import ArgumentError
from _guest.shape import fits, misfit, nearest, resolve, shape, short
from _guest.values import plain


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

    def lines(self):
        """Return it as the documentation shows it, with what an object has in it."""
        return described(self.alias, self.schema, self.required, self.root)


class Parameters:
    """All properties of a tool's input: those that are required first, each kind in the schema's order."""

    def __init__(self, schema):
        root = schema if isinstance(schema, dict) else {}
        properties, required, self.open = collect(resolve(root, root), root)
        self.closed = forbids(resolve(root, root), root)
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

    def bind(self, label, name, args, kwargs, free=False):
        """Return the arguments to send, by the schema's names; ArgumentError if they do not fit.

        ``free`` lets pass what the schema does not name and does not forbid.
        """

        def wrong(text):
            return ArgumentError(f"{label}: {text}; signature: {self.text(name)}")

        if len(args) > len(self.all):
            raise wrong(f"{len(args)} positional arguments given, at most {len(self.all)} taken")
        given = [(parameter, value) for parameter, value in zip(self.all, args)]
        result = {}
        strange = None
        for key, value in kwargs.items():
            parameter = self.names.get(key)
            if parameter is not None:
                given.append((parameter, value))
            elif self.open or free:
                strange = strange or key
                result[key] = convert(label, key, {}, value, {})
            elif key != "timeout":
                # A timeout that the tool does not know is the profile's matter.
                raise wrong(f"unknown argument {key!r}{nearest(key, self.names)}")
        for parameter, value in given:
            if parameter.raw in result:
                raise wrong(f"argument {parameter.alias!r} given twice")
            if value is None and not parameter.required and not parameter.nullable:
                continue
            value = convert(label, parameter.alias, parameter.schema, value, parameter.root)
            found = misfit(parameter.schema, value, parameter.root, parameter.alias)
            if found:
                raise wrong(f"argument {found[0]!r} {found[1]}")
            result[parameter.raw] = value
        missing = [p.alias for p in self.all if p.required and p.raw not in result]
        if missing and free and strange and nearest(strange, missing):
            raise wrong(f"unknown argument {strange!r}{nearest(strange, missing)}")
        if missing:
            plural = "arguments" if len(missing) > 1 else "argument"
            raise wrong(f"missing {plural} {', '.join(map(repr, missing))}")
        return result

    def check(self, label, name, arguments):
        """Return arguments that were given by the schema's own names; ArgumentError if they do not fit."""
        raw = {parameter.raw: parameter for parameter in self.all}
        for key in arguments:
            if not isinstance(key, str):
                raise ArgumentError(f"{label}: the names of arguments are text, not {key!r}")
            if key not in raw and self.closed:
                near = nearest(key, raw)
                raise ArgumentError(f"{label}: unknown argument {key!r}{near}; signature: {self.text(name)}")
        return self.bind(label, name, (), arguments, free=True)


def described(name, schema, required, root, depth=0):
    """Return the lines that describe a value by its schema."""
    note = "" if required else " (optional)"
    lines = [f"{name}: {shape(schema, root)}{note}  {schema.get('description') or ''}".rstrip()]
    inner = schema
    if isinstance(schema.get("items"), dict):
        inner = resolve(schema["items"], root)
    known = inner.get("properties")
    if isinstance(known, dict) and depth < 3:
        needed = inner.get("required") or ()
        for key, part in known.items():
            more = described(key, resolve(part, root), key in needed, root, depth + 1)
            lines += ["    " + line for line in more]
    return lines


def convert(label, name, schema, value, root):
    """Return a value as JSON has it."""
    try:
        return plain(value, name, schema, root)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{label}: {error}") from None


def collect(schema, root, depth=0):
    """Return an object schema's properties, which are required, and whether it takes others."""
    properties = dict(schema.get("properties") or {})
    required = {name for name in schema.get("required") or () if isinstance(name, str)}
    parts = [(key, part) for key in ("allOf", "anyOf", "oneOf") for part in schema.get(key) or ()]
    parts += [(key, schema[key]) for key in ("if", "then", "else") if key in schema]
    named = set(required)
    for key in ("dependentSchemas", "dependentRequired", "dependencies"):
        for name, part in (schema.get(key) or {}).items():
            named.add(name)
            if isinstance(part, list):
                named.update(other for other in part if isinstance(other, str))
            else:
                parts.append((key, part))
    extra = schema.get("additionalProperties")
    unknown = "properties" not in schema and extra is not False and not parts
    is_open = extra is True or (isinstance(extra, dict) and extra != {"not": {}}) or "patternProperties" in schema
    found = {name: [] for name in named}  # what the parts say of each
    for key, part in parts if depth < 5 else ():
        more, needs, opens = collect(resolve(part, root), root, depth + 1)
        for name, value in more.items():
            values = found.setdefault(name, [])
            # What is under "if" need not hold.
            if key != "if" and value and value not in values:
                values.append(value)
        if key == "allOf":
            required |= needs
        is_open = is_open or (opens and not more)
    for name, values in found.items():
        properties.setdefault(name, values[0] if len(values) == 1 else {"anyOf": values} if values else {})
    return properties, required, is_open or unknown


def forbids(schema, root, depth=0):
    """Tell whether an object schema lets nothing be that it does not name."""
    if schema.get("additionalProperties") is False or schema.get("unevaluatedProperties") is False:
        return "patternProperties" not in schema
    return depth < 5 and any(forbids(resolve(part, root), root, depth + 1) for part in schema.get("allOf") or ())


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
