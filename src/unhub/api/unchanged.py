"""Whether vectors are still those that a fit read: files and arrays may change under a correction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from unhub.core.fingerprint import fingerprint, row_digests
from unhub.dataset.reader import kept_bytes
from unhub.executors import processors
from unhub.foundation.errors import InputError
from unhub.foundation.types import IntArray
from unhub.io import Rows

_ADVICE = {
    "during": "fit again when nothing writes to it",
    "since": "fit again",
}


def fingerprints(*sources: Rows | None) -> dict[str, str]:
    """What each source holds now, in short, by the name of its argument; of those that could change."""
    given = [rows for rows in sources if rows is not None and 0 not in rows.shape and not kept_bytes(rows)]
    return {rows.name: fingerprint(row_digests(rows, threads=processors())) for rows in given}


def refuse_change(known: Mapping[str, str], *sources: Rows | None, when: Literal["during", "since"]) -> None:
    """An error if a source no longer holds what it held when its fingerprint was taken.

    Vectors that were read whole from a file are a copy of our own, which nobody can change.
    """
    for rows in sources:
        if rows is not None and rows.name in known and not kept_bytes(rows):
            refuse_others(known, rows, row_digests(rows, threads=processors()), when=when)


def refuse_others(known: Mapping[str, str], rows: Rows, digests: IntArray, *, when: Literal["during", "since"]) -> None:
    """An error if these digests, taken of the rows just now, are not of the vectors that are known."""
    if known.get(rows.name, fingerprint(digests)) != fingerprint(digests):
        what = rows.name if rows.source is None else f"{rows.name}: {rows.source}"
        raise InputError(f"{what} changed {when} the fit; {_ADVICE[when]}.")
