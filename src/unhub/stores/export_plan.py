"""The plan of an export: the strategy, what it writes, and about how long it takes."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.core.parameters import count, positive
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import setting
from unhub.stores.adapter import Collection
from unhub.stores.protocol import Description, Metric, Strategy
from unhub.stores.vector_encoding import PAD_TO, VECTORS, VectorEncoding, make_encoding

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
    """What an export would do. ``destination`` is the new collection, column or field; None if nothing is written."""

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
        """How the store is brought to rank by score + bias."""
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
    """The plan for a collection: the strategy from its abilities, its metric and its index, unless one is asked for.

    ``cosine``: the bias was fitted on cosine similarities, so that vectors count by their direction.
    """
    chosen = _strategy(collection, origin, strategy, cosine)
    made = make_encoding(
        chosen,
        _metric(collection, origin, chosen),
        origin.dim,
        bias,
        longest=1.0 if cosine else longest,
        pad_to=_pad_to(collection, origin) if pad_to is None else count("pad_to", pad_to),
        scale=_scale(origin, bias, chosen) if scale is None else positive("scale", scale),
        unit=cosine,
        coded=origin.quantiser == "own_ranges" and chosen in VECTORS,
    )
    tag = _tag(bias, made)
    width = made.width if chosen in VECTORS else 1 + made.width if chosen == "expression" else chosen != "rerank"
    return ExportPlan(
        origin=origin,
        encoding=made,
        destination=None if chosen == "rerank" else collection.derived(tag),
        tag=tag,
        items=origin.count,
        megabytes=origin.count * width * 4 / 1e6,
        seconds=_seconds(collection, origin, chosen),
        alias=alias if chosen in VECTORS and collection.abilities.aliases else None,
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
        return "column"  # every row is looked at anyway
    plain = "ip" in collection.abilities.metrics and (origin.exact or not cosine)
    if able[0] == "augment" and not plain:  # strong hubs and other metrics need it
        return "constant_norm"
    return able[0]


def _metric(collection: Collection, origin: Description, strategy: Strategy) -> Metric:
    """What the written vectors are ranked by."""
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


def _pad_to(collection: Collection, origin: Description) -> int:
    """Codes need a multiple of eight numbers; floats are padded as the store likes it."""
    return PAD_TO if origin.coded or origin.quantiser else collection.abilities.pad_to


def _scale(origin: Description, bias: FloatArray, strategy: Strategy) -> float:
    """How much larger the bias is written: 1 unless a quantiser would round it away."""
    spread = float(np.std(bias, dtype=np.float64)) if bias.size else 0.0
    if not spread:
        return 1.0
    if origin.quantiser == "rotated":  # the bias is mixed into every number and must stand out
        return 1 / math.sqrt(spread)
    if strategy in ("constant_norm", "expression") and origin.graph:  # links should join items of like bias
        return min(LARGEST_SCALE, max(1.0, 1 / math.sqrt(spread)))
    if origin.quantiser == "one_range":  # which also cuts off the query's number for the bias
        largest = float(np.abs(np.asarray(bias, dtype=np.float64) - np.mean(bias, dtype=np.float64)).max())
        return min(2.0, max(1.0, 1 / math.sqrt(largest)))
    return 1.0


def _seconds(collection: Collection, origin: Description, strategy: Strategy) -> float:
    """A guess from what was measured of each store on two cores: two readings and one writing."""
    rate = collection.abilities.items_per_second
    return 0.0 if strategy == "rerank" else origin.count * (origin.dim / 128) / rate


def _notes(origin: Description, cosine: bool) -> tuple[str, ...]:
    notes = []
    if cosine and origin.metric == "ip" and origin.unit is False:
        notes.append(
            "the store ranks by inner product and its vectors are not of unit length, while the bias was fitted on "
            "cosines: corrected results rank by cosine + bias"
        )
    if origin.coded:
        notes.append(f"the store gives its vectors back as its {origin.dtype} codes have kept them, not as they were")
    return tuple(notes)


def _tag(bias: FloatArray, made: VectorEncoding) -> str:
    """A short name for what is written: the same bias in the same encoding, and nothing else, has it again."""
    text = repr(sorted(made.to_dict().items())).encode()
    return hashlib.sha256(np.ascontiguousarray(bias, dtype="<f4").tobytes() + text).hexdigest()[:8]
