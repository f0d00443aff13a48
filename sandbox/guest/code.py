"""The compiling and running of one run's code in the session's `__main__`."""

import ast
import builtins
import io
import linecache
import re
import sys
import types

AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
COROUTINE = 0x80  # inspect.CO_COROUTINE, without inspect
SOURCES = 2000  # runs whose source is kept for tracebacks and inspect

PROMPT = re.compile(r"[ \t]*(?:>>> ?|\.\.\.(?: |(?=\n|$)))")
NOTHING = object()


class Program:
    """One run's code, compiled: statements, and the last expression by itself."""

    def __init__(self, code, filename):
        tree, lines = parse(code, filename)
        last, self.calls, self.quiet = take_last(tree.body, lines)
        self.body = compile(tree, filename, "exec", AWAIT, dont_inherit=True) if tree.body else None
        flags = AWAIT | (self.body.co_flags & ast_future_flags() if self.body else 0)
        self.expression = last and last.body
        self.last = compile(last, filename, "eval", flags, dont_inherit=True) if last else None

    @property
    def awaits(self):
        """Whether the code needs an event loop."""
        return any(code and code.co_flags & COROUTINE for code in (self.body, self.last))

    def run(self, namespace):
        """Run code that does not await; return the last expression's value."""
        if self.body:
            exec(self.body, namespace)
        return eval(self.last, namespace) if self.last else None

    async def run_async(self, namespace):
        """Run code that awaits."""
        for code in (self.body, self.last):
            if code is None:
                continue
            value = eval(code, namespace)
            if code.co_flags & COROUTINE:
                value = await value
        if self.forgets(value):
            value = await value
        return self.shown(value)

    def shown(self, value):
        """Return the value of the last expression, or NOTHING if it is not to be shown."""
        return NOTHING if self.quiet else value

    def forgets(self, value):
        """Tell whether the last expression is a call whose value was to be awaited, as that of main() is."""
        if type(value) is types.CoroutineType:
            return self.calls and value.cr_frame is not None and value.cr_await is None and not value.cr_running
        # As asyncio.isfuture looks: at the class, as there are values that have an attribute of any name.
        return self.calls and hasattr(type(value), "_asyncio_future_blocking")


def take_last(body, lines):
    """Take the last expression out of statements.

    Returns it, whether it is a call, and whether its value is none to show: it
    has a semicolon, or is the last under if __name__ == "__main__".
    """
    node = body[-1] if body else None
    if isinstance(node, ast.Expr):
        body.pop()
        return ast.Expression(node.value), isinstance(node.value, ast.Call), silenced(lines, node)
    if isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'":
        call = getattr(node.body[-1], "value", None)
        if isinstance(node.body[-1], ast.Expr) and isinstance(call, ast.Call):
            node.body[-1] = ast.copy_location(ast.Pass(), call)
            guarded = ast.IfExp(node.test, call, ast.copy_location(ast.Constant(None), call))
            return ast.Expression(ast.copy_location(guarded, call)), True, True
    return None, False, True


def parse(code, filename):
    """Return the tree of code, and its lines. Code that was copied from a prompt, or is indented, is mended."""
    try:
        return tree_of(code, filename)
    except SyntaxError as error:
        wrong = error
    mended = without_prompts(code)
    if mended != code:
        try:
            return tree_of(mended, filename)
        except SyntaxError:
            pass  # As it was sent it says better what is wrong.
    raise wrong


def tree_of(code, filename):
    """Return the tree of code, and its lines, which tracebacks then show."""
    # Split as Python's own tokenizer does, at line ends only, of which a CR alone is one.
    lines = io.StringIO(code, newline=None).readlines()
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    linecache.cache[filename] = (len(code), None, lines, filename)
    return compile(code, filename, "exec", ast.PyCF_ONLY_AST | AWAIT, dont_inherit=True), lines


def without_prompts(code):
    """Return code without >>> and ... before its lines, what was printed between them, and common indentation."""
    first = re.search(r"^(?:[ \t]*(?:#.*)?\n)*([ \t]*)(>>>)?", code)
    if first[2]:
        found = [(PROMPT.match(line), line) for line in io.StringIO(code)]
        code = "".join(line[prompt.end() :] if prompt else "\n" for prompt, line in found)
        first = re.search(r"^(?:[ \t]*(?:#.*)?\n)*([ \t]*)", code)
    return re.sub(f"(?m)^{first[1]}", "", code) if first[1] else code


def ast_future_flags():
    """Return the flags of all `from __future__ import …` statements."""
    import __future__

    flags = 0
    for name in __future__.all_feature_names:
        flags |= getattr(__future__, name).compiler_flag
    return flags & ~COROUTINE


def silenced(lines, node):
    """Tell whether a semicolon follows the expression."""
    row = lines[node.end_lineno - 1].encode()
    return row[node.end_col_offset :].split(b"#")[0].strip() == b";"


def make_main():
    """Make the module that the session's code runs in."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return main


def trim_sources(number):
    """Forget the source of a run long past."""
    linecache.cache.pop(f"<run {number - SOURCES}>", None)


def find_classes(original):
    """Make inspect find classes of the session, which have no file of their own.

    Returns a replacement for inspect.getfile.
    """

    def getfile(object):
        try:
            return original(object)
        except (TypeError, OSError):
            if not isinstance(object, type) or object.__module__ != "__main__":
                raise
            found = class_file(object)
            if found is None:
                raise
            return found

    return getfile


def class_file(kind):
    """Return the run that a class of the session comes from, None if it is not known."""
    for value in vars(kind).values():
        code = getattr(getattr(value, "__func__", value), "__code__", None)
        if code is not None and code.co_filename.startswith("<run "):
            return code.co_filename
    top = kind.__qualname__.split(".")[0]
    runs = [name for name in linecache.cache if name.startswith("<run ")]
    for name in sorted(runs, key=lambda name: int(name[5:-1]), reverse=True):
        source = "".join(linecache.cache[name][2])
        if f"class {top}" in source or f"def {top}" in source:
            return name
    return None
