"""Servers as modules: ``from mcp.servers.github import create_issue``, ``import mcp_github``."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from _guest import hub as state
from _guest.errors import UnknownServer
from _guest.proxy import SPECIAL, server_of

PACKAGE = "mcp.servers"


class ServerModule(ModuleType):
    """A server's tools as a module's functions."""

    def __getattr__(self, name):
        if name == "__all__":
            name = self.__spec__.loader_state["name"]
            return [tool["alias"] for tool in state.current.catalog(name, anew=True).tools]
        if SPECIAL.fullmatch(name):
            raise AttributeError(name)
        return getattr(server_in(self), name)

    def __getitem__(self, name):
        return server_in(self)[name]

    def __dir__(self):
        return dir(server_in(self))


def server_in(module):
    """Return the server of a module."""
    return server_of(state.current.find(module.__spec__.loader_state["name"]))


class Finder:
    """Finds mcp.servers.<alias> and mcp_<alias> for the servers of this run."""

    def find_spec(self, name, path=None, target=None):
        """Find the module of a server."""
        package, _, alias = name.rpartition(".")
        if package == PACKAGE:
            server = state.current.find(alias)
        else:
            server = state.current.names.get(name[4:]) if name.startswith("mcp_") else None
        return server and ModuleSpec(name, self, loader_state=server)

    def create_module(self, spec):
        """Make the module."""
        return ServerModule(spec.name, server_of(spec.loader_state).__doc__)

    def exec_module(self, module):
        """Do nothing: its names come when they are asked for."""


FINDER = Finder()


def attribute(name):
    """Return what mcp.servers has under a name."""
    if SPECIAL.fullmatch(name):
        raise AttributeError(name)
    try:
        return import_module(f"{PACKAGE}.{name}")
    except UnknownServer as error:
        raise AttributeError(str(error)) from None


def names():
    """Return the names in mcp.servers."""
    return [server["alias"] for server in state.current.servers]


def forget():
    """Forget the modules of the run before; each run has its own servers."""
    for name in [name for name, module in list(sys.modules.items()) if type(module) is ServerModule]:
        del sys.modules[name]
    package = import_module(PACKAGE).__dict__
    for name in [name for name, module in package.items() if type(module) is ServerModule]:
        del package[name]
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)
