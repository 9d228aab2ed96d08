"""unhub beside its peers on the same vectors: time in matrix products, memory, error, and the ranking.

    python benchmarks/speed.py            # 20,000 x 10,000 x 512; the slow ones at 10,000 x 5,000 x 512
    python benchmarks/speed.py --small    # everything at a tiny shape, to see that it works

Every row has a process of its own. Imports, compilation and one call on a tiny problem come before the clock and the
count of memory begin, for everybody. The unit is one float32 product of the bank and the targets, measured before,
between and after the runs of every row: its fastest in each process, and the middle of those, so that both sides are
the best of a few. How it varied is printed. A row is marked ~ when other processes were busy meanwhile: repeat it on a
quiet machine. Errors are against float64.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from contenders import contender
from importing import imports, loaded_at_import
from problems import ROUNDS, TAU, Shape, make_problem
from reference import largest_error, overlap, top
from running import Row, Settings, contend, noise, references, versions, with_common_unit, write_json
from tables import Scores, print_bounds, print_rows

AT_FULL_SHAPE = (
    "unhub:sn",
    "unhub:sn:700MB",
    "unhub:sn:256MB",
    "unhub:is",
    "unhub:nnn",
    "unhub:dbsn",
    "unhub:search",
    "unhub:extend",
    "plain:is",
    "plain:sn",
    "peer:pot",
    "peer:pot-torch",
    "peer:ott",
    "peer:nnn",
)
AT_PEERS_SHAPE = (
    "unhub:sn",
    "unhub:sn:64MB",
    "unhub:csls",
    "peer:pot-log",
    "peer:pot-lazy",
    "peer:geomloss",
    "peer:ott",
    "peer:ott-online",
    "peer:kiez",
)
MATRIX = Shape.parse("1000x1000x256")
BOUND = "64MB"
BOUND_BYTES, BYTES_PER_ITEM = 64 * 10**6, 64
BOUNDED = tuple(Shape.parse(text) for text in ("10000x5000x128", "20000x10000x128", "40000x5000x128", "5000x40000x128"))
BOUNDED_SMALL = tuple(Shape.parse(text) for text in ("2000x1000x32", "4000x1000x32"))


def scored(rows: list[Row], reference: dict[str, np.ndarray], seed: int) -> dict[str, Scores]:
    """key -> error of the bias and agreement of the top 10 with the float64 reference, for rows of one shape."""
    problem = make_problem(rows[0].shape, seed)
    raw = problem.queries.astype(np.float64) @ problem.targets.T.astype(np.float64)
    wanted: dict[str, np.ndarray] = {}
    found: dict[str, Scores] = {}
    for row in rows:
        chosen = contender(row.key)
        error = agreement = None
        if row.bias is not None and chosen.reference is not None:
            error = largest_error(row.bias, reference[chosen.reference])
        if row.measured is not None and chosen.ranking is not None:
            if chosen.ranking not in wanted:
                wanted[chosen.ranking] = top(raw + reference[chosen.ranking])
            ids = row.ids if row.bias is None else top(raw + row.bias)
            agreement = None if ids is None else overlap(ids, wanted[chosen.ranking])
        found[row.key] = Scores(error, agreement)
    return found


def compare(keys: tuple[str, ...], shape: Shape, settings: Settings) -> tuple[list[Row], dict[str, Scores]]:
    """All contenders at one shape, and how near they came to the float64 reference."""
    rows = with_common_unit([contend(key, shape, settings) for key in keys])
    return rows, scored(rows, references(shape, settings.seed), settings.seed)


def bounds(shapes: tuple[Shape, ...], settings: Settings) -> list[tuple[Row, int]]:
    """Fits with a bound on memory, each with the bytes it may take: the bound, and some for each query and target."""
    rows = [contend(f"unhub:sn:{BOUND}", shape, settings) for shape in shapes]
    return [(row, BOUND_BYTES + BYTES_PER_ITEM * (row.shape.bank + row.shape.gallery)) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", type=Shape.parse, default="20000x10000x512")
    parser.add_argument("--peers-shape", type=Shape.parse, default="10000x5000x512", help="for slow or large peers")
    parser.add_argument("--small", action="store_true", help="everything at a tiny shape")
    parser.add_argument("--only", default="", help="rows whose key has this in it: unhub, peer:ott, sn ...")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=7, help="best of so many")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds until a contender is stopped")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/speed.json"))
    options = parser.parse_args()
    settings = Settings(options.seed, options.runs, limit=options.limit)
    full, peers, matrix, bounded = options.shape, options.peers_shape, MATRIX, BOUNDED
    if options.small:
        full, peers = Shape.parse("1500x800x64"), Shape.parse("1000x500x64")
        matrix, bounded = Shape.parse("300x300x32"), BOUNDED_SMALL
        settings = replace(settings, patience=0.1)

    plan = ((AT_FULL_SHAPE, full), (AT_PEERS_SHAPE, peers), (("unhub:scores",), matrix))
    chosen = [(tuple(key for key in keys if options.only in key), shape) for keys, shape in plan]
    print(f"tau {TAU}, T = {ROUNDS}, float32, {', '.join(f'{k} {v}' for k, v in versions().items())}")
    print("Imports, compilation and a first call on a tiny problem are not counted, for anybody.", flush=True)
    tables = []
    for keys, shape in chosen:
        if keys:
            tables.append(compare(keys, shape, settings))
            print_rows(*tables[-1])
    limits = bounds(bounded, settings) if options.only in "unhub:sn" else []
    print_bounds(limits)
    imported, heavy = imports(3 if options.small else 9), loaded_at_import()
    print(f"\nimport unhub: {imported['above']:+.3f} s above import numpy ({imported['numpy']:.3f} s)")
    print(f"loaded by it though they should wait: {', '.join(heavy) or 'none of numba, torch, scipy.stats'}\n")
    print(noise([row for rows, _ in tables for row in rows]))
    content = {
        "versions": versions(),
        "rows": [{**row.as_json(), **scores[row.key]._asdict()} for rows, scores in tables for row in rows],
        "bounds": [{**row.as_json(), "allowed_bytes": allowed} for row, allowed in limits],
        "import": {**imported, "loaded": heavy},
    }
    write_json(options.output, content)


if __name__ == "__main__":
    main()
