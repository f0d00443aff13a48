"""Pictures: `display`, the figures that a run leaves open, and a last value that is one."""

import base64
import os
import sys

from _guest.errors import MCPError
from _guest.show import show

LARGEST = 8 << 20  # bytes of one picture that a frame has room for
SHOWN = 64 << 10  # characters of a value that display writes


class Display:
    """Sends pictures to the host, in the order in which they are shown."""

    def __init__(self, wire):
        self.wire = wire
        self.pid = os.getpid()

    def display(self, *values):
        """Show values: pictures as images, others as text."""
        for value in values:
            found = picture(value)
            if found is None or os.getpid() != self.pid:
                print(value if isinstance(value, str) else show(value, SHOWN))
                continue
            self.send(*found)
            put_away(value)

    def send(self, kind, data):
        """Send one picture."""
        if len(data) > LARGEST:
            print(f"a picture of {len(data)} bytes was left out; at most {LARGEST} can be shown", file=sys.stderr)
            return
        self.wire.tell("image", {"mime": kind, "data": base64.b64encode(data).decode()})

    def show_value(self, value):
        """Show a last value if it is a picture; tell whether it was one."""
        found = picture(value)
        if found is None:
            return False
        self.send(*found)
        put_away(value)
        return True

    def figures(self):
        """Show the figures that matplotlib has open, and close them."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or os.getpid() != self.pid:
            return
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            try:
                if figure.axes or figure.texts or figure.images:
                    self.send("image/png", drawn(figure))
            except MCPError:
                raise
            except Exception as error:
                print(f"figure {number} could not be drawn: {type(error).__name__}: {error}", file=sys.stderr)
            finally:
                pyplot.close(figure)


def picture(value):
    """Return the media type and the bytes of a picture, None if the value is none."""
    if isinstance(value, type):
        return None
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    if figure is not None and isinstance(value, figure):
        return "image/png", drawn(value)
    image = getattr(sys.modules.get("PIL.Image"), "Image", None)
    if image is not None and isinstance(value, image):
        return "image/png", saved(value)
    for kind, name in (
        ("image/png", "_repr_png_"),
        ("image/jpeg", "_repr_jpeg_"),
        ("image/svg+xml", "_repr_svg_"),
    ):
        data = of(value, name)
        if data:
            return kind, data
    return None


def of(value, name):
    """Return the bytes that one of the methods of a notebook's values gives."""
    try:
        method = getattr(value, name, None)
        data = method() if callable(method) else None
    except Exception:
        return None
    if isinstance(data, tuple) and data:
        data = data[0]  # metadata follow
    if isinstance(data, str):
        # PNG and JPEG come as base64 from some, SVG is text.
        try:
            return data.encode() if name == "_repr_svg_" else base64.b64decode(data, validate=True)
        except ValueError:
            return None
    return bytes(data) if isinstance(data, (bytes, bytearray, memoryview)) else None


def drawn(figure):
    """Return a figure as PNG."""
    from io import BytesIO

    file = BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return file.getvalue()


def saved(image):
    """Return an image of PIL as PNG."""
    from io import BytesIO

    file = BytesIO()
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"):
        image = image.convert("RGB")
    image.save(file, format="PNG")
    return file.getvalue()


def put_away(value):
    """Close a figure that has been shown, so that it is not shown again."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    if pyplot is not None and figure is not None and isinstance(value, figure):
        pyplot.close(value)
