"""Where the time of a fit goes: its parts, in units of one matrix product of the same shape.

    python benchmarks/anatomy.py            # sn, is and nnn at 20,000 x 10,000 x 512
    python benchmarks/anatomy.py --small

The fastest of a few runs of each method, with the parts of that run; the unit is the fastest product of as many.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from measuring import product_seconds, warm_memory
from ours import SETTINGS
from problems import Shape, make_problem
from running import versions, write_json

import unhub

PARTS = {
    "products": ("unhub.scores.embedding", "EmbeddingScores.read"),
    "fresh memory for the kernel": ("unhub.scores.sinkhorn_shard", "prefault"),
    "fresh memory for a block": ("unhub.scores.source", "prefault"),
    "first round, from scores": ("unhub.core.sinkhorn_kernel", "SinkhornKernel.from_scores"),
    "later rounds, from the kernel": ("unhub.core.sinkhorn_kernel", "SinkhornKernel.from_kernel"),
    "column sums": ("unhub.core.logsumexp", "ColumnSums.add"),
    "the best of each column": ("unhub.scores.column_top", "ColumnTop.add"),
    "their selection at the end": ("unhub.scores.column_top", "ColumnTop.best"),
    "fingerprint of the gallery": ("unhub.api.fit", "row_digests"),
}
"""what is timed: a part never calls another one"""


def timed_parts() -> Counter[str]:
    """Seconds by part, counted from here on."""
    seconds: Counter[str] = Counter()

    def timed(label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                seconds[label] += time.perf_counter() - began

        return call

    for label, (module, path) in PARTS.items():
        owner = import_module(module)
        *classes, name = path.split(".")
        for each in classes:
            owner = getattr(owner, each)
        setattr(owner, name, timed(label, getattr(owner, name)))
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", type=Shape.parse, default="20000x10000x512")
    parser.add_argument("--small", action="store_true", help="a shape that takes no time, to see that it works")
    parser.add_argument("--runs", type=int, default=5, help="best of so many")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/anatomy.json"))
    options = parser.parse_args()
    shape = Shape.parse("5000x4000x32") if options.small else options.shape
    problem = make_problem(shape, 0)
    seconds = timed_parts()
    found: dict[str, dict[str, float]] = {}
    products: list[float] = []
    for _ in range(options.runs):
        for method in ("sn", "is", "nnn"):
            products.append(product_seconds(problem.bank, problem.targets))
            warm_memory()
            seconds.clear()
            began = time.perf_counter()
            unhub.fit(method, targets=problem.targets, query_bank=problem.bank, **SETTINGS[method])
            whole = time.perf_counter() - began
            if method not in found or whole < found[method]["whole"]:
                found[method] = {**seconds, "everything else": whole - seconds.total(), "whole": whole}
    unit = min(products)
    for method, parts in found.items():
        print(f"\n{method}, {shape}, in products of {unit:.3f} s\n")
        for label, value in parts.items():
            print(f"{label:34}{value / unit:7.3f}")
    write_json(options.output, {"versions": versions(), "product": unit, "seconds": found})


if __name__ == "__main__":
    main()
