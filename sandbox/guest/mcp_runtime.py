"""Discovery of servers and tools.

* ``runtime.discovered_servers()``: the names of the servers
* ``await runtime.search_tool_docs("calendar events")``: ranked tools of all servers
* ``await runtime.query_tool_docs("github")``: the tools of one server
* ``await runtime.call_tool("github", "get_me", {})``: a raw CallToolResult
* ``await runtime.list_resources("docs")``, ``await runtime.read_resource("docs", uri)``
"""

from collections.abc import Awaitable

from _guest import hub as _state
from _guest.docs import Docs, Names
from _guest.docs import hit_doc as _hit_doc
from _guest.docs import server_doc as _server_doc
from _guest.docs import tool_doc as _tool_doc
from _guest.errors import ArgumentError, MCPError, PolicyError, ServerError, ToolError, UnknownServer, UnknownTool
from _guest.memory import (
    delete_memory,
    get_memory_info,
    list_memories,
    load_memory,
    memory_exists,
    save_memory,
    save_tool,
    update_memory,
)
from _guest.proxy import Call as _Call
from _guest.proxy import call_by_name as _call_by_name
from _guest.resources import Resources as _Resources
from _guest.resources import content as _content
from _guest.resources import uri_of as _uri_of

__all__ = [
    "ArgumentError",
    "MCPError",
    "PolicyError",
    "ServerError",
    "ToolError",
    "UnknownServer",
    "UnknownTool",
    "call_tool",
    "capability_summary",
    "delete_memory",
    "describe_server",
    "describe_server_sync",
    "discovered_servers",
    "discovered_servers_sync",
    "get_memory_info",
    "list_memories",
    "list_resources",
    "list_resources_sync",
    "list_servers",
    "list_servers_sync",
    "list_tools",
    "list_tools_sync",
    "load_memory",
    "memory_exists",
    "query_tool_docs",
    "query_tool_docs_sync",
    "read_resource",
    "read_resource_sync",
    "save_memory",
    "save_tool",
    "search_tool_docs",
    "search_tool_docs_sync",
    "update_memory",
]


def discovered_servers(detailed: bool = False) -> Names:
    """Return the names of the servers that this run can use.

    With ``detailed=True`` each item is a dict with name, alias and
    description. The list works with and without ``await``.
    """
    servers = _state.current.servers
    return Names(_server_doc(server) if detailed else server["name"] for server in servers)


def discovered_servers_sync(detailed: bool = False) -> list:
    """Return what discovered_servers does, as a plain list."""
    return list(discovered_servers(detailed))


def _later(ask) -> _Call:
    """Return what asks when it is awaited, and is reported if it never is."""
    return _Call(_state.current, "runtime." + ask.__name__, ask)


def list_servers() -> Names:
    """Return the names of the servers that this run can use, with or without ``await``."""
    return discovered_servers()


def list_servers_sync() -> list:
    """Return the names of the servers that this run can use."""
    return list(discovered_servers())


def _tools(server: str, result: dict, tool: "str | None", detail: str) -> Docs:
    info = _state.current.find(server)
    tools = result["tools"] if tool is None else [_state.current.tool(_state.current.catalog(info["name"]), tool)]
    items = [_tool_doc(info, item, detail) for item in tools]
    return Docs({**_server_doc(info), "tools": items})


def _check(detail: str) -> None:
    if detail not in ("summary", "full"):
        raise ArgumentError(f'unknown detail {detail!r}; "summary" or "full"')


async def _load(server: str) -> dict:
    """Load a server's tools without holding up the event loop."""
    from asyncio import get_running_loop

    hub = _state.current
    name = hub.find(server)["name"]
    catalog = hub.prefetch(name, anew=True)
    if not catalog.loaded:
        await get_running_loop().run_in_executor(None, hub.catalog, name, True)
    return {"tools": hub.catalog(name, True).tools}


def _load_sync(server: str) -> dict:
    return {"tools": _state.current.catalog(_state.current.find(server)["name"], anew=True).tools}


def list_tools(server: str) -> "Awaitable[list]":
    """Return the tools of a server, each a dict with name, description and signature."""

    async def list_tools():
        return _tools(server, await _load(server), None, "summary")["tools"]

    return _later(list_tools)


def list_tools_sync(server: str) -> list:
    """Return the tools of a server, as list_tools does, without await."""
    return _tools(server, _load_sync(server), None, "summary")["tools"]


