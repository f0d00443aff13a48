"""Servers and tools as code sees them: objects with functions that return awaitables."""

import re
from collections.abc import Coroutine, Mapping

from _guest import hub as state
from _guest.errors import ArgumentError, MCPError
from _guest.schema import Parameters
from _guest.values import native, plain

SPECIAL = re.compile(r"__.*__|_(repr|ipython)_.*_")  # asked of any object by Python or a display; no alias is so
NAME = 512  # characters of a tool's name; the host refuses longer ones


class Call(Coroutine):
    """A call of a tool, or a question about tools. It is sent when it is awaited, not before."""

    def __init__(self, hub, label, ask):
        self._hub = hub
        self._ask = ask
        self._coroutine = None
        self.__name__ = self.__qualname__ = label
        self._number = next(hub.serial)
        hub.unsent[self._number] = label

    async def _answer(self):
        self._hub.unsent.pop(self._number, None)
        return await self._ask()

    def _started(self):
        if self._coroutine is None:
            self._coroutine = self._answer()
        return self._coroutine

    def __await__(self):
        return (yield from self._started().__await__())

    def send(self, value):
        """Advance, as a coroutine does."""
        return self._started().send(value)

    def throw(self, *error):
        """Raise within, as in a coroutine."""
        return self._started().throw(*error)

    def close(self):
        """End, as a coroutine does."""
        if self._coroutine is not None:
            self._coroutine.close()

    def __repr__(self):
        sent = "" if self._number not in self._hub.unsent else ", not awaited: nothing was sent"
        return f"<call {self.__name__}(...){sent}>"


def call_of(hub, label, server, tool, arguments, raw=False):
    """Return the call of a tool, with arguments that are checked."""
    request = {"server": server, "tool": tool, "arguments": arguments}

    async def ask():
        result = await hub.wire.asked("call", request)
        value = result if raw else native(result, server, tool)
        hub.answers.append(id(value))
        return value

    return Call(hub, label, ask)


def make_function(hub, server, tool):
    """Make the function for one tool, with its signature and documentation."""
    parameters = Parameters(tool.get("inputSchema"))
    name = f"{server['name']}.{tool['name']}"
    label = f"mcp_{server['alias']}.{tool['alias']}"

    def call(*args, **kwargs):
        try:
            arguments = parameters.bind(name, tool["alias"], args, kwargs)
        except ArgumentError:
            newer = hub.newer(server, tool)
            if newer is None:
                raise
            return newer(*args, **kwargs)
        return call_of(hub, label, server["name"], tool["name"], arguments)

    call.__name__ = tool["alias"]
    call.__qualname__ = label
    call.__module__ = f"mcp.servers.{server['alias']}"
    call.__doc__ = document(tool, parameters)
    call.__signature__ = parameters.signature()
    call.tool = tool["name"]
    call.definition = tool
    call.parameters = parameters
    return call


def call_by_name(server, label, tool, arguments, raw):
    """Make a call with arguments by the schema's own names. They are checked like those of a function."""
    if arguments is not None and not isinstance(arguments, Mapping):
        raise ArgumentError(f"{label}: the arguments must be a dict, not {type(arguments).__name__}")
    try:
        function = state.current.function(server, tool) if len(tool) <= NAME else None
    except MCPError:
        function = None
    if function is None:
        # The host says when it is called why it cannot be, and keeps note of it.
        return call_of(state.current, label, server["name"], tool, plain(dict(arguments or {}), "arguments", None), raw)
    name = f"{server['name']}.{function.tool}"
    try:
        checked = function.parameters.check(name, function.__name__, dict(arguments or {}))
    except ArgumentError:
        function = state.current.newer(server, function.definition)
        if function is None:
            raise
        checked = function.parameters.check(name, function.__name__, dict(arguments or {}))
    return call_of(state.current, label, server["name"], function.tool, checked, raw)


def document(tool, parameters):
    """Return the documentation of a tool's function."""
    parts = [tool.get("description") or tool.get("title") or tool["name"]]
    lines = [line for parameter in parameters.all for line in parameter.lines()]
    if lines:
        parts.append("Arguments:\n" + "\n".join("    " + line for line in lines))
    if tool["name"] != tool["alias"]:
        parts.append(f"The tool's own name: {tool['name']}")
    parts.append("Returns an awaitable; the call is sent when it is awaited.")
    return "\n\n".join(parts)


class Server:
    """The tools of one MCP server, as attributes: ``await server.tool(argument=value)``.

    ``dir(server)`` lists them, ``help(server.tool)`` explains one, and
    ``server["name"]`` finds one by the server's own name for it.
    """

    def __init__(self, name, alias, description):
        # The name becomes _Server__info, which no alias is: they have no capital letters.
        self.__dict__["_Server__info"] = {"name": name, "alias": alias, "description": description}
        self.__dict__["__doc__"] = f"The MCP server {name}. {description or ''}".strip()

    def __getattr__(self, name):
        if SPECIAL.fullmatch(name):
            raise AttributeError(name)
        return state.current.function(self.__info, name)

    def __getitem__(self, name):
        return state.current.function(self.__info, name)

    def __setattr__(self, name, value):
        raise AttributeError(f"the tools of a server cannot be changed: {name}")

    def __dir__(self):
        try:
            tools = [tool["alias"] for tool in state.current.catalog(self.__info["name"], anew=True).tools]
        except MCPError:
            tools = []
        return sorted(tools + ["call_tool"])

    def __repr__(self):
        return f"<server {self.__info['name']}>"

    def call_tool(self, tool: str, arguments: "dict | None" = None):
        """Call a tool by its own name; the awaited value is the same as of ``server.tool(...)``."""
        return call_by_name(self.__info, f"mcp_{self.__info['alias']}.call_tool", tool, arguments, raw=False)


class Servers(Mapping):
    """The servers of this run by name: ``await mcp_servers["github"].create_issue(...)``."""

    def __getitem__(self, name):
        return server_of(state.current.find(name))

    def __iter__(self):
        return iter([server["name"] for server in state.current.servers])

    def __len__(self):
        return len(state.current.servers)

    def __contains__(self, name):
        return name in state.current.names

    def __getattr__(self, name):
        server = state.current.names.get(name)
        if server is None:
            raise AttributeError(state.current.unknown(name))
        return server_of(server)

    def __dir__(self):
        return sorted({*super().__dir__(), *(server["alias"] for server in state.current.servers)})

    def __repr__(self):
        return f"<servers: {', '.join(self) or 'none'}>"


def info_of(server):
    """Return what is known of a server by its object."""
    return server.__dict__["_Server__info"]


def server_of(server):
    """Return the object for a server."""
    return Server(server["name"], server["alias"], server.get("description") or "")


Server.__module__ = Servers.__module__ = Call.__module__ = "mcp"
