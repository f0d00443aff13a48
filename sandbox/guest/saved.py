"""Functions that code keeps for later sessions: the module user_tools and its file on the host."""

import ast
import linecache
import re
import sys
import traceback
from importlib.machinery import ModuleSpec

from _guest import hub as state
from _guest.errors import MCPError

NAME = "user_tools"
PATH = "/projects/user_tools.py"
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LOOKING = {"globals", "locals", "vars", "dir", "eval", "exec", NAME}  # code with these may want any name


class Saved:
    """The saved tools, as this session found them or has changed them."""

    def __init__(self, namespace):
        self.namespace = namespace
        self.source = None  # not asked for yet
        self.names = set()
        self.given = {}  # the session's names for what a run can reach
        sys.meta_path.insert(0, self)

    def begin(self, code, given):
        """Give a run's code the tools that it names. Trouble with them is shown, and stops nothing."""
        self.given = given
        try:
            if self.source is None:
                self.fetch()
            loaded = sys.modules.get(NAME)
            if isinstance(getattr(loaded, "__loader__", None), Saved):
                self.reach(loaded)
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
        self.names = {node.name for node in ast.parse(self.source, PATH).body if isinstance(node, DEFINITION)}

    def give(self):
        """Put the tools into the session's namespace, where code has nothing of that name."""
        names, self.names = self.names, set()
        from importlib import import_module

        module = import_module(NAME)
        for name in names:
            if name in module.__dict__:
                self.namespace.setdefault(name, module.__dict__[name])

    def reach(self, module):
        """Let tools use what a run can reach, as code of the run does."""
        for name in module.reached - set(self.given):
            module.__dict__.pop(name, None)
        own = set(module.__dict__) - module.reached
        module.reached = set(self.given) - own
        module.__dict__.update((name, self.given[name]) for name in module.reached)

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
        module.reached = set()
        self.reach(module)
        tree = compile(self.source, PATH, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        flags = 0
        for node in tree.body:
            code = compile(ast.Module([node], []), PATH, "exec", flags, dont_inherit=True)
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                flags |= code.co_flags & future_flags()
            try:
                exec(code, module.__dict__)
            except Exception as error:
                self.report(error)

    def get_source(self, name):
        """Return the file, for tracebacks and inspect."""
        return self.source


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
    lacking = tool.needs - names - set(saved.given)
    if lacking:
        print(
            f"save_tool: {tool.name} uses {', '.join(sorted(lacking))}, which later sessions do not have: "
            "import it in the same cell, define it in the function, or save it too",
            file=sys.stderr,
        )
