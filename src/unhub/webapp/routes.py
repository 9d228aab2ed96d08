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
from unhub.analysis.changes import change, changed_queries, ranks
from unhub.analysis.comparison import comparison, typed_comparison
from unhub.analysis.hubs import hub_card
from unhub.analysis.model import Comparison, HistoryPoint, HubCard
from unhub.analysis.session import Abandoned, DirectionSample, Session, ViewSettings, Wanted
from unhub.analysis.view import View, view
from unhub.dataset import Media
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import argument, spoken
from unhub.reports.figures.items import thumbnail
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

    session: Session
    opening: ViewSettings
    about: schemas.About
    maps: Maps
    history: Callable[[], list[HistoryPoint]]
    """what was monitored until now"""
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

    session = context.session

    def sample_of(direction: str | None) -> DirectionSample:
        return session.sample(context.opening.direction if direction is None else direction)

    @api.get("/about")
    def about() -> schemas.About:
        """What the page shows and offers."""
        return context.about

    @api.get("/history")
    def monitor_runs() -> schemas.History:
        """What was monitored of the correction until now."""
        return schemas.History(context.history())

    @api.get("/view")
    def whole_view(chosen: Annotated[schemas.ViewQuery, Query()], wanted: Waiting) -> View:
        """Headline, verdict, results, and how often each target is retrieved."""
        shown = view(session, session.before_after(chosen.settings(context.opening), wanted))
        return replace(shown, notes=[spoken(note, on_page) for note in shown.notes])

    @api.get("/targets")
    def targets(where: Annotated[schemas.PlaceQuery, Query()]) -> schemas.Items:
        """Every target of a direction."""
        return schemas.items(sample_of(where.direction))

    @api.get("/hub/{target}")
    def hub(target: Row, chosen: Annotated[schemas.ViewQuery, Query()], wanted: Waiting) -> HubCard:
        """One target: queries that retrieve it, bank queries that push it down, and what ranks first instead."""
        ranked = session.before_after(chosen.settings(context.opening), wanted)
        _check_row(target, ranked.sample.relevance.gallery, "target")
        return hub_card(ranked, target)

    @api.get("/changes")
    def changes(asked: Annotated[schemas.ChangesQuery, Query()], wanted: Waiting) -> schemas.Changes:
        """Queries that improved or got worse, the clearest first."""
        ranked = session.before_after(asked.settings(context.opening), wanted)
        if not ranked.sample.judged:
            raise InputError(f"no relevance file, so no query is better or worse; add {argument('relevant')}.")
        rows = changed_queries(ranks(ranked.before), ranks(ranked.after), asked.which)
        matches = schemas.rows_with_words(ranked.sample, asked.words)
        rows = rows if matches is None else rows[np.isin(rows, matches)]
        part = rows[asked.offset : asked.offset + asked.limit]
        return schemas.Changes(len(rows), asked.offset, [change(ranked.pair, row) for row in part.tolist()])

    @api.get("/queries")
    def queries(asked: Annotated[schemas.SearchQuery, Query()]) -> schemas.QueryMatches:
        """Queries that contain all of the words."""
        return schemas.matching_queries(sample_of(asked.direction), asked.words, asked.limit)

    @api.get("/compare/{query}")
    def compare(query: Row, chosen: Annotated[schemas.ViewQuery, Query()], wanted: Waiting) -> Comparison:
        """The results of several methods for a test query, side by side."""
        settings = chosen.settings(context.opening)
        _check_row(query, session.before_after(settings, wanted).sample.relevance.queries, "query")
        return comparison(session, settings, query, wanted)

    @api.post("/compare")
    def compare_words(asked: schemas.TypedQuery, wanted: Waiting) -> Comparison:
        """The results of several methods for a typed query; needs an encoder."""
        if context.encode is None:
            raise InputError(f"typed queries need an encoder; add {argument('encoder')}.")
        if not asked.text.strip():
            raise InputError("the text is empty; type a query.")
        settings = asked.settings(context.opening)
        if not wanted():
            raise Abandoned
        encoded = np.asarray(context.encode([asked.text]), dtype=np.float32)
        vector = encoded[0] if encoded.ndim == 2 and len(encoded) == 1 else encoded
        return typed_comparison(session, settings, asked.text, vector, wanted)

    @api.get("/map")
    def whole_map(where: Annotated[schemas.PlaceQuery, Query()]) -> Map:
        """Queries, bank and targets in the plane; computed in the background, so ask again until it is ready."""
        sample = sample_of(where.direction)
        bank = sample.bank(where.bank if where.bank is not None else next(iter(sample.banks)))
        return context.maps.of(session, sample, bank)

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
        sample = sample_of(direction)
        of = sample.queries if side == "queries" else sample.targets
        _check_row(row, len(of.media), "item")
        response = media_response(of.media[row], session.data.media_folder, size, context.pictures)
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
