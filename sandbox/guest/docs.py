"""The documentation of servers and tools that discovery returns."""

from _guest.schema import Parameters
from _guest.shape import nearest


class Names(list):
    """A list that can be awaited as well: both ``f()`` and ``await f()`` give it."""

    def __await__(self):
        yield from ()
        return self


class Docs(dict):
    """The tools of a server: ``docs["tools"][0]``, ``docs[0]``, ``docs["name"]`` and ``for tool in docs`` all work."""

    def __getitem__(self, key):
        if isinstance(key, (int, slice)):
            return super().__getitem__("tools")[key]
        if key not in self:
            for tool in self:
                if key in (tool["name"], tool["toolAlias"]):
                    return tool
            raise KeyError(f"no tool {key!r}{nearest(str(key), [tool['name'] for tool in self])}")
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
    return {**tool_doc(hit["server"], hit, detail), "score": hit["score"]}


def server_doc(server):
    """Return what is known of a server."""
    return {"name": server["name"], "alias": server["alias"], "description": server.get("description") or ""}
