"""Pictures, sounds and videos of items: files of the experiment's folder and no others, pictures made small."""

from __future__ import annotations

import io
from pathlib import Path

from fastapi.responses import FileResponse, Response

from unhub.experiments.media import Media
from unhub.explore.byte_cache import ByteCache
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.report.figures.media import thumbnail

TYPES = {
    ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif",
    ".bmp": "image/bmp", ".mp4": "video/mp4", ".webm": "video/webm", ".wav": "audio/wav", ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg", ".oga": "audio/ogg", ".flac": "audio/flac", ".m4a": "audio/mp4",
}  # fmt: skip
"""by ending; nothing else is sent"""


def shown(media: Media | None, folder: Path | None, side: int | None, cache: ByteCache[bytes]) -> Response | None:
    """The file, or the picture at most so many pixels wide and high; None where there is none to be shown."""
    if media is None or folder is None or not media.inside(folder):
        return None
    path = media.path.resolve()
    kind = TYPES.get(path.suffix.lower())
    if kind is None:
        return None
    if media.kind == "image" and side is not None:
        key = str(path), path.stat().st_mtime_ns, side
        made = cache.get(key)
        if made is None:
            made = _small(path, side)
            cache.put(key, made)
        return Response(made, media_type="image/webp", headers={"cache-control": "private, max-age=3600"})
    return FileResponse(path, media_type=kind)


def _small(path: Path, side: int) -> bytes:
    images = require("PIL.Image", extra="serve")
    sink = io.BytesIO()
    try:
        picture = thumbnail(str(path), side)
    except InputError as error:
        raise InputError("this picture cannot be read; its file is damaged or too large.") from error
    images.fromarray(picture).save(sink, "WEBP", quality=80)
    return sink.getvalue()
