"""``make_bank``: a bank for whoever has no query log, from a file of texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from unhub.core.near_copies import shared_rows
from unhub.dataset.bank_audit import GALLERY_SHARE
from unhub.dataset.galleries import open_source
from unhub.encoders import embed, load_encoder, read_texts
from unhub.encoders.encoder import BATCH, call_model
from unhub.encoders.loading import encode_queries
from unhub.encoders.parts import ids_beside, refuse_links
from unhub.foundation.atomic import replace_file
from unhub.foundation.errors import InputError
from unhub.foundation.facade import facade
from unhub.foundation.pairing import Pairing, ids_fingerprint, record_beside, vectors_fingerprint
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import argument, setting, there_are
from unhub.io import Rows
from unhub.methods.strength import FEWEST

Kind = Literal["examples", "titles", "queries"]

WANTED = 100
"""example queries that gained two points of R@1 and harmed nothing"""
WORTH: Mapping[Kind, str] = {
    "examples": (
        "Typed example queries: in a study of 29 sets, 100 of them gained 2.0 points of R@1 and harmed no set; 20 "
        "gained 1.0 and harmed 10%."
    ),
    "titles": (
        "Titles or captions of other items: worth what they resemble your queries. In a study of 29 sets, a bank of "
        "another domain gained 0.1 points of R@1 with the guard and harmed no set, and lost 4.4 at full strength."
    ),
    "queries": (
        "A public query set: worth what it resembles your queries. In a study of 29 sets, a bank of another domain "
        "gained 0.1 points of R@1 with the guard and harmed no set, and lost 4.4 at full strength."
    ),
}
"""what each kind of text is worth (the study of docs/guard.md)"""
GALLERY = (
    "a gallery as its own bank lost 12.1 points of R@1 in a study and harmed 81% of its sets; write what people ask"
)


@dataclass(frozen=True)
class MadeBank:
    """What was written: vectors in ``output``, the line of each in ``ids``, and its text in ``texts``.

    rows, dim: of the vectors. kind: what the texts are. empty, repeated: lines that were left out. of_gallery: texts
    that were left out because they are the gallery's own. sentences: what the bank is worth, and what is missing.
    """

    output: Path
    ids: Path
    texts: Path
    rows: int
    dim: int
    kind: Kind
    empty: int
    repeated: int
    of_gallery: int
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        named = {name: str(getattr(self, name)) for name in ("output", "ids", "texts")}
        counts = ("rows", "dim", "kind", "empty", "repeated", "of_gallery")
        return named | {name: getattr(self, name) for name in counts} | {"sentences": list(self.sentences)}


@facade
def make_bank(
    source: str | os.PathLike[str] | Sequence[str],
    *,
    output: str | os.PathLike[str],
    encoder: str | Callable[[list[str]], Any] | None = None,
    model: str | None = None,
    kind: Kind = "examples",
    column: str | None = None,
    targets: Any = None,
    target_captions: Any = None,
    batch: int = BATCH,
) -> MadeBank:
    """A bank of past queries for whoever has none: texts, encoded and written to ``output``.

    source: a ``.txt`` with one query in each line, a ``.jsonl``, ``.csv`` or ``.tsv`` table, or a list of texts. Empty
        and repeated ones are left out.
    output: the .npy file to write; ``.ids.txt`` (the line of each query) and ``.texts.txt`` go next to it.
    encoder: a function from a list of texts to an array, ``"module:function"``, or a sentence-transformers model; the
        one that made the gallery's vectors. By default the environment variable UNHUB_ENCODER.
    model: in place of it, a model as ``unhub.encode`` takes it.
    kind: what the texts are: "examples" (typed queries; 100 are wanted), "titles" (titles or captions of other items),
        "queries" (a public query set). It changes nothing but the sentence on their worth.
    column: the column of a table that holds the texts.
    targets: the gallery's vectors; queries that equal one are left out, and a bank made of them is refused.
    target_captions: the gallery's own titles or captions, a file or a list, to the same end.
    batch: how many texts a model gets at once.

    Returns a MadeBank: ``.rows``, ``.empty``, ``.repeated``, ``.sentences``.

    >>> def encode(texts): return [[len(text), text.count("e"), 1.0] for text in texts]
    >>> words = ["tree", "", "a boat on the sea", "Tree "] + [f"{name} lamp" for name in "abcdefgh"]
    >>> folder = __import__("tempfile").mkdtemp()
    >>> made = make_bank(words, output=f"{folder}/bank.npy", encoder=encode)
    >>> made.rows, made.empty, made.repeated
    (10, 1, 1)
    """
    if kind not in get_args(Kind):
        raise InputError("kind", f"is {kind!r}", f"use one of {', '.join(get_args(Kind))}")
    if encoder is not None and model is not None:
        raise InputError("model", f"and {argument('encoder')} exclude each other", "give one of them")
    target = _target(output)
    lines = [str(each).strip() for each in _lines(source, column)]
    first: dict[str, int] = {}
    for place, line in enumerate(lines):
        first.setdefault(_folded(line), place)
    first.pop("", None)
    gallery = _gallery_texts(target_captions)
    rows = [place for text, place in first.items() if text not in gallery]
    _refuse_gallery(len(first) - len(rows), len(first), "texts are titles or captions of the gallery")
    texts = [lines[place] for place in rows]
    _refuse_few(len(texts))
    vectors = _encoded(texts, encoder, model, batch)
    if targets is not None:
        same = shared_rows(vectors, _same_space(targets, vectors), unit=True)
        _refuse_gallery(len(same), len(texts), "vectors are targets")
        left = np.setdiff1d(np.arange(len(texts)), same)
        _refuse_few(len(left))
        vectors, texts, rows = vectors[left], [texts[at] for at in left], [rows[at] for at in left]
    beside = _write(target, vectors, texts, [str(row + 1) for row in rows])
    empty = sum(not line for line in lines)
    repeated = len(lines) - empty - len(first)
    few = (
        ()
        if len(texts) >= WANTED
        else (f"{WANTED - len(texts)} more queries would make the {WANTED} that are wanted.",)
    )
    of_gallery = len(first) - len(texts)
    shape = (len(texts), vectors.shape[1])
    return MadeBank(target, *beside, *shape, kind, empty, repeated, of_gallery, (WORTH[kind], *few))


def _lines(source: Any, column: str | None) -> Sequence[str]:
    return read_texts(source, column=column) if isinstance(source, str | os.PathLike) else list(source)


def _folded(text: str) -> str:
    """A text as it is compared: without case, and with single spaces."""
    return " ".join(text.casefold().split())


def _gallery_texts(captions: Any) -> set[str]:
    return set() if captions is None else {_folded(str(each)) for each in _lines(captions, None)} - {""}


def _same_space(targets: Any, vectors: FloatArray) -> Rows:
    rows = open_source(targets, name="targets")
    if rows.shape[1] != vectors.shape[1]:
        raise InputError(
            "targets",
            f"has vectors of {rows.shape[1]:,} numbers but the encoder gives {vectors.shape[1]:,}",
            "take the encoder that made them",
        )
    return rows


def _refuse_gallery(count: int, of: int, what: str) -> None:
    if count and count >= GALLERY_SHARE * of:
        raise InputError(f"these are no queries: {count:,} of {of:,} {what}; {GALLERY}.")


def _refuse_few(count: int) -> None:
    if count < FEWEST:
        raise InputError(
            f"{there_are(count, 'different text')}, and fewer than {FEWEST} say nothing; write about {WANTED}, such as "
            f"people would type."
        )


def _encoded(texts: list[str], encoder: Any, model: str | None, batch: int) -> FloatArray:
    """Unit rows, one for each text."""
    if model is not None:
        return embed(load_encoder(model, "text"), texts, batch=batch)
    if encoder is None or isinstance(encoder, str):
        vectors = encode_queries(texts, encoder, instead=f"pass {setting('model', 'NAME_OR_FOLDER')}")
    else:
        vectors = call_model(encoder, texts, "encoder")
    length = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if (wrong := np.flatnonzero(~(np.isfinite(length) & (length > 0)))).size:
        at = int(wrong[0])
        raise InputError(
            "encoder", f"gives no direction for {wrong.size:,} texts, such as {texts[at]!r}", "take them out"
        )
    unit: FloatArray = (vectors / length).astype(np.float32)
    return unit


def _target(output: str | os.PathLike[str]) -> Path:
    target = Path(os.path.expanduser(os.fspath(output)))
    if target.suffix.lower() != ".npy":
        raise InputError("output", f"is {os.fspath(output)!r}", "vectors are written to a file that ends in .npy")
    if not target.absolute().parent.is_dir():
        raise InputError(f"cannot write {target}: there is no folder {target.parent}; make it first.")
    refuse_links(ids_beside(target), texts_beside(target), record_beside(target))
    return target


def texts_beside(out: Path) -> Path:
    """The file of the texts of a bank: ``bank.texts.txt`` for ``bank.npy``."""
    return out.with_suffix(".texts.txt")


def _write(target: Path, vectors: FloatArray, texts: list[str], ids: list[str]) -> tuple[Path, Path]:
    """The vectors with their ids and texts; until all are there, the record beside them says so."""
    Pairing().write(target)
    beside = ids_beside(target), texts_beside(target)
    for path, lines in zip(beside, (ids, texts), strict=True):
        with replace_file(path) as temporary:
            temporary.write_text("".join(f"{' '.join(line.split())}\n" for line in lines), encoding="utf-8")
    with replace_file(target) as temporary:
        np.save(temporary, vectors)
    Pairing(vectors_fingerprint(vectors), ids_fingerprint(ids)).write(target)
    return beside
