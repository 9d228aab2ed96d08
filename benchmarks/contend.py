"""One contender in a process of its own: measures it and writes what it saw. Started by ``running.contend``.

python benchmarks/contend.py unhub:sn:64MB 20000x10000x512 -o /tmp/row
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
from contenders import Outcome, contender
from measuring import measure
from problems import Shape, make_problem


def arrays(outcome: Outcome) -> dict[str, np.ndarray]:
    """What is to be compared with the reference."""
    both = {"bias": outcome.bias, "ids": outcome.ids}
    return {name: np.asarray(value) for name, value in both.items() if value is not None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("key")
    parser.add_argument("shape", type=Shape.parse)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--patience", type=float, default=20.0, help="seconds after which no further run is begun")
    parser.add_argument("-o", "--output", type=Path, required=True, help="writes .json and .npz beside this name")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = contender(options.key)
    tiny = make_problem(options.shape.tiny, options.seed)
    chosen.prepare(tiny)()
    if chosen.rival is not None:
        chosen.rival(tiny)()
    problem = make_problem(options.shape, options.seed)
    pair = chosen.product(problem)
    work = chosen.prepare(problem)
    rival = None if chosen.rival is None else chosen.rival(problem)
    outcomes: list[Outcome] = []

    def noted() -> None:
        outcomes[:] = [work()]

    seen = measure(noted, pair, rival=rival, runs=options.runs, patience=options.patience)
    np.savez(options.output.with_suffix(".npz"), **arrays(outcomes[0]))
    options.output.with_suffix(".json").write_text(json.dumps({**asdict(seen), "note": outcomes[0].note}))


if __name__ == "__main__":
    main()
