"""Contenders in processes of their own: a crash, a missing package or a time limit becomes one row that says so."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from contenders import contender
from measuring import Measured
from problems import Shape

HERE = Path(__file__).parent
PACKAGES = ("unhub", "numpy", "numba", "POT", "torch", "geomloss", "jax", "ott-jax", "nnn-retrieval", "kiez")
DISTURBED = 0.1
"""share of the machine in the hands of others from which a time is marked"""


@dataclass(frozen=True)
class Settings:
    """How long and how often to look."""

    seed: int = 0
    runs: int = 7
    patience: float = 40.0
    limit: float = 300.0
    """seconds until a contender is stopped"""


@dataclass(frozen=True, eq=False)
class Row:
    """One contender at one shape: what was measured, or why not."""

    key: str
    title: str
    shape: Shape
    measured: Measured | None = None
    failure: str = ""
    note: str = ""
    remark: str = ""
    bias: np.ndarray | None = None
    ids: np.ndarray | None = None

    @property
    def ratio(self) -> float | None:
        """Time as a multiple of one matrix product."""
        return None if self.measured is None else self.measured.seconds / self.measured.product

    @property
    def disturbed(self) -> bool:
        """Whether other processes took so much of the machine that the time says little."""
        return self.measured is not None and (self.measured.others or 0.0) > DISTURBED

    def as_json(self) -> dict[str, Any]:
        """What is written to the results."""
        plain: dict[str, Any] = {
            "key": self.key,
            "title": self.title,
            "shape": self.shape.argument,
            "ratio": self.ratio,
        }
        words = {"failure": self.failure, "note": self.note, "remark": self.remark}
        plain["disturbed"] = self.disturbed
        return {**plain, **words, "measured": None if self.measured is None else asdict(self.measured)}


def python(script: str, *arguments: str, limit: float | None = None) -> str:
    """Runs a script of this folder; gives the reason of its failure in one line, or nothing."""
    command = [sys.executable, str(HERE / script), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=_environment())
    except subprocess.TimeoutExpired:
        return f"stopped after {limit:.0f} s"
    return "" if done.returncode == 0 else reason(done.stderr, done.returncode)


def _environment() -> dict[str, str]:
    """The environment of a contender: JAX looks for no accelerator."""
    return {**os.environ, "JAX_PLATFORMS": "cpu"}


def reason(stderr: str, code: int) -> str:
    """The line of a traceback that names the error; "not installed" for a package that is missing."""
    named = [line for line in stderr.splitlines() if line[:1].isalpha() and "Error" in line.split(":")[0]]
    if code < 0:
        return f"ended by signal {-code}" + (" (out of memory?)" if code == -9 else "")
    if not named:
        return f"failed with exit code {code}"
    if named[-1].startswith("ModuleNotFoundError: No module named"):
        return f"not installed ({named[-1].split()[-1]})"
    return named[-1][:120]


def contend(key: str, shape: Shape, settings: Settings) -> Row:
    """One contender, measured at one shape in a fresh process."""
    chosen = contender(key)
    print(f"  {shape}: {chosen.title} ...", end=" ", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "row"
        options = {"--seed": settings.seed, "--runs": settings.runs, "--patience": settings.patience, "-o": place}
        words = [str(part) for item in options.items() for part in item]
        failure = python("contend.py", key, shape.argument, *words, limit=settings.limit)
        row = Row(key, chosen.title, shape, failure=failure, remark=chosen.remark)
        if not failure:
            row = _read(row, place)
    print(failure or "disturbed" if failure or row.disturbed else "done", file=sys.stderr)
    return row


def _read(row: Row, place: Path) -> Row:
    seen = json.loads(place.with_suffix(".json").read_text())
    note = seen.pop("note")
    arrays = dict(np.load(place.with_suffix(".npz")))
    return Row(row.key, row.title, row.shape, Measured(**seen), note=note, remark=row.remark, **arrays)


def references(shape: Shape, seed: int) -> dict[str, np.ndarray]:
    """The float64 biases of a shape, computed in a process of their own."""
    print(f"  {shape}: the float64 reference ...", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "reference.npz"
        failure = python("reference.py", shape.argument, "--seed", str(seed), "-o", str(place))
        if failure:
            raise RuntimeError(f"the float64 reference could not be computed: {failure}")
        return dict(np.load(place))


def with_common_unit(rows: list[Row]) -> list[Row]:
    """The rows with one unit for each shape of product: the fastest of a process, in the middle of all processes.

    A product that was disturbed would otherwise make its own row look fast; and the fastest of fifty products has no
    equal among the few runs of a row.
    """
    fastest: dict[str, list[float]] = {}
    for row in rows:
        if row.measured is not None:
            fastest.setdefault(row.measured.unit, []).append(min(row.measured.products))
    return [
        row
        if row.measured is None
        else replace(row, measured=replace(row.measured, product=float(np.median(fastest[row.measured.unit]))))
        for row in rows
    ]


def products_by_unit(rows: list[Row]) -> dict[str, list[float]]:
    """shape of a product -> all its measured times."""
    products: dict[str, list[float]] = {}
    for row in rows:
        if row.measured is not None:
            products.setdefault(row.measured.unit, []).extend(row.measured.products)
    return products


def noise(rows: list[Row]) -> str:
    """How much the unit itself varied, shape by shape, and how many rows were disturbed."""
    each = [
        f"  {unit}: {min(times):.4f} s at best, {np.median(times) / min(times) - 1:+.0%} in the middle, "
        f"{max(times) / min(times) - 1:+.0%} at worst of {len(times)}"
        for unit, times in products_by_unit(rows).items()
    ]
    disturbed = sum(row.disturbed for row in rows)
    warning = (
        f"  {disturbed} of {len(rows)} rows are marked ~: other processes took over {DISTURBED:.0%} of the machine"
    )
    return "\n".join(["one matrix product, over all processes:", *each, *([warning] if disturbed else [])])


def versions() -> dict[str, str]:
    """What was measured, on what."""
    found = {"python": platform.python_version(), "processor": processor(), "cores": str(os.cpu_count())}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def write_json(place: Path, content: dict[str, Any]) -> None:
    """Writes results, and makes the folder for them."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(content, indent=2) + "\n")
    print(f"\nwritten to {place}")
