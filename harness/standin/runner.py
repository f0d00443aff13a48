"""Carries a stand-in that is written in Python: the functions of a file are the tools of a server.

The first line of stdout lists the tools and the resources. Then each line of stdin is a call,
{"id", "tool", "args"}, and each further line of stdout what one has come to,
{"id", "value"} or {"id", "error"}. Calls run side by side. What the file prints goes
to stderr.

A function is a tool unless its name begins with "_": its parameters are the
arguments, its docstring the description. The decorator ``tool`` adds to the
definition: ``@tool(name="create-issue", annotations={"readOnlyHint": True})``.

A dict ``RESOURCES`` has what can be read, text or bytes by URI.
"""

import asyncio
import base64
import inspect
import json
import mimetypes
import os
import sys
import threading
import traceback
import typing

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", tuple: "array", dict: "object"}


def tool(**definition):
    """Add to the definition of a tool: its name, annotations, inputSchema and so on."""

    def mark(function):
        function.definition = definition
        return function

    return mark


def load(path: str) -> "tuple[dict, list]":
    """Run the file and give its functions by the names of their tools, and its resources."""
    name = os.path.splitext(os.path.basename(path))[0]
    space = {"__name__": name, "__file__": path, "tool": tool}
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), space)
    found = {}
    for key, value in space.items():
        if inspect.isfunction(value) and value.__module__ == name and not key.startswith("_"):
            found[getattr(value, "definition", {}).get("name", key)] = value
    return found, [resource_of(uri, value) for uri, value in space.get("RESOURCES", {}).items()]


def resource_of(uri: str, value) -> dict:
    """Give a resource as resources/read does."""
    if isinstance(value, bytes):
        kind = mimetypes.guess_type(uri)[0] or "application/octet-stream"
        return {"uri": uri, "mimeType": kind, "blob": base64.b64encode(value).decode()}
    return {"uri": uri, "mimeType": "text/plain", "text": str(value)}


def schema_of(hint) -> dict:
    """Give the schema of an argument with this type hint; any value fits one that is not known."""
    kind = TYPES.get(hint) or TYPES.get(typing.get_origin(hint))
    return {"type": kind} if kind else {}


def define(name: str, function) -> dict:
    """Give the definition of a function as tools/list wants it."""
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # a hint that this Python does not understand says nothing
        hints = {}
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            schema["additionalProperties"] = True
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            schema["properties"][parameter.name] = schema_of(hints.get(parameter.name))
            if parameter.default is parameter.empty:
                schema["required"].append(parameter.name)
            elif isinstance(parameter.default, (str, int, float)):
                schema["properties"][parameter.name]["default"] = parameter.default
    definition = {"name": name, "inputSchema": schema}
    if function.__doc__:
        definition["description"] = inspect.cleandoc(function.__doc__)
    return {**definition, **getattr(function, "definition", {})}


def run(function, args: dict):
    """Call a function, which may be async."""
    value = function(**args)
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def main() -> None:
    """Serve until the input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()

    def say(value) -> None:
        line = json.dumps(value, ensure_ascii=False, default=str)
        with lock:
            out.write(line + "\n")
            out.flush()

    functions, resources = load(sys.argv[1])
    tools = [define(name, function) for name, function in functions.items()]
    say({"tools": tools, "resources": resources})

    def answer(call: dict) -> None:
        try:
            say({"id": call["id"], "value": run(functions[call["tool"]], call["args"])})
        except Exception as error:
            traceback.print_exc()
            say({"id": call["id"], "error": str(error) or type(error).__name__})

    for line in sys.stdin:
        threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()


main()
