"""A function to keep: its source, the imports that it needs, and its place in the file of saved tools."""

import ast
import builtins
import linecache
import re
import sys

from _guest.saved import DEFINITION, PATH

HEADER = "# What save_tool has kept, one definition a name.\n"
MARK = "# saved tool: "
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


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
