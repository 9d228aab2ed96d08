"""Where the hubs lie among queries, targets and banks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.report.figures.axes import numbers
from unhub.report.figures.captions import DOT_SAMPLE, fitted, legend_above
from unhub.report.figures.point_labels import label_points
from unhub.report.figures.style import COLUMN, FAINT, SMALL, blank, look, settle
from unhub.report.palette import BLACK, series_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALLEST, LARGEST = 30.0, 100.0
"""areas of hubs in square points; other points have ``DOT``"""

HALF = 0.07
"""inches: half a hub, which no label may cover"""

DOT = 7.0
CROWD = 2000
"""points from which on they are drawn smaller"""


def hub_map(
    points: ArrayLike,
    kinds: Sequence[str],
    counts: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    hubs: int = 5,
    note: str = "",
) -> Figure:
    """Every kind of point in its colour and marker; the targets that are retrieved most are large and labelled.

    points: (n, 2), as `project` gives them; kinds: what each point is, such as "query", "target" or "bank"; counts:
    (n,), how often each is retrieved, 0 or NaN for what is not a target; names: what to write beside a hub, with its
    count; hubs: how many are labelled, of those that are retrieved at all; note: what stands below, such as what the
    counts count.
    """
    places = np.asarray(points, dtype=np.float64)
    if places.ndim != 2 or places.shape[1] != 2 or not len(places):
        raise InputError(f"points has shape {places.shape}; give at least one point as (n, 2), see project.")
    if not np.isfinite(places).all():
        raise InputError("points holds a place that is missing or infinite; leave such points out.")
    for given, what in ((kinds, "kinds"), (names, "names")):
        if given is not None and len(given) != len(places):
            raise InputError(f"{what} has {len(given)} entries but there are {len(places)} points; give one for each.")
    often = np.nan_to_num(numbers(counts, "counts", shape=(len(places),)))
    return _draw(places, list(kinds), often, names, greatest(often, hubs), note)


def greatest(counts: NDArray[np.float64], hubs: int) -> NDArray[np.int64]:
    """The points with the largest counts, largest first, the lower index first among equals; never those with 0.

    >>> greatest(np.array([0.0, 7.0, 2.0, 7.0]), 3).tolist()
    [1, 3, 2]
    """
    order = np.argsort(-counts, kind="stable")[: max(0, hubs)]
    return order[counts[order] > 0]


def _draw(
    places: NDArray[np.float64],
    kinds: list[str],
    counts: NDArray[np.float64],
    names: Sequence[str] | None,
    hubs: NDArray[np.int64],
    note: str,
) -> Figure:
    which = list(dict.fromkeys(kinds))
    number = np.array([which.index(kind) for kind in kinds])
    hub = np.zeros(len(places), dtype=bool)
    hub[hubs] = True
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
            mine = number == at
            common, large = places[mine & ~hub], mine & hub
            plain = {"s": dot, "marker": style.marker, "color": style.colour, "linewidths": 0, "alpha": 0.55}
            handles.append(axes.scatter(common[:, 0], common[:, 1], **plain, zorder=2))
            area = SMALLEST + (LARGEST - SMALLEST) * counts[large] / max(1.0, counts.max())
            strong = {"marker": style.marker, "facecolors": style.colour + "99", "edgecolors": BLACK, "linewidths": 1.0}
            axes.scatter(places[large, 0], places[large, 1], s=area, **strong, zorder=4)
        texts = [f"{fitted(names[at], 1.1, SMALL)} ({counts[at]:g})" if names else f"{counts[at]:g}" for at in hubs]
        legend_above(
            figure, handles, [f"{kind} ({(number == at).sum():,})" for at, kind in enumerate(which)], sample=DOT_SAMPLE
        )
        settle(figure)
        label_points(axes, places[hubs], texts, avoid=places[hubs], dot=HALF)
        for text, _ in zip(axes.texts, hubs, strict=True):
            text.set_bbox({"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8})
    return figure
