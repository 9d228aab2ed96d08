"""Sweeps saved in a folder, as lines to draw."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unhub.analysis.model import Sweep, SweepLine
from unhub.dataset import Dataset
from unhub.experiments.hashes import contents
from unhub.experiments.sweep_cache import Point, point_of, strength_note
from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import read_regular
from unhub.methods import title_of

FOLDERS = (".", "figures", "sweeps")
"""where sweeps are looked for below a folder of results"""
LONGEST = 1 << 26
"""bytes of a file of points; a point takes some hundred"""


def saved_sweeps(folders: Iterable[Path], data: Dataset, way: str) -> tuple[list[Sweep], list[str]]:
    """The sweeps of a dataset in one direction, and notes on those that are left out.

    way: forward or reverse. A sweep of other files or settings is left out.
    """
    sweeps, notes = [], []
    wanted: dict[str, Any] | None = None
    for file in _files(folders):
        try:
            about, points = read_sweep(file)
        except InputError as error:
            notes.append(str(error))
            continue
        wanted = wanted or json.loads(json.dumps(contents(data)))
        if any(about.get(name) != value for name, value in wanted.items()):
            notes.append(f"{file.name} is left out: it is a sweep of other files or settings.")
        elif about.get("direction") == way and any(point.method != "none" for point in points):
            sweeps.append(sweep_of(about, points))
    return sweeps, notes


def read_sweep(file: Path) -> tuple[dict[str, Any], list[Point]]:
    """What a file of points is about, and the points; a line that a kill has cut is left out."""
    try:
        lines = read_regular(file, longest=LONGEST).decode("utf-8").splitlines(keepends=True)
        records = [json.loads(line) for line in lines if line.endswith("\n")]
        about = dict(records[0]["sweep"])
        points = [point_of(one) for each in records[1:] for one in each["points"]]
    except (OSError, ValueError, AttributeError, LookupError, TypeError, RecursionError):
        raise InputError(f"{file.name} is left out: it is damaged or holds no sweep.") from None
    return about, points


def sweep_of(about: dict[str, Any], points: list[Point]) -> Sweep:
    """The sweep as lines: R@1 of each method over the places, with its interval or the spread of the rounds."""
    base = next((point.values["R@1"] for point in points if point.method == "none"), None)
    drawn = [point for point in points if point.method != "none"]
    places = sorted({(point.at, point.label) for point in drawn})
    lines = [_line(name, places, drawn) for name in dict.fromkeys(point.method for point in drawn)]
    return Sweep(
        over=str(about["over"]),
        lines=lines,
        labels=[label for _, label in places] if any(label for _, label in places) else [],
        base=base,
        bank=str(about.get("bank") or ""),
        transductive=not about.get("bank") and about["over"] != "bank-source",
        rounds=len({point.round for point in drawn}),
        strength="" if about["over"] == "strength" else strength_note(drawn),
    )


def _line(name: str, places: list[tuple[float, str]], points: list[Point]) -> SweepLine:
    at, values, low, high = [], [], [], []
    for place in places:
        same = [point for point in points if point.method == name and (point.at, point.label) == place]
        if not same:
            continue
        recalls = np.array([point.values["R@1"] for point in same])
        mean, off = float(recalls.mean()), float(recalls.std())
        ends = (mean - off, mean + off) if len(same) > 1 else same[0].interval or (mean, mean)
        at.append(place[0])
        values.append(mean)
        low.append(float(ends[0]))
        high.append(float(ends[1]))
    return SweepLine(title_of(name), at, values, low, high)


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    """Every file of points, each once."""
    seen = set()
    for folder in folders:
        for below in FOLDERS:
            for file in sorted((folder / below).glob("*.jsonl")):
                if file.resolve() not in seen:
                    seen.add(file.resolve())
                    yield file
