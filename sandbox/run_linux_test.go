package sandbox_test

import (
	"strings"
	"testing"
	"time"

	"bridge/sandbox"
)

// soon, as a step's timeout, has the run interrupted a little after its code has
// begun, however slow the machine is.
const soon = time.Duration(-1)

// Rules 6 to 12: what code does in a session.
func TestCode(t *testing.T) {
	table(t, map[string][]step{
		"values": {
			{code: "1 + 1", value: "2"},
			{code: "_ + 1", value: "3"},
			{code: "None"},
			{code: "_", value: "3"},
			{code: "x = 5"},
			{code: "x;"},
			{code: "x; # not shown"},
			{code: "x # shown; really", value: "5"},
			{code: "'a;'", value: "'a;'"},
			{code: "if True:\n    x"},
			{code: ""},
			{code: "# nothing"},
			{code: "'é☃😀'", value: "'é☃😀'"},
			{code: "a = [1, (2,), (), {3}, set(), frozenset(), frozenset({4}), {'k': b'v'}, {}, 1.5, None]\na",
				value: "[1, (2,), (), {3}, set(), frozenset(), frozenset({4}), {'k': b'v'}, {}, 1.5, None]"},
			{code: "l = [1]; l.append(l); l", value: "[1, [...]]"},
			{code: "class R:\n    def __repr__(self): raise ValueError('no')\nR()", value: "<R whose repr raises ValueError: no>"},
			{code: "[0] * 10**7", output: 1000, value: "~\\[0, 0, .*… \\(cut, 10000000 items\\)"},
			{code: "'x' * 10**7", output: 1000, value: "~'xxx.*… \\(cut, length 10000000\\)"},
			{code: "import collections; collections.OrderedDict(a=1), collections.deque([1], 3), collections.Counter('a')",
				value: "~\\(OrderedDict\\(.*a.*1.*\\), deque\\(\\[1\\], maxlen=3\\), Counter\\(\\{'a': 1\\}\\)\\)"},
		},
		"await": {
			{code: "import asyncio\nawait asyncio.sleep(0, 'done')", value: "'done'"},
			{code: "async def f(): return 7\nx = await f()\nx", value: "7"},
			{code: "asyncio.run(f())", value: "7"},
			{code: "asyncio.get_event_loop().run_until_complete(f())", value: "7"},
			{code: "await f(); asyncio.run(f())", value: "7"},
			{code: "x = await f()\nasyncio.run(f())\nawait f()", value: "7"},
			{code: "t = asyncio.create_task(f())\nawait t", value: "7"},
			{code: "loop = asyncio.get_event_loop()\nasync def g(): return loop.run_until_complete(f())\nawait g(), loop.run_until_complete(f())", value: "(7, 7)"},
			{code: "loop.run_until_complete(g())", value: "7"},
			{code: "async with asyncio.Lock():\n    pass\n[i async for i in (x async for x in agen())] if False else 1", value: "1"},
			{code: "try:\n    asyncio.get_running_loop()\nexcept RuntimeError as e: print(e)", stdout: "no running event loop\n"},
			{code: "loop = asyncio.new_event_loop(); loop.run_until_complete(f())", value: "7"},
			{code: "asyncio.get_event_loop().close()"},
			{code: "await f()", value: "7"},
			{code: "import contextvars\nv = contextvars.ContextVar('v')\nv.set(3)\nawait f();"},
			{code: "v.get()", value: "3"},
			{code: "def sync():\n    return asyncio.run(f())\nsync() + await f()", value: "14"},
		},
		"tasks go on while a run awaits": {
			{code: "import asyncio\nn = 0\nasync def tick():\n    global n\n    while True:\n        n += 1\n        await asyncio.sleep(0.001)\n" +
				"t = asyncio.create_task(tick())\nawait asyncio.sleep(0.05)\nn > 1", value: "True"},
			{code: "import time\nm = n\ntime.sleep(0.05)\nn == m", value: "True"},
			{code: "await asyncio.sleep(0.05)\nn > m", value: "True"},
		},
		"output": {
			{code: "print('a')\nprint()\nprint('b', end='')", stdout: "a\n\nb"},
			{code: "import sys, os, subprocess\nprint('1')\nos.write(1, b'2\\n')\nprint('3')\nsubprocess.run(['echo', '4'])\nos.system('echo 5')\nprint('6', end='');", stdout: "1\n2\n3\n4\n5\n6"},
			{code: "os.write(2, b'e\\n'); sys.stderr.write('f\\n'); subprocess.run('echo g >&2', shell=True);", stderr: "e\nf\ng\n"},
			{code: "os.write(1, b'\\xff\\xc3(\\xe2\\x98\\x83\\x80');", stdout: `\xff\xc3(☃\x80`},
			{code: "os.write(1, b'\\xe2\\x98'); __import__('time').sleep(0.02); os.write(1, b'\\x83');", stdout: "☃"},
			{code: "print('\\udc80 \\ud800')", stdout: `\udc80 \ud800` + "\n"},
			{code: "print('x\\r\\ny\\0z')", stdout: "x\r\ny\x00z\n"},
			{code: "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.printf(b'from C\\n')\nprint('py')\nlibc.printf(b'no newline');", stdout: "from C\npy\nno newline"},
			{code: "for i in range(3000):\n    sys.stderr.write(f'\\r{i:5d} ' + '#' * 40); sys.stdout.write(f'\\r{i}')\nprint('\\ndone')", output: 100,
				stdout: "2999\ndone\n", stderr: " 2999 " + strings.Repeat("#", 40)},
			{code: "for i in range(60): print(i, end='\\r', flush=True)\nprint('over', end='\\r\\n')", output: 100, stdout: "over\r\n"},
			{code: "for i in range(5000): print(i)", output: 100, stdout: "~0\n1\n2\n.*\\[…\\].*\n4998\n4999\n"},
		},
		"streams come back": {
			{code: "import sys, io, os\nsys.stdout = io.StringIO()\nprint('gone')"},
			{code: "print('back')", stdout: "back\n"},
			{code: "sys.stdout.close(); sys.stderr.close()"},
			{code: "print('again'); print('err', file=sys.stderr)", stdout: "again\n", stderr: "err\n"},
			{code: "os.close(1); os.close(2); os.close(0)"},
			{code: "print('once more')", stdout: "once more\n"},
			{code: "os.dup2(os.open('/dev/null', os.O_WRONLY), 1)\nprint('lost')"},
			{code: "print('found'); print('e', file=sys.stderr)", stdout: "found\n", stderr: "e\n"},
			{code: "del sys.stdout"},
			{code: "print(1)", stdout: "1\n"},
			{code: "sys.stdout = open('/dev/null', 'w'); sys.stdout.close()"},
			{code: "os.closerange(3, 100)\nprint(2)", stdout: "2\n"},
			{code: "exit()"},
			{code: "sys.stdin.read()", value: "''"},
			{code: "import contextlib\nwith contextlib.redirect_stdout(io.StringIO()) as f:\n    print('in')\nf.getvalue()", value: `'in\n'`},
		},
		"background": {
			{code: "import threading, time, sys, os\ndef f():\n    time.sleep(0.1)\n    print('late')\nt = threading.Thread(target=f); t.start()"},
			{code: "print(1)", pause: time.Second, stdout: "1\n", background: "late\n"},
			{code: "os.system('(sleep 0.1; echo child; echo oops >&2) &');"},
			{code: "print(2)", pause: time.Second, stdout: "2\n", background: "~child\noops\n|oops\nchild\n"},
			{code: "t = threading.Thread(target=f); t.start()\nt.join()", stdout: "late\n"},
			{code: "def g():\n    for i in range(5000): print(i)\nthreading.Timer(0.1, g).start()"},
			{code: "3", pause: time.Second, output: 200, value: "3", background: "~0\n1\n.*4998\n4999\n"},
		},
		"no input": {
			{code: "input('name? ')", status: sandbox.Failed, stdout: "name? ", err: "EOFError: EOF when reading a line"},
			{code: "import sys; sys.stdin.read()", value: "''"},
			{code: "import subprocess; subprocess.run(['cat']).returncode", value: "0"},
			{code: "breakpoint()\n1", value: "1", stderr: "breakpoint() passed over: a session has no terminal\n"},
			{code: "import bdb, pdb\ntry:\n    pdb.set_trace()\n    x = 1\nexcept (bdb.BdbQuit, SystemExit):\n    print('on')", stdout: "~.*on\n", stderr: "~.*"},
		},
		"exit": {
			{code: "import sys\nx = 1\nsys.exit(3)", status: sandbox.Exited, exit: 3},
			{code: "x", value: "1"},
			{code: "exit()"},
			{code: "quit(0)"},
			{code: "sys.exit('bad thing')", status: sandbox.Exited, exit: 1, stderr: "bad thing\n"},
			{code: "import asyncio\nawait asyncio.sleep(0)\nsys.exit(4)", status: sandbox.Exited, exit: 4},
			{code: "raise SystemExit(True)", status: sandbox.Exited, exit: 1},
			{code: "await asyncio.sleep(0); 5", value: "5"},
			{code: "import threading; t = threading.Thread(target=sys.exit); t.start(); t.join(); 6", value: "6"},
		},
		"main": {
			{code: "__name__", value: "'__main__'"},
			{code: "import pickle, inspect, dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\ndef f(a):\n    return a + 1  # here"},
			{code: "pickle.loads(pickle.dumps(P(3))), pickle.loads(pickle.dumps(f))(1)", value: "(P(x=3), 2)"},
			{code: "print(inspect.getsource(f)); print(inspect.getsource(P))",
				stdout: "def f(a):\n    return a + 1  # here\n\n@dataclasses.dataclass\nclass P:\n    x: int\n\n"},
			{code: "import __main__; __main__.f is f", value: "True"},
			{code: "import typing; typing.get_type_hints(P)", value: "{'x': <class 'int'>}"},
			{code: "def g():\n    return 1"},
			{code: "print(inspect.getsource(f), end='')", stdout: "def f(a):\n    return a + 1  # here\n"},
			{code: "class Q:\n    def m(self): pass\n    class Inner: pass\nprint(inspect.getsource(Q), end='')", stdout: "class Q:\n    def m(self): pass\n    class Inner: pass\n"},
		},
		"processes": {
			{code: "import multiprocessing as mp, os\nctx = mp.get_context('fork')\ndef sq(x): return x * x\nwith ctx.Pool(2) as p: print(p.map(sq, range(4)))", stdout: "[0, 1, 4, 9]\n"},
			{code: "def child(): print('from child')\np = ctx.Process(target=child); p.start(); p.join(); p.exitcode", stdout: "from child\n", value: "0"},
			{code: "from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor\nwith ProcessPoolExecutor(2, mp_context=ctx) as e: print(list(e.map(sq, [5])))\n" +
				"with ThreadPoolExecutor() as e: print(list(e.map(sq, [6])))", stdout: "[25]\n[36]\n"},
			{code: "print('before', end=' ')\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('parent' if pid else 'child')", stdout: "before child\nparent\n"},
			{code: "pid = os.fork()\nif pid == 0: 1/0\nos.waitpid(pid, 0)[1] >> 8", value: "1", stderr: "~Traceback.*ZeroDivisionError: division by zero\n"},
			{code: "pid = os.fork()\nif pid == 0:\n    import sys; sys.exit(7)\nos.waitpid(pid, 0)[1] >> 8", value: "7"},
			{code: "pid = os.fork()\nif pid == 0:\n    import asyncio\n    try: asyncio.run(mcp_toy.echo('x'))\n    except Exception as e: print(e)\n    os._exit(0)\nos.waitpid(pid, 0);",
				stdout: "this process is a child of the session: only the session itself reaches servers\n"},
			{code: "with mp.get_context('spawn').Pool(2) as p: print(p.map(sq, range(3)))\nmp.set_start_method('spawn', force=True)\nwith ProcessPoolExecutor(2) as e: print(list(e.map(sq, [7])))", stdout: "[0, 1, 4]\n[49]\n"},
			{code: "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(40+2)'], capture_output=True, text=True).stdout", value: `'42\n'`},
			{code: "'alive'", value: "'alive'"},
		},
		"imports": {
			{code: "import os, tempfile\nd = tempfile.mkdtemp(); os.chdir(d)\nopen('my_mod.py', 'w').write('def f():\\n    1/0\\n')\nopen('asyncio.py', 'w').write('raise SystemError')\nimport my_mod\nimport asyncio\nmy_mod.f()",
				status: sandbox.Failed, err: "ZeroDivisionError: division by zero", trace: `~Traceback \(most recent call last\):
  File "<run 1>", line 7, in <module>
    my_mod.f\(\)
(?:    [~^]+\n)?  File "[^"]*/my_mod.py", line 2, in f
    1/0
(?:    [ ~^]+\n)?ZeroDivisionError: division by zero
`},
		},
	})
}

