"""Embeddings: those of the test set, and those of its banks."""

from __future__ import annotations

from dataclasses import replace

from unhub.core.checks import UNIT_TOLERANCE
from unhub.experiments.importing.gathered import Banks, Gathered, told, unmasked
from unhub.experiments.importing.matrices import Matrix, lengths, repeated_rows, upright
from unhub.experiments.importing.reading import Opener
from unhub.experiments.importing.targets import Targets, distinct
from unhub.foundation.errors import InputError

PARTS = ("queries", "targets")
QUERIES, TARGETS = "test.queries", "test.targets"


def gather_vectors(opener: Opener, queries: str, targets: str, banks: Banks, *, masks: str | None) -> Gathered:
    """The embeddings of the test set and of banks; a target that is repeated for each of its queries is taken once."""
    parts = {QUERIES: _opened(opener, queries, "queries"), TARGETS: _opened(opener, targets, "targets")}
    for name, sources in banks.items():
        if len(sources) > len(PARTS):
            raise InputError(f"bank {name} has {len(sources)} files; give its queries and, after a comma, its targets.")
        for part, source in zip(PARTS, sources, strict=False):
            parts[f"banks.{name}.{part}"] = _opened(opener, source, f"bank {name}, {part}")
    kept = unmasked(opener, masks, parts[QUERIES].shape[0])
    masked = int((~kept).sum())
    parts[QUERIES] = parts[QUERIES].only(kept)
    odd = _checked(parts)
    said = [f"masked queries, left out: {masked:,}"] if masked else []
    once: dict[str, Targets] = {}
    for where, matrix in parts.items():
        if where.endswith(".targets"):
            once[where] = distinct(repeated_rows(matrix), f"rows of {matrix.found.name}")
            parts[where] = replace(matrix, rows=once[where].firsts)
            said += told(once[where].said)
    if odd is not None:
        said.append(f"embeddings have lengths from {odd[0]:.3g} to {odd[1]:.3g}; normalize = true scales them")
    return Gathered(parts, kept, once[TARGETS], settings={} if odd is None else {"normalize": True}, said=tuple(said))


def _opened(opener: Opener, source: str, name: str) -> Matrix:
    return upright(opener.array(source, name), transpose=False)


def _checked(parts: dict[str, Matrix]) -> tuple[float, float] | None:
    """The shortest and the longest embedding, if they are not of unit length; those that cannot be used are refused."""
    dim = parts[TARGETS].shape[1]
    seen: list[float] = []
    for matrix in parts.values():
        if matrix.shape[1] != dim:
            raise matrix.found.problem(
                f"has dimension {matrix.shape[1]} but targets have {dim}; give embeddings of one model."
            )
        seen += lengths(matrix)
    unit = min(seen) >= 1 - UNIT_TOLERANCE and max(seen) <= 1 + UNIT_TOLERANCE
    return None if unit else (min(seen), max(seen))
