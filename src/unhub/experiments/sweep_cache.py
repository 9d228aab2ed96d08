"""Points of a sweep, saved as they are finished: a line of JSON each, so that an interrupted sweep continues."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from unhub.foundation.atomic import replace_file, sync_folder
from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import read_regular

BEGINNING = '{"sweep": '
"""of every file of points"""


@dataclass(frozen=True)
class Point:
    """One method at one place of a sweep: its values, and the interval of R@1 over queries."""

    at: float
    round: int
    bank: str
    method: str
    values: dict[str, float]
    interval: tuple[float, float] | None
    settings: dict[str, Any]
    label: str = ""
    """the name of a source, where the place is one"""


def strength_note(points: Sequence[Point]) -> str:
    """At which strength the corrections of a sweep were served; "" of one over strengths.

    >>> point = Point(0.1, 0, "val", "sn", {}, None, {"strength": 0.5})
    >>> strength_note([point, replace(point, settings={"strength": 0.75})])
    'strength: 0.5 to 0.75, at each place what held-out queries support'
    """
    served = {float(each.settings["strength"]) for each in points if each.settings.get("strength") is not None}
    if served <= {1.0}:
        return "strength 1" if served else ""
    return f"strength: {min(served):g} to {max(served):g}, at each place what held-out queries support"


class SweepCache:
    """Finished jobs of a sweep in a file; the first line says of what, and another sweep is refused, or replaced."""

    def __init__(self, path: Path | None, about: dict[str, Any], *, anew: bool = False) -> None:
        self.path = path
        self.about = json.loads(json.dumps(about))
        self.jobs: dict[str, list[Point]] = {}
        if path is not None and path.is_symlink():
            raise InputError(f"{path} is a link, which no sweep writes; remove it, or choose another folder.")
        if path is not None and path.exists():
            self._read(path, anew)

    def add(self, job: str, points: list[Point]) -> None:
        """Saves the points of a job; the line is on the disk when this returns."""
        self.jobs[job] = points
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not self.path.exists()
        with self.path.open("a", encoding="utf-8") as file:
            if fresh:
                file.write(json.dumps({"sweep": self.about}) + "\n")
            file.write(json.dumps({"job": job, "points": [asdict(each) for each in points]}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if fresh:
            sync_folder(self.path.parent)

    def _read(self, path: Path, anew: bool) -> None:
        lines = read_regular(path).decode("utf-8", errors="replace").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]  # a kill may have cut the last one
        begun = "".join(lines[:1])
        if not (begun.startswith(BEGINNING) or (not whole and BEGINNING.startswith(begun))):
            raise InputError(f"{path} is in the way and holds no sweep; choose another folder, or move it.")
        if not whole:
            path.unlink()
            return
        try:
            records = [dict(json.loads(line)) for line in whole]
            same = records[0]["sweep"] == self.about
            used = records[1:] if same else []
            self.jobs = {str(each["job"]): [point_of(one) for one in each["points"]] for each in used}
            if not all(self.jobs.values()):
                raise ValueError("a job without a point")
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
            raise InputError(f"{path} is damaged; remove it to begin the sweep again.") from None
        if not same and not anew:
            raise InputError(f"{path} holds a sweep of other files or settings; choose another folder, or remove it.")
        if not same:
            path.unlink()
        elif len(whole) < len(lines):
            with replace_file(path, follow_links=False) as temporary:
                Path(temporary).write_text("".join(whole), encoding="utf-8")


def point_of(record: dict[str, Any]) -> Point:
    """A saved point; a LookupError, TypeError or ValueError if it is none."""
    point = Point(**record)
    texts = (point.bank, point.method, point.label)
    numbers = [point.at, point.round, *point.values.values(), *(point.interval or ())]
    if not (all(isinstance(each, str) for each in texts) and isinstance(point.settings, dict)):
        raise TypeError("a name that is no text, or settings without names")
    if any(isinstance(each, bool) or not isinstance(each, int | float) for each in numbers):
        raise TypeError("a value that is no number")
    if "R@1" not in point.values:
        raise KeyError("R@1")
    if point.interval is None:
        return point
    low, high = point.interval
    return replace(point, interval=(low, high))