// Rule 9: errors with the code's own frames.
func TestErrors(t *testing.T) {
	table(t, map[string][]step{
		"traceback": {
			{code: "def f():\n    return {}['k']\n", value: ""},
			{code: "f()", status: sandbox.Failed, err: "KeyError: 'k'", trace: `~Traceback \(most recent call last\):
  File "<run 2>", line 1, in <module>
    f\(\)
(?:    [~^]+\n)?  File "<run 1>", line 2, in f
    return \{\}\['k'\]
(?:    [ ~^]+\n)?KeyError: 'k'
`},
			{code: "import json\njson.loads('{')", status: sandbox.Failed, err: "~json.decoder.JSONDecodeError: .*", trace: `~Traceback \(most recent call last\):
  File "<run 3>", line 2, in <module>
    json.loads\('\{'\)
(?:    [~^]+\n)?json.decoder.JSONDecodeError: [^\n]*
`},
			{code: "try:\n    1/0\nexcept Exception as e:\n    raise ValueError('b') from e", status: sandbox.Failed, err: "ValueError: b",
				trace: "~Traceback.*ZeroDivisionError: division by zero\n\nThe above exception was the direct cause of the following exception:\n\nTraceback.*ValueError: b\n"},
			{code: "def r(): r()\nr()", status: sandbox.Failed, err: "RecursionError: maximum recursion depth exceeded", trace: "~.*Previous line repeated.*"},
			{code: "def a(n): b(n)\ndef b(n): a(n)\na(1)", status: sandbox.Failed, err: "RecursionError: maximum recursion depth exceeded", trace: "~.*lines left out.*"},
			{code: "import asyncio\nasync def g():\n    await asyncio.sleep(0)\n    raise OSError(2, 'x')\nawait g()", status: sandbox.Failed,
				trace: "~Traceback[^\n]*\n  File \"<run 7>\", line 5, in <module>\n    await g\\(\\)\n(?:    [ ~^]+\n)?  File \"<run 7>\", line 4, in g\n[^\n]*\n(?:    [ ~^]+\n)?FileNotFoundError: .Errno 2. x\n"},
			{code: "class E(Exception):\n    def __str__(self): raise RuntimeError('no')\nraise E", status: sandbox.Failed, err: "E: <text that raises RuntimeError>"},
			{code: "raise Exception('x' * 10**6)", status: sandbox.Failed, err: "~Exception: x*… \\(991808 more characters\\)"},
			{code: "await asyncio.gather(g(), g())", status: sandbox.Failed, err: "FileNotFoundError: [Errno 2] x"},
		},
		"syntax": {
			{code: "x = (1,\ny = 2", status: sandbox.Failed, err: "~SyntaxError: .*", trace: "~  File \"<run 1>\", line \\d\n[^\n]*\n *\\^+\nSyntaxError: [^\n]*\n"},
			{code: "for", status: sandbox.Failed, err: "SyntaxError: invalid syntax (<run 2>, line 1)"},
			{code: "return 1", status: sandbox.Failed, err: "SyntaxError: 'return' outside function (<run 3>, line 1)"},
			{code: "x = 1\n  y = 1", status: sandbox.Failed, err: "IndentationError: unexpected indent (<run 4>, line 2)"},
			{code: "x = '\\0'\nx", value: `'\x00'`},
			{code: "(" + string(make([]byte, 0)) + ")", value: "()"},
			{code: "from __future__ import annotations\ndef f(x: Nope): pass\nf.__annotations__", value: "{'x': 'Nope'}"},
			{code: "a\x00b", status: sandbox.Failed, err: "~(SyntaxError|ValueError): source code .*null bytes"},
		},
		"breakage": {
			{code: "import builtins\ndel builtins.len, builtins.isinstance, builtins.print"},
			{code: "len([1])", value: "1"},
			{code: "len = 3; del mcp, runtime"},
			{code: "mcp.__name__, runtime.__name__, len", value: "('mcp', 'mcp.runtime', 3)"},
			{code: "del len; __builtins__ = {}"},
			{code: "len('ab')", value: "2"},
			{code: "globals().clear()"},
			{code: "x = 1; __name__", value: "'__main__'"},
			{code: "import sys\ndef tr(*a): raise ValueError('tracer')\nsys.settrace(tr)"},
			{code: "def f(): return 1\nf()", value: "1"},
			{code: "sys.setrecursionlimit(70)"},
			{code: "import json; json.dumps([[[1]]])", value: "'[[[1]]]'"},
			{code: "import signal; signal.signal(signal.SIGALRM, lambda *a: 1/0); signal.setitimer(signal.ITIMER_REAL, 0.05);"},
			{code: "import time; time.sleep(0.2)", status: sandbox.Failed, err: "ZeroDivisionError: division by zero"},
			{code: "sys.modules.pop('json'); sys.modules.pop('asyncio', None); sys.meta_path.clear()"},
			{code: "1", value: "1"},
			{code: "import os; os.write = None; os.getpid = None; json.JSONEncoder.encode = None"},
			{code: "1/0", status: sandbox.Failed, err: "ZeroDivisionError: division by zero"},
			{code: "import traceback, linecache; traceback.TracebackException = None; linecache.cache = None"},
			{code: "1/0", status: sandbox.Failed, err: "~ZeroDivisionError: division by zero"},
			{code: "2", value: "2"},
		},
	})
}

