"""The names that code finds in its namespace: `mcp`, `runtime`, `mcp_servers`, `mcp_<alias>`, memory, saved tools."""

import re
import sys

from _guest import hub as state
from _guest.hub import Hub
from _guest.memory import FUNCTIONS
from _guest.saved import Saved


class Names:
    """The namespace's names for what the run can reach."""

    def __init__(self, wire, namespace, pictures):
        self.hub = state.current = Hub(wire)
        import mcp.runtime
        import mcp.servers
        from _guest.finder import forget

        import mcp

        self.namespace = namespace
        self.forget = forget
        self.modules = {name: sys.modules[name] for name in ("mcp", "mcp.runtime", "mcp.servers")}
        self.lasting = {
            "mcp": mcp,
            "runtime": mcp.runtime,
            "mcp_servers": mcp.mcp_servers,
            "display": make_display(pictures),
            **FUNCTIONS,
        }
        self.saved = self.hub.saved = Saved(namespace)
        self.given = {}  # the names that are the bridge's in the namespace
        self.within = {}  # all that the run can reach, whatever code has made of the names

    def begin(self, servers, code):
        """Give the names of a run, and take back those of the one before."""
        self.hub.begin(servers)
        sys.modules.update(self.modules)
        wanted = self.within = dict(self.lasting)
        if servers:
            from _guest.proxy import server_of

            wanted.update(("mcp_" + server["alias"], server_of(server)) for server in servers)
        for name, value in self.given.items():
            # What code has assigned itself stays.
            if self.namespace.get(name) is value:
                del self.namespace[name]
        self.given = {name: value for name, value in wanted.items() if name not in self.namespace}
        self.namespace.update(self.given)
        self.forget()
        self.prefetch(servers, code)

    def prefetch(self, servers, code):
        """Ask for the tools of the servers that code mentions, so that they start side by side."""
        if not servers or "mcp" not in code:
            return
        words = set(re.findall(r"\w+", code))
        by_name = "mcp_servers" in words or "servers" in words
        for server in servers:
            alias, name = server["alias"], server["name"]
            if "mcp_" + alias in words or (by_name and (alias in words or f'"{name}"' in code or f"'{name}'" in code)):
                self.hub.expect(name)

    def end(self):
        """Say which calls were made and not awaited."""
        unsent, self.hub.unsent = self.hub.unsent, {}
        labels = list(unsent.values())
        for label in dict.fromkeys(labels[:1000]):
            count = labels.count(label)
            times = f" ({count} times)" if count > 1 else ""
            print(f"{label}(...) was not awaited{times}; nothing was sent", file=sys.stderr, flush=True)


def make_display(pictures):
    """Return the function `display`."""

    def display(*values):
        """Show values in the result of this run: pictures as images, others as text.

        Pictures are matplotlib figures, PIL images, images in a tool's answer,
        the paths of image files, and what has _repr_png_, _repr_jpeg_ or
        _repr_svg_; also those in lists and dicts.
        """
        pictures().display(*values)

    display.__module__ = "mcp"
    return display