def _description(docs: Docs) -> dict:
    return {**{key: docs[key] for key in ("name", "alias", "description")}, "tools": [tool["name"] for tool in docs]}


def describe_server(server: str) -> "Awaitable[dict]":
    """Return a server's name, alias, description and the names of its tools."""

    async def describe_server():
        return _description(_tools(server, await _load(server), None, "summary"))

    return _later(describe_server)


def describe_server_sync(server: str) -> dict:
    """Return what describe_server does, without await."""
    return _description(_tools(server, _load_sync(server), None, "summary"))


def query_tool_docs(server: str, tool: "str | None" = None, detail: str = "summary") -> "Awaitable[Docs]":
    """Return the documentation of a server's tools, or of one of them.

    ``docs["tools"]`` is the list of them; the value can be indexed and
    iterated like that list as well. With ``detail="full"`` each has its
    inputSchema and outputSchema.
    """

    async def query_tool_docs():
        _check(detail)
        return _tools(server, await _load(server), tool, detail)

    return _later(query_tool_docs)


def query_tool_docs_sync(server: str, tool: "str | None" = None, detail: str = "summary") -> Docs:
    """Return what query_tool_docs does, without await."""
    _check(detail)
    return _tools(server, _load_sync(server), tool, detail)


def _query(query: str, limit: int, detail: str, servers: "list | None") -> dict:
    _check(detail)
    if not isinstance(query, str):
        raise ArgumentError(f"the query must be text, not {type(query).__name__}")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ArgumentError(f"the limit must be a whole number from 1 on, not {limit!r}")
    params = {"query": query, "limit": limit}
    if servers is not None:
        names = [servers] if isinstance(servers, str) else list(servers)
        params["servers"] = [_state.current.find(name)["name"] for name in names]
    return params


def _found(result: dict, detail: str) -> list:
    _state.current.missed(result.get("unavailable") or {})
    return [_hit_doc(hit, detail) for hit in result.get("hits") or []]


def search_tool_docs(
    query: str, limit: int = 5, detail: str = "summary", servers: "list | str | None" = None
) -> "Awaitable[list]":
    """Search the tools of all servers, best first.

    Each hit is a dict with server, tool, description, signature and score.
    ``servers`` narrows the search to some of them.
    """

    async def search_tool_docs():
        return _found(await _state.current.wire.asked("search", _query(query, limit, detail, servers)), detail)

    return _later(search_tool_docs)


def search_tool_docs_sync(
    query: str, limit: int = 5, detail: str = "summary", servers: "list | str | None" = None
) -> list:
    """Return what search_tool_docs does, without await."""
    return _found(_state.current.wire.ask("search", _query(query, limit, detail, servers)), detail)


def call_tool(server: str, tool: str, args: "dict | None" = None):
    """Call a tool by name. Awaited, it gives the raw CallToolResult, also if that reports an error."""
    return _call_by_name(_state.current.find(server), "runtime.call_tool", tool, args, raw=True)


def _of(server: str, uri=None) -> dict:
    request = {"server": _state.current.find(server)["name"]}
    return request if uri is None else {**request, "uri": _uri_of(uri)}


def list_resources(server: str) -> "Awaitable[_Resources]":
    """Return the resources of a server that may be read, and its templates of them.

    ``found["resources"]`` and ``found["resourceTemplates"]`` are the lists, of
    dicts with uri or uriTemplate, name and more. The value can be iterated like
    the first.
    """

    async def list_resources():
        return _Resources(await _state.current.wire.asked("resources", _of(server)))

    return _later(list_resources)


def list_resources_sync(server: str) -> _Resources:
    """Return what list_resources does, without await."""
    return _Resources(_state.current.wire.ask("resources", _of(server)))


def read_resource(server: str, uri: "str | dict") -> "Awaitable":
    """Return a resource of a server, by its URI or a link to it.

    Text is a str, all else bytes. A resource of several parts is a list of them. ``display`` shows images.
    """

    async def read_resource():
        return _content(await _state.current.wire.asked("resource", _of(server, uri)))

    return _later(read_resource)


def read_resource_sync(server: str, uri: "str | dict"):
    """Return what read_resource does, without await."""
    return _content(_state.current.wire.ask("resource", _of(server, uri)))


def capability_summary() -> str:
    """Return a short manual of this session in Markdown."""
    return _state.current.wire.ask("manual", {})["text"]
