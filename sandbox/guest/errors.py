"""What the `mcp` package raises. Every exception's text is its message."""


class MCPError(RuntimeError):
    """A call or a question to a server did not succeed.

    Attributes:
        message: what happened, the same as ``str(error)``.
        data: what else is known, a dict; of a server's JSON-RPC error it has "code" and "data".
        code: the code of a server's JSON-RPC error, else None.
    """

    def __init__(self, message: str, data: "dict | None" = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = data or {}

    @property
    def code(self) -> "int | None":
        """The code of a server's JSON-RPC error."""
        return self.data.get("code")

    def __str__(self) -> str:
        return self.message

    def __reduce__(self):
        return type(self), (self.message, self.data)


class ToolError(MCPError):
    """The tool ran and reported an error; `result` is the raw CallToolResult, if there is one."""

    @property
    def result(self) -> "dict | None":
        """The raw CallToolResult."""
        return self.data.get("result")


class Unattributed(MCPError, AttributeError):
    """What the attributes of a server raise: `hasattr` and `getattr` with a default work on them."""

    def __init__(self, message: str, data: "dict | None" = None) -> None:
        super().__init__(message, data)
        # Set, so that Python does not add a suggestion of its own.
        self.name = None
        self.obj = None


class PolicyError(Unattributed):
    """The policy does not allow the call; the message names the rule and its position."""


class ServerError(MCPError):
    """The server did not start, did not answer in time, or died."""


class ArgumentError(MCPError, TypeError):
    """An argument is missing, unknown or of a wrong type; nothing was sent."""


class UnknownTool(Unattributed):
    """The server has no such tool."""


class UnknownServer(MCPError, KeyError):
    """This run has no such server."""


KINDS = {"tool": ToolError, "tool_not_found": UnknownTool, "policy": PolicyError, "server": ServerError}

for _class in (MCPError, ToolError, PolicyError, ServerError, ArgumentError, UnknownTool, UnknownServer):
    _class.__module__ = "mcp"


def from_wire(error: dict) -> MCPError:
    """Make the exception for an error answer of the host."""
    data = error.get("data") or {}
    return KINDS.get(data.get("kind"), MCPError)(error.get("message", "no message"), data)
