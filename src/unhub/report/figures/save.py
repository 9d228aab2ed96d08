"""Writing a figure: a PDF to print, a PNG to look at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from unhub.foundation.atomic import replace_file
from unhub.report.figures.style import DPI, look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METADATA = {"pdf": {"CreationDate": None}, "png": {"Software": None}}
"""equal figures make equal files: no date, and no version in a PNG"""


def save(figure: Figure, stem: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Writes ``stem``.pdf and ``stem``.png and gives back both paths; each file is complete or not there.

    The PDF is made of lines and letters, its fonts embedded as type 42, which publishers ask for.
    """
    pdf, png = (Path(f"{os.fspath(stem)}.{ending}") for ending in ("pdf", "png"))
    with look():
        for path, ending in ((pdf, "pdf"), (png, "png")):
            with replace_file(path) as temporary:
                figure.savefig(temporary, format=ending, dpi=DPI, metadata=_METADATA[ending])
    return pdf, png
