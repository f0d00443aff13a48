"""The import of the guest's own modules, from the sources that came over the wire.

Modules named ``mcp…`` are the public ones (``mcp_runtime`` is imported as
``mcp.runtime``), all others live in the package ``_guest``. They are compiled
when first imported, which keeps the start short.
"""

import builtins
import sys
from importlib.machinery import ModuleSpec

FOLDER = "bridge/guest/"


class Importer:
    """A finder and loader over a map of sources.

    The modules get a copy of the builtins: code of the session that deletes or
    replaces a builtin does not reach them. There is never a second one of the
    same name: a module that code has taken out of sys.modules comes back.
    """

    def __init__(self, sources):
        self.builtins = dict(builtins.__dict__)
        self.files = {"_guest": ("_guest", "")}
        self.loaded = {}
        for name, source in sources.items():
            full = name.replace("_", ".") if name.startswith("mcp") else "_guest." + name
            self.files[full] = (name, source)

    def find_spec(self, name, path=None, target=None):
        """Find one of the guest's modules; None for every other name."""
        if name not in self.files:
            return None
        origin = FOLDER + self.files[name][0] + ".py"
        spec = ModuleSpec(name, self, origin=origin, is_package=name in ("_guest", "mcp", "mcp.servers"))
        spec.has_location = True
        return spec

    def create_module(self, spec):
        """Return the module if it is loaded; else leave its making to Python."""
        return self.loaded.get(spec.name)

    def exec_module(self, module):
        """Compile and run a module's source, once."""
        name = module.__name__
        if name in self.loaded:
            return
        self.loaded[name] = module
        module.__dict__["__builtins__"] = self.builtins
        code = compile(self.files[name][1], module.__spec__.origin, "exec", dont_inherit=True)
        try:
            exec(code, module.__dict__)
        except BaseException:
            del self.loaded[name]
            raise

    def get_source(self, name):
        """Return a module's source, for tracebacks and inspect."""
        return self.files[name][1]


def start(params, rest):
    """Install the importer and become the sandbox's first process."""
    sys.meta_path.insert(0, Importer(params["modules"]))
    from _guest import init

    init.main(params, rest)
