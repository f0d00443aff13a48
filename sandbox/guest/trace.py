"""An exception as the agent sees it: the frames of its own code, with their lines."""

import os
import sys

from _guest.importer import FOLDER
from _guest.show import message_of

LINES = 100  # of a traceback; more are left out in its middle
WIDTH = 600  # characters of one line
MESSAGE = 8 << 10  # characters of an exception's text

LIBRARIES = tuple(
    {
        os.path.dirname(os.__file__) + os.sep,
        *(os.path.join(prefix, "") for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix) if len(prefix) > 1),
    }
)


def describe(error):
    """Return the wire's form of an exception."""
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    trace = traceback_of(error)
    advice = advice_on(error)
    if advice:
        trace += f"hint: {clip(advice, WIDTH)}\n"
    return {"type": name, "message": clip(message_of(error), MESSAGE), "traceback": trace}


def advice_on(error):
    """Return a hint; whatever goes wrong with it, the exception itself is told."""
    try:
        from _guest.hints import hint

        return hint(error, list(related(error)))
    except Exception:
        return None


def traceback_of(error):
    """Format an exception with those it came from, the frames of code that is not the session's left out."""
    import traceback

    chain = list(related(error))
    kept = [link.__traceback__ for link in chain]
    try:
        for link in chain:
            link.__traceback__ = own(link.__traceback__)
        text = "".join(traceback.TracebackException(type(error), error, error.__traceback__).format())
    except Exception as second:
        return f"{type(error).__name__}: {message_of(error)} (formatting it raised {type(second).__name__})\n"
    finally:
        for link, tb in zip(chain, kept):
            link.__traceback__ = tb
    return shorten(text)


def show_thread(args):
    """Write the exception that ended a thread; the threading module calls this."""
    if args.exc_type is SystemExit:
        return
    name = getattr(args.thread, "name", "?")
    print(f"exception in thread {name}:", traceback_of(args.exc_value), sep="\n", end="", file=sys.stderr, flush=True)


def related(error):
    """Yield an exception, its causes, its contexts and the members of its groups."""
    seen = set()
    left = [error]
    while left:
        link = left.pop()
        if link is None or id(link) in seen or len(seen) > 200:
            continue
        seen.add(id(link))
        yield link
        left += [link.__cause__, link.__context__]
        members = getattr(link, "exceptions", None)
        if isinstance(members, tuple):
            left += [member for member in members if isinstance(member, BaseException)]


def own(tb):
    """Copy a traceback with the frames of the session's own code only."""
    kept = []
    while tb is not None:
        if is_own(tb.tb_frame.f_code.co_filename):
            kept.append(tb)
        tb = tb.tb_next
    copy = None
    for tb in reversed(kept):
        copy = type(tb)(copy, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    return copy


def is_own(filename):
    """Tell whether a file is the session's own: not Python's, not a package's, not the guest's."""
    if filename.startswith("<"):
        return not filename.startswith("<frozen")
    if filename.startswith((FOLDER, *LIBRARIES)):
        return False
    return "/site-packages/" not in filename and "/dist-packages/" not in filename


def shorten(text):
    """Bound the lines of a traceback and their width."""
    lines = [clip(line, WIDTH) if line.startswith(" ") else clip(line, MESSAGE) for line in text.splitlines()]
    if len(lines) > LINES:
        half = LINES // 2
        lines[half:-half] = [f"  … {len(lines) - 2 * half} lines left out …"]
    return "\n".join(lines) + "\n"


def clip(text, width):
    """Bound a text."""
    return text if len(text) <= width else text[:width] + f"… ({len(text) - width} more characters)"