// Rule 9: what ends the session is told truthfully, with all that was printed.
func TestLoss(t *testing.T) {
	table(t, map[string][]step{
		"exit":     {{code: "import os\nprint('a')\nos._exit(5)", status: sandbox.Lost, stdout: "a\n", lost: "the session's Python exited with code 5"}},
		"segfault": {{code: "import ctypes\nprint('a')\nctypes.string_at(0)", status: sandbox.Lost, stdout: "a\n", stderr: "~Fatal Python error: Segmentation fault.*", lost: "the session's Python was ended by signal 11 (SIGSEGV)"}},
		"abort":    {{code: "import os\nos.abort()", status: sandbox.Lost, stderr: "~Fatal.*", lost: "the session's Python was ended by signal 6 (SIGABRT)"}},
		"kill":     {{code: "import os\nos.kill(os.getpid(), 9)", status: sandbox.Lost, lost: "the session's Python was ended by signal 9 (SIGKILL)"}},
		"killpg":   {{code: "import os\nos.kill(0, 9)", status: sandbox.Lost, lost: "the session's Python was ended by signal 9 (SIGKILL)"}},
		"term":     {{code: "import os\nos.kill(os.getpid(), 15)", status: sandbox.Lost, lost: "the session's Python was ended by signal 15 (SIGTERM)"}},
		"tail": {{code: "import os\nfor i in range(20000): print(i)\nos._exit(1)", output: 100, status: sandbox.Lost, stdout: "~0\n1\n.*\\[…\\].*19998\n19999\n",
			lost: "the session's Python exited with code 1"}},
		"wire closed": {{code: "import os\nos.closerange(0, 100000)\nimport time; time.sleep(60)", timeout: soon, status: sandbox.Lost,
			lost: "~.*"}},
		"never ends": {
			{code: "x = 1"},
			{code: "print('in')\nimport time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass", timeout: soon, stdout: "in\n",
				status: sandbox.Lost, lost: "killed: not ended 2s after it was interrupted"},
		},
		"in C": {{code: "sum(range(10**12))", timeout: soon, status: sandbox.Lost, lost: "killed: not ended 2s after it was interrupted"}},
	})
}

