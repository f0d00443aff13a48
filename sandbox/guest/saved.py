"""Functions that code keeps for later sessions: the module user_tools and its file on the host."""

import ast
import builtins
import linecache
import re
import sys
import traceback
from importlib.machinery import ModuleSpec

from _guest import hub as state
from _guest.errors import MCPError, UnknownServer
from _guest.memory import FUNCTIONS

NAME = "user_tools"
PATH = "/projects/user_tools.py"
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORT = (ast.Import, ast.ImportFrom)
OURS = {"mcp", "runtime", "display", NAME, *FUNCTIONS}
BUILTINS = set(dir(builtins))
LOOKING = {"globals", "locals", "vars", "dir", "eval", "exec", NAME}  # code with these may want any name


class Saved:
    """The saved tools, as this session found them or has changed them."""

    def __init__(self, namespace):
        self.namespace = namespace
        self.source = None  # not asked for yet
        self.names = set()
        self.within = {}  # the names for what a run can reach
        self.module = None
        self.reached = {}  # those of them that the module has
        self.waiting = []  # imports of the file for which the server was not there
        sys.meta_path.insert(0, self)

    def begin(self, code, within):
        """Give a run's code the tools that it names. Trouble with them is shown, and stops nothing."""
        self.within = within
        try:
            if self.source is None:
                self.fetch()
            if self.module is not None:
                self.reach()
                waiting, self.waiting = self.waiting, []
                for node, flags in waiting:
                    self.run(node, flags)
            if self.names and not self.names.union(LOOKING).isdisjoint(re.findall(r"\w+", code)):
                self.give()
        except Exception as error:
            self.report(error)

    def fetch(self):
        """Ask for the source, and find the names in it."""
        self.source = ""  # whatever happens, only once
        try:
            self.source = state.current.wire.ask("tools.load", {})["source"]
        except MCPError as error:
            if error.data.get("kind") == "memory":
                raise
            return  # this host keeps no tools
        names = {node.name for node in ast.parse(self.source, PATH).body if isinstance(node, DEFINITION)}
        self.names = {name for name in names if not owner(name)}
        for name in sorted(names - self.names):
            print(f"{PATH}: {name} is not loaded: it is {owner(name)}", file=sys.stderr, flush=True)

    def give(self):
        """Put the tools into the session's namespace, where code has nothing of that name."""
        names, self.names = self.names, set()
        from importlib import import_module

        module = import_module(NAME)
        for name in names:
            if name in module.__dict__:
                self.namespace.setdefault(name, module.__dict__[name])

    def reach(self):
        """Let tools use what a run can reach, as code of the run does. What the file gives itself stays."""
        names = self.module.__dict__
        for name, value in self.reached.items():
            if names.get(name) is value:
                del names[name]
        self.reached = {name: value for name, value in self.within.items() if name not in names}
        names.update(self.reached)

    def report(self, error):
        """Say once what is wrong."""
        text = "".join(traceback.format_exception_only(type(error), error)).rstrip()
        print(f"{PATH} does not work as it is; the rest goes on without:\n{text}", file=sys.stderr, flush=True)

    # The module.

    def find_spec(self, name, path=None, target=None):
        """Find user_tools."""
        if name != NAME:
            return None
        if self.source is None:
            self.fetch()
        spec = ModuleSpec(name, self, origin=PATH)
        spec.has_location = True
        return spec if self.source else None

    def create_module(self, spec):
        """Leave the making of the module to Python."""

    def exec_module(self, module):
        """Run the file, one statement after the other: one that fails takes no other with it."""
        if module is not self.module:
            self.module, self.reached = module, {}
        self.waiting = []
        self.reach()
        tree = compile(self.source, PATH, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        flags = 0
        for node in tree.body:
            flags |= self.run(node, flags)

    def run(self, node, flags):
        """Run a statement of the file; return the flags of the compiler that it sets for those after it."""
        if isinstance(node, DEFINITION) and owner(node.name):
            return 0
        code = compile(ast.Module([node], []), PATH, "exec", flags, dont_inherit=True)
        try:
            exec(code, self.module.__dict__)
        except (UnknownServer, ModuleNotFoundError) as error:
            absent = isinstance(error, UnknownServer) or str(error.name).startswith("mcp_")
            if absent and isinstance(node, IMPORT):
                self.waiting.append((node, flags))
            else:
                self.report(error)
        except Exception as error:
            self.report(error)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return code.co_flags & future_flags()
        return 0

    def get_source(self, name):
        """Return the file, for tracebacks and inspect."""
        return self.source


def owner(name):
    """Tell whose name it is that no saved tool can have, None if it is free."""
    if name in BUILTINS or name.startswith("__"):
        return "a name of Python's own"
    return "a name of the session's own" if name in OURS or name.startswith("mcp_") else None


def future_flags():
    """Return the flags of all `from __future__ import …` statements."""
    import __future__

    flags = 0
    for name in __future__.all_feature_names:
        flags |= getattr(__future__, name).compiler_flag
    return flags


def keep(f):
    """Add a function to the file on the host."""
    from _guest.tool import Tool

    tool = Tool(f)
    if owner(tool.name):
        raise ValueError(f"save_tool: {tool.name} is {owner(tool.name)}; give the function another")
    wire = state.current.wire
    answer = wire.ask("tools.load", {})
    while True:
        try:
            text, names = tool.into(answer["source"])
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"{PATH} is broken, so nothing can be added to it: {error}") from None
        compile(text, PATH, "exec", dont_inherit=True)
        answer = wire.ask("tools.save", {"source": text, "version": answer["version"]})
        if answer["saved"]:
            break
    saved = state.current.saved
    saved.source = text
    sys.modules.pop(NAME, None)  # the next import finds the new one
    linecache.cache.pop(PATH, None)
    lacking = tool.needs - names - set(saved.within)
    if lacking:
        print(
            f"save_tool: {tool.name} uses {', '.join(sorted(lacking))}, which later sessions do not have: "
            "import it in the same cell, define it in the function, or save it too",
            file=sys.stderr,
        )
