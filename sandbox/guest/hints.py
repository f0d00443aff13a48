"""What to do instead: a line below an exception whose own words do not say it.

It is given only where the sandbox, or the way that code is run here, is not
what its author had in mind.
"""

import errno
import linecache
import re
import sys

from _guest import hub as state
from _guest import instead
from _guest.errors import MCPError
from _guest.memory import FUNCTIONS
from _guest.trace import is_own

NETWORK = "the sandbox has no network; what is outside is reached through servers: runtime.discovered_servers()"
INSTALL = "nothing can be installed: the sandbox has no network; use what Python has here, or a server's tools"
FOLDERS = "only /workspace and /tmp can be written to"
SHELL = 'use subprocess.run("...", shell=True)'
WRITING = re.compile(
    r"""\bopen\(.*["'](?:[rbt]*[wax]|r[bt]*\+)[bt+]*["']|\b(?:write_\w+|mkdir|makedirs|touch|to_\w+|save\w*)\("""
)
READING = re.compile(r"\bopen\(|\bread\w*\(|\b(listdir|scandir|iterdir|glob|walk)\(")
UNREACHABLE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EPERM, errno.EACCES, errno.EAFNOSUPPORT, errno.ENETDOWN}

MAGICS = {
    "time": "measure with time.perf_counter()",
    "timeit": "use timeit.timeit()",
    "matplotlib": "leave it out: figures are shown without it",
    "pip": INSTALL,
    "conda": INSTALL,
    "cd": "use os.chdir()",
    "ls": SHELL,
    "bash": SHELL,
    "sh": SHELL,
    "env": "use os.environ",
    "run": "use runpy.run_path()",
    "load_ext": "leave it out",
    "autoreload": "use importlib.reload()",
    "who": "use dir()",
    "writefile": 'use open(path, "w").write(text)',
}


def hint(error, related):
    """Return the hint for an exception and those it came from, None if there is nothing to say."""
    if isinstance(error, SyntaxError):
        return of_syntax(error)
    for link in related:
        text = of_system(link) if isinstance(link, OSError) else None
        if text:
            return text
    frame, row = place(error.__traceback__)
    text = instead.of_line(error, row, frame) if 0 < len(row) <= instead.WIDTH else None
    if text:
        return text
    for kinds, find in (
        (ImportError, of_import),
        (NameError, of_name),
        ((TypeError, AttributeError), of_type),
        (RuntimeError, of_loop),
    ):
        if isinstance(error, kinds):
            return find(error)
    command = getattr(error, "cmd", None)
    if isinstance(command, (list, tuple)):
        command = " ".join(map(str, command))
    return INSTALL if isinstance(command, str) and installs(command) else None


def installs(command):
    """Tell whether a command line is one that installs packages."""
    return bool(re.search(r"\b(pip3?|uv|conda|mamba|apt|apt-get|npm)\b.*\b(install|add|i)\b", command))


def of_syntax(error):
    """Return the hint for code that is not Python."""
    row = (error.text or "").strip()
    dashed = re.match(r"from\s+mcp(?:\.servers)?\.?\w*\s+import\s+(.*-.*)", row)
    if dashed:
        return "in Python it is " + row.replace("-", "_")
    magic = re.match(r"%%?\s*(\w+)", row)
    if magic:
        instead = MAGICS.get(magic[1])
        return "this is Python, not IPython: it has no %" + magic[1] + (f"; {instead}" if instead else "")
    if installs(row):
        return INSTALL
    if re.match(r"(\w+\s*=\s*)?!\w", row):
        return f"this is Python, not IPython: it has no !command; {SHELL}"
    asked = re.fullmatch(r"\?{0,2}([\w.]+)\?{0,2}", row)
    if "?" in row and asked:
        return f"this is Python, not IPython: use help({asked[1]})"
    if row.startswith("```"):
        return "leave out the ``` lines: code is the Python alone"
    if "'return' outside function" in str(error.msg):
        return "the value of the last expression is shown; sys.exit() ends a run"
    return None


def of_system(error):
    """Return the hint for what the sandbox does not let code do."""
    import socket

    if isinstance(error, socket.gaierror):
        return NETWORK
    if error.errno in UNREACHABLE and error.filename is None and of_socket(error.__traceback__):
        return NETWORK
    _, row = place(error.__traceback__)
    if error.errno in (errno.ENOENT, errno.EACCES) and not writes(error.__traceback__) and READING.search(row):
        return instead.of_file(error.filename, row)
    if error.errno == errno.EROFS or (error.errno == errno.EACCES and error.filename is not None):
        return FOLDERS
    if outside(error) and writes(error.__traceback__):
        return FOLDERS
    if error.errno == errno.ENOSPC:
        return "the size of /workspace and /tmp is bounded by the profile: remove what is not needed"
    return None


