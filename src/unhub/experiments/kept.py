"""Points of a sweep, kept as they are finished: a line of JSON each, so that an interrupted sweep goes on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unhub.foundation.errors import InputError


@dataclass(frozen=True)
class Point:
    """What one method gave at one place of a sweep: its values, and the interval of R@1 over queries."""

    at: float
    round: int
    bank: str
    method: str
    values: dict[str, float]
    interval: tuple[float, float] | None
    settings: dict[str, Any]
    label: str = ""
    """the name of a source, where the place is one"""


class KeptPoints:
    """Finished jobs of a sweep in a file; the first line says of what, and another sweep is refused."""

    def __init__(self, path: Path | None, about: dict[str, Any]) -> None:
        self.path = path
        self.about = json.loads(json.dumps(about))
        self.jobs: dict[str, list[Point]] = {}
        if path is not None and path.exists():
            self._read(path)

    def add(self, job: str, points: list[Point]) -> None:
        """Keeps the points of a job; the line is on the disk when this comes back."""
        self.jobs[job] = points
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not self.path.exists()
        with self.path.open("a", encoding="utf-8") as file:
            if fresh:
                file.write(json.dumps({"sweep": self.about}) + "\n")
            file.write(json.dumps({"job": job, "points": [asdict(each) for each in points]}) + "\n")

    def _read(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]  # a kill may have cut the last one
        told = [json.loads(line) for line in whole]
        if not told or told[0].get("sweep") != self.about:
            raise InputError(f"{path} holds a sweep of other files or settings; choose another folder, or remove it.")
        for each in told[1:]:
            self.jobs[each["job"]] = [_point(one) for one in each["points"]]
        if len(whole) < len(lines):
            path.write_text("".join(whole), encoding="utf-8")


def _point(told: dict[str, Any]) -> Point:
    interval = told["interval"]
    return Point(**{**told, "interval": None if interval is None else (interval[0], interval[1])})
