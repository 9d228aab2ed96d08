"""When does a correction hurt, and does the guard stop it? Real sets x kinds of banks, judged by R@1 on test queries.

    python benchmarks/harm.py --data ../shared/data --json cases.jsonl   # all cases, then the tables
    python benchmarks/harm.py --tables cases.jsonl                       # the tables again
    python benchmarks/harm.py --quick                                    # one seed, a few sets

A case is a set and a kind of bank, and counts with its mean over some splits of the set: what a set of a hundred test
queries shows of one split is mostly noise. The tables of single splits stand beside. The columns are changes of R@1
against no correction:

    full        sn, tau = std/2, strength 1: what strength=1 does
    third       sn, tau = std/3, strength 1: the default before the guard, and the bias that it judges. The former
                default also counted copies as often as they come, did not cap own logs, and took the gallery as a bank
    csls        strength 1
    bank        strength="auto" with nothing but the bank
    recent      ... and up to 200 recent queries
    judged      ... and 50 judged queries
    undeclared  own logs as if they were any bank; in the columns from "third" on they are declared, by own_log=True
    clicks      own logs with judged queries and the click prior
    tainted     recent queries of which a tenth are the bank's own spam

Queries of the bank, recent, judged and test queries are different ones. The constants of the rule were chosen on splits
with seeds from 0 to 99; --first-seed takes others (make bench-harm: 400). The grid is adversarial: its rates are no
field rates. R@1 of n test queries has noise, and so has what is counted as harm, a fall of more than half a point.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import harm_tables
import numpy as np
from harm_banks import Bank, banks
from harm_sets import RealSet, Split, real_sets

import unhub
from unhub.methods.strength import evidence_of, gains
from unhub.scores import MatrixScores

GRID = np.linspace(0, 1, 41)
"""strengths whose R@1 is kept, to choose constants without the families that judge them"""
RULES = ((0.0, 0.0), (0.0, 0.5), (0.0, 1.0), (0.01, 0.5), (0.01, 1.0), (0.02, 0.5), (0.05, 0.5), (0.1, 0.5))
"""share of recent queries left out, and standard errors below the best: the tables compare them"""
QUICK = (
    "coco t2i",
    "msrvtt t2v",
    "multi30k cs-en",
    "tatoeba jpn-eng",
    "emoji de",
    "traffic flickr8k dual test, on hubs",
)
"""sets of --quick"""


def fitted(split: Split, queries: np.ndarray, method: str = "sn", **more: Any) -> unhub.Correction:
    if split.gallery is None:
        return unhub.fit(method, scores=queries, **more)
    return unhub.fit(method, targets=split.gallery, query_bank=queries, **more)


class Judge:
    """Hits of the test queries of a split under a bias, beside no correction."""

    def __init__(self, split: Split) -> None:
        self.scores = split.scores(split.test)
        count = len(split.test)
        self.right = np.zeros(self.scores.shape, dtype=bool)
        for row, answers in enumerate(split.right):
            self.right[row, answers] = True
        self.weight = np.full(count, 1 / count) if split.weight is None else split.weight / split.weight.sum()
        self.before = self._hits(0.0)

    def _hits(self, bias: Any) -> np.ndarray:
        best = (self.scores + bias).argmax(axis=1)
        return self.right[np.arange(len(best)), best].astype(float)

    @property
    def none(self) -> float:
        return float(100 * self.weight @ self.before)

    def change(self, bias: Any) -> tuple[float, float]:
        """Change of R@1 in points, and its paired standard error."""
        apart = 100 * (self._hits(bias) - self.before)
        mean = self.weight @ apart
        return float(mean), float(np.sqrt(np.square(self.weight) @ np.square(apart - mean)))


def case(split: Split, bank: Bank, seed: int) -> dict[str, Any]:
    """The columns of one case."""
    judge = Judge(split)
    answers = {"judged": split.judged_right, "judged_queries": split.judged}
    found: dict[str, Any] = {"kind": bank.kind, "seed": seed, "none": judge.none, "queries": len(split.test)}
    served: dict[str, unhub.Correction | None] = {}
    for name, more in (("full", {"strength": 1}), ("csls", {"method": "csls", "strength": 1})):
        served[name] = attempt(split, bank.queries, **more)
    auto = attempt(split, bank.queries, own_log=split.log is not None)
    served |= {"third": None if auto is None else auto.at(1), "bank": auto}
    for name, fresh in (("recent", {"recent": split.recent}), ("judged", {"recent": split.recent} | answers)):
        served[name] = again(auto, **fresh)
    if bank.spam is not None:
        many = len(split.recent) // 10
        tainted = np.concatenate((split.recent[many:], bank.spam[:many]))
        served["tainted"] = again(auto, recent=tainted)
        if auto is not None:
            found["tainted rules"] = strengths_by_rule(auto, split, tainted)
    if split.log is not None:
        served["undeclared"] = again(attempt(split, bank.queries), recent=split.recent)
        popular = {"own_log": True, "clicks": split.clicks, "target_prior": "clicks", "recent": split.recent}
        served["clicks"] = attempt(split, bank.queries, **popular, **answers)
    found["columns"] = {}
    for name, correction in served.items():
        change, error = (0.0, 0.0) if correction is None else judge.change(correction.served_bias)
        verdict = None if correction is None else correction.verdict
        found["columns"][name] = {
            "change": change,
            "error": error,
            "decision": "refuse" if verdict is None else verdict.decision,
            "strength": 0.0 if verdict is None else verdict.strength,
            "evidence": [] if verdict is None else [[e.source, e.strength, e.gain] for e in verdict.evidence],
        }
    if auto is not None:
        found["grid"] = [judge.change(strength * auto.bias)[0] for strength in GRID]
        found["rules"] = strengths_by_rule(auto, split, split.recent)
    return found


def attempt(split: Split, queries: np.ndarray, method: str = "sn", **more: Any) -> unhub.Correction | None:
    """The correction; of a bank that fit refuses, such as the gallery itself, that of its scores at strength 1."""
    try:
        return fitted(split, queries, method, **more)
    except unhub.InputError:
        return unhub.fit(method, scores=split.scores(queries), **more) if "strength" in more else None


def again(correction: unhub.Correction | None, **fresh: Any) -> unhub.Correction | None:
    return None if correction is None else correction.with_verdict(unhub.guard(correction, **fresh))


def strengths_by_rule(correction: unhub.Correction, split: Split, queries: np.ndarray) -> list[float]:
    """The strength that recent queries support under each of the rules."""
    tau = correction.verdict.tau
    recent = correction.method.reads(MatrixScores(split.scores(queries), 1024))
    values = gains(recent, correction.bias.astype(np.float64), float(tau or 1.0), 0.0)
    return [evidence_of(values, "recent", trimmed=trimmed, caution=caution).strength for trimmed, caution in RULES]


def cases_of(options: argparse.Namespace, name: str, seed: int) -> list[dict[str, Any]]:
    """All banks of one split of one set."""
    warnings.simplefilter("ignore")
    one = sets(options)[name]
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    split = one.split(rng)
    about = {"set": name, "family": one.family, "popularity": one.popularity}
    return [about | case(split, bank, seed) for bank in banks(split, rng)]


def sets(options: argparse.Namespace) -> dict[str, RealSet]:
    return {one.name: one for one in real_sets(options.data, options.cache)}


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every case, two splits at once."""
    names = [name for name in sets(options) if options.only in name and (not options.quick or name in QUICK)]
    many = 1 if options.quick else options.seeds
    tasks = [(name, options.first_seed + seed) for seed in range(many) for name in names]
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # for the new processes, which run at once
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        for number, done in enumerate(pool.map(partial(cases_of, options), *zip(*tasks, strict=True)), 1):
            print(f"{number} of {len(tasks)} splits", end="\r", file=sys.stderr, flush=True)
            yield from done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("build/emoji"), help="where encoded names are kept")
    parser.add_argument("--seeds", type=int, default=4, help="splits of each set")
    parser.add_argument("--first-seed", type=int, default=0, help="the rule's constants were chosen on 0 to 99")
    parser.add_argument("--only", default="", help="sets with this in their name")
    parser.add_argument("--quick", action="store_true", help="one seed of a few sets")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, help="keep the cases in this file, one on a line")
    parser.add_argument("--tables", type=Path, help="print the tables of such a file")
    options = parser.parse_args()
    if options.tables is not None:
        found = [json.loads(line) for line in options.tables.read_text().splitlines()]
    else:
        found = list(measured(options))
    if options.json is not None:
        options.json.write_text("".join(json.dumps(each) + "\n" for each in found))
    harm_tables.print_all(found, GRID, RULES)


if __name__ == "__main__":
    main()
