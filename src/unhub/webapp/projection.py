"""The map: queries, banks and targets projected onto the plane once, in the background, and cached on disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from unhub.analysis.byte_cache import ByteCache
from unhub.analysis.session import DEPTHS, BankSample, DirectionSample, Session
from unhub.core.arrays import unit_rows
from unhub.core.topk import top_k
from unhub.dataset.galleries import take
from unhub.foundation.atomic import replace_file
from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.optional import installed
from unhub.foundation.types import FloatArray, IntArray
from unhub.metrics import k_occurrence
from unhub.reports.figures.hub_map import FEWEST, project
from unhub.scores import whole_matrix
from unhub.webapp.errors import log, on_page

QUERY, TARGET, BANK, BANK_TARGET = "query", "target", "bank", "bank target"
MOST = {TARGET: 1500, QUERY: 1000, BANK: 500, BANK_TARGET: 500}
"""most points of each kind on a map"""
COMPONENTS = 50
"""principal components of a score matrix, used where there are no vectors"""
MOST_CACHED = 32 << 20
"""bytes of all cached maps: about a thousand of the largest, 28 kB each"""
CACHED_NAME = re.compile(r"(umap|tsne)-\d+-[0-9a-f]{24}\.npz")
"""names of cached maps; nothing else in the folder is touched"""


@dataclass(frozen=True)
class Map:
    """Points in the plane: coordinates, kind and row of each; empty until they are ready."""

    ready: bool
    said: str
    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Maps:
    """Maps by direction and bank, computed in the background, one at a time, once each."""

    folder: Path
    _maps: ByteCache[Map] = field(default_factory=ByteCache)
    _busy: set[tuple[str, str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def of(self, session: Session, sample: DirectionSample, bank: BankSample) -> Map:
        """The map, or an empty one that says it is being computed."""
        key = (sample.direction, bank.name)
        with self._lock:
            ready = self._maps.get(key)
            if ready is not None:
                return ready
            if key not in self._busy:
                self._busy.add(key)
                threading.Thread(target=self._compute, args=(key, session, sample, bank), daemon=True).start()
        points = sum(min(MOST[kind], size) for kind, size in _sizes(session, sample, bank).items())
        return Map(False, f"projecting {points:,} points; the first time takes up to half a minute")

    def _compute(self, key: tuple[str, str], session: Session, sample: DirectionSample, bank: BankSample) -> None:
        try:
            with self._one_at_a_time:
                result = project_map(session, sample, bank, self.folder)
        except UnhubError as error:
            result = Map(True, error.sentence(on_page))
        except Exception as error:  # nobody else would hear of it: this is a thread
            log.error("the map: %s: %s", type(error).__name__, error)
            result = Map(True, "the map failed; see the terminal that unhub serve runs in.")
        with self._lock:
            self._maps.put(key, result)
            self._busy.discard(key)


def project_map(session: Session, sample: DirectionSample, bank: BankSample, folder: Path) -> Map:
    """The map of a direction and bank, from the cache folder if it is there."""
    rows = _chosen(session, sample, bank)
    vectors, how = _vectors(session, sample, bank, rows)
    if len(vectors) < FEWEST:
        raise InputError(f"a map needs at least {FEWEST} points.")
    method = "umap" if installed("umap") else "tsne"
    digest = hashlib.sha256(np.ascontiguousarray(vectors, dtype=np.float32).tobytes())
    path = folder / f"{method}-{session.seed}-{digest.hexdigest()[:24]}.npz"
    coordinates = read_cached(path, len(vectors))
    if coordinates is None:
        coordinates = project(vectors, method, session.seed).astype(np.float32)
        write_cached(path, coordinates)
    coordinates = (coordinates - coordinates.min(axis=0)) / np.maximum(np.ptp(coordinates, axis=0), 1e-9)
    name_of = {
        QUERY: lambda row: sample.queries.names[row],
        TARGET: lambda row: sample.targets.names[row],
        BANK: lambda row: bank.name_of(int(bank.rows[row])),
        BANK_TARGET: lambda row: f"bank target {row}",
    }
    points = [(kind, row) for kind, chosen in rows.items() for row in chosen.tolist()]
    return Map(
        True,
        f"{'UMAP' if method == 'umap' else 't-SNE'} of {how}",
        x=[round(float(each), 5) for each in coordinates[:, 0]],
        y=[round(float(each), 5) for each in coordinates[:, 1]],
        kind=[kind for kind, _ in points],
        row=[row for _, row in points],
        name=[name_of[kind](row) for kind, row in points],
    )


def _sizes(session: Session, sample: DirectionSample, bank: BankSample) -> dict[str, int]:
    sizes = {TARGET: sample.relevance.gallery, QUERY: sample.relevance.queries}
    if not bank.is_test:
        sizes[BANK] = len(bank.rows)
        others = session.task(sample.direction, bank.name).target_bank
        sizes |= {} if others is None else {BANK_TARGET: len(others)}
    return sizes


def _chosen(session: Session, sample: DirectionSample, bank: BankSample) -> dict[str, IntArray]:
    """Rows of each kind: the most retrieved targets, and a random sample of the rest."""
    rng = np.random.default_rng(session.seed)
    chosen = {}
    for kind, size in _sizes(session, sample, bank).items():
        hubs = np.empty(0, dtype=int)
        if kind == TARGET and size > MOST[TARGET]:
            top = top_k(_test_scores(session, sample, bank), DEPTHS[-2])[1]
            hubs = np.argsort(-k_occurrence(top, size), kind="stable")[: MOST[TARGET] // 2]
        rest = np.setdiff1d(np.arange(size), hubs)
        chosen[kind] = np.sort(np.concatenate((hubs, rng.permutation(rest)[: MOST[kind] - len(hubs)])).astype(int))
    return chosen


def _test_scores(session: Session, sample: DirectionSample, bank: BankSample) -> FloatArray:
    scores = session.task(sample.direction, bank.name).scores
    assert scores is not None
    return whole_matrix(scores)


def _vectors(
    session: Session, sample: DirectionSample, bank: BankSample, rows: dict[str, IntArray]
) -> tuple[FloatArray, str]:
    """A vector for each point, and what it is: embeddings, or principal components of the scores."""
    task = session.task(sample.direction, bank.name)
    if task.targets is not None:
        sources = {QUERY: task.queries, TARGET: task.targets, BANK: task.query_bank, BANK_TARGET: task.target_bank}
        parts = [take(whole, chosen) for kind, chosen in rows.items() if (whole := sources[kind]) is not None]
        vectors = np.concatenate(parts).astype(np.float32)
        return (unit_rows(vectors) if session.data.reader.scaled else vectors), "the embeddings"
    matrix = _test_scores(session, sample, bank)[rows[QUERY]]
    if not bank.is_test:
        matrix = np.concatenate((matrix, whole_matrix(task.banks.queries)[rows[BANK]]))
    centred = matrix - matrix.mean(axis=1, keepdims=True)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    most = min(COMPONENTS, len(sizes))
    scaled = np.sqrt(sizes[:most])
    query_side, target_side = left[:, :most] * scaled, (right[:most].T * scaled)[rows[TARGET]]
    ordered = {TARGET: target_side, QUERY: query_side[: len(rows[QUERY])], BANK: query_side[len(rows[QUERY]) :]}
    together = np.concatenate([ordered[kind] for kind in rows])
    silent = np.abs(together).sum(axis=1, keepdims=True) == 0
    return together + 1e-6 * silent, "the principal components of the scores"


def cache_folder() -> Path:
    """The folder in which maps are cached between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unhub" / "maps"


def read_cached(path: Path, count: int) -> FloatArray | None:
    """The coordinates of ``count`` points, or None if the file is missing or damaged; marks it as used now."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            coordinates: FloatArray = archive["places"]
    except (OSError, EOFError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return coordinates if coordinates.shape == (count, 2) and bool(np.isfinite(coordinates).all()) else None


def write_cached(path: Path, coordinates: FloatArray, most: int = MOST_CACHED) -> None:
    """Cache the coordinates and drop the least recently used maps beyond ``most`` bytes; write errors are ignored."""
    with contextlib.suppress(OSError, UnhubError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as draft, open(draft, "wb") as file:
            np.savez(file, places=coordinates)
        _trim(path.parent, most, newest=path)


def _trim(folder: Path, most: int, newest: Path) -> None:
    cached = []
    for each in folder.iterdir():
        if CACHED_NAME.fullmatch(each.name) and each != newest:
            with contextlib.suppress(FileNotFoundError):  # another server may trim as well
                status = each.lstat()
                cached.append((status.st_mtime_ns, status.st_size, each))
    total = newest.lstat().st_size + sum(size for _, size, _ in cached)
    for _, size, each in sorted(cached):
        if total <= most:
            return
        each.unlink(missing_ok=True)
        total -= size
