"""The width of what libraries print: an agent reads longer lines than a terminal shows."""

import os
from importlib.machinery import PathFinder

WIDTH = 200  # characters
COLUMNS = 100  # of a frame


class Widener:
    """A finder that sets the options of pandas when it has been imported."""

    def find_spec(self, name, path=None, target=None):
        """Find pandas, and have its options set once it is loaded."""
        spec = PathFinder.find_spec(name, path, target) if name == "pandas" else None
        if spec is None or spec.loader is None:
            return None
        loader, load = spec.loader, spec.loader.exec_module

        def exec_module(module):
            del loader.exec_module
            load(module)
            module.set_option("display.width", WIDTH)
            module.set_option("display.max_columns", COLUMNS)

        loader.exec_module = exec_module
        return spec


def widen():
    """Have libraries print wide lines."""
    import sys

    os.environ.setdefault("COLUMNS", str(WIDTH))
    sys.meta_path.insert(0, Widener())
