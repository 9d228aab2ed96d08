"""How often does unhub monitor ask for a refit while nothing changes, and how soon when something does? Real sets.

    python benchmarks/monitor.py --data ../shared/data

Each run fits sn on a part of a real bank with 200 recent queries, then asks 200 other queries in each of eight weeks.

    stable      the same traffic all the time; whatever is told is a false alarm
    language    multi30k: from week 1 to 8, one eighth more of the queries each week are English, not Czech
    topic       flickr8k: the same with one of eight topics (k-means of the captions), which the bank has too
    spam        from week 5 on, three new items made to match all queries of one topic, which the bank lacks; a fifth of
                the queries is about it
    trend       from week 5 on, a fifth of the queries asks for one and the same target, each in its own words

Printed for each: runs that ever looked again or asked for a refit, the median first week of each, and, where there is
something to name, the share of runs whose new hubs name all of it.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.cluster.vq import kmeans2

import unhub

WEEKS, EACH, BANK, TOPICS, SPAM, STARTS = 8, 200, 1000, 8, 3, 5


@dataclass
class Weeks:
    """A gallery, a bank, and queries by week; later: what is added to the gallery; named: what should be named."""

    targets: np.ndarray
    bank: np.ndarray
    recent: np.ndarray
    weeks: list[np.ndarray]
    later: np.ndarray | None = None
    named: set[str] = field(default_factory=set)


def unit(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def load(name: str, data: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gallery, queries whose answers are not in it, and of multi30k the same queries in English."""
    if name == "multi30k":
        z = np.load(data / "multi30k_cs_en/cs-en.npz")
        return unit(z["test_t"]), unit(z["bank_q"]), unit(z["bank_t"])
    z = np.load(data / "flickr8k/flickr8k_dual.npz")
    return unit(z["test_image"]), unit(z["train_text"]), unit(z["train_text"])