def outside(error):
    """Tell whether a folder is missed that code cannot make."""
    path = error.filename if error.errno == errno.ENOENT else None
    if path is None:
        missing = re.match(r"Cannot save file into a non-existent directory: '(.*)'", str(error))  # as pandas says it
        path = missing[1] + "/" if missing else ""
    return isinstance(path, str) and path.startswith("/") and not path.startswith(("/workspace/", "/tmp/"))


def writes(tb):
    """Tell whether a file was to be written: by the mode it was to be opened with, or by the words of the line."""
    while tb is not None:
        mode = tb.tb_frame.f_locals.get("mode")
        if isinstance(mode, str) and re.fullmatch(r"[rbt]*[wax+][bt+]*", mode):
            return True
        if WRITING.search(line_of(tb)):
            return True
        tb = tb.tb_next
    return False


def place(tb):
    """Return the innermost frame of the session's own code in a traceback, and its line."""
    found = None
    while tb is not None:
        found = tb if is_own(tb.tb_frame.f_code.co_filename) else found
        tb = tb.tb_next
    return (found.tb_frame, line_of(found)) if found else (None, "")


def line_of(tb):
    """Return the line at which a frame of a traceback is."""
    return linecache.getline(tb.tb_frame.f_code.co_filename, tb.tb_lineno)


def of_socket(tb):
    """Tell whether an exception was raised by the use of a socket."""
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if tb is None:
        return False
    code = tb.tb_frame.f_code
    uses = {"connect", "connect_ex", "sendto", "socket"}
    return code.co_filename.endswith("socket.py") or not uses.isdisjoint(code.co_names)


def of_import(error):
    """Return the hint for a module, or a name in one, that is not there."""
    name = error.name or ""
    if name.startswith("mcp.servers."):
        tool = re.match(r"cannot import name '(\w+)'", str(error))
        return missing_tool(name[len("mcp.servers.") :], tool[1]) if tool else None
    if name == "mcp":
        wanted = re.match(r"cannot import name '(\w+)'", str(error))
        if wanted and (wanted[1] in FUNCTIONS or wanted[1] == "display"):
            return f"{wanted[1]} is there by its name, without an import"
        return "mcp holds what reaches servers: " + ", ".join(["runtime", "mcp_servers", *aliases()])
    if not isinstance(error, ModuleNotFoundError) or not name:
        return None
    if name == "nest_asyncio":
        return "it is not needed: asyncio.run() works in code that awaits"
    if name.startswith("mcp_") or name == "runtime":
        return f"{name} is there by its name, without an import" if name in ("runtime", "mcp_servers") else servers()
    top = name.split(".")[0]
    if top in sys.modules or top == "mcp" or top in getattr(sys, "stdlib_module_names", ()):
        return None
    return f"{top} is not installed here, and {INSTALL}"


def missing_tool(alias, name):
    """Return what is wrong with the name of a tool, by the host's own word."""
    try:
        state.current.function(state.current.find(alias), name)
    except MCPError as error:
        return str(error)
    return None


def aliases():
    """Return the names of the servers in code."""
    return ["mcp_" + server["alias"] for server in state.current.servers]


def servers():
    """Return a line that names the servers."""
    return "servers of this run: " + (", ".join(aliases()) or "none")


def of_name(error):
    """Return the hint for a name that is not defined."""
    found = re.match(r"name '(\w+)' is not defined", str(error))
    if found and found[1] == "get_ipython":
        return "this is Python, not IPython"
    if found and found[1] == "__file__":
        return "code here is in no file; the working folder is Path.cwd()"
    if found and found[1].startswith("mcp_"):
        return servers()
    # Later Pythons say so themselves.
    if found and sys.version_info < (3, 12) and found[1] in getattr(sys, "stdlib_module_names", sys.modules):
        return f"import {found[1]} first"
    return None


def of_type(error):
    """Return the hint for a value that was not awaited, or is none to await."""
    if "await" in str(error):
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        called = re.search(r"\bawait\s+(?:\w+\.)*(\w+)\(", line_of(last)) if last is not None else None
        if called and called[1] in FUNCTIONS:
            return f"{called[1]} gives its value at once: without await"
    if re.search(r"(\bCall\b|'coroutine'|type coroutine\b)", str(error)) and not isinstance(error, MCPError):
        return "a call gives its value when it is awaited: result = await ..."
    return None


def of_loop(error):
    """Return the hint for an event loop that is used while it runs."""
    if "event loop is already running" in str(error):
        return "this code may await at its top level: use await in place of run_until_complete()"
    if "no running event loop" in str(error):
        return "a loop runs while code awaits: write result = await ..., or asyncio.run(main())"
    return None
