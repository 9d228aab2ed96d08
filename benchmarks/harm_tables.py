"""The tables of harm.py, from its cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

Case = dict[str, Any]
HARM, GAIN, DRAWS = -0.5, 0.5, 2000
COLUMNS = ("full", "third", "csls", "bank", "recent", "judged")
OWN = ("own", "own judged", "clicks")
FLOORS, APPLIES = (0.15, 0.25, 0.35), (0.8, 0.85, 0.9)


def visible(case: Case) -> bool:
    """Whether each target has one answer and none is really popular because it is a hub."""
    return case["popularity"] not in ("classes", "on hubs")


def changes(cases: Sequence[Case], column: str) -> np.ndarray:
    return np.array([case["columns"][column]["change"] for case in cases])


def cells(cases: Sequence[Case], column: str) -> str:
    """mean, % harmed, % surely harmed, worst"""
    change = changes(cases, column)
    high = change + 1.96 * np.array([case["columns"][column]["error"] for case in cases])
    harmed = change < HARM
    return (
        f"{change.mean():+7.2f}{100 * harmed.mean():7.1f}{100 * (harmed & (high < 0)).mean():7.1f}{change.min():+8.1f}"
    )


def by_family(cases: Sequence[Case], values: np.ndarray) -> tuple[float, float]:
    """A 95 % interval of the mean that draws families anew."""
    families, place = np.unique([case["family"] for case in cases], return_inverse=True)
    sums, counts = np.bincount(place, weights=values), np.bincount(place)
    drawn = np.random.default_rng(0).integers(len(families), size=(DRAWS, len(families)))
    low, high = np.percentile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), [2.5, 97.5])
    return float(low), float(high)


def share_harmed(cases: Sequence[Case], column: str) -> float:
    return float(100 * (changes(cases, column) < HARM).mean())


def print_columns(title: str, cases: Sequence[Case], columns: Iterable[str], intervals: bool = True) -> None:
    if not cases:
        return
    print(f"\n{title}: {len(cases)} cases of {len({case['set'] for case in cases})} sets\n")
    print(f"{'':>12}{'mean':>7}{'harm%':>7}{'sure%':>7}{'worst':>8}{'   95 % over families: mean, harmed':>34}")
    for column in columns:
        line = f"{column:>12}{cells(cases, column)}"
        if intervals:
            low, high = by_family(cases, changes(cases, column))
            least, most = by_family(cases, 100.0 * (changes(cases, column) < HARM))
            line += f"   [{low:+.2f}, {high:+.2f}]  [{least:.1f}, {most:.1f}]"
        print(line)


def print_kinds(cases: Sequence[Case], columns: Sequence[str] = ("full", "csls", "bank", "recent", "judged")) -> None:
    print("\nby kind of bank: mean dR@1 / % harmed / worst\n")
    print(f"{'':>34}{'cases':>6}" + "".join(f"{column:>20}" for column in columns))
    groups: dict[str, list[Case]] = {}
    for case in cases:
        kind = case["kind"].split(":")[0] if case["kind"].startswith(("other", "made")) else case["kind"]
        name = case["popularity"] == "classes" and "classes, any bank"
        groups.setdefault(name or (f"own log, {case['popularity']}" if kind == "own log" else kind), []).append(case)
    for kind, those in groups.items():
        line = f"{kind:>34}{len(those):>6}"
        for column in columns:
            change = changes(those, column)
            line += f"{change.mean():+8.1f}{100 * (change < HARM).mean():6.0f}{change.min():+6.1f}"
        print(line)


def print_confusion(title: str, cases: Sequence[Case], column: str) -> None:
    print(f"\nverdict x outcome, {column}, {title}: gain > .5, even, harm; worst\n")
    for decision in ("apply", "apply weaker", "refuse"):
        those = [case for case in cases if case["columns"][column]["decision"] == decision]
        if not those:
            continue
        # what a refused correction would have done is told by its full strength
        change = np.array([case["grid"][-1] for case in those if "grid" in case]) if decision == "refuse" else None
        change = changes(those, column) if change is None else change
        gain, harm = int((change > GAIN).sum()), int((change < HARM).sum())
        print(f"{decision:>14}{gain:6}{len(change) - gain - harm:6}{harm:6}{change.min(initial=np.inf):+8.1f}")


def kept(cases: Sequence[Case], column: str) -> tuple[int, int]:
    """Of corrections that gain more than a point at full strength, how many are served."""
    gaining = [case for case in cases if "grid" in case and case["columns"]["third"]["change"] > 1]
    return sum(case["columns"][column]["decision"] != "refuse" for case in gaining), len(gaining)


def rule(case: Case, caution: int, floor: float) -> float:
    """The strength of the rule with other constants."""
    bank = [strength for source, strength, _ in case["columns"]["bank"]["evidence"] if source == "bank"]
    strength = min([*bank, case["cautious"][caution]])
    return strength if strength >= floor else 0.0


def at(case: Case, strength: float, grid: np.ndarray) -> float:
    return float(np.interp(strength, grid, case["grid"]))


def outcome(cases: Sequence[Case], settings: tuple[int, float, float], grid: np.ndarray) -> tuple[float, float, float]:
    """Mean change, % harmed, and % harmed of those that are applied."""
    caution, floor, apply = settings
    strengths = np.array([rule(case, caution, floor) for case in cases])
    change = np.array([at(case, strength, grid) for case, strength in zip(cases, strengths, strict=True)])
    applied = change[strengths >= apply]
    return change.mean(), 100 * (change < HARM).mean(), 100 * (applied < HARM).mean() if applied.size else 0.0


def print_left_out(cases: Sequence[Case], grid: np.ndarray, cautions: Sequence[float]) -> None:
    """For each family the constants with the largest mean - harmed / 10 on the others, judged on the family."""
    cases = [case for case in cases if "grid" in case]
    choices = list(product(range(len(cautions)), FLOORS, APPLIES))
    print("\nconstants chosen without a family, judged on it (score: mean - .1 % harmed - .1 % harmed of APPLY)\n")
    print(f"{'family':>22}{'CAUTION':>9}{'WEAKER':>8}{'APPLY':>7}{'mean':>8}{'harm%':>7}{'APPLY harm%':>13}")
    total = []
    for family in sorted({case["family"] for case in cases}):
        others = [case for case in cases if case["family"] != family]
        own = [case for case in cases if case["family"] == family]
        values = [outcome(others, each, grid) for each in choices]
        best = choices[int(np.argmax([mean - 0.1 * harm - 0.1 * applied for mean, harm, applied in values]))]
        mean, harm, applied = outcome(own, best, grid)
        total.append((mean, harm, len(own)))
        print(f"{family:>22}{cautions[best[0]]:9.2f}{best[1]:8.2f}{best[2]:7.2f}{mean:+8.2f}{harm:7.1f}{applied:13.1f}")
    mean, harm, count = np.array(total).T
    print(f"{'all, left out':>22}{'':24}{np.average(mean, weights=count):+8.2f}{np.average(harm, weights=count):7.1f}")
    print("\nall families at one caution, floor .25: mean, % harmed\n")
    for place, caution in enumerate(cautions):
        mean, harm, _ = outcome(cases, (place, 0.25, 0.85), grid)
        print(f"{caution:8.2f}{mean:+8.2f}{harm:7.1f}")


def print_all(cases: Sequence[Case], grid: np.ndarray, cautions: Sequence[float]) -> None:
    seen = [case for case in cases if visible(case)]
    own = [case for case in cases if case["kind"] == "own log"]
    print_columns("all", cases, COLUMNS)
    print_columns("visible (one answer for each target, popularity not tied to hubs)", seen, COLUMNS)
    print_columns("own logs, by traffic", own, (*COLUMNS, *OWN), intervals=False)
    for popularity in ("even", "Zipf", "on hubs", "on antihubs"):
        those = [case for case in own if case["popularity"] == popularity]
        print_columns(f"own logs, {popularity}", those, ("full", "recent", "judged", *OWN), intervals=False)
    spam = [case for case in cases if "tainted" in case["columns"]]
    print_columns("spam; tainted: a tenth of the recent queries are spam", spam, ("recent", "tainted"), intervals=False)
    print_kinds(cases)
    for column in ("bank", "recent", "judged"):
        print_confusion("all", cases, column)
        print_confusion("visible", seen, column)
    print_left_out(cases, grid, cautions)
    print("\nthe bars, recent queries alone\n")
    large = [case for case in seen if case["kind"] == "matched, large"]
    loss = changes(large, "recent").mean() - changes(large, "third").mean() if large else 0.0
    half = changes(large, "recent").mean() - changes(large, "full").mean() if large else 0.0
    applied = [case for case in seen if case["columns"]["recent"]["decision"] == "apply"]
    lost = sum(change < HARM for change in changes(applied, "recent"))
    served, gaining = kept(cases, "recent")
    print(f"harmed, all            {share_harmed(cases, 'recent'):6.1f} %   (at most 6)")
    print(f"harmed, visible        {share_harmed(seen, 'recent'):6.1f} %   (at most 2.5)")
    print(f"APPLY that harms, seen {lost:6} of {len(applied)}   (none)")
    print(f"gains kept             {100 * served / max(1, gaining):6.1f} % of {gaining}   (at least 95)")
    print(f"large matched banks    {loss:+6.2f} against strength 1, {half:+.2f} against 0.1.0   (at least -.30)")
