"""Coroutines that are not awaited: told in the run that makes them, with the line that works."""

import ast
import linecache
import sys
import warnings
from collections.abc import Coroutine
from types import CoroutineType
from weakref import ref

from _guest.code import COROUTINE
from _guest.importer import FOLDER
from _guest.inside import inside

WIDTH = 200  # characters of code in a hint
AWAIT = "a call gives its value when it is awaited: result = await ..."


class Forgotten:
    """Those that last values hold, and the warnings of all others."""

    def __init__(self):
        self.told = []  # those that are said already, and may yet be awaited
        self.quiet = False
        self.registry = {}  # what the run has warned of
        warnings._warn_unawaited_coroutine = self.warn

    def warn(self, coroutine):
        """Warn of a coroutine that ends. Python calls this, and its own would name the session's files."""
        if self.quiet:
            return
        frame = sys._getframe(1)
        text = f"coroutine '{coroutine.__qualname__}' was never awaited\nhint: {instead(coroutine, frame)}"
        if not frame.f_code.co_filename.startswith(FOLDER):
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        else:
            code = coroutine.cr_code
            warnings.warn_explicit(text, RuntimeWarning, code.co_filename, code.co_firstlineno, registry=self.registry)

    def tell(self, value, expression, namespace):
        """Say which coroutines the value of the last expression holds. A call of a tool says so itself."""
        found = list(inside([value], is_new))
        made = [part for part in found if type(part) is CoroutineType]
        names = [coroutine.__qualname__ for coroutine in made]
        for name in dict.fromkeys(names[:1000]):
            count = names.count(name)
            times = f" ({count} times)" if count > 1 else ""
            print(f"{name}(...) was not awaited{times}; nothing of it has run", file=sys.stderr)
        if found:
            print("hint:", gathering(value, found, expression, namespace), file=sys.stderr)
        self.told += made

    def forget(self):
        """Let go of those that nothing else holds any more."""
        self.registry.clear()
        refs = [ref(coroutine) for coroutine in self.told]
        self.quiet = True
        try:
            self.told.clear()
            self.told = [coroutine for link in refs if (coroutine := link()) is not None]
        finally:
            self.quiet = False


def is_new(value):
    """Tell whether a value is a coroutine that nothing has awaited yet."""
    if type(value) is not CoroutineType:
        return issubclass(type(value), Coroutine) and getattr(value, "_coroutine", value) is None
    from inspect import CORO_CREATED, getcoroutinestate

    return getcoroutinestate(value) == CORO_CREATED


def gathering(value, found, expression, namespace):
    """Return the line that awaits what an expression holds."""
    source = ast.unparse(expression)
    source = source if len(source) <= WIDTH else "_"
    if value is found[0]:
        return f"await {source}" if isinstance(expression, (ast.Name, ast.Call)) else f"await ({source})"
    if isinstance(value, dict):
        value = value.values()
        source = (source if isinstance(expression, (ast.Name, ast.Call, ast.Dict)) else f"({source})") + ".values()"
    # What is made anew, as items of a view are, is no coroutine.
    if {id(part) for part in value} != {id(part) for part in found}:
        return AWAIT
    return imported(namespace) + f"await asyncio.gather(*{source})"


def instead(coroutine, frame):
    """Return the line to write in place of the one at which a coroutine was let go."""
    row = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    try:
        (line,) = ast.parse(row[:WIDTH]).body
        called = line.value.func
        name = called.attr if isinstance(called, ast.Attribute) else called.id
    except (SyntaxError, ValueError, AttributeError):
        return AWAIT
    if name != coroutine.__name__ or not isinstance(line, ast.Expr):
        return AWAIT
    code, call = frame.f_code, ast.unparse(line)
    if code.co_name == "<module>" or code.co_flags & COROUTINE:
        return f"await {call}"
    return imported(frame.f_globals) + f"asyncio.run({call})"


def imported(namespace):
    """Return the import of asyncio if it is needed."""
    return "" if "asyncio" in namespace else "import asyncio; "
