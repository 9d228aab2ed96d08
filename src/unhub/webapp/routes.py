"""The endpoints of the API: each reads its request, calls ``analysis`` and returns plain data."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException

from unhub.analysis.byte_cache import ByteCache
from unhub.analysis.changes import change, moved, ranks
from unhub.analysis.comparing import comparison, typed
from unhub.analysis.hubs import hub_card
from unhub.analysis.material import Material
from unhub.analysis.model import Comparison, HubCard
from unhub.analysis.stage import Abandoned, Setting, Stage, Wanted
from unhub.analysis.view import View, view
from unhub.dataset import Media
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import argument, spoken
from unhub.report.figures.items import thumbnail
from unhub.webapp import schemas
from unhub.webapp.errors import RESPONSES, on_page
from unhub.webapp.projection import Map, Maps
from unhub.webapp.request_queue import still_wanted

Encode = Callable[[list[str]], FloatArray]
TYPES = {
    ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif",
    ".bmp": "image/bmp", ".mp4": "video/mp4", ".webm": "video/webm", ".wav": "audio/wav", ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg", ".oga": "audio/ogg", ".flac": "audio/flac", ".m4a": "audio/mp4",
}  # fmt: skip
"""media type by file ending; nothing else is sent"""


@dataclass(frozen=True)
class Context:
    """What the endpoints share."""

    stage: Stage
    opening: Setting
    about: schemas.About
    maps: Maps
    encode: Encode | None = None
    pictures: ByteCache[bytes] = field(default_factory=ByteCache)
    """thumbnails"""


async def _wanted(request: Request) -> Wanted:
    return still_wanted(request.scope)


Row = Annotated[int, Path(ge=0, le=2**53)]
Waiting = Annotated[Wanted, Depends(_wanted)]
"""a function that says whether the client is still connected"""


def router(context: Context) -> APIRouter:
    """All endpoints, below /api."""
    api = APIRouter(prefix="/api", responses=RESPONSES)

    def material_of(direction: str | None) -> Material:
        return context.stage.subject.material(context.opening.direction if direction is None else direction)

    @api.get("/about")
    def about() -> schemas.About:
        """What the page shows and offers."""
        return context.about

    @api.get("/view")
    def whole_view(chosen: Annotated[schemas.ViewQuery, Query()], wanted: Waiting) -> View:
        """Headline, verdict, results, and how often each target is retrieved."""
        shown = view(context.stage.subject, context.stage.scene(chosen.setting(context.opening), wanted))
        return replace(shown, notes=[spoken(note, on_page) for note in shown.notes])

    @api.get("/targets")
    def targets(where: Annotated[schemas.PlaceQuery, Query()]) -> schemas.Items:
        """Every target of a direction."""
        return schemas.items(material_of(where.direction))

    @api.get("/hub/{target}")
    def hub(target: Row, chosen: Annotated[schemas.ViewQuery, Query()], wanted: Waiting) -> HubCard:
        """One target: queries that retrieve it, bank queries that push it down, and what ranks first instead."""
        scene = context.stage.scene(chosen.setting(context.opening), wanted)
        _check_row(target, scene.material.relevance.gallery, "target")
        return hub_card(scene, target)

    @api.get("/changes")
    def changes(asked: Annotated[schemas.ChangesQuery, Query()], wanted: Waiting) -> schemas.Changes:
        """Queries that improved or got worse, the clearest first."""
        scene = context.stage.scene(asked.setting(context.opening), wanted)
        if not scene.material.judged:
            raise InputError(f"no relevance file, so no query is better or worse; add {argument('relevant')}.")
        rows = moved(ranks(scene.before), ranks(scene.after), asked.which)
        matches = schemas.rows_with_words(scene.material, asked.words)
        rows = rows if matches is None else rows[np.isin(rows, matches)]
        part = rows[asked.offset : asked.offset + asked.limit]
        return schemas.Changes(len(rows), asked.offset, [change(scene.reading, row) for row in part.tolist()])

    @api.get("/queries")
    def queries(asked: Annotated[schemas.SearchQuery, Query()]) -> schemas.QueryMatches:
        """Queries that contain all of the words."""
        return schemas.matching_queries(material_of(asked.direction), asked.words, asked.limit)

    @api.get("/compare/{query}")
    def compare(query: Row, chosen: Annotated[schemas.ViewQuery, Query()], wanted: Waiting) -> Comparison:
        """The results of several methods for a test query, side by side."""
        setting = chosen.setting(context.opening)
        _check_row(query, context.stage.scene(setting, wanted).material.relevance.queries, "query")
        return comparison(context.stage, setting, query, wanted)

    @api.post("/compare")
    def compare_words(asked: schemas.TypedQuery, wanted: Waiting) -> Comparison:
        """The results of several methods for a typed query; needs an encoder."""
        if context.encode is None:
            raise InputError(f"typed queries need an encoder; add {argument('encoder')}.")
        if not asked.text.strip():
            raise InputError("the text is empty; type a query.")
        setting = asked.setting(context.opening)
        if not wanted():
            raise Abandoned
        encoded = np.asarray(context.encode([asked.text]), dtype=np.float32)
        vector = encoded[0] if encoded.ndim == 2 and len(encoded) == 1 else encoded
        return typed(context.stage, setting, asked.text, vector, wanted)

    @api.get("/map")
    def whole_map(where: Annotated[schemas.PlaceQuery, Query()]) -> Map:
        """Queries, bank and targets in the plane; computed in the background, so ask again until it is ready."""
        its = material_of(where.direction)
        bank = where.bank if where.bank is not None else next(iter(its.banks))
        if bank not in its.banks:
            raise InputError(f"there is no bank {bank!r}; there are {', '.join(its.banks)}.")
        return context.maps.of(its, bank)

    @api.get(
        "/media/{side}/{row}",
        response_class=Response,
        responses={200: {"content": {"image/webp": {}, "image/*": {}, "audio/*": {}, "video/*": {}}}},
    )
    def media(
        side: Literal["queries", "targets"],
        row: Row,
        direction: Annotated[str | None, Query(max_length=schemas.LONGEST_NAME)] = None,
        size: Annotated[int | None, Query(ge=16, le=1024)] = None,
    ) -> Response:
        """The picture, sound or video of an item; pictures scaled to fit ``size`` pixels."""
        its = material_of(direction)
        of = its.queries if side == "queries" else its.targets
        _check_row(row, len(of.media), "item")
        response = media_response(of.media[row], its.media_folder, size, context.pictures)
        if response is None:
            raise HTTPException(404, "this item has no picture, sound or video.")
        return response

    return api


def _check_row(row: int, count: int, what: str) -> None:
    if row >= count:
        raise HTTPException(404, f"there is no {what} {row}; rows run from 0 to {count - 1:,}.")


def media_response(
    media: Media | None, folder: FilePath | None, side: int | None, cache: ByteCache[bytes]
) -> Response | None:
    """The file, or the picture scaled to fit ``side`` pixels; None if there is none inside the folder."""
    if media is None or folder is None or not media.inside(folder):
        return None
    path = media.path.resolve()
    kind = TYPES.get(path.suffix.lower())
    if kind is None:
        return None
    if media.kind == "image" and side is not None:
        key = str(path), path.stat().st_mtime_ns, side
        data = cache.get(key)
        if data is None:
            data = _thumbnail(path, side)
            cache.put(key, data)
        return Response(data, media_type="image/webp", headers={"cache-control": "private, max-age=3600"})
    return FileResponse(path, media_type=kind)


def _thumbnail(path: FilePath, side: int) -> bytes:
    images = require("PIL.Image", extra="serve")
    sink = io.BytesIO()
    try:
        picture = thumbnail(str(path), side)
    except InputError as error:
        raise InputError("this picture cannot be read; the file is damaged or too large.") from error
    images.fromarray(picture).save(sink, "WEBP", quality=80)
    return sink.getvalue()
