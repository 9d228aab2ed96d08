"""Vectors laid out in the plane so that neighbours stay neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unhub.foundation.errors import InputError, MissingDependencyError
from unhub.foundation.optional import installed, require
from unhub.foundation.types import FloatArray

PERPLEXITY, NEIGHBOURS = 30.0, 15
"""what both methods take for large sets"""

DIRECTIONS = 50
"""dimensions that are kept of longer vectors"""

FEWEST = 4
"""vectors: fewer have no neighbourhoods to keep"""


def project(vectors: FloatArray, method: str = "tsne", seed: int = 0) -> NDArray[np.float64]:
    """Places in the plane by the angles between the vectors: (n, 2).

    method: ``tsne``, or ``umap`` where the package umap-learn is installed. Small sets get a smaller neighbourhood:
    a perplexity of a third of the others at most. Equal vectors and seeds give equal places on one machine.
    """
    if method not in METHODS:
        raise InputError(f"method is {method!r}; choose one of {', '.join(sorted(METHODS))}.")
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < FEWEST:
        raise InputError(f"vectors has shape {rows.shape}; give at least {FEWEST} rows (n, dim) to lay out.")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise InputError("vectors has a row that is zero or not finite, which has no direction; leave it out.")
    rows = _fewer_dimensions(rows / lengths, seed)
    places: NDArray[np.float64] = METHODS[method](rows, seed).astype(np.float64)
    return places


def perplexity(count: int) -> float:
    """The neighbourhood that t-SNE keeps for so many vectors.

    >>> perplexity(1000), perplexity(7)
    (30.0, 2.0)
    """
    return min(PERPLEXITY, max(1.0, (count - 1) / 3))


def _fewer_dimensions(rows: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """The rows along their main directions: what is left out is noise to both methods, and they are faster without."""
    if min(rows.shape) <= DIRECTIONS:
        return rows
    pca = require("sklearn.decomposition", extra="figures").PCA(DIRECTIONS, random_state=seed)
    main: NDArray[np.float64] = pca.fit_transform(rows)
    return main


def _tsne(rows: NDArray[np.float64], seed: int) -> FloatArray:
    manifold = require("sklearn.manifold", extra="figures")
    start = "pca" if min(rows.shape) >= 2 else "random"
    model = manifold.TSNE(perplexity=perplexity(len(rows)), init=start, random_state=seed)
    places: FloatArray = model.fit_transform(rows)
    return places


def _umap(rows: NDArray[np.float64], seed: int) -> FloatArray:
    if not installed("umap"):
        raise MissingDependencyError(
            "method 'umap' needs the package 'umap-learn', which is not installed; "
            "install it with: pip install umap-learn, or choose method 'tsne'"
        )
    neighbours, start = min(NEIGHBOURS, len(rows) - 1), "spectral" if len(rows) > NEIGHBOURS else "random"
    model = require("umap", extra="figures").UMAP(n_neighbors=neighbours, init=start, random_state=seed, n_jobs=1)
    places: FloatArray = model.fit_transform(rows)
    return places


METHODS: dict[str, Callable[[NDArray[np.float64], int], FloatArray]] = {"tsne": _tsne, "umap": _umap}
