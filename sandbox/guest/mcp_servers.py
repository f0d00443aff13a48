"""The servers of this run as modules: ``from mcp.servers.github import create_issue``."""

# Nothing else has a name here: a server may have any.
from _guest.finder import attribute as __getattr__  # noqa: F401
from _guest.finder import names as __dir__  # noqa: F401

__path__ = []
