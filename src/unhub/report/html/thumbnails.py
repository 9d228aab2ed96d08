"""Small pictures inside of the page: at most 96 pixels, as data."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from pathlib import Path

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.report.figures.media import thumbnail

SIDE = 96
QUALITY = 80


def thumbnails(pictures: Mapping[str, Path]) -> tuple[dict[str, str], list[str]]:
    """An address with the data of each picture, by its key; and a sentence for each file that cannot be read."""
    made: dict[Path, str] = {}
    found, notes = {}, []
    for key, path in pictures.items():
        try:
            if path not in made:
                made[path] = _address(path)
            found[key] = made[path]
        except InputError:
            notes.append(f"The picture {path.name} cannot be read, and is left out.")
    return found, list(dict.fromkeys(notes))


def _address(path: Path) -> str:
    images, features = require("PIL.Image", extra="report"), require("PIL.features", extra="report")
    kind = "webp" if features.check("webp") else "jpeg"
    sink = io.BytesIO()
    images.fromarray(thumbnail(path, SIDE)).save(sink, kind, quality=QUALITY)
    return f"data:image/{kind};base64,{base64.b64encode(sink.getvalue()).decode('ascii')}"
