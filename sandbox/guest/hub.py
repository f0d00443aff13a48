"""The servers of the run that is going on, their tools, and the calls of code to them."""

import _thread
import sys
from collections import deque
from itertools import count
from time import monotonic

from _guest.errors import MCPError, UnknownServer
from _guest.shape import nearest

LATELY = 5  # seconds


class Catalog:
    """The tools of one server, asked for once a run; anew, the server itself has said them in this session."""

    def __init__(self, server, wire, anew):
        self.server = server
        self.anew = anew
        self.wire = wire
        self.came = _thread.allocate_lock()
        self.came.acquire()
        self.tools = []
        self.error = None
        self.functions = {}
        self.asked = monotonic()
        wire.request("tools", {"server": server, "anew": anew}, self.answered)

    def answered(self, result, error):
        """Take the answer; the reading thread calls this."""
        self.error = error
        if error is None:
            self.tools = result.get("tools") or []
            self.names = {tool["alias"]: tool for tool in reversed(self.tools)}
            # An exact name wins over an alias.
            self.names.update((tool["name"], tool) for tool in self.tools)
        self.came.release()

    @property
    def loaded(self):
        """Whether the tools are known."""
        return not self.came.locked() and self.error is None

    def wait(self):
        """Wait for the answer, in any thread."""
        if self.came.locked() and self.wire.closed:
            # In a forked child: the answer will come to the parent alone.
            raise MCPError(self.wire.closed)
        self.came.acquire()
        self.came.release()
        if self.error is not None:
            raise self.error.with_traceback(None)
        return self


class Hub:
    """What code can reach in this run."""

    def __init__(self, wire):
        self.wire = wire
        self.servers = []
        self.names = {}
        self.catalogs = {}  # of this run
        self.known = {}  # the last one of each server, from this run or an earlier one
        self.unsent = {}  # number of a call: how it was written, of calls not yet awaited
        self.absent = set()  # servers that a search could not cover
        self.serial = count()
        self.answers = deque(maxlen=1000)  # identities of what calls gave
        self.saved = None  # the tools that code has kept

    def begin(self, servers):
        """Start a run with these servers."""
        self.servers = servers
        self.names = {server["alias"]: server for server in reversed(servers)}
        self.names.update((server["name"], server) for server in servers)
        self.catalogs = {}
        self.unsent = {}

    def missed(self, servers):
        """Say once in a session which servers a search could not cover, and why."""
        for name, reason in servers.items():
            if name not in self.absent:
                self.absent.add(name)
                print(f"not searched: {reason}", file=sys.stderr, flush=True)

    def gave(self, value):
        """Tell whether a value is, as far as is known, what a call gave."""
        return isinstance(value, (dict, list, str)) and id(value) in self.answers

    def find(self, name):
        """Return a server by its name or alias."""
        server = self.names.get(name)
        if server is None:
            raise UnknownServer(self.unknown(name))
        return server

    def unknown(self, name):
        """Return what to say of a server that this run does not have."""
        names = ", ".join(server["name"] for server in self.servers) or "none"
        return f'unknown server "{name}"; servers: {names}{nearest(str(name), self.names)}'

    def expect(self, name):
        """Ask for a server's tools if what is known of them is not of late."""
        known = self.known.get(name)
        if known is None or monotonic() - known.asked > LATELY:
            self.prefetch(name)

    def prefetch(self, name, anew=False):
        """Ask for a server's tools, and go on."""
        catalog = self.catalogs.get(name)
        if catalog is None or anew > catalog.anew:
            catalog = self.catalogs[name] = Catalog(name, self.wire, anew)
        return catalog

    def catalog(self, name, anew=False):
        """Return a server's tools. The first time in a run this waits for the server."""
        catalog = self.prefetch(name, anew)
        try:
            self.known[name] = catalog.wait()
            return catalog
        except Exception:
            # The next attempt asks again.
            if self.catalogs.get(name) is catalog:
                del self.catalogs[name]
            raise

    def tool(self, catalog, name):
        """Return what is known of a tool, by its name or alias."""
        tool = catalog.names.get(name)
        if tool is None:
            # Only the host knows whether it is denied or does not exist, and
            # raises the one or the other here.
            tool = self.wire.ask("tool", {"server": catalog.server, "tool": name})
        return tool

    def newer(self, server, tool):
        """Return the function for a tool that has changed since it was kept, None if it has not."""
        try:
            now = self.catalog(server["name"], anew=True).names.get(tool["name"], tool)
        except MCPError:
            return None
        return None if now == tool else self.function(server, tool["name"])

    def function(self, server, name):
        """Return the function for a tool of a server.

        One that an earlier run has found is good enough: the host judges the
        call itself, and only what is not known is worth waiting for.
        """
        catalog = self.catalogs.get(server["name"])
        known = self.known.get(server["name"])
        if (catalog is None or not catalog.loaded) and known is not None and name in known.names:
            catalog = known
        else:
            catalog = self.catalog(server["name"])
        tool = self.tool(catalog, name)
        function = catalog.functions.get(tool["name"])
        if function is None:
            from _guest.proxy import make_function

            function = catalog.functions[tool["name"]] = make_function(self, server, tool)
        return function


current = None  # the session's Hub; the public modules look here
