"""What strength="auto" costs beside strength=1: side by side in one run, as ratios.

    python benchmarks/guard_cost.py                    # the table of docs/performance.md
    python benchmarks/guard_cost.py --shape 20000x10000x512 --methods sn,is
    python benchmarks/guard_cost.py --shape 20000x10000x256 --memory 256MB --methods sn

Fits at strength 1 and with the guard take turns; the best of each counts. "recent" adds so many recent queries. Where
other processes take much of the machine, the ratio of processor time is the better one: run it with
OPENBLAS_NUM_THREADS=1, because waiting threads of the matrix product count as work. --peak gives the largest resident
memory of each, in processes of their own, above that of one that only holds the vectors.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from measuring import peak_memory
from problems import Problem, Shape, make_problem, unit_rows
from running import versions, write_json

import unhub
from unhub.core.plan import in_words

SHAPES = ("20000x10000x256", "20000x10000x512", "3000x10000x256", "500x500x256")
METHODS = ("sn", "dbsn", "is", "csls", "nnn")
RECENT = (200, 2000)
VARIANTS = ("1", "auto", *(f"recent {count:,}" for count in RECENT))


def keywords(problem: Problem, recent: Any, variant: str, memory: str | None) -> dict[str, Any]:
    """The arguments of a fit."""
    arrays = {"targets": problem.targets, "query_bank": problem.bank, "target_bank": problem.target_bank}
    if variant == "1":
        return arrays | {"strength": 1, "memory": memory}
    count = 0 if variant == "auto" else int(variant.split()[1].replace(",", ""))
    return arrays | {"memory": memory} | ({"recent": recent[:count]} if count else {})


def compared(shape: Shape, method: str, memory: str | None, patience: float, runs: int) -> dict[str, list[float]]:
    """Best seconds, by the clock and of the processor, of each variant."""
    import numpy as np

    problem, recent = make_problem(shape, 0), unit_rows(np.random.default_rng(9), max(RECENT), shape.dim)
    best = {variant: [float("inf")] * 2 for variant in VARIANTS}
    began, done = time.perf_counter(), 0
    while done < 2 or (done < runs and time.perf_counter() - began < patience):
        for variant in VARIANTS if done % 2 else reversed(VARIANTS):
            given = keywords(problem, recent, variant, memory)
            clock, work = time.perf_counter(), time.process_time()
            unhub.fit(method, **given)
            taken = time.perf_counter() - clock, time.process_time() - work
            best[variant] = [min(old, new) for old, new in zip(best[variant], taken, strict=True)]
        done += 1
    return best


def peak_of(shape: Shape, method: str, variant: str, memory: str | None) -> int:
    """The largest resident size of a process that makes the vectors and fits, or only makes them."""
    options = ["--shape", shape.argument, "--methods", method, "--alone", variant]
    command = [sys.executable, __file__, *options, *(["--memory", memory] if memory else [])]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def alone(shape: Shape, method: str, variant: str, memory: str | None) -> None:
    """Makes the vectors, fits unless the variant is "nothing", and prints the peak."""
    problem = make_problem(shape, 0)
    unhub.fit("sn", targets=problem.targets[:200], query_bank=problem.bank[:300])
    if variant != "nothing":
        unhub.fit(method, **keywords(problem, problem.queries, variant, memory))
    print(peak_memory())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", type=Shape.parse, action="append", help="bank x gallery x dimension")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--memory", help="such as 256MB; half of what is free by default")
    parser.add_argument("--runs", type=int, default=15, help="best of so many")
    parser.add_argument("--patience", type=float, default=30.0, help="seconds, about, for each row")
    parser.add_argument("--peak", action="store_true", help="memory instead of time")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/guard_cost.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    shapes = options.shape or [Shape.parse(text) for text in SHAPES]
    methods = options.methods.split(",")
    if options.alone:
        alone(shapes[0], methods[0], options.alone, options.memory)
        return
    found = []
    title = "memory above the vectors" if options.peak else "ratio to strength 1, by the clock / of the processor"
    print(f"{title}\n\n{'':26}{'':6}" + "".join(f"{variant:>16}" for variant in VARIANTS))
    for shape in shapes:
        for method in methods:
            if options.peak:
                base = peak_of(shape, method, "nothing", options.memory)
                row = {name: peak_of(shape, method, name, options.memory) - base for name in VARIANTS}
                cells = [in_words(size) for size in row.values()]
            else:
                row = compared(shape, method, options.memory, options.patience, options.runs)
                wall, work = row["1"]
                cells = [f"{1e3 * wall:,.0f} ms"]
                cells += [f"{row[name][0] / wall:.2f} / {row[name][1] / work:.2f}" for name in VARIANTS[1:]]
            found.append({"shape": str(shape), "method": method, "memory": options.memory, "found": row})
            print(f"{shape!s:26}{method:6}" + "".join(f"{cell:>16}" for cell in cells), flush=True)
    write_json(options.output, {"versions": versions(), "peak": options.peak, "rows": found})


if __name__ == "__main__":
    main()
