package sandbox_test

import (
	"strings"
	"testing"

	"bridge/sandbox"
)

// Rules 21 to 30: what code does with servers.
func TestServers(t *testing.T) {
	table(t, map[string][]step{
		"forms": {
			{code: "await mcp_toy.echo(text='a')", value: "'a'"},
			{code: "await mcp_servers['toy'].echo(text='b')", value: "'b'"},
			{code: "from mcp import mcp_toy\nawait mcp_toy.echo('c')", value: "'c'"},
			{code: "from mcp.servers.toy import echo\nawait echo('d', 2)", value: "'dd'"},
			{code: "import mcp.servers.my_server as m\nawait m.raw_name('e', max_results=2)", value: "{'from': 'e', 'max-results': 2}"},
			{code: "import mcp.servers.toy\nawait mcp.servers.toy.add(1, 2)", value: "3"},
			{code: "from mcp.servers import toy\nawait toy.add(b=1, a=2, note='x')", value: "3"},
			{code: "from mcp.servers.toy import *\nawait add(1, 2.5)", value: "3.5"},
			{code: "from mcp import runtime, mcp_servers, mcp_my_server\nawait mcp_servers['my-server'].echo('x') + await mcp_servers['my_server'].echo('y') + await mcp_servers.my_server.echo('z')", value: "'xyz'"},
			{code: "await mcp_servers['toy'].__getattr__('echo')(**{'text': 'f'})", value: "'f'"},
			{code: "await mcp_toy.call_tool('raw-name', {'from': 'x', 'any': [1]})", value: "{'from': 'x', 'any': [1]}"},
			{code: "await mcp_toy['raw-name']('x')", value: "{'from': 'x'}"},
			{code: "await mcp_toy.raw_name(**{'from': 'x'})", value: "{'from': 'x'}"},
			{code: "await mcp.mcp_toy.echo('g')", value: "'g'"},
			{code: "list(mcp_servers), 'toy' in mcp_servers, 'no' in mcp_servers, len(mcp_servers), mcp_servers.get('no')", value: "(['toy', 'my-server'], True, False, 2, None)"},
			{code: "mcp_toy, mcp_servers", value: "(<server toy>, <servers: toy, my-server>)"},
		},
		"errors": {
			{code: "await mcp_toy.fail()", status: sandbox.Failed, err: "mcp.ToolError: it broke",
				trace: "~Traceback[^\n]*\n  File \"<run 1>\", line 1, in <module>\n    await mcp_toy.fail\\(\\)\n(?:[ ^~]*\n)?mcp.ToolError: it broke\n"},
			{code: "await mcp_toy.deny()", status: sandbox.Failed, err: `mcp.PolicyError: toy.deny: denied by profile "test" (policy.cue:3:4)`},
			{code: "await mcp_toy.dead()", status: sandbox.Failed, err: `mcp.ServerError: server "toy" exited with code 3`},
			{code: "try: await mcp_toy.fail()\nexcept runtime.MCPError as e: print(type(e), isinstance(e, RuntimeError), e.message, e.result['isError'])",
				stdout: "<class 'mcp.ToolError'> True it broke True\n"},
			{code: "try: await mcp_toy.deny()\nexcept mcp.PolicyError as e: print(e.data)", stdout: "{'kind': 'policy', 'profile': 'test'}\n"},
			{code: "mcp_toy.eco", status: sandbox.Failed, err: "mcp.UnknownTool: tool not found in server toy: eco; did you mean echo?",
				trace: "~.*mcp.UnknownTool: tool not found in server toy: eco; did you mean echo\\?\n"},
			{code: "mcp_servers['my-server'].sleeep", status: sandbox.Failed, err: "mcp.UnknownTool: tool not found in server my-server: sleeep; did you mean sleep?"},
			{code: "hasattr(mcp_toy, 'nope'), getattr(mcp_toy, 'nope', 1)", value: "(False, 1)"},
			{code: "mcp_servers['tyo']", status: sandbox.Failed, err: `mcp.UnknownServer: unknown server "tyo"; servers: toy, my-server`},
			{code: "from mcp import mcp_tyo", status: sandbox.Failed, err: `mcp.UnknownServer: unknown server "tyo"; servers: toy, my-server`},
			{code: "import mcp.servers.tyo", status: sandbox.Failed, err: `mcp.UnknownServer: unknown server "tyo"; servers: toy, my-server`},
			{code: "from mcp.servers.toy import eco", status: sandbox.Failed, err: "~.*"},
			{code: "import pickle\ntry: await mcp_toy.deny()\nexcept mcp.PolicyError as e: e2 = pickle.loads(pickle.dumps(e))\nstr(e2), e2.data['profile']", value: `~\(.toy.deny: .*, 'test'\)`},
		},
		"broken server": {
			{code: "await mcp_broken.x()", servers: []sandbox.Server{{Name: "broken", Alias: "broken"}}, status: sandbox.Failed, err: `mcp.ServerError: server "broken" exited with code 1: no token`},
			{code: "dir(mcp_broken), mcp_broken", servers: []sandbox.Server{{Name: "broken", Alias: "broken"}}, value: "(['call_tool'], <server broken>)"},
		},
		"arguments": {
			{code: "mcp_toy.echo()", status: sandbox.Failed, err: "mcp.ArgumentError: toy.echo: missing argument 'text'; signature: echo(text: str, times: int = 1)"},
			{code: "mcp_toy.echo(txt='a')", status: sandbox.Failed, err: "mcp.ArgumentError: toy.echo: unknown argument 'txt'; signature: echo(text: str, times: int = 1)"},
			{code: "mcp_toy.echo(1)", status: sandbox.Failed, err: "mcp.ArgumentError: toy.echo: argument 'text' must be str, not 1; signature: echo(text: str, times: int = 1)"},
			{code: "mcp_toy.echo('a', True)", status: sandbox.Failed, err: "mcp.ArgumentError: toy.echo: argument 'times' must be int, not True; signature: echo(text: str, times: int = 1)"},
			{code: "mcp_toy.echo('a', 1, 2)", status: sandbox.Failed, err: "mcp.ArgumentError: toy.echo: 3 positional arguments given, at most 2 taken; signature: echo(text: str, times: int = 1)"},
			{code: "mcp_toy.echo('a', text='b')", status: sandbox.Failed, err: "mcp.ArgumentError: toy.echo: argument 'text' given twice; signature: echo(text: str, times: int = 1)"},
			{code: "await mcp_toy.echo('a', None)", value: "'a'"},
			{code: "mcp_toy.echo(None)", status: sandbox.Failed, err: "~mcp.ArgumentError: toy.echo: argument 'text' must be str, not None; .*"},
			{code: "await mcp_toy.echo('a', timeout=5)", value: "'a'"},
			{code: "mcp_toy.types(e='x')", status: sandbox.Failed, err: "~mcp.ArgumentError: toy.types: argument 'e' must be 'open' . 'closed', not 'x'; .*"},
			{code: "mcp_toy.types(n=float('nan'))", status: sandbox.Failed, err: "mcp.ArgumentError: toy.types: argument 'n' is nan: JSON has no such number"},
			{code: "mcp_toy.types(o=object())", status: sandbox.Failed, err: "mcp.ArgumentError: toy.types: argument 'o' is a object, which JSON has no form for"},
			{code: "mcp_toy.types(o={'a': [1, {2, 3}, object]})", status: sandbox.Failed, err: `mcp.ArgumentError: toy.types: argument "o['a'][2]" is a type, which JSON has no form for`},
			{code: "x = []; x.append(x); mcp_toy.types(a=x)", status: sandbox.Failed, err: "~mcp.ArgumentError: toy.types: argument .* is nested too deeply, or contains itself"},
			{code: "isinstance(mcp.ArgumentError('x'), TypeError), isinstance(mcp.UnknownTool('x'), AttributeError)", value: "(True, True)"},
			{code: "import datetime, pathlib, decimal, uuid, enum, collections\nclass E(enum.Enum):\n    A = 'open'\n" +
				"await mcp_toy.types(s=pathlib.Path('/a'), i=2.0, n=decimal.Decimal('1.5'), b=False, a=('x', E.A), o=collections.OrderedDict(d=datetime.date(2020, 1, 2), u=uuid.UUID(int=0), s={1}, q=collections.deque([1]), r=range(2)), e=E.A, u=None, r=3, d=b'\\xff')",
				value: "{'s': '/a', 'i': 2.0, 'n': 1.5, 'b': False, 'a': ['x', 'open'], 'o': {'d': '2020-01-02', 'u': '00000000-0000-0000-0000-000000000000', 's': [1], 'q': [1], 'r': [0, 1]}, 'e': 'open', 'u': None, 'r': 3, 'd': '/w=='}"},
			{code: "await mcp_toy.types(s=b'text', a=(datetime.datetime(2020, 1, 2, 3, 4),))", value: "{'s': 'text', 'a': ['2020-01-02T03:04:00']}"},
			{code: "mcp_toy.types(s=b'\\xff')", status: sandbox.Failed, err: "~mcp.ArgumentError: toy.types: argument 's' is bytes that are not UTF-8 text.*"},
			{code: "await mcp_toy.free(y=1, x=None)", value: "~.*'y': 1.*"},
			{code: "await mcp_toy.echo('x' * (17 << 20))", status: sandbox.Failed, err: "~mcp.MCPError: the arguments are 17\\d+ bytes as JSON; at most \\d+ can be sent"},
			{code: "await mcp_toy.big(17 << 20)", status: sandbox.Failed, err: "~mcp.ServerError: the answer is 17\\d+ bytes; at most \\d+ can be taken into the session"},
			{code: "len(await mcp_toy.big(15 << 20)), len(await mcp_toy.echo('x' * (15 << 20)))", value: "(15728640, 15728640)"},
		},
		"documentation": {
			{code: "import inspect\nstr(inspect.signature(mcp_toy.echo)), str(inspect.signature(mcp_toy.raw_name)), str(inspect.signature(mcp_toy.free))",
				value: "('(text: str, times: int = 1)', '(from_: str, max_results: int = None)', '(x: Any = None, **more)')"},
			{code: "inspect.signature(mcp_toy.types)", value: "<Signature (s: str = None, i: int = None, n: float = None, b: bool = None, a: list[str] = None, o: dict = None, e: 'open' | 'closed' = None, u: str | None = None, r: int = None, d: str = None)>"},
			{code: "help(mcp_toy.echo)", stdout: "~Help on function echo:\n\necho\\(text: str, times: int = 1\\)\n    Says it again.\n.*text: str  What to say.\n.*"},
			{code: "dir(mcp_toy)", value: "['add', 'big', 'call_tool', 'dead', 'deny', 'echo', 'fail', 'free', 'give', 'raw_name', 'sleep', 'types']"},
			{code: "help(mcp_toy); help(mcp); help(runtime)", stdout: "~.*The MCP server toy. Toys.*search_tool_docs.*"},
			{code: "mcp_toy.echo", value: "~<function mcp_toy.echo at .*>"},
			{code: "print(inspect.getsource(runtime.call_tool))", stdout: "~def call_tool.*"},
		},
		"results": {
			{code: "g = lambda **r: mcp_toy.give(result=r)\nT = lambda s: {'type': 'text', 'text': s}"},
			{code: "await g(content=[T('[1]')])", value: "[1]"},
			{code: "await g(content=[T(' {\"a\": 1}')])", value: "{'a': 1}"},
			{code: "await g(content=[T('1')]), await g(content=[T('{no')])", value: "('1', '{no')"},
			{code: "await g(content=[T('x')], structuredContent={'result': 5})", value: "5"},
			{code: "await g(content=[T('x')], structuredContent={'result': 5, 'more': 6})", value: "{'result': 5, 'more': 6}"},
			{code: "await g(content=[])"},
			{code: "await g(content=[T('a'), T('b')])", value: "[{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': 'b'}]"},
			{code: "r = await g(content=[{'type': 'image', 'mimeType': 'image/png', 'data': 'AAEC'}])\nr, r[0].data, r[0]['mimeType']", value: `([<image image/png, 3 bytes>], b'\x00\x01\x02', 'image/png')`},
			{code: "await runtime.call_tool('toy', 'fail', {})", value: "{'content': [{'text': 'it broke', 'type': 'text'}], 'isError': True}"},
			{code: "await g(content=[], structuredContent=[1])", value: "[1]"},
		},
		"discovery": {
			{code: "runtime.discovered_servers(), await runtime.discovered_servers(), runtime.list_servers_sync(), await runtime.list_servers()",
				value: "(['toy', 'my-server'], ['toy', 'my-server'], ['toy', 'my-server'], ['toy', 'my-server'])"},
			{code: "await runtime.discovered_servers(detailed=True)", value: "[{'name': 'toy', 'alias': 'toy', 'description': 'Toys.'}, {'name': 'my-server', 'alias': 'my_server', 'description': 'The same toys.'}]"},
			{code: "docs = await runtime.query_tool_docs('toy')\ndocs['tools'][0]['name'], docs[0]['tool'], [t['toolAlias'] for t in docs][:3], len(docs), docs[0]",
				value: "('echo', 'echo', ['echo', 'add', 'raw_name'], 11, {'name': 'echo', 'tool': 'echo', 'toolAlias': 'echo', 'server': 'toy', 'serverAlias': 'toy', 'description': 'Says it again.', 'signature': 'mcp_toy.echo(text: str, times: int = 1)'})"},
			{code: "import json; d = json.loads(json.dumps(docs)); list(d), len(d['tools']), docs.get('name')", value: "(['name', 'alias', 'description', 'tools'], 11, 'toy')"},
			{code: "(await runtime.query_tool_docs('my-server', 'raw-name', detail='full'))[0]['inputSchema']['required']", value: "['from']"},
			{code: "await runtime.query_tool_docs('toy', 'eco')", status: sandbox.Failed, err: "mcp.UnknownTool: tool not found in server toy: eco; did you mean echo?"},
			{code: "await runtime.query_tool_docs('tyo')", status: sandbox.Failed, err: `mcp.UnknownServer: unknown server "tyo"; servers: toy, my-server`},
			{code: "runtime.query_tool_docs_sync('toy', 'big', 'full')[0]['annotations']", value: "{'readOnlyHint': True}"},
			{code: "[h['server'] + ' ' + h['toolAlias'] + ' ' + h['description'] + ' ' + str(h['score']) for h in await runtime.search_tool_docs('some words', limit=3)]", value: "['my-server raw_name some words 3 1.5']"},
			{code: "runtime.search_tool_docs_sync('w')[0]['name']", value: "'raw-name'"},
			{code: "await runtime.search_tool_docs('w', limit=0)", status: sandbox.Failed, err: "mcp.ArgumentError: the limit must be a whole number from 1 on, not 0"},
			{code: "(await runtime.list_tools('toy'))[1]['name'], runtime.list_tools_sync('toy')[0]['name']", value: "('add', 'echo')"},
			{code: "await runtime.describe_server('my_server')", value: "~{'name': 'my-server', 'alias': 'my_server', 'description': 'The same toys.', 'tools': \\['echo', .*"},
			{code: "runtime.describe_server_sync('toy') == await runtime.describe_server('toy')", value: "True"},
			{code: "print(runtime.capability_summary())", stdout: "~# run_python\n.*mcp_toy.*"},
		},
		"not awaited": {
			{code: "mcp_toy.echo('a')\nmcp_toy.echo('b')\nmcp_toy.add(1, 2);", stderr: "mcp_toy.echo(...) was not awaited (2 times); nothing was sent\nmcp_toy.add(...) was not awaited; nothing was sent\n"},
			{code: "mcp_toy.echo('a')", value: "<call mcp_toy.echo(...), not awaited: nothing was sent>", stderr: "mcp_toy.echo(...) was not awaited; nothing was sent\n"},
			{code: "c = mcp_toy.echo('a'); await c; await c", status: sandbox.Failed, err: "RuntimeError: cannot reuse already awaited coroutine"},
		},
		"side by side": {
			{code: "import asyncio, time\nt = time.monotonic()\nr = await asyncio.gather(*[mcp_toy.sleep(ms=200) for _ in range(100)])\nassert time.monotonic() - t < 10, time.monotonic() - t\nset(r)", value: "{'slept'}"},
			{code: "len(await asyncio.gather(*[mcp_toy.echo(str(i)) for i in range(1000)]))", value: "1000"},
			{code: "await asyncio.create_task(mcp_toy.echo('t'))", value: "'t'"},
			{code: "await asyncio.wait_for(mcp_toy.echo('w'), 5)", value: "'w'"},
			{code: "try: await asyncio.wait_for(mcp_toy.sleep(ms=5000), 0.05)\nexcept asyncio.TimeoutError: print('timed out')", stdout: "timed out\n"},
			{code: "asyncio.run(mcp_toy.echo('r'))", value: "'r'"},
			{code: "async def main(): return await asyncio.gather(mcp_toy.echo('m'), mcp_my_server.echo('n'))\nasyncio.run(main())", value: "['m', 'n']"},
			{code: "import threading\nout = []\nth = threading.Thread(target=lambda: out.append(asyncio.run(mcp_toy.echo('thread'))))\nth.start(); th.join(); out", value: "['thread']"},
			{code: "if hasattr(asyncio, 'TaskGroup'):\n    async with asyncio.TaskGroup() as g: t = g.create_task(mcp_toy.echo('g'))\n    assert t.result() == 'g'"},
			{code: "r = []\nfor f in asyncio.as_completed([mcp_toy.echo('1'), mcp_toy.echo('2')]): r.append(await f)\nsorted(r)", value: "['1', '2']"},
			{code: "asyncio.iscoroutine(mcp_toy.echo('x')) and asyncio.iscoroutine(mcp_toy.echo('y'));", stderr: "~.*"},
			{code: "t = asyncio.ensure_future(mcp_toy.sleep(ms=60000)); await asyncio.sleep(0.05); t.cancel(); await asyncio.wait([t]); t.cancelled()", value: "True"},
		},
		"names": {
			{code: "mcp_toy = 5"},
			{code: "mcp_toy", value: "5"},
			{code: "del mcp_toy"},
			{code: "mcp_toy", value: "<server toy>"},
			{code: "kept = mcp_my_server; 'mcp_my_server' in globals()", servers: toyServers[:1], status: sandbox.Failed, err: "NameError: name 'mcp_my_server' is not defined"},
			{code: "from mcp.servers.my_server import echo", servers: toyServers[:1], status: sandbox.Failed, err: `mcp.UnknownServer: unknown server "my_server"; servers: toy`},
			{code: "sorted(n for n in globals() if n.startswith('mcp') or n == 'runtime')", value: "['mcp', 'mcp_my_server', 'mcp_servers', 'mcp_toy', 'runtime']"},
			{code: "sorted(n for n in globals() if n.startswith('mcp') or n == 'runtime')", servers: []sandbox.Server{}, value: "['mcp', 'mcp_servers', 'runtime']"},
			{code: "runtime.capability_summary()[:14]", servers: []sandbox.Server{}, value: `'# run_python\n\n'`},
		},
		"outside a run": {
			{code: "import threading, asyncio, time\ndef late():\n    time.sleep(0.3)\n    try: asyncio.run(mcp_toy.echo('x'))\n    except mcp.MCPError as e: print(e)\nf = mcp_toy.echo\nthreading.Thread(target=late).start()"},
			{code: "1", value: "1"},
		},
	})
}

// The manual is short whatever there is, since it is read into an agent's context.
func TestManual(t *testing.T) {
	var many []sandbox.Server
	for i := range 60 {
		name := "server-" + strings.Repeat("x", i)
		many = append(many, sandbox.Server{Name: name, Alias: "s" + strings.Repeat("x", i), Description: strings.Repeat("words ", 50)})
	}
	for _, e := range engines(t) {
		s := open(t, e, newToy().serve)
		r := run(t, s, step{code: "print(runtime.capability_summary(), end='')", servers: many})
		if words := len(strings.Fields(r.Stdout.Text)); words > 220 || !strings.Contains(r.Stdout.Text, "and 52 more") {
			t.Errorf("%d words:\n%s", words, r.Stdout.Text)
		}
	}
}
