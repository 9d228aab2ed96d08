"""The addresses of the API; each reads its request, asks ``explore`` and gives back plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from unhub.core.parameters import MOST_STRENGTH
from unhub.explore.byte_cache import ByteCache
from unhub.explore.changes import Which, change, moved, ranks
from unhub.explore.comparing import comparison, typed
from unhub.explore.hubs import hub_card
from unhub.explore.material import Material
from unhub.explore.model import Comparison, HubCard
from unhub.explore.stage import DEPTHS, Abandoned, Setting, Stage, Wanted
from unhub.explore.view import View, view
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.serve import answers, media
from unhub.serve.layout import Map, Maps
from unhub.serve.problems import RESPONSES
from unhub.serve.turns import wanted_of

Encode = Callable[[list[str]], FloatArray]
LONGEST = 500
"""letters of a query that is typed"""
MOST_ROWS = 2000
"""of a list in one answer"""
NAME = 200


@dataclass(frozen=True)
class Served:
    """What the routes work on."""

    stage: Stage
    opening: Setting
    about: answers.About
    maps: Maps
    encode: Encode | None = None
    pictures: ByteCache[bytes] = field(default_factory=ByteCache)
    """small versions of pictures"""


class Chosen(BaseModel):
    """A setting as it stands in an address; what is left out is as the page opens."""

    model_config = ConfigDict(extra="forbid")

    direction: str | None = Field(None, max_length=NAME)
    bank: str | None = Field(None, max_length=NAME)
    method: str | None = Field(None, max_length=NAME)
    tau: float | None = Field(None, gt=0, le=1000, allow_inf_nan=False)
    strength: float | None = Field(None, description=f"from 0 to {MOST_STRENGTH:g}")
    k: int = Field(1, description=f"one of {', '.join(map(str, DEPTHS))}")

    def setting(self, opening: Setting) -> Setting:
        """The setting, whole."""
        return Setting(
            self.direction if self.direction is not None else opening.direction,
            self.bank if self.bank is not None else opening.bank,
            self.method if self.method is not None else opening.method,
            self.tau,
            self.strength,
            self.k,
        )


class Listed(Chosen):
    """A setting, and which queries of it are listed."""

    which: Which = "worse"
    words: str = Field("", max_length=LONGEST)
    offset: int = Field(0, ge=0, le=10**9)
    limit: int = Field(50, ge=1, le=MOST_ROWS)


class Words(BaseModel):
    """Words to look for among the queries of a direction."""

    model_config = ConfigDict(extra="forbid")

    direction: str | None = Field(None, max_length=NAME)
    words: str = Field("", max_length=LONGEST)
    limit: int = Field(20, ge=1, le=MOST_ROWS)


class Typed(Chosen):
    """A setting, and words to search for."""

    text: str = Field(min_length=1, max_length=LONGEST)


class Where(BaseModel):
    """A direction and a bank."""

    model_config = ConfigDict(extra="forbid")

    direction: str | None = Field(None, max_length=NAME)
    bank: str | None = Field(None, max_length=NAME)


async def _wanted(request: Request) -> Wanted:
    return wanted_of(request.scope)


Row = Annotated[int, Path(ge=0, le=2**53)]
Waiting = Annotated[Wanted, Depends(_wanted)]
"""whether the client of a request still waits for its answer"""


def router(served: Served) -> APIRouter:
    """Every address below /api."""
    api = APIRouter(prefix="/api", responses=RESPONSES)

    def material_of(direction: str | None) -> Material:
        return served.stage.subject.material(served.opening.direction if direction is None else direction)

    @api.get("/about")
    def about() -> answers.About:
        """What there is to explore and to choose from."""
        return served.about

    @api.get("/view")
    def whole_view(chosen: Annotated[Chosen, Query()], wanted: Waiting) -> View:
        """A setting in numbers: headline, verdict, results, and how often each target is retrieved."""
        return view(served.stage.subject, served.stage.scene(chosen.setting(served.opening), wanted))

    @api.get("/targets")
    def targets(where: Annotated[Where, Query()]) -> answers.Items:
        """Every target of a direction."""
        return answers.items(material_of(where.direction))

    @api.get("/hub/{target}")
    def hub(target: Row, chosen: Annotated[Chosen, Query()], wanted: Waiting) -> HubCard:
        """One target: who reaches it, who pushes it down, and what ranks first instead."""
        scene = served.stage.scene(chosen.setting(served.opening), wanted)
        _there(target, scene.material.relevance.gallery, "target")
        return hub_card(scene, target)

    @api.get("/changes")
    def changes(asked: Annotated[Listed, Query()], wanted: Waiting) -> answers.Changes:
        """Queries made better, or worse: most telling first."""
        scene = served.stage.scene(asked.setting(served.opening), wanted)
        if not scene.material.judged:
            raise InputError("it is not known which answers are right, so that no query is better or worse.")
        rows = moved(ranks(scene.before), ranks(scene.after), asked.which)
        told = answers.with_words(scene.material, asked.words)
        rows = rows if told is None else rows[np.isin(rows, told)]
        part = rows[asked.offset : asked.offset + asked.limit]
        return answers.Changes(len(rows), asked.offset, [change(scene.reading, row) for row in part.tolist()])

    @api.get("/queries")
    def queries(asked: Annotated[Words, Query()]) -> answers.Found:
        """Queries whose text has all of the words."""
        return answers.found(material_of(asked.direction), asked.words, asked.limit)

    @api.get("/compare/{query}")
    def compare(query: Row, chosen: Annotated[Chosen, Query()], wanted: Waiting) -> Comparison:
        """What methods answer to a query of the test set, side by side."""
        setting = chosen.setting(served.opening)
        _there(query, served.stage.scene(setting, wanted).material.relevance.queries, "query")
        return comparison(served.stage, setting, query, wanted)

    @api.post("/compare")
    def compare_words(asked: Typed, wanted: Waiting) -> Comparison:
        """What methods answer to words of one's own; an encoder must have been named when the page was started."""
        if served.encode is None:
            raise InputError("no encoder is there to turn words into a vector; start unhub serve with --encoder.")
        if not asked.text.strip():
            raise InputError("there are no words in the text; write some.")
        setting = asked.setting(served.opening)
        if not wanted():
            raise Abandoned
        made = np.asarray(served.encode([asked.text]), dtype=np.float32)
        vector = made[0] if made.ndim == 2 and len(made) == 1 else made
        return typed(served.stage, setting, asked.text, vector, wanted)

    @api.get("/map")
    def whole_map(where: Annotated[Where, Query()]) -> Map:
        """Queries, bank and targets in the plane; ready once they have been laid out, in the background."""
        its = material_of(where.direction)
        bank = where.bank if where.bank is not None else next(iter(its.banks))
        if bank not in its.banks:
            raise InputError(f"there is no bank {bank!r}; there are {', '.join(its.banks)}.")
        return served.maps.of(its, bank)

    @api.get(
        "/media/{side}/{row}",
        response_class=Response,
        responses={200: {"content": {"image/webp": {}, "image/*": {}, "audio/*": {}, "video/*": {}}}},
    )
    def shown(
        side: Literal["queries", "targets"],
        row: Row,
        direction: Annotated[str | None, Query(max_length=NAME)] = None,
        size: Annotated[int | None, Query(ge=16, le=1024)] = None,
    ) -> Response:
        """The picture, sound or video of an item; a picture at most so many pixels wide and high."""
        its = material_of(direction)
        of = its.queries if side == "queries" else its.targets
        _there(row, len(of.media), "item")
        made = media.shown(of.media[row], its.media_folder, size, served.pictures)
        if made is None:
            raise HTTPException(404, "nothing shows this item.")
        return made

    return api


def _there(row: int, count: int, what: str) -> None:
    if row >= count:
        raise HTTPException(404, f"there is no {what} {row}; they are counted from 0 to {count - 1:,}.")
