"""The end of a Python program, step by step as the interpreter takes them."""

import atexit
import gc
import sys


def end(names, loop, flush):
    """End the program that has these global names and this event loop.

    Files that only these names hold are closed. They are flushed before, as one
    in a cycle may lose what it holds. What one step raises does not keep the next
    from its turn.
    """
    steps = [join_threads, atexit._run_exitfuncs, flush]
    steps += [lambda: drop(names, True), lambda: drop(names, False), gc.collect, flush]
    if loop is not None:
        steps.insert(0, loop.close)
    hook = sys.unraisablehook
    # An interrupt ends the wait for a thread; that is not worth a word.
    sys.unraisablehook = lambda raised: None if raised.exc_type is KeyboardInterrupt else hook(raised)
    while steps:
        try:
            steps.pop(0)()
        except BaseException:
            pass  # An interrupt, or what has been shown.


def join_threads():
    """Wait for the threads that are not daemons."""
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()


def drop(names, private):
    """Let go of the values of global names, private or not, the youngest first, as they may need older ones."""
    for name in reversed(list(names)):
        text = str(name)
        if text != "__builtins__" and private == (text[:1] == "_" and text[1:2] != "_"):
            names[name] = None
