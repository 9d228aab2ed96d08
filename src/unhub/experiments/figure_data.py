"""The values that the paper's figures draw."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unhub.experiments.sweep_cache import Point
from unhub.foundation.types import FloatArray, IntArray

FEWEST_AXES = 3
"""axes that a radar needs"""


@dataclass(frozen=True)
class Item:
    """A query or a target: its text or name, whether it is right, and its picture if it has one.

    ``image`` is the path of a picture; for a video give a frame of it. What has none, such as a text or a sound, is
    shown as its caption in a box.
    """

    caption: str
    right: bool
    image: str | os.PathLike[str] | None = None


@dataclass(frozen=True)
class QueryResults:
    """One query and the results of each method, best first; ``image`` is the query's picture if it has one."""

    query: str
    results: Mapping[str, Sequence[Item]]
    image: str | os.PathLike[str] | None = None


@dataclass(frozen=True)
class RadarAxis:
    """One axis: its name, whether a larger value is better (a skewness, for one, is not), and the most it can be."""

    label: str
    larger_is_better: bool = True
    most: float | None = None


@dataclass(frozen=True, eq=False)
class RadarData:
    """A value of each method on each axis; ``stem`` is the name of the figure's files, as in the other classes."""

    stem: str
    axes: Sequence[RadarAxis]
    series: Mapping[str, Sequence[float]]


@dataclass(frozen=True, eq=False)
class SimilarityData:
    """Scores (query, gallery) and k-occurrence (gallery,) before and after a correction."""

    stem: str
    scores: tuple[FloatArray, FloatArray]
    counts: tuple[IntArray, IntArray]
    names: tuple[str, str]
    k: int


@dataclass(frozen=True, eq=False)
class SweepData:
    """The points of a sweep."""

    stem: str
    over: str
    points: Sequence[Point]


@dataclass(frozen=True, eq=False)
class HubMapData:
    """Vectors (n, dim), their kinds and names, and how often each is retrieved."""

    stem: str
    vectors: FloatArray
    kinds: Sequence[str]
    counts: FloatArray
    names: Sequence[str]
    note: str
    seed: int


@dataclass(frozen=True, eq=False)
class TopResultsData:
    """A few queries with their results before and after."""

    stem: str
    queries: Sequence[QueryResults]


@dataclass(frozen=True, eq=False)
class HubQueriesData:
    """The greatest hub and the queries that it is first for."""

    stem: str
    hub: Item
    queries: Sequence[Item]


FigureData = RadarData | SimilarityData | SweepData | HubMapData | TopResultsData | HubQueriesData
