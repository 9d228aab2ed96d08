"""Pictures, sounds and videos of items: files of the experiment's folder and no others, pictures made small."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path

from fastapi.responses import FileResponse, Response

from unhub.experiments.media import Media
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require

TYPES = {
    ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif",
    ".bmp": "image/bmp", ".mp4": "video/mp4", ".webm": "video/webm", ".wav": "audio/wav", ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg", ".oga": "audio/ogg", ".flac": "audio/flac", ".m4a": "audio/mp4",
}  # fmt: skip
"""by ending; nothing else is sent"""
MOST_PIXELS = 60_000_000


def shown(media: Media | None, folder: Path | None, side: int | None) -> Response | None:
    """The file, or the picture at most so many pixels wide and high; None where there is none to be shown."""
    if media is None or folder is None or not media.inside(folder):
        return None
    path = media.path.resolve()
    kind = TYPES.get(path.suffix.lower())
    if kind is None:
        return None
    if media.kind == "image" and side is not None:
        made = _small(str(path), path.stat().st_mtime_ns, side)
        return Response(made, media_type="image/webp", headers={"cache-control": "private, max-age=3600"})
    return FileResponse(path, media_type=kind)


@lru_cache(maxsize=4096)
def _small(path: str, changed: int, side: int) -> bytes:
    images, operations = require("PIL.Image", extra="serve"), require("PIL.ImageOps", extra="serve")
    try:
        with images.open(path) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise InputError("this picture is too large to be shown.")
            opened.draft("RGB", (2 * side, 2 * side))
            picture = operations.exif_transpose(opened).convert("RGBA")
    except (OSError, ValueError, SyntaxError, images.DecompressionBombError) as error:
        raise InputError("this picture cannot be read; its file is damaged.") from error
    picture.thumbnail((side, side))
    ground = images.new("RGBA", picture.size, "white")
    ground.alpha_composite(picture)
    sink = io.BytesIO()
    ground.convert("RGB").save(sink, "WEBP", quality=80)
    return sink.getvalue()
