"""What matplotlib is taught when it is loaded: to show figures here, and to say which it saves."""

import os
import sys

BASE = "matplotlib.backend_bases"


class Figures:
    """A finder that lets all others find the module of matplotlib's backends, and mends it then."""

    def __init__(self, display):
        self.display = display
        self.finding = False

    def find_spec(self, name, path=None, target=None):
        """Find the one module; None for every other name."""
        if name != BASE or self.finding:
            return None
        from importlib.util import find_spec

        self.finding = True
        try:
            spec = find_spec(name)
        finally:
            self.finding = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                self.teach(module)

            spec.loader.exec_module = exec_module
        return spec

    def teach(self, module):
        """Have `show` show figures as they are then, and note which are saved to files."""
        import functools

        display = self.display
        save = module.FigureCanvasBase.print_figure

        def show(manager):
            display().show_figure(manager.canvas.figure)

        @functools.wraps(save)
        def print_figure(canvas, filename, *args, **kwargs):
            result = save(canvas, filename, *args, **kwargs)
            if isinstance(filename, (str, os.PathLike)):
                display().note(canvas.figure, filename)
            return result

        module.FigureManagerBase.show = show
        module.FigureCanvasBase.print_figure = print_figure


def watch(display):
    """Teach matplotlib when it is loaded, however often."""
    if not any(isinstance(finder, Figures) for finder in sys.meta_path):
        sys.meta_path.insert(0, Figures(display))
