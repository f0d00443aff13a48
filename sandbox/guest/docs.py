"""The documentation of servers and tools that discovery returns."""

from _guest.schema import Parameters


class Names(list):
    """A list that can be awaited as well: both ``f()`` and ``await f()`` give it."""

    def __await__(self):
        yield from ()
        return self


class Docs(dict):
    """The tools of a server: ``docs["tools"][0]``, ``docs[0]`` and ``for tool in docs`` all work."""

    def __getitem__(self, key):
        if isinstance(key, (int, slice)):
            return super().__getitem__("tools")[key]
        return super().__getitem__(key)

    def __iter__(self):
        return iter(super().__getitem__("tools"))

    def __len__(self):
        return len(super().__getitem__("tools"))

    def __bool__(self):
        return bool(super().__getitem__("tools"))


Names.__module__ = Docs.__module__ = "mcp.runtime"


def tool_doc(server, tool, detail):
    """Return what is known of a tool."""
    item = {
        "name": tool["name"],
        "tool": tool["name"],
        "toolAlias": tool["alias"],
        "server": server["name"],
        "serverAlias": server["alias"],
        "description": tool.get("description") or tool.get("title") or "",
    }
    schema = tool.get("inputSchema")
    if schema is not None:
        item["signature"] = Parameters(schema).text(f"mcp_{server['alias']}.{tool['alias']}")
    if detail == "full":
        item["inputSchema"] = schema
        for key in ("title", "outputSchema", "annotations"):
            if tool.get(key) is not None:
                item[key] = tool[key]
    return item


def hit_doc(hit, detail):
    """Return a search hit in the same form, with its score."""
    server = {"name": hit["server"], "alias": hit.get("serverAlias") or hit["server"]}
    tool = {**hit, "name": hit["tool"], "alias": hit.get("toolAlias") or hit["tool"]}
    return {**tool_doc(server, tool, detail), "score": hit.get("score")}


def server_doc(server):
    """Return what is known of a server."""
    return {"name": server["name"], "alias": server["alias"], "description": server.get("description") or ""}


MANUAL = """\
# run_python

Stateful Python in an isolated sandbox without a network. Variables, imports and files in /tmp and /workspace
stay from run to run. The last expression is shown and kept in `_`; top-level `await` works.

Servers: {servers}

- Call: `await {example}.<tool>(argument=value)`, or `await mcp_servers["<server>"].<tool>(...)`, or
  `from mcp.servers.<alias> import <tool>`. `await asyncio.gather(...)` runs calls side by side.
- Find tools: `await runtime.search_tool_docs("words", limit=5)` over all servers;
  `await runtime.query_tool_docs("<server>", tool=None, detail="full")`; `runtime.list_servers()`;
  `help({example}.<tool>)`.
- Results are native values; `await runtime.call_tool(server, tool, args)` gives the raw result.
- Errors: `mcp.ToolError` (the tool failed), `mcp.PolicyError` (not allowed), `mcp.ServerError` (not reachable), all
  `runtime.MCPError`.
- A run that takes too long gets KeyboardInterrupt; variables are kept if it then ends at once.
"""


def manual(servers):
    """Return the manual of a session in Markdown."""
    parts = []
    for server in servers[:8]:
        text = (server.get("description") or "").split("\n")[0]
        parts.append(f"`mcp_{server['alias']}`" + (f" ({text[:60]})" if text else ""))
    if len(servers) > 8:
        parts.append(f"and {len(servers) - 8} more")
    example = "mcp_" + servers[0]["alias"] if servers else "mcp_<alias>"
    return MANUAL.format(servers=", ".join(parts) or "none", example=example)
