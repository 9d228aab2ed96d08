"""Where the hubs are among queries, targets and banks: the map, and the vectors laid out in the plane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError, MissingDependencyError
from unhub.foundation.optional import installed, require
from unhub.foundation.types import FloatArray
from unhub.reports.figures.axes import numbers
from unhub.reports.figures.captions import DOT_SAMPLE, fitted, label_points, legend_above
from unhub.reports.figures.style import COLUMN, FAINT, SMALL, blank, look, settle
from unhub.reports.palette import BLACK, series_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALLEST, LARGEST = 30.0, 100.0
"""areas of hubs in square points; other points have ``DOT``"""
HALF = 0.07
"""inches: half a hub, which no label may cover"""
DOT = 7.0
CROWD = 2000
"""points from which on they are drawn smaller"""
PERPLEXITY, NEIGHBOURS = 30.0, 15
"""what both methods take for large sets"""
DIRECTIONS = 50
"""dimensions kept of longer vectors"""
FEWEST = 4
"""vectors: fewer have no neighbourhoods"""


def hub_map(
    points: ArrayLike,
    kinds: Sequence[str],
    counts: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    hubs: int = 5,
    note: str = "",
) -> Figure:
    """Every kind of point in its colour and marker; the most retrieved targets are large and labelled.

    points: (n, 2), as `project` gives them; kinds: what each point is, such as "query", "target" or "bank"; counts:
    (n,), how often each is retrieved, 0 or NaN for what is not a target; names: the labels of hubs, followed by their
    counts; hubs: how many to label, of those that are retrieved at all; note: a line below, such as what is counted.
    """
    places = np.asarray(points, dtype=np.float64)
    if places.ndim != 2 or places.shape[1] != 2 or not len(places):
        raise InputError(f"points has shape {places.shape}; give at least one point as (n, 2), see project.")
    if not np.isfinite(places).all():
        raise InputError("points holds a place that is missing or infinite; leave such points out.")
    for values, name in ((kinds, "kinds"), (names, "names")):
        if values is not None and len(values) != len(places):
            raise InputError(f"{name} has {len(values)} entries but there are {len(places)} points; give one for each.")
    often = np.nan_to_num(numbers(counts, "counts", shape=(len(places),)))
    top = greatest(often, hubs)
    which = list(dict.fromkeys(kinds))
    number = np.array([which.index(kind) for kind in kinds])
    is_hub = np.isin(np.arange(len(places)), top)
    dot = DOT if len(places) < CROWD else DOT / 2
    with look():
        figure = blank(COLUMN, 3.2)
        axes: Any = figure.subplots()
        axes.set(xticks=[], yticks=[])
        axes.margins(0.06)
        axes.set_xlabel(fitted(note, COLUMN - 0.2, SMALL), size=SMALL)
        axes.spines[:].set(visible=True, color=FAINT)
        handles = []
        for at, style in enumerate(series_styles(which)):
            common, large = places[(number == at) & ~is_hub], (number == at) & is_hub
            plain = {"s": dot, "marker": style.marker, "color": style.colour, "linewidths": 0, "alpha": 0.55}
            handles.append(axes.scatter(common[:, 0], common[:, 1], **plain, zorder=2))
            area = SMALLEST + (LARGEST - SMALLEST) * often[large] / max(1.0, often.max())
            strong = {"marker": style.marker, "facecolors": style.colour + "99", "edgecolors": BLACK, "linewidths": 1.0}
            axes.scatter(places[large, 0], places[large, 1], s=area, **strong, zorder=4)
        texts = [f"{fitted(names[at], 1.1, SMALL)} ({often[at]:g})" if names else f"{often[at]:g}" for at in top]
        key = [f"{kind} ({(number == at).sum():,})" for at, kind in enumerate(which)]
        legend_above(figure, handles, key, sample=DOT_SAMPLE)
        settle(figure)
        label_points(axes, places[top], texts, avoid=places[top], dot=HALF)
        for text in axes.texts:
            text.set_bbox({"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8})
    return figure


def greatest(counts: NDArray[np.float64], hubs: int) -> NDArray[np.int64]:
    """The points with the largest counts, largest first, the lower index first among equals; never those with 0.

    >>> greatest(np.array([0.0, 7.0, 2.0, 7.0]), 3).tolist()
    [1, 3, 2]
    """
    order = np.argsort(-counts, kind="stable")[: max(0, hubs)]
    return order[counts[order] > 0]


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
    rows = rows / lengths
    if min(rows.shape) > DIRECTIONS:  # the rest is noise to both methods, and costs time
        rows = require("sklearn.decomposition", extra="figures").PCA(DIRECTIONS, random_state=seed).fit_transform(rows)
    places: NDArray[np.float64] = METHODS[method](rows, seed).astype(np.float64)
    return places


def perplexity(count: int) -> float:
    """The neighbourhood that t-SNE keeps for so many vectors.

    >>> perplexity(1000), perplexity(7)
    (30.0, 2.0)
    """
    return min(PERPLEXITY, max(1.0, (count - 1) / 3))


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
