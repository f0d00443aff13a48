"""The session's event loop: it lives from run to run and turns only while a run awaits."""

import asyncio
from contextvars import copy_context

INTERNAL = ("asyncio", "selectors", "_guest")


class Loop:
    """One event loop for all runs that await."""

    def __init__(self):
        self.loop = None
        self.main = None  # the task of the run that is going on
        self.interrupted = False
        self.original = asyncio.run
        asyncio.run = self.nested(asyncio.run)

    def ready(self):
        """Return the loop, a new one if code closed it, and make it the current one."""
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        return self.loop

    def run(self, coroutine):
        """Run a coroutine to its end and return what it returns."""
        loop = self.ready()
        seen = {}
        task = loop.create_task(witness(coroutine, seen))
        self.main, self.interrupted = task, False
        try:
            try:
                return loop.run_until_complete(task)
            except (KeyboardInterrupt, SystemExit):
                if not task.done():
                    # Raised in another task: this one ends with the run.
                    task.cancel()
                    self.settle(loop, task)
                raise
            except asyncio.CancelledError:
                if not self.interrupted:
                    raise
                error = KeyboardInterrupt()
                cancelled = seen.get("error")
                raise error.with_traceback(cancelled and cancelled.__traceback__) from None
        finally:
            self.main = None
            for variable, value in seen.get("context", {}).items():
                variable.set(value)

    def settle(self, loop, task):
        """Let a cancelled task end."""
        try:
            loop.run_until_complete(task)
        except (Exception, asyncio.CancelledError):
            pass

    def cancel(self, frame):
        """Cancel the run's task if the loop is waiting; tell whether that was enough.

        While the loop itself is on the stack, an exception could cost it a
        callback of another task. In code, KeyboardInterrupt is raised as usual.
        """
        task = self.main
        if task is None or task.done() or not self.loop.is_running():
            return False
        if frame is None or frame.f_globals.get("__name__", "").split(".")[0] not in INTERNAL:
            return False
        if asyncio.current_task(self.loop) is not None or asyncio._get_running_loop() is not self.loop:
            return False
        self.interrupted = True
        task.cancel()
        self.loop.call_soon_threadsafe(lambda: None)
        return True

    def nested(self, run):
        """Make asyncio.run work in code that awaits at its top level as well.

        The session's loop stands still meanwhile, as it does during any call
        that does not await.
        """
        from functools import wraps

        @wraps(run)
        def nested_run(main, **options):
            outer = asyncio._get_running_loop()
            if outer is None or outer is not self.loop:
                try:
                    return run(main, **options)
                finally:
                    if outer is None and current_thread_is_main():
                        self.ready()
            task = leave(outer)
            try:
                return run(main, **options)
            finally:
                enter(outer, task)

        return nested_run


def current_thread_is_main():
    """Tell whether this is the thread that runs the session's code."""
    import threading

    return threading.current_thread() is threading.main_thread()


def leave(loop):
    """Step out of a running loop, for a while."""
    task = asyncio.current_task(loop)
    if hasattr(asyncio.tasks, "_swap_current_task"):
        asyncio.tasks._swap_current_task(loop, None)
    elif task is not None:
        asyncio.tasks._leave_task(loop, task)
    asyncio._set_running_loop(None)
    return task


def enter(loop, task):
    """Step into the loop again."""
    asyncio.set_event_loop(loop)
    asyncio._set_running_loop(loop)
    if hasattr(asyncio.tasks, "_swap_current_task"):
        asyncio.tasks._swap_current_task(loop, task)
    elif task is not None:
        asyncio.tasks._enter_task(loop, task)


async def witness(coroutine, seen):
    """Await a coroutine; keep its exception, with the traceback, and its context variables."""
    try:
        return await coroutine
    except BaseException as error:
        seen["error"] = error
        raise
    finally:
        seen["context"] = dict(copy_context().items())
