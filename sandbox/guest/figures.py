"""What matplotlib is taught when it is loaded: to show figures here, and to say which it saves."""

import os

from _guest.mender import follow


def watch(display):
    """Have `show` show figures as they are then, and note which are saved to files."""

    def teach(module):
        import functools

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

    follow("matplotlib.backend_bases", teach)
