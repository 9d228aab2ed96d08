"""Which way a store is brought to serve corrected results, what that writes, and about how long it takes."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.beside import NewCollection
from unhub.stores.layout import PAD_TO, Layout, OwnForms, layout
from unhub.stores.protocol import Collection, Corrected, Description, Form, Metric, Tunable

VECTORS: tuple[Form, ...] = ("augment", "constant_norm")
"""forms that write vectors anew; the others write one number per item, or nothing"""

ROTATED = re.compile(r"rabitq|opq|itq|binary|turbo|\brq\b|ivf_rq", re.IGNORECASE)
"""indexes that turn the vectors before they quantise, so that the bias must stand out to be seen"""

GRAPH = re.compile(r"hnsw", re.IGNORECASE)
"""graphs, which find more of the corrected best if neighbours in them are also of like bias"""
LARGEST_SCALE = 4.0

ONE_RANGE = re.compile(r"int8|scalar", re.IGNORECASE)
"""indexes whose codes share one range over all dimensions, which also cuts off what a query asks for the bias with"""

CODED = re.compile(r"pq|sq|rq|rabitq|itq|lsh|int8|scalar|binary|turbo", re.IGNORECASE)
"""indexes of codes, which stumble over a dimension that is no multiple of eight"""
EACH_CODED = re.compile(r"(^|,)SQ[468]")
"""indexes that keep each number in a few bits, over a range of its own"""

WORDS: dict[Form, str] = {
    "augment": "vectors with the bias as one more number, ranked by inner product",
    "constant_norm": "vectors with the bias and a filler that makes all of them equally long",
    "expression": "the bias in a column of its own, and an index over vector and bias together",
    "column": "the bias in a column of its own, added when a query is ranked",
    "payload": "the bias in a payload field, added to the best that the store finds by score",
    "rerank": "nothing: more results are fetched by score and ranked again with the bias",
}


@dataclass(frozen=True)
class Plan:
    """What an export would do. ``place`` is the new collection, column or field; None if nothing is written."""

    origin: Description
    layout: Layout
    place: str | None
    tag: str
    items: int
    megabytes: float
    seconds: float
    alias: str | None
    notes: tuple[str, ...] = ()

    @property
    def form(self) -> Form:
        """How the store is brought to rank by score + bias."""
        return self.layout.form

    def plain(self) -> dict[str, Any]:
        """The plan as JSON can hold it."""
        return {
            "store": self.origin.url,
            "metric": self.origin.metric,
            "index": self.origin.index,
            "items": self.items,
            "form": self.form,
            "writes": WORDS[self.form],
            "place": self.place,
            "dimension": self.origin.dim,
            "width": self.layout.width if self.form in (*VECTORS, "expression") else None,
            "scale": self.layout.scale,
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
    form: Form | None = None,
    pad_to: int | None = None,
    scale: float | None = None,
    alias: str | None = None,
    longest: float = 1.0,
) -> Plan:
    """The plan for a collection: the form from its abilities, its metric and its index, unless one is asked for.

    ``cosine``: the bias was fitted on cosine similarities, so that vectors count by their direction.
    """
    chosen = _form(collection, origin, form, cosine)
    made = layout(
        chosen,
        _metric(collection, origin, chosen),
        origin.dim,
        bias,
        longest=1.0 if cosine else longest,
        pad_to=_pad_to(collection, origin) if pad_to is None else _whole(pad_to),
        scale=_scale(origin, bias, chosen) if scale is None else _positive(scale),
        unit=cosine,
        coded=bool(EACH_CODED.search(origin.index)) and chosen in VECTORS,
    )
    tag = _tag(bias, made)
    width = made.width if chosen in VECTORS else 1 + made.width if chosen == "expression" else chosen != "rerank"
    return Plan(
        origin=origin,
        layout=made,
        place=None if chosen == "rerank" else collection.derived(tag),
        tag=tag,
        items=origin.count,
        megabytes=origin.count * width * 4 / 1e6,
        seconds=_seconds(collection, origin, chosen),
        alias=alias if chosen in VECTORS and collection.abilities.aliases else None,
        notes=_notes(origin, cosine),
    )


def corrected_place(collection: Collection, name: str, made: Layout) -> Corrected:
    """The corrected place of that name beside a collection; it need not exist."""
    place: Corrected
    if made.form in VECTORS:
        place = NewCollection(collection, collection.sibling(name), made)
    elif isinstance(collection, OwnForms):
        place = collection.corrected(name, made)
    else:
        raise InputError(f"{collection.url} cannot serve the form {made.form!r}.")
    if made.effort != 1 and isinstance(place, Tunable):
        place.harder(made.effort)
    return place


def _form(collection: Collection, origin: Description, wanted: Form | None, cosine: bool) -> Form:
    able = collection.abilities.forms
    if wanted is not None:
        if wanted not in able:
            raise InputError(f"{collection.kind} cannot serve the form {wanted!r}; it can {', '.join(able)}.")
        return wanted
    if "column" in able and origin.exact:
        return "column"  # every row is looked at anyway
    plain = "ip" in collection.abilities.metrics and (origin.exact or not cosine)
    if able[0] == "augment" and not plain:  # strong hubs and other metrics need it
        return "constant_norm"
    return able[0]


def _metric(collection: Collection, origin: Description, form: Form) -> Metric:
    """What the written vectors are ranked by."""
    if form == "augment":
        if "ip" not in collection.abilities.metrics:
            raise InputError(
                f"{collection.kind} has no inner product, and under {origin.metric} vectors with a bias would be "
                f"ranked wrongly without a word; use the form constant_norm."
            )
        return "ip"
    if form == "constant_norm":
        able = collection.abilities.metrics
        return "ip" if "ip" in able else origin.metric if origin.metric in able else able[0]
    return origin.metric


def _pad_to(collection: Collection, origin: Description) -> int:
    """Codes are padded to a multiple of eight numbers; floats as the store likes it."""
    return PAD_TO if origin.coded or CODED.search(origin.index) else collection.abilities.pad_to


def _scale(origin: Description, bias: FloatArray, form: Form) -> float:
    """How much larger the bias is written: 1 unless a quantiser would round it away."""
    spread = float(np.std(bias, dtype=np.float64)) if bias.size else 0.0
    if not spread:
        return 1.0
    if ROTATED.search(origin.index):
        return 1 / math.sqrt(spread)
    if form in ("constant_norm", "expression") and GRAPH.search(origin.index):
        return min(LARGEST_SCALE, max(1.0, 1 / math.sqrt(spread)))
    if ONE_RANGE.search(origin.index):
        largest = float(np.abs(np.asarray(bias, dtype=np.float64) - np.mean(bias, dtype=np.float64)).max())
        return min(2.0, max(1.0, 1 / math.sqrt(largest)))
    return 1.0


def _seconds(collection: Collection, origin: Description, form: Form) -> float:
    """A guess from what was measured of each store on two cores: two readings and one writing."""
    rate = collection.abilities.items_per_second
    return 0.0 if form == "rerank" else origin.count * (origin.dim / 128) / rate


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


def _tag(bias: FloatArray, made: Layout) -> str:
    """A short name for what is written: the same bias in the same layout, and nothing else, has it again."""
    text = repr(sorted(made.plain().items())).encode()
    return hashlib.sha256(np.ascontiguousarray(bias, dtype="<f4").tobytes() + text).hexdigest()[:8]


def _whole(pad_to: int) -> int:
    if pad_to < 1:
        raise InputError(f"pad_to is {pad_to}; give a whole number of at least 1, such as 8.")
    return int(pad_to)


def _positive(scale: float) -> float:
    if not (np.isfinite(scale) and scale > 0):
        raise InputError(f"scale is {scale}; give a positive number.")
    return float(scale)
