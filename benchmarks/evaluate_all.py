"""How long unhub takes, as multiples of one matrix product of the same shape, beside plain NumPy and POT.

    python benchmarks/evaluate_all.py            # the sizes of the README
    python benchmarks/evaluate_all.py --small    # a quick look

Times are the best of several runs in one process; the machine's noise is in all of them, so read the ratios.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from importing import imports
from measuring import best_of
from peers import pot_float64
from plain import inverted_softmax
from problems import ROUNDS, TAU, Problem, unit_rows

import unhub


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
    rows["plain NumPy is"] = best_of(3, lambda: inverted_softmax(B, T))
    rows["POT sn, float64"] = best_of(2, pot_float64(Problem(B, T, Bt, Q, Bt)))
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

    imported = imports(5)
    above, alone = imported["facades_above"], imported["numpy"]
    print(f"\nimport unhub and its façades: {above:+.3f} s above import numpy ({alone:.3f} s)")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    result = {"shape": [queries, gallery, dim], "seconds": rows, "import_above_numpy": above}
    options.output.write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
