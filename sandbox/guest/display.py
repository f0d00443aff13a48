"""Pictures: `display`, the figures of a run, and the pictures in a last value."""

import base64
import os
import sys
from itertools import islice

from _guest.errors import MCPError
from _guest.inside import inside
from _guest.show import decoded, show

LARGEST = 11 << 20  # bytes of one picture that a frame has room for
SHOWN = 64 << 10  # characters of a value that display writes
MOST = 64  # pictures of one value
KINDS = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
}
SUFFIXES = {kind: suffix for suffix, kind in reversed(KINDS.items())}


class Display:
    """Sends pictures to the host, in the order in which they are shown."""

    def __init__(self, wire):
        self.wire = wire
        self.pid = os.getpid()
        self.saved = {}  # files that figures were saved to, by the figures, as long as neither was shown

    def display(self, *values):
        """Show values: pictures and files of pictures as images, others as text."""
        for value in values:
            if os.getpid() == self.pid and (self.show_file(value) or self.show_value(value)):
                continue
            print(value if isinstance(value, str) else show(value, SHOWN))
            self.show_inner(value)

    def send(self, kind, data):
        """Send one picture; one that no frame has room for is left as a file."""
        if len(data) <= LARGEST:
            self.wire.tell("image", {"mime": kind, "data": base64.b64encode(data).decode()})
            return
        where = "left out"
        for number in range(1, MOST):
            try:
                with open(f"/workspace/picture-{number}{SUFFIXES[kind]}", "xb") as file:
                    file.write(data)
                where = "written to " + file.name
                break
            except FileExistsError:
                continue
            except OSError as error:
                where = f"left out ({error})"
                break
        print(f"a picture of {len(data)} bytes was {where}; at most {LARGEST} can be shown", file=sys.stderr)

    def show_value(self, value):
        """Show a value if it is a picture; tell whether it was one."""
        found = picture(value)
        if found is None:
            return False
        self.send(*found)
        self.put_away(value)
        return True

    def show_inner(self, value):
        """Show the pictures in a value that has others in it."""
        if os.getpid() == self.pid:
            for part in islice(inside(value, is_picture), MOST):
                self.show_value(part)

    def show_file(self, value):
        """Show the file of a picture; tell whether it was one."""
        if not isinstance(value, (str, os.PathLike)):
            return False
        path = os.path.abspath(os.fspath(value)) if len(str(value)) < 1000 else ""
        kind = KINDS.get(os.path.splitext(path)[1].lower()) if isinstance(path, str) else None
        try:
            if kind is None or not os.path.isfile(path):
                return False
            with open(path, "rb") as file:
                data = file.read(LARGEST + 1)
        except (OSError, ValueError):
            return False
        self.saved = {figure: files - {path} for figure, files in self.saved.items()}
        if len(data) > LARGEST:
            print(f"{path} is too large to show: at most {LARGEST} bytes can be", file=sys.stderr)
        else:
            self.send(kind, data)
        return True

    def figures(self):
        """Show the figures that matplotlib has open, and close them."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or os.getpid() != self.pid:
            return
        try:
            figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
        except Exception:
            return  # Code has put something of its own in the place of pyplot.
        for figure in figures:
            self.show_figure(figure)

    def show_figure(self, figure):
        """Show a figure as it is, and close it."""
        if os.getpid() != self.pid:
            return
        try:
            if figure.axes or figure.texts or figure.images:
                self.send("image/png", drawn(figure))
        except MCPError:
            raise
        except Exception as error:
            number = getattr(figure, "number", "")
            print(f"figure {number} could not be drawn: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            self.put_away(figure)

    def put_away(self, value):
        """Close a figure that has been shown, so that it is not shown again."""
        if is_figure(value):
            self.saved.pop(value, None)
            pyplot = sys.modules.get("matplotlib.pyplot")
            if pyplot is not None:
                pyplot.close(value)

    def note(self, figure, file):
        """Note that a figure was saved to a file."""
        path = os.path.abspath(os.fspath(file))
        if os.getpid() == self.pid and isinstance(path, str) and KINDS.get(os.path.splitext(path)[1].lower()):
            self.saved.setdefault(figure, set()).add(path)

    def end(self):
        """Return the files that figures were saved to in the run and that it has not shown."""
        files = sorted({path for files in self.saved.values() for path in files})
        self.saved = {}
        return [path for path in files if path.isprintable() and os.path.isfile(path)]


def is_figure(value):
    """Tell whether a value is a figure of matplotlib."""
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    return figure is not None and isinstance(value, figure)


def is_image(value):
    """Tell whether a value is an image of PIL."""
    image = getattr(sys.modules.get("PIL.Image"), "Image", None)
    return image is not None and isinstance(value, image)


REPRS = (("image/png", "_repr_png_"), ("image/jpeg", "_repr_jpeg_"), ("image/svg+xml", "_repr_svg_"))


def is_picture(value):
    """Tell whether a value is likely to be a picture, without drawing it."""
    kind = type(value)
    try:
        if isinstance(value, dict):
            return held(value) is not None
        return is_figure(value) or is_image(value) or any(hasattr(kind, name) for _, name in REPRS)
    except Exception:
        return False  # Even its class can be a property that raises.


def picture(value):
    """Return the media type and the bytes of a picture, None if the value is none."""
    if not is_picture(value):
        return None
    if isinstance(value, dict):
        return held(value)
    if is_figure(value):
        return "image/png", drawn(value)
    if is_image(value):
        try:
            return "image/png", encoded(value)
        except Exception:
            return None  # It has no dots, perhaps.
    for kind, name in REPRS:
        data = of(value, name)
        if data:
            return kind, data
    return None


def held(block):
    """Return the media type and the bytes of a content block that is a picture, None if it is none."""
    if block.get("type") == "resource":
        block = block.get("resource")
        data = block.get("blob") if isinstance(block, dict) else None
    else:
        data = block.get("data") if block.get("type") == "image" else None
    kind = block.get("mimeType") if isinstance(data, str) else None
    kind = {"image/jpg": "image/jpeg"}.get(kind, kind) if isinstance(kind, str) else None
    data = decoded(data) if kind in SUFFIXES else None
    return (kind, data) if data else None


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


def encoded(image):
    """Return an image of PIL as PNG."""
    from io import BytesIO

    file = BytesIO()
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"):
        image = image.convert("RGB")
    image.save(file, format="PNG")
    return file.getvalue()
