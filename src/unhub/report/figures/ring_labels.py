"""Names around a circle that keep clear of it, of the edge and of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unhub.report.figures.captions import extent
from unhub.report.figures.style import BODY

PAD = 0.11
"""inches between the circle and a name"""

GAP = 0.03
"""inches between two names"""

SMALLEST = 0.6
"""inches: a smaller radius cannot be read; long names then stand closer to the edge"""


@dataclass(frozen=True)
class Label:
    """A text and its place: centre and size in inches, the circle's centre being (0, 0) and y going up."""

    text: str
    x: float
    y: float
    width: float
    height: float


def placed(texts: Sequence[str], angles: NDArray[np.float64], radius: float, width: float) -> tuple[float, list[Label]]:
    """The largest radius up to the one asked for at which all names fit into the width, and the names in place."""
    sizes = [extent(text, BODY) for text in texts]
    for (wide, _), angle in zip(sizes, angles, strict=True):
        if abs(np.cos(angle)) > 1e-6:
            radius = min(radius, (width / 2 - wide - 0.06) / abs(np.cos(angle)) - PAD)
    radius = max(radius, SMALLEST)
    labels = []
    for text, (wide, high), angle in zip(texts, sizes, angles, strict=True):
        side = np.sign(np.round(np.cos(angle), 6))
        x = (radius + PAD) * np.cos(angle) + side * wide / 2
        y = (radius + PAD) * np.sin(angle) + np.sin(angle) * high / 2
        labels.append(Label(text, float(x), float(y), wide, high))
    return radius, _apart(labels)


def _apart(labels: list[Label]) -> list[Label]:
    """The names with those that overlap moved up or down, away from the middle; the ones nearest to it stay."""
    order = sorted(range(len(labels)), key=lambda at: (abs(round(labels[at].y, 6)), at))
    settled: list[int] = []
    for at in order:
        up = 1.0 if labels[at].y >= 0 else -1.0
        for _ in labels:
            blocking = [labels[other] for other in settled if _overlap(labels[at], labels[other])]
            if not blocking:
                break
            edge = max(up * other.y + other.height / 2 for other in blocking)
            labels[at] = replace(labels[at], y=up * (edge + GAP + labels[at].height / 2))
        settled.append(at)
    return labels


def _overlap(one: Label, other: Label) -> bool:
    across = abs(one.x - other.x) < (one.width + other.width) / 2 + GAP
    return across and abs(one.y - other.y) < (one.height + other.height) / 2 + GAP / 2
