"""The plan of an export (strategy, what it writes, how long that takes), and the record that a correction file keeps.

A record is enough to search the export, to resume it, and to roll it back.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from unhub.core.parameters import count, positive
from unhub.foundation import field_checks as checked
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import setting
from unhub.stores.adapter import Collection
from unhub.stores.interface import Description, Metric, Strategy
from unhub.stores.vector_encoding import FILLED, MOST_EFFORT, PAD_TO, VECTORS, VectorEncoding, make_encoding

LARGEST_SCALE = 4.0

WORDS: dict[Strategy, str] = {
    "augment": "vectors with the bias as one more number, ranked by inner product",
    "constant_norm": "vectors with the bias and a filler that makes all of them equally long",
    "expression": "the bias in a column of its own, and an index over vector and bias together",
    "column": "the bias in a column of its own, added when a query is ranked",
    "payload": "the bias in a payload field, added to the best that the store finds by score",
    "rerank": "nothing: more results are fetched by score and ranked again with the bias",
}


@dataclass(frozen=True)
class ExportPlan:
    """What an export would do.

    destination: the new collection, column or field; None if nothing is written.
    """

    origin: Description
    encoding: VectorEncoding
    destination: str | None
    tag: str
    items: int
    megabytes: float
    seconds: float
    alias: str | None
    notes: tuple[str, ...] = ()

    @property
    def strategy(self) -> Strategy:
        """How the store will rank by score + bias."""
        return self.encoding.strategy

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON can hold it."""
        return {
            "store": self.origin.url,
            "metric": self.origin.metric,
            "index": self.origin.index,
            "items": self.items,
            "strategy": self.strategy,
            "writes": WORDS[self.strategy],
            "place": self.destination,
            "dimension": self.origin.dim,
            "width": self.encoding.width if self.strategy in (*VECTORS, "expression") else None,
            "scale": self.encoding.scale,
            "megabytes": round(self.megabytes, 1),
            "seconds": round(self.seconds, 1),
            "alias": self.alias,
            "notes": list(self.notes),
        }


def make_plan(
    collection: Collection,
    origin: Description,
    bias: FloatArray,
    *,
    cosine: bool,
    strategy: Strategy | None = None,
    pad_to: int | None = None,
    scale: float | None = None,
    alias: str | None = None,
    longest: float = 1.0,
) -> ExportPlan:
    """The plan for a collection: the strategy follows its abilities, its metric and its index, unless one is given.

    cosine: whether the bias was fitted on cosine similarities, so that only the direction of vectors counts.
    """
    chosen = _strategy(collection, origin, strategy, cosine)
    able = collection.abilities
    usual_pad = PAD_TO if origin.coded or origin.quantiser else able.pad_to  # codes need a multiple of eight numbers
    encoding = make_encoding(
        chosen,
        _metric(collection, origin, chosen),
        origin.dim,
        bias,
        longest=1.0 if cosine else longest,
        pad_to=usual_pad if pad_to is None else count("pad_to", pad_to),
        scale=_scale(origin, bias, chosen) if scale is None else positive("scale", scale),
        unit=cosine,
        coded=origin.quantiser == "own_ranges" and chosen in VECTORS,
    )
    tag = _tag(bias, encoding)
    numbers = 1 + encoding.width if chosen == "expression" else int(chosen != "rerank")
    numbers = encoding.width if chosen in VECTORS else numbers
    return ExportPlan(
        origin=origin,
        encoding=encoding,
        destination=None if chosen == "rerank" else collection.derived(tag),
        tag=tag,
        items=origin.count,
        megabytes=origin.count * numbers * 4 / 1e6,
        seconds=0.0 if chosen == "rerank" else origin.count * (origin.dim / 128) / able.items_per_second,
        alias=alias if chosen in VECTORS and able.aliases else None,
        notes=_notes(origin, cosine),
    )


def _strategy(collection: Collection, origin: Description, wanted: Strategy | None, cosine: bool) -> Strategy:
    able = collection.abilities.strategies
    if wanted is not None:
        if wanted not in able:
            raise InputError(
                "strategy", f"is {wanted!r}, which {collection.kind} cannot serve", f"use one of {', '.join(able)}"
            )
        return wanted
    if "column" in able and origin.exact:
        return "column"  # a search looks at every row anyway
    plain = "ip" in collection.abilities.metrics and (origin.exact or not cosine)
    if able[0] == "augment" and not plain:  # strong hubs and other metrics need it
        return "constant_norm"
    return able[0]


def _metric(collection: Collection, origin: Description, strategy: Strategy) -> Metric:
    """The metric that ranks the written vectors."""
    if strategy == "augment":
        if "ip" not in collection.abilities.metrics:
            raise InputError(
                "strategy",
                f"is 'augment', but {collection.kind} has no inner product and would rank by {origin.metric} wrongly",
                f"pass {setting('strategy', 'constant_norm')}",
            )
        return "ip"
    if strategy == "constant_norm":
        able = collection.abilities.metrics
        return "ip" if "ip" in able else origin.metric if origin.metric in able else able[0]
    return origin.metric


