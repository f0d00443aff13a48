"""The session's event loop: it lives from run to run and turns only while a run awaits."""

import asyncio
import threading
from asyncio import all_tasks  # whatever code makes of asyncio's own
from contextvars import copy_context
from functools import wraps

INTERNAL = ("asyncio", "selectors", "_guest")


class Main:
    """A coroutine that code waits for: the top level of a run, or asyncio.run."""

    def __init__(self):
        self.loop = None
        self.task = None
        self.interrupted = False
        self.error = None
        self.context = {}

    async def witness(self, coroutine):
        """Await a coroutine; note its task, its exception and its context variables."""
        self.loop, self.task = asyncio.get_running_loop(), asyncio.current_task()
        try:
            return await coroutine
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.context = dict(copy_context().items())

    def interruption(self):
        """Return the KeyboardInterrupt that the task's cancelling stands for."""
        return KeyboardInterrupt().with_traceback(self.error and self.error.__traceback__)


class Loop:
    """One event loop for all runs that await."""

    def __init__(self):
        self.loop = None
        self.mains = []  # what the main thread is waiting for, the innermost last
        self.thread = threading.get_ident()
        asyncio.run = self.nested(asyncio.run)
        asyncio.create_task = asyncio.tasks.create_task = self.housed(asyncio.create_task)

    def ready(self):
        """Return the loop, a new one if code closed it, and make it the current one."""
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            self.loop.run_until_complete = self.nested_wait(self.loop.run_until_complete)
        asyncio.set_event_loop(self.loop)
        return self.loop

    def run(self, coroutine):
        """Run a coroutine to its end and return what it returns."""
        loop = self.ready()
        main = Main()
        task = loop.create_task(main.witness(coroutine))
        self.mains = [main]
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
                if not main.interrupted:
                    raise
                raise main.interruption() from None
        finally:
            self.mains = []
            for variable, value in main.context.items():
                variable.set(value)

    def tasks(self):
        """Return the tasks that are not done."""
        return all_tasks(self.ready())

    async def wait(self, made, before):
        """Wait for tasks, and those that they make; raise what one has raised that nothing has awaited."""
        before.add(asyncio.current_task())
        errors = []
        while made:
            await asyncio.wait(made)
            errors += [task.exception() for task in made if not task.cancelled() and task._log_traceback]
            made = all_tasks() - before
        for error in errors:
            raise error

    def housed(self, make):
        """Make asyncio.create_task work where no loop runs: the task is one of the session's loop."""

        @wraps(make)
        def create_task(coroutine, **options):
            if asyncio._get_running_loop() is None and threading.get_ident() == self.thread:
                return self.ready().create_task(coroutine, **options)
            return make(coroutine, **options)

        return create_task

    def settle(self, loop, task):
        """Let a cancelled task end."""
        try:
            loop.run_until_complete(task)
        except (Exception, asyncio.CancelledError):
            pass

    def close(self):
        """Cancel the tasks that are left and let them end, as asyncio.run does."""
        loop = self.ready()
        tasks = all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())

    def cancel(self, frame):
        """Cancel the task that is waited for if its loop is at work; tell whether that was enough.

        An exception within the loop itself could cost it a task's next step,
        and the task would never end. In code, KeyboardInterrupt is raised as
        usual: False is returned.
        """
        main = self.mains[-1] if self.mains else None
        if main is None or main.task is None or main.task.done() or asyncio._get_running_loop() is not main.loop:
            return False
        while frame is not None and frame.f_code.co_name != "run_until_complete":
            if frame.f_globals.get("__name__", "").split(".")[0] not in INTERNAL:
                return False
            frame = frame.f_back
        main.interrupted = True
        main.task.cancel()
        # Wake it, should it wait for its selector.
        main.loop.call_soon_threadsafe(lambda: None)
        return True

    def nested_wait(self, wait):
        """Make loop.run_until_complete work on a coroutine where the loop itself runs, as asyncio.run does."""

        @wraps(wait)
        def run_until_complete(future):
            if asyncio._get_running_loop() is not None and asyncio.iscoroutine(future):
                return asyncio.run(future)
            return wait(future)

        return run_until_complete

    def nested(self, run):
        """Make asyncio.run work in code that awaits at its top level as well.

        The session's loop stands still meanwhile, as it does during any call
        that does not await.
        """

        @wraps(run)
        def nested_run(coroutine, **options):
            if threading.get_ident() != self.thread or not asyncio.iscoroutine(coroutine):
                return run(coroutine, **options)
            outer = asyncio._get_running_loop()
            if outer is not None and outer is not self.loop:
                return run(coroutine, **options)
            main = Main()
            task = leave(outer)
            self.mains.append(main)
            try:
                return run(main.witness(coroutine), **options)
            except asyncio.CancelledError:
                if not main.interrupted:
                    raise
                raise main.interruption() from None
            finally:
                self.mains.remove(main)
                if outer is None:
                    self.ready()
                else:
                    enter(outer, task)

        return nested_run


def leave(loop):
    """Step out of a running loop, for a while; return its task."""
    if loop is None:
        return None
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
