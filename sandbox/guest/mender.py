"""The mending of a library's module when it is loaded, however often."""

import sys


class Mender:
    """A finder that lets all others find one module, and mends it once it is loaded."""

    def __init__(self, name, mend):
        self.name = name
        self.mend = mend
        self.finding = False

    def find_spec(self, name, path=None, target=None):
        """Find the one module; None for every other name."""
        if name != self.name or self.finding:
            return None
        from importlib.util import find_spec

        self.finding = True
        try:
            spec = find_spec(name)
        finally:
            self.finding = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            self.follow(spec.loader)
        return spec

    def follow(self, loader):
        """Have a loader mend the module that it loads next, if it is the one."""
        load = loader.exec_module

        def exec_module(module):
            vars(loader).pop("exec_module", None)
            load(module)
            if module.__name__ != self.name:
                return
            try:
                self.mend(module)
            except AttributeError:
                pass  # It is another module of the same name.

        loader.exec_module = exec_module


def follow(name, mend):
    """Mend a module whenever it is loaded from now on."""
    sys.meta_path.insert(0, Mender(name, mend))
