"""One item of a figure: its picture, or its text in a box, with a sign for right or wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unhub.experiments.figure_data import Item
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.reports.figures.captions import fitted, line_height
from unhub.reports.figures.style import DPI, INK, SMALL
from unhub.reports.palette import RIGHT, WRONG

CHECK, CROSS = "\N{CHECK MARK}", "\N{BALLOT X}"
BADGE = 0.14
"""inches: the side of the square that holds the sign"""
INSET = 0.03
"""inches from a frame to the picture in it"""
NARROW = 0.9
"""inches: boxes up to this width have smaller letters"""
SHARP = 2
"""pixels of a picture for each pixel of the PNG: a PDF can be enlarged"""
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "MPO")
MOST_PIXELS = 40_000_000


def draw_item(sheet: Any, item: Item, left: float, top: float, width: float, height: float) -> None:
    """Draws an item into a box, in inches: its frame is solid with ✓ where right, dashed with ✗ where wrong."""
    if item.image is not None:
        side = min(width, height) - 2 * INSET
        draw_picture(sheet, item.image, left + (width - side) / 2, top + (height - side) / 2, side)
    else:
        size = SMALL if width > NARROW else SMALL - 1
        lines = max(1, int((height - BADGE - INSET) / line_height(size)))
        text = fitted(item.caption, width - 0.1, size, lines=lines)
        middle = top + (BADGE + height - INSET) / 2
        sheet.text(left + width / 2, middle, text, ha="center", va="center", size=size, color=INK, linespacing=1.1)
    colour, line = (RIGHT, "-") if item.right else (WRONG, (0, (3, 1.5)))
    box(sheet, left, top, width, height, colour=colour, line=line)
    badge(sheet, item.right, left, top)


def draw_picture(sheet: Any, path: str | os.PathLike[str], left: float, top: float, side: float) -> None:
    """Draws a picture as large as possible in the middle of a square, in inches."""
    picture = thumbnail(path, round(side * DPI * SHARP))
    high, wide = (side * size / max(picture.shape[:2]) for size in picture.shape[:2])
    x, y = left + (side - wide) / 2, top + (side - high) / 2
    sheet.imshow(picture, extent=(x, x + wide, y + high, y), aspect="auto", zorder=2)


def box(sheet: Any, left: float, top: float, width: float, height: float, *, colour: str, line: Any) -> None:
    """An empty frame."""
    patches = require("matplotlib.patches", extra="figures")
    edge = {"fill": False, "edgecolor": colour, "linewidth": 1.6, "linestyle": line, "zorder": 3}
    sheet.add_patch(patches.Rectangle((left, top), width, height, **edge))


def badge(sheet: Any, right: bool, left: float, top: float) -> None:
    """The sign alone, white on its colour."""
    patches = require("matplotlib.patches", extra="figures")
    colour, sign = (RIGHT, CHECK) if right else (WRONG, CROSS)
    sheet.add_patch(patches.Rectangle((left, top), BADGE, BADGE, facecolor=colour, edgecolor="none", zorder=4))
    centre = (left + BADGE / 2, top + BADGE / 2)
    sheet.text(*centre, sign, ha="center", va="center_baseline", size=SMALL, color="white", weight="bold", zorder=5)


def thumbnail(path: str | os.PathLike[str], side: int) -> NDArray[np.uint8]:
    """The first picture of a file, upright, on white, at most ``side`` pixels wide and high: (height, width, 3).

    Only ``FORMATS`` are read, whatever the file's name: readers of others run programs.
    """
    images, operations = require("PIL.Image", extra="figures"), require("PIL.ImageOps", extra="figures")
    try:
        with images.open(Path(path), formats=FORMATS) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise ValueError(f"{opened.width:,} x {opened.height:,} pixels are too many")
            opened.draft("RGB", (2 * side, 2 * side))
            opened.thumbnail((side, side))  # before anything else, so that no copy is large
            picture = operations.exif_transpose(opened).convert("RGBA")
    except Exception as error:  # readers of damaged files raise anything
        advice = "give the path of a picture, or none."
        raise InputError(f"cannot read the picture {os.fspath(path)!r} ({error}); {advice}") from error
    ground = images.new("RGBA", picture.size, "white")
    ground.alpha_composite(picture)
    return np.asarray(ground.convert("RGB"))
