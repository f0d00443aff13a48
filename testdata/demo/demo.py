"""Show an agent at work: what it is offered, what it may do, and what not.

usage: python3 demo.py BRIDGE MEMORY-SERVER

This program plays the agent. It speaks MCP with the bridge over a pipe, like
any client, and prints what it sends and what comes back. Every step says what
it expects to see: the demo fails when it sees something else.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent


class Agent:
    """An MCP client with one session of the bridge."""

    def __init__(self, command: list[str], log: pathlib.Path) -> None:
        self.log = log
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("w"),
            text=True,
        )
        self.last_id = 0
        self.request(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "demo", "version": "1"},
        )
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, **params: object) -> dict:
        """Send a request and return its result."""
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.last_id and "method" not in message:
                if "error" in message:
                    sys.exit(f"demo: {method}: {message['error']['message']}")
                return message["result"]
        status = self.process.wait()
        sys.exit(f"demo: the bridge ended with status {status}:\n{self.log.read_text()}")

    def run_python(self, code: str, **arguments: object) -> str:
        """Call the bridge's one tool and return the text of its result."""
        result = self.request("tools/call", name="run_python", arguments={"code": code, **arguments})
        return result["content"][0]["text"]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=20)


class Narrator:
    """Numbers and prints the steps, and holds them to what was expected."""

    def __init__(self) -> None:
        self.step = 0

    def title(self, text: str) -> None:
        self.step += 1
        print(f"\n{self.step}. {text}\n")

    def show(self, prefix: str, text: str) -> None:
        for line in text.rstrip("\n").split("\n"):
            print((prefix + line).rstrip())

    def expect(self, pattern: str, text: str) -> None:
        if not re.search(pattern, text, re.DOTALL):
            print(f"\ndemo: expected to see {pattern!r}, saw:\n{text}", file=sys.stderr)
            sys.exit(1)

    def run(self, agent: Agent, title: str, code: str, pattern: str, **arguments: object) -> None:
        code = textwrap.dedent(code).strip()
        self.title(title)
        self.show("    >>> ", code)
        text = agent.run_python(code, **arguments)
        self.show("    ", text)
        self.expect(pattern, text)


def write_policy(binaries: pathlib.Path) -> pathlib.Path:
    """Write the demo's policy with the paths of this machine."""
    folder = binaries / "demo"
    folder.mkdir(exist_ok=True)
    (folder / "graph.json").unlink(missing_ok=True)
    policy = folder / "policy.cue"
    policy.write_text((HERE / "policy.cue").read_text().replace("@BIN@", str(binaries)))
    return policy


def main(bridge: str, memory: str) -> None:
    sys.stdout.reconfigure(line_buffering=True)
    bridge_path = pathlib.Path(bridge).resolve()
    binaries = pathlib.Path(memory).resolve().parent
    policy = write_policy(binaries)
    serve = [str(bridge_path), "--profile", "demo", "--policies", str(policy)]
    tell = Narrator()

    tell.title("A policy: one MCP server, and which of its tools may be called.")
    tell.show("    $ ", f"cat {policy}")
    tell.show("    ", policy.read_text().replace("\t", "    "))
    tell.show("    $ ", f"{bridge} vet {policy}      # silent when it is right")
    subprocess.run([bridge_path, "vet", policy], check=True)

    agent = Agent(serve, policy.with_name("bridge.log"))
    tell.title("An agent starts the bridge over MCP and is offered one tool.")
    for tool in agent.request("tools/list")["tools"]:
        tell.show("    ", f"{tool['name']}({', '.join(tool['inputSchema']['properties'])})")
        tell.show("        ", textwrap.fill(tool["description"], 72))
        tell.expect("^run_python$", tool["name"])

    tell.run(
        agent,
        "Its Python runs in a sandbox: no network, nothing of this machine's files.",
        """
        import os, socket
        print("uid", os.getuid(), "in", os.getcwd(), "sees", sorted(os.listdir("/")))
        for attempt in (lambda: socket.create_connection(("127.0.0.1", 22), 1),
                        lambda: open("/etc/shadow").read(),
                        lambda: open("/usr/lib/planted", "w")):
            try:
                print("reached", attempt())
            except OSError as refused:
                print(type(refused).__name__ + ":", refused)
        x = 41
        """,
        r"uid 65534 in /workspace .*\n(\w+Error: [^\n]+\n?){3}$",
    )
    tell.run(agent, "The next call goes on where the last one ended.", "x + 1", "^42$")
    tell.run(
        agent,
        "It finds out what there is. Tools that the policy does not allow are not shown.",
        """
        print(*runtime.discovered_servers())
        for tool in (await runtime.query_tool_docs("memory"))["tools"]:
            print(" ", tool["name"] + ":", tool["description"])
        """,
        r"^memory\n(?!.*delete_).*create_entities",
    )
    tell.run(
        agent,
        "It calls the server and works with what comes back. Only what it prints is read by the model.",
        """
        await mcp_memory.create_entities(entities=[
            {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]},
            {"name": "Analytical Engine", "entityType": "machine", "observations": []},
        ])
        graph = await mcp_memory.read_graph()
        [entity["name"] for entity in graph["entities"]]
        """,
        r"\['Ada', 'Analytical Engine'\]",
    )
    tell.run(
        agent,
        "It tries what the policy does not allow. The rule is named, and the server is not asked.",
        'await mcp_memory.delete_entities(entityNames=["Ada"])',
        r'memory\.delete_entities: denied by profile "demo" \(\S*policy\.cue:\d+:\d+\); it allows ',
    )
    tell.run(
        agent,
        "It loops for ever, and is stopped. The variables are still there.",
        "while True: pass",
        "stopped after 1s.*variables were kept",
        timeout=1,
    )
    tell.run(
        agent,
        "What it had is what it has.",
        'len((await mcp_memory.read_graph())["entities"]), x',
        r"^\(2, 41\)$",
    )
    agent.close()

    tell.title("The same from a terminal, without an agent.")
    code = 'print((await mcp_memory.search_nodes(query="program"))["entities"])'
    tell.show("    $ ", f"{bridge} run --profile demo --policies {policy} -c '{code}'")
    command = [bridge_path, "run", "--profile", "demo", "--policies", policy, "-c", code]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    tell.show("    ", text)
    tell.expect("Ada", text)

    tell.title("To give it to your own agent, paste one of these.")
    tell.show("    $ ", "claude mcp add bridge -- " + " ".join(serve))
    config = {"mcpServers": {"bridge": {"command": serve[0], "args": serve[1:]}}}
    print()
    tell.show("    ", json.dumps(config, indent=2))
    print("\nREADME.md has the places for Claude Desktop, Codex, Cursor and VS Code.")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    main(*sys.argv[1:])
