"""The line that works in the place of one that did not: what authors expect of servers, and code here has not."""

import json
import os
import re

from _guest import hub as state
from _guest.errors import UnknownTool
from _guest.schema import Parameters

WIDTH = 1000  # characters of a line that is looked at
CALL = r"\(?await [^()]*\([^()]*\)\)?"
FIELD = r"content|structuredContent|structured_content|result|data|text"
ANSWER = re.compile(
    rf"(?P<of>\(await [^()]*\([^()]*\)\)|\b\w+)"
    rf"(?P<gets>(?:\[0\])?(?:\.(?:{FIELD})\b(?:\(\))?|\.json\(\)|\[[\"'](?:{FIELD})[\"']\])"
    r"(?:\[0\])?(?:\.text\b|\[[\"']text[\"']\]|\.get\([\"']text[\"']\))?)"
)
LOADS = re.compile(rf"\bjson\.loads\((?P<of>{CALL}|\w+)\)")
DASHED = re.compile(r"(?:\bawait\s+)?\bmcp_(\w+)\.(\w+(?:[-.]\w+)+)(?=\()")
LISTS = re.compile(
    r"(?:\bawait\s+)?\bmcp_(\w+)\.(list_?[tT]ools|tools|get_tools|query_tool_docs|describe_server)\b(?:\(\))?"
)
READS = re.compile(r"^(read|get|open)_.*(file|content)|^(read|cat)$")
PATHS = ("path", "file_path", "filepath", "filename", "file", "uri")
INSIDE = ("/workspace/", "/tmp/", "/projects/", "/proc/", "/sys/", "/dev/")


def of_line(error, line, frame):
    """Return the hint for a line at which an exception was raised, None if there is none."""
    return of_dashed(line) or of_listed(error, line) or of_answer(error, line, frame)


def of_dashed(line):
    """Return the hint for a tool's own name where Python takes it for a difference."""
    for found in DASHED.finditer(line):
        server = state.current.names.get(found[1])
        catalog = server and state.current.known.get(server["name"])
        tool = catalog and catalog.names.get(found[2])
        if tool:
            name = f"mcp_{found[1]}.{tool['alias']}"
            return f"in Python the tool is {name}: {replaced(line, found, 'await ' + name)}"
    return None


def of_listed(error, line):
    """Return the hint for the listing of tools in a place where there is none."""
    missing = re.fullmatch(r"(\w+)\(\) missing 1 required positional argument: 'server'", str(error))
    if missing:
        found = re.search(rf"(?:\bawait\s+)?\bruntime\.{missing[1]}\(\)", line)
        alias = state.current.servers[0]["alias"] if state.current.servers else "SERVER"
        name = missing[1]
    else:
        found = LISTS.search(line) if isinstance(error, UnknownTool) else None
        alias = found and found[1]
        name = found and found[2] if found and found[2] in ("query_tool_docs", "describe_server") else "list_tools"
    if not found:
        return None
    wait = "" if name.endswith("_sync") else "await "
    does = "name the server" if missing else "runtime does it"
    return f"{does}: {replaced(line, found, f'{wait}runtime.{name}({json.dumps(alias)})')}"


def of_answer(error, line, frame):
    """Return the hint for a tool's answer that is taken for the result in which it came."""
    if not isinstance(error, (AttributeError, KeyError, TypeError, ValueError)):
        return None
    for pattern in ANSWER, LOADS:
        for found in pattern.finditer(line):
            of = found["of"]
            if of.isidentifier():
                value = frame.f_locals.get(of, frame.f_globals.get(of))
            else:
                value = getattr(error, "obj", None)
            if not state.current.gave(value) and (of.isidentifier() or "mcp_" not in of):
                continue
            if pattern is ANSWER and has(value, found["gets"]):
                if "." not in found["gets"]:
                    continue
                keys = re.sub(r"\.(\w+)", r'["\1"]', found["gets"])
                return "the answer is a dict: " + replaced(line, found, of + keys)
            plain = LOADS.sub(r"\g<of>", replaced(line, found, of))
            return f"a call gives the tool's data itself{kind_of(value)}: {plain}"
    return None


def has(value, gets):
    """Tell whether an answer has as a key what it was asked for."""
    name = re.search(r"[a-zA-Z]\w*", gets)[0]
    if gets.startswith("[0]") and isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, dict) and name in value


def kind_of(value):
    """Name the kind of an answer, if it is known."""
    return "" if value is None else f", here a {type(value).__name__}"


def replaced(line, found, text):
    """Return a line with something in the place of what was found."""
    return (line[: found.start()] + text + line[found.end() :]).strip()


def of_file(path, line):
    """Return the hint for a file of the machine that code wanted to read."""
    if not isinstance(path, str) or not path.startswith("/") or (path + "/").startswith(INSIDE) or mounted(path):
        return None
    if not state.current.servers:
        return None
    folder = re.search(r"\b(listdir|scandir|iterdir|glob|walk)\(", line)
    read = None if folder else reader()
    words = "list directory" if folder else "read file"
    use = f"await {read}={json.dumps(path)})" if read else f'await runtime.search_tool_docs("{words}")'
    return f"the machine's files are reached through servers: {use}"


def mounted(path):
    """Tell whether a path is in a folder that the profile shows to the sandbox."""
    while path != "/":
        if os.path.ismount(path):
            return True
        path = os.path.dirname(path)
    return False


def reader():
    """Return the beginning of a call that reads a file, of a tool that is known."""
    best = None
    for server in state.current.servers:
        catalog = state.current.known.get(server["name"])
        for tool in catalog.tools if catalog else ():
            names = [p.alias for p in Parameters(tool.get("inputSchema")).all if p.raw in PATHS]
            if names and READS.search(tool["alias"]) and (best is None or "text" in tool["alias"]):
                best = f"mcp_{server['alias']}.{tool['alias']}({names[0]}"
    return best