// Interrupts: KeyboardInterrupt in the run that is meant, everything else kept.
func TestInterrupt(t *testing.T) {
	stop := func(code string) []step {
		return []step{
			{code: "kept = 1\nimport asyncio, time, threading, subprocess, sys, signal, os"},
			{code: code, timeout: soon, status: sandbox.Interrupted, err: "KeyboardInterrupt: ", stderr: "~.*"},
			{code: "kept", value: "1"},
			{code: "await asyncio.sleep(0.01, 2)", value: "2"},
			{code: "asyncio.run(asyncio.sleep(0.01, 3))", value: "3"},
			{code: "time.sleep(5)", timeout: soon, status: sandbox.Interrupted},
			{code: "kept", value: "1"},
		}
	}
	// What threads say about the end of the run may come with the next one.
	late := func(code string) []step {
		steps := stop(code)
		steps[2] = step{code: "time.sleep(0.3)", stderr: "~.*", background: "~.*"}
		return steps
	}
	table(t, map[string][]step{
		"loop":             stop("while True: pass"),
		"sleep":            stop("time.sleep(30)"),
		"await":            stop("await asyncio.sleep(30)"),
		"await gather":     stop("await asyncio.gather(*[asyncio.sleep(30) for _ in range(10)])"),
		"busy coroutine":   stop("async def f():\n    while True: pass\nawait f()"),
		"busy task":        stop("async def f():\n    while True: pass\nt = asyncio.create_task(f())\nawait asyncio.sleep(10)"),
		"yielding":         stop("while True: await asyncio.sleep(0)"),
		"yielding run":     stop("async def f():\n    while True: await asyncio.sleep(0)\nasyncio.run(f())"),
		"run with cleanup": stop("async def f():\n    try: await asyncio.sleep(30)\n    finally: await asyncio.sleep(0.01)\nasyncio.run(f())"),
		"asyncio.run":      stop("asyncio.run(asyncio.sleep(30))"),
		"nested run":       stop("await asyncio.sleep(0)\nasyncio.run(asyncio.sleep(30))"),
		"join":             stop("t = threading.Thread(target=time.sleep, args=(30,), daemon=True); t.start(); t.join()"),
		"lock":             stop("l = threading.Lock(); l.acquire(); l.acquire()"),
		"subprocess":       stop("subprocess.run(['sleep', '30'])"),
		"communicate":      stop("subprocess.Popen(['sleep', '30'], stdout=subprocess.PIPE).communicate()"),
		"ignored":          stop("signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"),
		"handled":          stop("signal.signal(signal.SIGINT, lambda *a: None)\nwhile True: pass"),
		"call":             stop("await mcp_toy.sleep(ms=30000)"),
		"call in a task":   stop("await asyncio.wait_for(mcp_toy.sleep(ms=30000), 20)"),
		"calls":            stop("await asyncio.gather(*[mcp_toy.sleep(ms=30000) for _ in range(400)])"),
		"call in a thread": late("t = threading.Thread(target=lambda: asyncio.run(mcp_toy.sleep(ms=30000))); t.start(); t.join()"),
		"pool":             stop("import concurrent.futures\nwith concurrent.futures.ThreadPoolExecutor() as e: e.submit(time.sleep, 1).result()"),
		"process pool":     stop("import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as p: p.map(time.sleep, [30, 30])"),
		"generator":        stop("def g():\n    while True: yield\nfor _ in g(): pass"),
		"repr":             stop("class R:\n    def __repr__(self):\n        while True: pass\nR()"),
		"print":            stop("while True: print('x' * 1000)")[:1],
		"finally":          stop("try:\n    time.sleep(30)\nfinally:\n    done = True"),
		"print loop": {
			{code: "import time\nwhile True: print('x' * 1000)", output: 100, timeout: soon, stdout: "~x*\\[…\\].*", status: sandbox.Interrupted},
			{code: "1", value: "1"},
		},
		"background tasks survive": {
			{code: "import asyncio\nn = 0\nasync def tick():\n    global n\n    while True:\n        await asyncio.sleep(0.01)\n        n += 1\nt = asyncio.create_task(tick())\nawait asyncio.sleep(30)",
				timeout: soon, status: sandbox.Interrupted},
			{code: "m = n\nawait asyncio.sleep(0.2)\nn > m", value: "True"},
		},
		"swallowed": {
			{code: "import time\ntry:\n    time.sleep(30)\nexcept KeyboardInterrupt:\n    print('caught')\n7", timeout: soon, stdout: "caught\n", value: "7"},
		},
		"at once": {
			{code: "x = 1\nimport time; time.sleep(60)", timeout: 50 * time.Millisecond, status: sandbox.Interrupted},
			{code: "1", value: "1"},
		},
		"own SIGINT": {
			{code: "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)", status: sandbox.Interrupted},
			{code: "import threading\nthreading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()"},
			{code: "1", value: "1"},
		},
		"traceback": {
			{code: "import asyncio\nasync def f():\n    await asyncio.sleep(30)\nawait f()", timeout: soon, status: sandbox.Interrupted,
				trace: "~Traceback[^\n]*\n  File \"<run 1>\", line 5, in <module>\n    await f\\(\\)\n(?:[ ^~]*\n)?  File \"<run 1>\", line 4, in f\n    await asyncio.sleep\\(30\\)\n(?:[ ^~]*\n)?KeyboardInterrupt\n"},
		},
	})
}
