"""The width of what libraries print: an agent reads longer lines than a terminal shows."""

import os

from _guest.mender import follow

WIDTH = 200  # characters
COLUMNS = 100  # of a frame


def widen():
    """Have libraries print wide lines."""
    os.environ.setdefault("COLUMNS", str(WIDTH))
    follow("pandas", widen_frames)


def widen_frames(pandas):
    """Set the options of pandas."""
    pandas.set_option("display.width", WIDTH)
    pandas.set_option("display.max_columns", COLUMNS)