def cut(queries: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    order = rng.permutation(len(queries))
    bank, recent, rest = np.split(order, [BANK, BANK + EACH])
    return bank, recent, [rest[week * EACH : (week + 1) * EACH] for week in range(WEEKS)]


def stable(data: Path, name: str, rng: np.random.Generator) -> Weeks:
    targets, queries, _ = load(name, data)
    bank, recent, weeks = cut(queries, rng)
    return Weeks(targets, queries[bank], queries[recent], [queries[rows] for rows in weeks])


def language(data: Path, name: str, rng: np.random.Generator) -> Weeks:
    targets, queries, english = load(name, data)
    bank, recent, weeks = cut(queries, rng)
    mixed = []
    for week, rows in enumerate(weeks, 1):
        other = np.arange(EACH) < EACH * week // WEEKS
        mixed.append(np.where(other[:, None], english[rows], queries[rows]))
    return Weeks(targets, queries[bank], queries[recent], mixed)


def topics(queries: np.ndarray, seed: int) -> np.ndarray:
    return kmeans2(queries.astype(np.float64), TOPICS, minit="++", seed=seed)[1]


def topic(data: Path, name: str, rng: np.random.Generator) -> Weeks:
    targets, queries, _ = load(name, data)
    of = topics(queries, int(rng.integers(1 << 30)))
    bank, recent, weeks = cut(queries, rng)
    spare = np.setdiff1d(np.flatnonzero(of == rng.integers(TOPICS)), bank)
    mixed = []
    for week, rows in enumerate(weeks, 1):
        mixed.append(np.concatenate([rows[EACH * week // WEEKS :], rng.choice(spare, EACH * week // WEEKS)]))
    return Weeks(targets, queries[bank], queries[recent], [queries[rows] for rows in mixed])


def spam(data: Path, name: str, rng: np.random.Generator) -> Weeks:
    targets, queries, _ = load(name, data)
    of = topics(queries, int(rng.integers(1 << 30)))
    about = of == rng.integers(TOPICS)
    bank, recent, weeks = cut(queries[~about], rng)
    others, spare = queries[~about], queries[about]
    mixed = [np.concatenate([others[rows][EACH // 5 :], rng.permutation(spare)[: EACH // 5]]) for rows in weeks]
    later = unit(unit(spare.mean(axis=0, keepdims=True)) + 0.002 * rng.normal(size=(SPAM, spare.shape[1])))
    names = {str(len(targets) + row) for row in range(SPAM)}
    return Weeks(targets, others[bank], others[recent], mixed, later, names)


def trend(data: Path, name: str, rng: np.random.Generator) -> Weeks:
    whole = stable(data, name, rng)
    wanted = int(rng.integers(len(whole.targets)))
    for week in range(STARTS - 1, WEEKS):
        some = whole.weeks[week][: EACH // 5]
        own = (some @ whole.targets.T).max(axis=1, keepdims=True)  # as near to it as to their own best target
        step = own * whole.targets[wanted] + 0.3 * some
        whole.weeks[week][: EACH // 5] = unit(step)
    whole.named = {str(wanted)}
    return whole


def outcomes(whole: Weeks) -> Iterator[unhub.MonitorResult]:
    correction = unhub.fit("sn", targets=whole.targets, query_bank=whole.bank, recent=whole.recent)
    with tempfile.TemporaryDirectory() as folder:
        history = Path(folder) / "history.jsonl"
        for week, queries in enumerate(whole.weeks, 1):
            gallery = whole.targets
            if whole.later is not None and week >= STARTS:
                gallery = np.concatenate([gallery, whole.later])
            yield unhub.monitor(correction, recent=queries, targets=gallery, history=history)


CASES: dict[str, tuple[Callable[[Path, str, np.random.Generator], Weeks], tuple[str, ...]]] = {
    "stable": (stable, ("multi30k", "flickr8k")),
    "language": (language, ("multi30k",)),
    "topic": (topic, ("flickr8k",)),
    "spam": (spam, ("flickr8k",)),
    "trend": (trend, ("flickr8k",)),
}


def first(weeks: list[bool]) -> float:
    return weeks.index(True) + 1 if any(weeks) else np.inf


def row(title: str, runs: list[list[unhub.MonitorResult]], named: list[bool]) -> str:
    look = [first([each.status != "fine" for each in run]) for run in runs]
    refit = [first([each.status == "refit" for each in run]) for run in runs]
    shown = [f"{np.isfinite(each).mean():4.0%} {np.quantile(each, 0.5, method='lower'):3.0f}" for each in (look, refit)]
    single = np.mean([each.status != "fine" for run in runs for each in run])
    changes = np.mean([bool(each.changes) for run in runs for each in run[1:]])
    hubs = np.mean([bool(each.new_hubs) for run in runs for each in run])
    strength = [np.mean([run[week].run.figures["strength"].value for run in runs]) for week in range(WEEKS)]
    served = np.mean([run[0].run.served for run in runs])
    return (
        f"{title:20s} {len(runs):4d}  {shown[0]}  {shown[1]}  {single:6.1%} {changes:6.1%} {hubs:6.1%}  "
        f"{np.mean(named):5.0%}  {served:.2f}: {' '.join(f'{each:.2f}' for each in strength)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--runs", type=int, default=100, help="of each case and set")
    parser.add_argument("--cases", default=",".join(CASES), help="with commas between")
    options = parser.parse_args()
    warnings.simplefilter("ignore", unhub.UnhubWarning)
    print("case                 runs  look wk  refit wk  look/wk change new hub  named  served: strength by week")
    for case in options.cases.split(","):
        make, sets = CASES[case]
        for name in sets:
            runs, named = [], []
            for seed in range(options.runs):
                whole = make(options.data, name, np.random.default_rng(seed))
                runs.append(list(outcomes(whole)))
                said = set().union(*(each.new_hubs for each in runs[-1]))
                named.append(bool(whole.named) and whole.named <= said)
            print(row(f"{case}, {name}", runs, named), flush=True)


if __name__ == "__main__":
    main()
