"""The servers of this run as modules: ``from mcp.servers.github import create_issue``."""

import sys as _sys
from importlib.machinery import ModuleSpec as _ModuleSpec
from types import ModuleType as _ModuleType

from _guest import hub as _state
from _guest.errors import UnknownServer as _UnknownServer
from _guest.proxy import server_of as _server_of

__path__ = []


class _ServerModule(_ModuleType):
    """A server's tools as a module's functions."""

    def __getattr__(self, name):
        if name == "__all__":
            return [tool["alias"] for tool in _state.current.catalog(self.__dict__["_name"], anew=True).tools]
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_server_of(_state.current.find(self.__dict__["_name"])), name)

    def __dir__(self):
        return dir(_server_of(_state.current.find(self.__dict__["_name"])))


class _Finder:
    """Finds mcp.servers.<alias> for the servers of this run."""

    def find_spec(self, name, path=None, target=None):
        if not name.startswith(__name__ + ".") or name.count(".") != 2:
            return None
        server = _state.current.find(name.rsplit(".", 1)[1])
        spec = _ModuleSpec(name, self)
        spec.loader_state = server
        return spec

    def create_module(self, spec):
        return _ServerModule(spec.name, _server_of(spec.loader_state).__doc__)

    def exec_module(self, module):
        module._name = module.__spec__.loader_state["name"]


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    from importlib import import_module

    try:
        return import_module(f"{__name__}.{name}")
    except _UnknownServer as error:
        raise AttributeError(str(error)) from None


def __dir__():
    return [server["alias"] for server in _state.current.servers]


def forget():
    """Forget the modules of the run before; each run has its own servers."""
    for name in [name for name in _sys.modules if name.startswith(__name__ + ".")]:
        del _sys.modules[name]
        globals().pop(name.rsplit(".", 1)[1], None)


_sys.meta_path.insert(0, _Finder())
