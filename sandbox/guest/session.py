"""One session: its namespace, and each run from the request to the answer."""

import builtins
import linecache
import sys
from os import _exit, getpid

from _guest.code import NOTHING, Program, find_classes, make_main, trim_sources
from _guest.figures import watch
from _guest.files import LISTED, Files
from _guest.forgotten import Forgotten
from _guest.inside import PLAIN
from _guest.reserve import insist, reserve
from _guest.show import show

MARK = 100  # characters of it that say what was cut


class Session:
    """What lives from run to run."""

    def __init__(self, wire, interrupts, streams):
        self.wire = wire
        self.interrupts = interrupts
        self.streams = streams
        self.main = make_main()
        self.builtins = dict(builtins.__dict__)
        self.recursion = sys.getrecursionlimit()
        self.interval = sys.getswitchinterval()
        self.pid = getpid()
        self.table = sys.modules
        self.modules = {}  # as they were when the last code began
        watch(self.load_display)
        self.finders = list(sys.meta_path)
        self.loop = None
        self.names = None
        self.display = None
        self.files = Files()
        self.forgotten = Forgotten()
        self.expression = None  # the last of the run's code
        self.cold = [self.load_names, streams.line_up, self.load_loop, self.load_inspect]

    def warm(self):
        """Load what most runs need, as long as there is nothing else to do."""
        while self.cold and not self.wire.inbox and not self.wire.ending and not reserve.short():
            try:
                self.cold.pop(0)()
            except Exception:
                pass  # No memory, perhaps. The run that needs it will say so.

    def load_names(self):
        """Return the `mcp` names of the namespace."""
        if self.names is None:
            from _guest.names import Names

            self.names = Names(self.wire, self.main.__dict__, self.load_display)
        return self.names

    def load_display(self):
        """Return what shows pictures."""
        if self.display is None:
            from _guest.display import Display

            self.display = Display(self.wire)
        return self.display

    def load_loop(self):
        """Return the session's event loop."""
        if self.loop is None:
            # Half of it would be worse than none: no interrupt comes between.
            held = self.interrupts.hold()
            try:
                from _guest.loop import Loop

                self.loop = Loop()
                self.interrupts.cancel = self.loop.cancel
            finally:
                self.interrupts.release(held)
        return self.loop

    def load_inspect(self):
        """Teach inspect where classes come from, help what servers are, and threads how to show exceptions."""
        import inspect
        import threading

        from _guest.helping import install
        from _guest.trace import show_thread

        threading.excepthook = show_thread

        if not hasattr(inspect.getfile, "session"):
            install()
            inspect.getfile = find_classes(inspect.getfile)
            inspect.getfile.session = True

    def serve(self, request):
        """Do one run and answer it."""
        params = request["params"]
        run = params["run"]
        keep = params["output"]
        self.wire.begin(run, keep, request["id"])
        try:
            self.restore(run)
            self.prepare(params)
        except BaseException as error:
            # It would be so for every run to come.
            self.complain(f"the session is broken, and ends: {type(error).__name__}: {error}")
            self.streams.flush()
            _exit(70)
        try:
            result = self.settle(lambda: self.execute(params["code"], run), params.get("value") or keep)
            if getpid() != self.pid:
                self.leave(result)
            if params.get("last"):
                self.finish(run)
            self.tidy()
            self.list_files(result)
        except BaseException as error:
            # Code has broken what the session itself needs. The run gets its
            # answer all the same.
            try:
                reserve.force()
            except (OSError, ValueError):
                pass  # Code has lowered the bound itself.
            self.interrupts.run = None
            reserve.tap()
            self.mend()
            result = {"status": "error", "error": plain_error(error)}
        if self.interrupts.heard == run:
            result["interrupted"] = True
        insist(self.wire.end, result)

    def give_up(self, error):
        """Answer a run whose end was lost, so that nobody waits for it."""
        self.wire.end({"status": "error", "error": plain_error(error)})

    def restore(self, run):
        """Put right what a run may have left broken."""
        self.streams.restore()
        self.interrupts.install()
        self.restore_modules()
        self.main.__dict__["__builtins__"] = builtins
        self.main.__dict__.setdefault("__name__", "__main__")
        # It knows what has been told of lines by their numbers, which each run has anew.
        self.main.__dict__.pop("__warningregistry__", None)
        if sys.modules.get("__main__") is not self.main:
            sys.modules["__main__"] = self.main
        if not isinstance(linecache.cache, dict):
            linecache.cache = {}
        trim_sources(run)
        sys.setswitchinterval(self.interval)

    def restore_modules(self):
        """Put back the modules if code has cleared them all, and what finds them."""
        if sys.modules is not self.table or sys.modules.get("sys") is not sys:
            self.table.update(self.modules)
            sys.modules = self.table
        for place, finder in enumerate(self.finders):
            if finder not in sys.meta_path:
                sys.meta_path.insert(place, finder)

    def prepare(self, params):
        """Load and set what this run's code needs."""
        code = params["code"]
        self.load_names().begin(params.get("servers") or [], code)
        if "asyncio" in code:
            self.load_loop()
        if "inspect" in code or "help" in code:
            self.load_inspect()
        if "ctypes" in code or "cffi" in code:
            self.streams.line_up()
        if "multiprocessing" in code or "ProcessPool" in code:
            fork_workers()
        self.modules = dict(sys.modules)

    def execute(self, code, run):
        """Run code; KeyboardInterrupt may come from the first statement here to the last."""
        try:
            self.interrupts.enter(run)
            self.names.saved.begin(code, self.names.within)
            program = Program(code, f"<run {run}>")
            self.expression = program.expression
            reserve.shut()
            namespace = self.main.__dict__
            if program.awaits:
                return self.load_loop().run(program.run_async(namespace))
            before = self.loop.tasks() if self.loop is not None else set()
            value = program.run(namespace)
            sys.settrace(None)
            sys.setprofile(None)
            reserve.open()
            if program.forgets(value):
                reserve.shut()
                value = self.load_loop().run(awaited(value))
                reserve.open()
            self.mend()  # asyncio looks for its tasks with the builtins that code may have deleted.
            made = self.loop.tasks() - before if self.loop is not None else None
            if made:
                reserve.shut()
                self.loop.run(self.loop.wait(made, before))
            return program.shown(value)
        finally:
            sys.settrace(None)
            sys.setprofile(None)
            try:
                reserve.open()
            except MemoryError:
                reserve.force()

    def settle(self, execute, keep):
        """Turn what code did into the answer's form."""
        try:
            try:
                value = execute()
                result = {"status": "success"}
                if value is not NOTHING and value is not None:
                    if not self.pictured(value):
                        result["value"] = show(value, max(keep - MARK, keep // 2))
                        self.picture_parts(value)
                    self.main.__dict__["_"] = value
                self.draw()
                self.flush()
                if value is not NOTHING:
                    self.forgotten.tell(value, self.expression, self.main.__dict__)
            except Exception:
                self.draw()
                self.flush()
                raise
            except BaseException:
                self.flush()
                raise
            finally:
                # An interrupt that comes from here on is too late.
                self.interrupts.run = None
        except SystemExit as error:
            self.interrupts.run = None
            result = self.exit(error.code)
        except KeyboardInterrupt as error:
            self.interrupts.run = None
            result = {"status": "interrupted", "error": self.describe(error)}
        except BaseException as error:
            self.interrupts.run = None
            if isinstance(error, MemoryError):
                reserve.tap()
            result = {"status": "error", "error": self.describe(error)}
        return result

    def pictured(self, value):
        """Show a last value that is a picture; tell whether it is one."""
        plain = type(value).__module__ == "builtins" and type(value) is not dict
        return not plain and getpid() == self.pid and self.load_display().show_value(value)

    def picture_parts(self, value):
        """Show the pictures in a last value that holds others."""
        if type(value) not in PLAIN:
            self.load_display().show_inner(value)

    def draw(self):
        """Show the figures that the run leaves open."""
        if "matplotlib.pyplot" in sys.modules:
            self.load_display().figures()

    def list_files(self, result):
        """Add the files that the run has left new or changed."""
        files, more = self.files.changed()
        if files:
            result["files"] = files
        if more:
            result["moreFiles"] = more
        saved = self.display.end() if self.display is not None else None
        if saved:
            result["saved"] = saved[:LISTED]

    def flush(self):
        """Send on what code's own streams hold, and say which calls were not sent."""
        self.streams.flush()
        if self.names is not None and getpid() == self.pid:
            self.names.end()

    def exit(self, code):
        """Return the result of sys.exit."""
        if code is None:
            code = 0
        elif isinstance(code, int):
            code = max(-(1 << 31), min(int(code), (1 << 31) - 1))
        else:
            self.complain(code)
            code = 1
        return {"status": "exit" if code else "success", "exitCode": code}

    def complain(self, text):
        """Write the text of sys.exit("text") as Python does."""
        try:
            print(text, file=sys.stderr, flush=True)
        except Exception:
            pass

    def describe(self, error):
        """Return an exception's type, message and traceback."""
        from _guest.trace import describe

        self.mend()
        try:
            return describe(error)
        except Exception:
            return plain_error(error)

    def mend(self):
        """Give back builtins that code deleted and room on the stack."""
        if not self.builtins.keys() <= builtins.__dict__.keys():
            builtins.__dict__.update({**self.builtins, **builtins.__dict__})
        if sys.getrecursionlimit() < self.recursion:
            sys.setrecursionlimit(self.recursion)

    def finish(self, run):
        """End as Python ends, within the last run: it can be interrupted once more."""
        heard, self.interrupts.heard = self.interrupts.heard, None
        try:
            self.interrupts.enter(run)
            self.close()
        except KeyboardInterrupt:
            pass  # It came before there was anything to end.
        finally:
            self.interrupts.run = None
            self.interrupts.heard = self.interrupts.heard or heard

    def close(self):
        """End as Python ends, but that the wire still works."""
        self.mend()
        from _guest.ending import end

        end(self.main.__dict__, self.loop, self.files.flush)
        self.flush()

    def tidy(self):
        """Leave things so that the next run can start."""
        self.mend()
        self.forgotten.forget()
        self.streams.flush()
        try:
            self.files.flush()
        except Exception:
            pass  # They hold back what they did: there is no memory, or code has replaced what is needed.

    def leave(self, result):
        """End a process that code forked and did not end."""
        error = result.get("error")
        if error:
            self.complain(error["traceback"].rstrip("\n"))
        self.loop = None  # Its tasks are the session's.
        self.close()
        code = result.get("exitCode", 1 if error else 0)
        _exit(code & 0xFF)


async def awaited(value):
    """Await a value."""
    return await value


def fork_workers():
    """Have multiprocessing fork its processes, so that they know what code has defined.

    The other ways, of which one is the usual one from Python 3.14 on, have a
    new process import __main__, which is not a file here; it would look for the
    session's functions in vain, and a pool would start others for ever.
    """
    from multiprocessing import context

    forked = context._concrete_contexts.get("fork")
    if forked is not None:
        context._concrete_contexts.update(spawn=forked, forkserver=forked)
        context._default_context._default_context = forked


def plain_error(error):
    """Return an exception without a traceback, for when that cannot be had."""
    name = type(error).__name__
    try:
        text = str(error)[:8192]
    except Exception:
        text = ""
    return {"type": name, "message": text, "traceback": f"{name}: {text}\n" if text else f"{name}\n"}