def _scale(origin: Description, bias: FloatArray, strategy: Strategy) -> float:
    """How much larger the bias is written: 1 unless a quantiser would round it away."""
    spread = float(np.std(bias, dtype=np.float64)) if bias.size else 0.0
    if not spread:
        return 1.0
    if origin.quantiser == "rotated":  # the bias is mixed into every number and must be large
        return 1 / math.sqrt(spread)
    if strategy in FILLED and origin.graph:  # links should join items of like bias
        return min(LARGEST_SCALE, max(1.0, 1 / math.sqrt(spread)))
    if origin.quantiser == "one_range":  # which also cuts off the query's number for the bias
        largest = float(np.abs(np.asarray(bias, dtype=np.float64) - np.mean(bias, dtype=np.float64)).max())
        return min(2.0, max(1.0, 1 / math.sqrt(largest)))
    return 1.0


def _notes(origin: Description, cosine: bool) -> tuple[str, ...]:
    notes = []
    if cosine and origin.metric == "ip" and origin.unit is False:
        notes.append(
            "the store ranks by inner product and its vectors are not of unit length, but the bias was fitted on "
            "cosines: corrected results rank by cosine + bias"
        )
    if origin.coded:
        notes.append(f"the store returns vectors as its {origin.dtype} codes have kept them, not as they were")
    return tuple(notes)


def _tag(bias: FloatArray, encoding: VectorEncoding) -> str:
    """A short name for what is written: only the same bias in the same encoding has the same."""
    text = repr(sorted(encoding.to_dict().items())).encode()
    return hashlib.sha256(np.ascontiguousarray(bias, dtype="<f4").tobytes() + text).hexdigest()[:8]


State = Literal["writing", "serving", "stale", "refused"]
"""being written or interrupted; tested and in use; behind its gallery; written, but the self-test failed"""
SAVED_AS = {"destination": "place", "encoding": "layout", "self_test": "tested"}  # older keys, which files keep
LONGEST_ADDRESS, LONGEST_NAME = 4096, 1024
MOST_ITEMS = 2**53
_TAG = re.compile(r"[0-9a-f]{8}")
_BIAS = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Export:
    """One export: of which bias (tag), from which collection, to which destination beside it."""

    origin: str  # the address of the raw collection, without secrets
    destination: str | None  # the new collection, column or field; None if nothing is written
    encoding: VectorEncoding
    tag: str
    bias: str  # the fingerprint of the bias that was written, to know a later fit from this one
    state: State = "writing"
    alias: str | None = None
    alias_before: str | None = None  # what the alias pointed to before the first export
    items: int = 0
    self_test: dict[str, Any] = field(default_factory=dict)  # the result of the self-test

    @property
    def location(self) -> tuple[str, str | None]:
        """Where it is: no two exports have the same."""
        return self.origin, self.destination

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON can hold it."""
        fields = {SAVED_AS.get(name, name): value for name, value in vars(self).items()}
        return {**fields, "layout": self.encoding.to_dict(), "tested": dict(self.self_test)}

    @classmethod
    def from_dict(cls, fields: Any) -> Export:
        """The record that ``to_dict`` wrote; a ValueError unless every field is in range: files can be forged."""
        if not isinstance(fields, Mapping):
            raise ValueError("its record of an export is no table")
        tested = checked.table(fields, "tested", most=64, longest=LONGEST_NAME, otherwise={})
        checked.number(tested, "effort", least=1 / MOST_EFFORT, most=MOST_EFFORT, otherwise=1.0)
        return cls(
            origin=checked.text(fields, "origin", longest=LONGEST_ADDRESS),
            destination=checked.optional_text(fields, "place", longest=LONGEST_NAME),
            encoding=VectorEncoding.from_dict(fields["layout"]),
            tag=_like(_TAG, fields, "tag"),
            bias=_like(_BIAS, fields, "bias"),
            state=checked.one_of(fields, "state", get_args(State), "writing"),
            alias=_alias(fields, "alias"),
            alias_before=_alias(fields, "alias_before"),
            items=checked.whole(fields, "items", least=0, most=MOST_ITEMS, otherwise=0),
            self_test=tested,
        )


def _like(pattern: re.Pattern[str], fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"its {name} is not a fingerprint")
    return value


def _alias(fields: Mapping[str, Any], name: str) -> str | None:
    """An alias, which is not a path."""
    value = checked.optional_text(fields, name, longest=LONGEST_NAME)
    if value is not None and (not value or "/" in value or "\\" in value):
        raise ValueError(f"its {name} is not a name")
    return value
