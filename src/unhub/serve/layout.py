"""The map: queries, banks and targets laid out in the plane once, in the background, and kept for the next time."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from unhub.core.topk import top_k
from unhub.explore.byte_cache import ByteCache
from unhub.explore.material import Material
from unhub.explore.stage import DEPTHS
from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.optional import installed
from unhub.foundation.types import FloatArray, IntArray
from unhub.metrics import k_occurrence
from unhub.report.figures.projection import FEWEST, project
from unhub.serve import map_cache
from unhub.serve.problems import log

QUERY, TARGET, BANK, BANK_TARGET = "query", "target", "bank", "bank target"
MOST = {TARGET: 1500, QUERY: 1000, BANK: 500, BANK_TARGET: 500}
"""points of each kind on a map"""
DIRECTIONS = 50
"""main directions of a matrix of scores, where there are no vectors"""


@dataclass(frozen=True)
class Map:
    """Points in the plane: their places, what each is and its row; ready once they have been laid out."""

    ready: bool
    said: str
    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Maps:
    """Maps by direction and bank: each is made once, one at a time, in the background, and found in the cache then."""

    folder: Path
    made: ByteCache[Map] = field(default_factory=ByteCache)
    _busy: set[tuple[str, str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _at_work: threading.Lock = field(default_factory=threading.Lock)

    def of(self, material: Material, bank: str) -> Map:
        """The map, or a promise of it."""
        key = (material.direction, bank)
        with self._lock:
            made = self.made.get(key)
            if made is not None:
                return made
            if key not in self._busy:
                self._busy.add(key)
                threading.Thread(target=self._make, args=(key, material, bank), daemon=True).start()
        points = sum(min(MOST[kind], size) for kind, size in _sizes(material, bank).items())
        return Map(False, f"laying out {points:,} points, once; this can take half a minute")

    def _make(self, key: tuple[str, str], material: Material, bank: str) -> None:
        try:
            with self._at_work:
                made = _laid_out(material, bank, self.folder)
        except UnhubError as error:
            made = Map(True, str(error))
        except Exception as error:  # a thread of its own has nobody else to tell
            log.error("the map: %s: %s", type(error).__name__, error)
            made = Map(True, "the map could not be made; the terminal that unhub serve runs in says more.")
        with self._lock:
            self.made.put(key, made)
            self._busy.discard(key)


def _laid_out(material: Material, bank: str, folder: Path) -> Map:
    rows = _chosen(material, bank)
    vectors, how = _vectors(material, bank, rows)
    if len(vectors) < FEWEST:
        raise InputError(f"a map needs {FEWEST} points at least.")
    method = "umap" if installed("umap") else "tsne"
    said = hashlib.sha256(np.ascontiguousarray(vectors, dtype=np.float32).tobytes())
    path = folder / f"{method}-{material.seed}-{said.hexdigest()[:24]}.npz"
    places = map_cache.read(path, len(vectors))
    if places is None:
        places = project(vectors, method, material.seed).astype(np.float32)
        map_cache.write(path, places)
    places = (places - places.min(axis=0)) / np.maximum(np.ptp(places, axis=0), 1e-9)
    kinds = [kind for kind, chosen in rows.items() for _ in chosen]
    names = {QUERY: material.queries.names, TARGET: material.targets.names}
    learnt = material.banks[bank]
    return Map(
        True,
        f"{'UMAP' if method == 'umap' else 't-SNE'} of {how}",
        x=[round(float(each), 5) for each in places[:, 0]],
        y=[round(float(each), 5) for each in places[:, 1]],
        kind=kinds,
        row=[int(row) for chosen in rows.values() for row in chosen],
        name=[
            names[kind][row]
            if kind in names
            else learnt.name_of(int(learnt.rows[row]))
            if kind == BANK
            else f"bank target {row}"
            for kind, chosen in rows.items()
            for row in chosen.tolist()
        ],
    )


def _sizes(material: Material, bank: str) -> dict[str, int]:
    learnt = material.banks[bank]
    sizes = {TARGET: material.relevance.gallery, QUERY: material.relevance.queries}
    if learnt.scores is not None:
        sizes[BANK] = len(learnt.rows)
    if learnt.target_vectors is not None:
        sizes[BANK_TARGET] = len(learnt.target_vectors)
    return sizes


def _chosen(material: Material, bank: str) -> dict[str, IntArray]:
    """Rows of each kind: the targets that are retrieved most, and others at random."""
    rng = np.random.default_rng(material.seed)
    chosen = {}
    for kind, size in _sizes(material, bank).items():
        first = np.empty(0, dtype=int)
        if kind == TARGET and size > MOST[TARGET]:
            top = top_k(material.scores, DEPTHS[-2])[1]
            first = np.argsort(-k_occurrence(top, size), kind="stable")[: MOST[TARGET] // 2]
        rest = np.setdiff1d(np.arange(size), first)
        chosen[kind] = np.sort(np.concatenate((first, rng.permutation(rest)[: MOST[kind] - len(first)])).astype(int))
    return chosen


def _vectors(material: Material, bank: str, rows: dict[str, IntArray]) -> tuple[FloatArray, str]:
    """A vector for each point, and what it is; matrices of scores are taken apart into their main directions."""
    learnt = material.banks[bank]
    if material.vectors is not None:
        of: dict[str, FloatArray | None] = {QUERY: material.vectors.queries, TARGET: material.vectors.targets}
        of |= {BANK: learnt.vectors, BANK_TARGET: learnt.target_vectors}
        parts = [whole[chosen] for kind, chosen in rows.items() if (whole := of[kind]) is not None]
        return np.concatenate(parts), "the embeddings"
    matrix = material.scores[rows[QUERY]]
    if learnt.scores is not None:
        matrix = np.concatenate((matrix, learnt.scores[rows[BANK]]))
    centred = matrix - matrix.mean(axis=1, keepdims=True)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    most = min(DIRECTIONS, len(sizes))
    scaled = np.sqrt(sizes[:most])
    asked, found = left[:, :most] * scaled, (right[:most].T * scaled)[rows[TARGET]]
    ordered = {TARGET: found, QUERY: asked[: len(rows[QUERY])], BANK: asked[len(rows[QUERY]) :]}
    together = np.concatenate([ordered[kind] for kind in rows])
    return together + 1e-6 * (np.abs(together).sum(axis=1, keepdims=True) == 0), "the main directions of the scores"
