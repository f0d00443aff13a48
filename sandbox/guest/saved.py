"""Functions that code keeps for later sessions: the module user_tools and its file on the host."""

import ast
import builtins
import linecache
import re
import sys
import traceback
from importlib.machinery import ModuleSpec

from _guest import hub as state
from _guest.errors import MCPError

NAME = "user_tools"
PATH = "/projects/user_tools.py"
HEADER = "# What save_tool has kept, one definition a name.\n"
MARK = "# saved tool: "
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITION = FUNCTION + (ast.ClassDef,)
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


class Tool:
    """One function to keep: its source, its imports, and what else it needs."""

    def __init__(self, f):
        import inspect
        import textwrap

        f = inspect.unwrap(f) if callable(f) else f
        if not inspect.isfunction(f) or f.__name__ == "<lambda>":
            raise TypeError(f"save_tool keeps functions made by def, not {f!r:.80}")
        if f.__code__.co_freevars:
            names = ", ".join(f.__code__.co_freevars)
            raise ValueError(
                f"{f.__name__} uses {names} of the function around it, which cannot be kept; pass it as an argument"
            )
        try:
            source = textwrap.dedent(inspect.getsource(f))
            node = ast.parse(source).body[0]
        except (OSError, SyntaxError, IndexError):
            raise TypeError(f"the source of {f.__name__} is not known, so it cannot be kept") from None
        if not isinstance(node, FUNCTION):
            raise TypeError(f"save_tool keeps functions made by def, not {f!r:.80}")
        self.name = node.name
        self.source = without_decorator(source, node)
        self.needs = free_names(self.source) - set(dir(builtins)) - {self.name}
        self.future = False
        self.imports = []
        self.find_imports(f.__code__.co_filename)

    def find_imports(self, own):
        """Find the imports that the function needs in its own cell, else in the latest one that has them."""
        runs = [name for name in linecache.cache if re.fullmatch(r"<run \d+>", name) and name != own]
        runs.sort(key=lambda name: int(name[5:-1]), reverse=True)
        for filename in [own] + runs:
            if not self.needs and filename != own:
                return
            text = "".join(linecache.getlines(filename))
            if "import" not in text:
                continue
            try:
                tree = compile(
                    text, filename, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
                )
            except (SyntaxError, ValueError):
                continue
            found = set()
            for node in imports_of(tree):
                if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                    self.future = self.future or filename == own and any(a.name == "annotations" for a in node.names)
                    continue
                found |= self.take(node)
            self.needs -= found

    def take(self, node):
        """Take what is needed of an import statement; return the names it gives."""
        found = set()
        for alias in node.names:
            given = alias.asname or alias.name.split(".")[0]
            if alias.name == "*":
                module = sys.modules.get(node.module)
                names = {name for name in self.needs if hasattr(module, name) and name not in dir(builtins)}
                self.imports += [f"from {node.module} import {name}" for name in sorted(names)]
                found |= names
            elif given in self.needs:
                one = alias.name + (f" as {alias.asname}" if alias.asname else "")
                line = f"import {one}" if isinstance(node, ast.Import) else f"from {node.module} import {one}"
                if line not in self.imports:
                    self.imports.append(line)
                found.add(given)
        return found

    def into(self, text):
        """Return the text of the file with this function in it, and the names that the file then has."""
        tree = ast.parse(text, PATH)
        lines = text.splitlines(keepends=True)
        before = 0
        for node in tree.body:
            if isinstance(node, DEFINITION) and node.name == self.name:
                first = min([node.lineno] + [d.lineno for d in node.decorator_list]) - 1
                while first > before and lines[first].strip() != MARK + self.name:
                    first -= 1
                if lines[first].strip() != MARK + self.name:
                    first = min([node.lineno] + [d.lineno for d in node.decorator_list]) - 1
                lines[first : node.end_lineno] = [""] * (node.end_lineno - first)
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                before = node.end_lineno
        kept = re.sub(r"\n{4,}", "\n\n\n", "".join(lines)).strip() or HEADER.strip()
        if self.future and "from __future__ import annotations" not in kept:
            kept = "from __future__ import annotations\n\n" + kept
        imports = "".join(line + "\n" for line in self.imports) + "\n\n" if self.imports else ""
        text = f"{kept}\n\n\n{MARK}{self.name}\n{imports}{self.source.strip()}\n"
        names = set()
        for node in ast.parse(text, PATH).body:
            names |= bound_by(node)
        return text, names


def without_decorator(source, node):
    """Return a function's source without @save_tool above it."""
    lines = source.splitlines(keepends=True)
    for decorator in node.decorator_list:
        if getattr(decorator, "id", getattr(decorator, "attr", None)) == "save_tool":
            lines[decorator.lineno - 1 : decorator.end_lineno] = [""] * (decorator.end_lineno - decorator.lineno + 1)
    return "".join(lines)


def free_names(source):
    """Return the names that a definition finds outside of itself."""
    import symtable

    names = set()

    def walk(table):
        for symbol in table.get_symbols():
            outside = symbol.is_global() if table.get_type() != "module" else not symbol.is_assigned()
            if symbol.is_referenced() and outside:
                names.add(symbol.get_name())
        for child in table.get_children():
            walk(child)

    walk(symtable.symtable(source, PATH, "exec"))
    return names


def imports_of(node):
    """Yield the import statements of a cell that are not in a function or class."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif not isinstance(child, DEFINITION):
            yield from imports_of(child)


def bound_by(node):
    """Return the names that a statement of the file gives."""
    if isinstance(node, DEFINITION):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.split(".")[0] for alias in node.names}
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)}
