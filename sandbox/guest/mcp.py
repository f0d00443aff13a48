"""MCP servers from Python.

* ``await mcp_github.create_issue(repo="acme/app", title="Broken")``
* ``await mcp_servers["github"].create_issue(repo="acme/app", title="Broken")``
* ``from mcp.servers.github import create_issue``

`mcp.runtime` finds servers and tools: runtime.search_tool_docs("words"),
runtime.query_tool_docs("server"). Calls raise MCPError or one of its kinds:
ToolError, PolicyError, ServerError.
"""

from _guest import hub as _state
from _guest.blocks import (  # noqa: F401  pickle finds them here
    AnswerBool,
    AnswerDict,
    AnswerFloat,
    AnswerInt,
    AnswerList,
    AnswerText,
    Block,
)
from _guest.errors import (
    ArgumentError,
    MCPError,
    PolicyError,
    ServerError,
    ToolError,
    UnknownServer,
    UnknownTool,
)
from _guest.proxy import Servers, server_of

__all__ = [
    "ArgumentError",
    "MCPError",
    "PolicyError",
    "ServerError",
    "ToolError",
    "UnknownServer",
    "UnknownTool",
    "mcp_servers",
    "runtime",  # noqa: F822  it comes by __getattr__, as mcp.runtime needs this module first
]

mcp_servers = Servers()


def __getattr__(name: str):
    if name == "runtime":
        import mcp.runtime

        return mcp.runtime
    if name == "servers":
        import mcp.servers

        return mcp.servers
    if name.startswith("mcp_"):
        return server_of(_state.current.find(name[4:]))
    known = "" if name.startswith("__") else f"; it has {', '.join(n for n in __dir__() if n[:1].islower())}"
    raise AttributeError(f"module 'mcp' has no attribute {name!r}{known}")


def __dir__():
    return sorted(__all__ + ["mcp_" + server["alias"] for server in _state.current.servers])
