"""How long unhub takes, as multiples of one matrix product of the same shape, beside plain NumPy and POT.

    python benchmarks/evaluate_all.py            # the sizes of the README
    python benchmarks/evaluate_all.py --small    # a quick look

Times are the best of several runs in one process; the machine's noise is in all of them, so read the ratios.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import unhub

TAU, ROUNDS = 0.01, 10


def best_of(runs: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest run."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def unit_rows(rng: np.random.Generator, rows: int, dim: int) -> np.ndarray:
    x = rng.standard_normal((rows, dim)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def numpy_is(bank: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Inverted softmax as everybody writes it."""
    x = bank @ targets.T / TAU
    top = x.max(axis=0)
    return -TAU * (top + np.log(np.exp(x - top).sum(axis=0)))


def pot_sn(bank: np.ndarray, targets: np.ndarray) -> object:
    """Sinkhorn from POT, on the full cost matrix, the way the paper's authors run it."""
    import ot

    cost = 1.0 - (bank @ targets.T).astype(np.float64)
    m, n = cost.shape
    return ot.sinkhorn(
        np.full(m, 1 / m), np.full(n, 1 / n), cost, TAU, numItermax=ROUNDS, stopThr=0, warn=False, log=True
    )


def import_seconds(statement: str) -> float:
    """Seconds of a fresh interpreter that runs one statement."""
    return best_of(5, lambda: subprocess.run([sys.executable, "-c", statement], check=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="500 x 200 x 64, to see that it runs")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/evaluate_all.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    queries, gallery, dim = (500, 200, 64) if options.small else (5000, 1000, 512)
    rng = np.random.default_rng(0)
    T, Q, B, Bt = (unit_rows(rng, rows, dim) for rows in (gallery, queries, queries, gallery))
    relevant = np.arange(queries) % gallery

    gemm = best_of(5, lambda: B @ T.T)
    rows: dict[str, float] = {"one matrix product": gemm}
    rows["plain NumPy is"] = best_of(3, lambda: numpy_is(B, T))
    rows["POT sn, float64"] = best_of(2, lambda: pot_sn(B, T))
    for name in unhub.ADDITIVE:
        rows[f"unhub fit {name}"] = best_of(
            3, lambda name=name: unhub.fit(name, targets=T, query_bank=B, target_bank=Bt)
        )
    correction = unhub.fit("sn", targets=T, query_bank=B)
    rows["unhub search, top 10"] = best_of(3, lambda: correction.search(Q, k=10))
    rows["unhub extend, 1,000 targets"] = best_of(3, lambda: correction.extend(Bt))
    rows["unhub evaluate, all additive methods"] = best_of(
        2,
        lambda: unhub.evaluate(
            queries=Q, targets=T, relevant=relevant, query_bank=B, target_bank=Bt, methods=unhub.ADDITIVE
        ),
    )
    print(f"{queries:,} bank queries x {gallery:,} targets x {dim}, float32, tau {TAU}, T = {ROUNDS}\n")
    print(f"{'':40}{'seconds':>10}{'x one product':>16}")
    for name, seconds in rows.items():
        print(f"{name:40}{seconds:10.3f}{seconds / gemm:16.1f}")

    numpy_alone, with_unhub = import_seconds("import numpy"), import_seconds("import unhub; unhub.fit; unhub.evaluate")
    print(f"\nimport unhub and its façades: {with_unhub - numpy_alone:+.3f} s above import numpy ({numpy_alone:.3f} s)")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    result = {"shape": [queries, gallery, dim], "seconds": rows, "import_above_numpy": with_unhub - numpy_alone}
    options.output.write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
