"""The builtin help, which is short on what is the bridge's own: servers, and what finds them."""

import builtins
import inspect

from _guest import hub as state
from _guest.finder import ServerModule, server_in
from _guest.proxy import Server, Servers, info_of
from _guest.schema import Parameters

TOOLS = 60  # of a server that are listed
TEXT = 100  # characters of a description
SIGNATURE = 160  # characters of a signature; of a longer one, what is required is shown


class Help:
    """``help()`` in a session."""

    def __init__(self, pythons):
        self.pythons = pythons

    def __call__(self, *args, **kwargs):
        """Print the help on something."""
        lines = lines_on(args[0]) if len(args) == 1 else None
        return self.pythons(*args, **kwargs) if lines is None else print(*lines, sep="\n")

    def __repr__(self):
        return repr(self.pythons)


def install():
    """Take the place of Python's own."""
    builtins.help = Help(builtins.help)


def lines_on(value):
    """Return the help on what is the bridge's, None on anything else."""
    if isinstance(value, (Server, ServerModule)):
        return of_server(value if isinstance(value, Server) else server_in(value))
    if isinstance(value, Servers):
        servers = [f"  mcp_{server['alias']}  {brief(server)}".rstrip() for server in state.current.servers]
        return [type(value).__doc__, *servers]
    if not inspect.ismodule(value) or value.__name__ not in ("mcp", "mcp.runtime", "mcp.servers"):
        return None
    return of_runtime(value) if value.__name__ == "mcp.runtime" else [value.__doc__.strip()]


def of_server(server):
    """Return the tools of a server."""
    info = info_of(server)
    alias = info["alias"]
    tools = state.current.catalog(info["name"], anew=True).tools
    lines = [server.__doc__, f"Its tools, of which help(mcp_{alias}.TOOL) says more:"]
    for tool in tools[:TOOLS]:
        lines.append(f"  {signature(f'await mcp_{alias}.' + tool['alias'], tool)}  {brief(tool)}".rstrip())
    if len(tools) > TOOLS:
        lines.append(f'  and {len(tools) - TOOLS} more: await runtime.query_tool_docs("{alias}")')
    return lines


def of_runtime(module):
    """Return the functions of mcp.runtime."""
    lines = ["runtime finds servers and tools, and keeps what is to outlive the session:"]
    for name in module.__all__:
        function = getattr(module, name)
        if inspect.isfunction(function) and not name.endswith("_sync"):
            wait = "await " if "Awaitable" in str(function.__annotations__.get("return")) or name == "call_tool" else ""
            names = [p.name for p in inspect.signature(function).parameters.values()]
            lines.append(f"  {wait}{name}({', '.join(names)})  {function.__doc__.splitlines()[0].split('. ')[0]}")
    return lines + ["What is awaited has a twin that is not, as list_tools_sync; help(runtime.NAME) says more of one."]


def signature(name, tool):
    """Return the signature of a tool, a short one."""
    parameters = Parameters(tool.get("inputSchema"))
    text = parameters.text(name)
    if len(text) <= SIGNATURE:
        return text
    return f"{name}({', '.join([p.alias for p in parameters.all if p.required] + ['...'])})"


def brief(described):
    """Return the first line of a description, clipped."""
    text = (described.get("description") or described.get("title") or "").strip().split("\n")[0]
    return text if len(text) <= TEXT else text[:TEXT].rsplit(" ", 1)[0] + " …"
