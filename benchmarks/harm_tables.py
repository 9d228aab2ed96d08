"""The tables of harm.py, from its splits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

Case = dict[str, Any]
HARM, GAIN, DRAWS = -0.5, 0.5, 2000
COLUMNS = ("full", "third", "csls", "bank", "recent", "judged")
LABELS = {
    "full": "strength=1 (tau = std/2)",
    "third": "tau = std/3, strength 1 (the default before the guard)",
    "csls": "csls, strength 1",
    "bank": "bank alone",
    "recent": "bank and recent queries",
    "judged": "the same with 50 judged queries",
}
"""what rows are called; the others go by the name of their column"""
HEADS = {"full": "std/2, strength 1", "third": "std/3, strength 1"}
"""what columns are called where there is little room"""
FLOORS, APPLIES = (0.15, 0.25, 0.35), (0.8, 0.85, 0.9)
Rule = tuple[float, float]


def visible(case: Case) -> bool:
    """Whether each query has one answer and none is really popular because it is a hub."""
    return case["popularity"] not in ("classes", "on hubs", "near copies", "two kinds")


def averaged(splits: Sequence[Case]) -> list[Case]:
    """One case for each set and kind of bank: the mean of its splits.

    Splits share test queries, so the error of the mean is taken to be that of one split.
    """
    groups: dict[tuple[str, str], list[Case]] = {}
    for split in splits:
        groups.setdefault((split["set"], split["kind"]), []).append(split)
    return [mean_case(group) for group in groups.values()]


def mean_case(group: Sequence[Case]) -> Case:
    first = group[0]
    columns = {
        name: {key: float(np.mean([each["columns"][name][key] for each in group])) for key in ("change", "error")}
        | {"served": float(np.mean([each["columns"][name]["decision"] != "refuse" for each in group]))}
        for name in first["columns"]
    }
    about = {key: first[key] for key in ("set", "family", "kind", "popularity")}
    return about | {"splits": len(group), "columns": columns, "fitted": any("grid" in each for each in group)}


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
    print(f"\n{title}: {len(cases)}, of {len({case['set'] for case in cases})} sets\n")
    columns = tuple(columns)
    wide = max(12, *(len(LABELS.get(column, column)) for column in columns))
    print(f"{'':>{wide}}{'mean':>7}{'harm%':>7}{'sure%':>7}{'worst':>8}", end="")
    print(f"{'95 % over families: mean, harmed':>36}" if intervals else "")
    for column in columns:
        line = f"{LABELS.get(column, column):>{wide}}{cells(cases, column)}"
        if intervals:
            low, high = by_family(cases, changes(cases, column))
            least, most = by_family(cases, 100.0 * (changes(cases, column) < HARM))
            line += f"   [{low:+.2f}, {high:+.2f}]  [{least:.1f}, {most:.1f}]"
        print(line)


def print_kinds(cases: Sequence[Case], columns: Sequence[str] = COLUMNS) -> None:
    print("\nby kind of bank: mean dR@1 / % harmed / worst\n")
    print(f"{'':>34}{'cases':>6}" + "".join(f"{HEADS.get(column, column):>20}" for column in columns))
    groups: dict[str, list[Case]] = {}
    for case in cases:
        kind = case["kind"].split(":")[0] if case["kind"].startswith(("other", "made")) else case["kind"]
        name = case["popularity"] in ("classes", "near copies", "two kinds") and f"{case['popularity']}, any bank"
        groups.setdefault(name or (f"own log, {case['popularity']}" if kind == "own log" else kind), []).append(case)
    for kind, those in groups.items():
        line = f"{kind:>34}{len(those):>6}"
        for column in columns:
            change = changes(those, column)
            line += f"{change.mean():+8.1f}{100 * (change < HARM).mean():6.0f}{change.min():+6.1f}"
        print(line)


def print_confusion(title: str, splits: Sequence[Case], column: str) -> None:
    print(f"\nverdict x outcome of single splits, {column}, {title}: gain > .5, even, harm; worst\n")
    for decision in ("apply", "apply weaker", "refuse"):
        those = [case for case in splits if case["columns"][column]["decision"] == decision]
        if not those:
            continue
        # what a refused correction would have done is told by its full strength
        change = np.array([case["grid"][-1] for case in those if "grid" in case]) if decision == "refuse" else None
        change = changes(those, column) if change is None else change
        gain, harm = int((change > GAIN).sum()), int((change < HARM).sum())
        print(f"{decision:>14}{gain:6}{len(change) - gain - harm:6}{harm:6}{change.min(initial=np.inf):+8.1f}")


def kept(cases: Sequence[Case], column: str) -> tuple[float, int]:
    """Of corrections that gain more than a point at full strength, how many are served."""
    gaining = [case for case in cases if case["fitted"] and case["columns"]["third"]["change"] > 1]
    return sum(case["columns"][column]["served"] for case in gaining), len(gaining)


def ruled(case: Case, rule: int, floor: float, key: str = "rules") -> float:
    """The strength of a split by another rule."""
    bank = [strength for source, strength, _ in case["columns"]["bank"]["evidence"] if source == "bank"]
    strength = min([*bank, case[key][rule]])
    return strength if strength >= floor else 0.0


def at(case: Case, strength: float, grid: np.ndarray) -> float:
    return float(np.interp(strength, grid, case["grid"]))


def under(splits: Sequence[Case], rule: int, floor: float, grid: np.ndarray, key: str = "rules") -> list[Case]:
    """Cases with one column, the change by another rule; a bank that fit refuses changes nothing."""
    found = []
    for case in splits:
        strength = ruled(case, rule, floor, key) if key in case else 0.0
        decision = "refuse" if strength == 0 else "serve"
        column = {"change": at(case, strength, grid) if strength else 0.0, "error": 0.0, "decision": decision}
        found.append(case | {"columns": {"ruled": column}})
    return averaged(found)


def outcome(splits: Sequence[Case], settings: tuple[int, float, float], grid: np.ndarray) -> tuple[float, float, float]:
    """Mean change and % harmed of cases, and % harmed of splits that are applied."""
    rule, floor, apply = settings
    change = changes(under(splits, rule, floor, grid), "ruled")
    strong = [(case, each) for case in splits if "rules" in case and (each := ruled(case, rule, floor)) >= apply]
    applied = np.array([at(case, strength, grid) for case, strength in strong])
    return change.mean(), 100 * (change < HARM).mean(), 100 * (applied < HARM).mean() if applied.size else 0.0


def print_left_out(splits: Sequence[Case], grid: np.ndarray, rules: Sequence[Rule]) -> None:
    """For each family the constants with the largest mean - harmed / 10 on the others, judged on the family."""
    choices = list(product(range(len(rules)), FLOORS, APPLIES))
    print("\nconstants chosen without a family, judged on it (score: mean - .1 % harmed - .1 % harmed of APPLY)\n")
    heads = (("family", 22), ("trimmed", 10), ("errors", 8), ("WEAKER", 8), ("APPLY", 7), ("mean", 8), ("harm%", 7))
    print("".join(f"{head:>{width}}" for head, width in heads) + "  APPLY harm%")
    total = []
    for family in sorted({case["family"] for case in splits}):
        others = [case for case in splits if case["family"] != family]
        own = [case for case in splits if case["family"] == family]
        values = [outcome(others, each, grid) for each in choices]
        best = choices[int(np.argmax([mean - 0.1 * harm - 0.1 * applied for mean, harm, applied in values]))]
        mean, harm, applied = outcome(own, best, grid)
        total.append((mean, harm, len(averaged(own))))
        trimmed, caution = rules[best[0]]
        print(
            f"{family:>22}{trimmed:10.2f}{caution:8.2f}{best[1]:8.2f}{best[2]:7.2f}{mean:+8.2f}{harm:7.1f}{applied:13.1f}"
        )
    mean, harm, count = np.array(total).T
    print(f"{'all, left out':>22}{'':33}{np.average(mean, weights=count):+8.2f}{np.average(harm, weights=count):7.1f}")


def print_rules(splits: Sequence[Case], grid: np.ndarray, rules: Sequence[Rule]) -> None:
    """The rule with other constants, floor .25."""
    cases = averaged(splits)
    full = {(case["set"], case["kind"]): case["columns"]["third"]["change"] for case in cases if case["fitted"]}
    print("\nrecent queries by other constants: share left out, standard errors below the best\n")
    heads = ("mean", "harm%", "visible", "kept%", "large", "spam", "tainted: mean", "harm%")
    print(f"{'':>14}" + "".join(f"{head:>{max(8, len(head) + 2)}}" for head in heads))
    for rule, (trimmed, caution) in enumerate(rules):
        found = under(splits, rule, 0.25, grid)
        seen = [case for case in found if visible(case)]
        served = [case["columns"]["ruled"]["served"] for case in found if full.get((case["set"], case["kind"]), 0) > 1]
        large = [case for case in seen if case["kind"] == "matched, large"]
        loss = [case["columns"]["ruled"]["change"] - full[case["set"], case["kind"]] for case in large]
        spam = [case for case in splits if "tainted" in case["columns"]]
        clean = under(spam, rule, 0.25, grid)
        tainted = under(spam, rule, 0.25, grid, "tainted rules")
        mean = changes(tainted, "ruled").mean() if tainted else 0.0
        print(
            f"{trimmed:7.2f}{caution:7.2f}{changes(found, 'ruled').mean():+8.2f}{share_harmed(found, 'ruled'):8.1f}"
            f"{share_harmed(seen, 'ruled') if seen else 0:9.1f}{100 * np.mean(served) if served else 0:8.1f}"
            f"{np.mean(loss) if loss else 0:+8.2f}{share_harmed(clean, 'ruled') if clean else 0:8.1f}"
            f"{mean:+15.2f}{share_harmed(tainted, 'ruled') if tainted else 0:8.1f}"
        )


def print_all(splits: Sequence[Case], grid: np.ndarray, rules: Sequence[Rule]) -> None:
    everything = averaged(splits)
    beside = [case for case in everything if case["popularity"] == "two kinds"]
    splits = [each for each in splits if each["popularity"] != "two kinds"]
    cases = averaged(splits)
    seen = [case for case in cases if visible(case)]
    print_columns("cases", cases, COLUMNS)
    print_columns("visible cases (one answer for each target, popularity not tied to hubs)", seen, COLUMNS)
    print_columns("single splits", splits, COLUMNS, intervals=False)
    single = [each for each in splits if visible(each)]
    print_columns("single splits of visible cases", single, COLUMNS, intervals=False)
    for popularity in ("even", "Zipf", "on hubs", "on antihubs"):
        those = [case for case in cases if case["kind"] == "own log" and case["popularity"] == popularity]
        own = ("full", "undeclared", "recent", "judged", "clicks")
        print_columns(f"own logs, {popularity}, by traffic", those, own, intervals=False)
    spam = [case for case in cases if "tainted" in case["columns"]]
    print_columns("spam; tainted: a tenth of the recent queries are spam", spam, ("recent", "tainted"), intervals=False)
    print_columns("galleries of two kinds, beside the cases", beside, COLUMNS, intervals=False)
    print_kinds(everything)
    for column in ("bank", "recent", "judged"):
        print_confusion("all", splits, column)
        print_confusion("visible", single, column)
    print_rules(splits, grid, rules)
    if len({case["family"] for case in splits}) > 1:
        print_left_out(splits, grid, rules)
    print("\nthe bars, recent queries alone\n")
    large = [case for case in seen if case["kind"] == "matched, large"]
    loss = changes(large, "recent").mean() - changes(large, "third").mean() if large else 0.0
    half = changes(large, "recent").mean() - changes(large, "full").mean() if large else 0.0
    applied = [each for each in single if each["columns"]["recent"]["decision"] == "apply"]
    lost = sum(change < HARM for change in changes(applied, "recent"))
    means = changes(averaged(applied), "recent") if applied else np.zeros(0)
    served, gaining = kept(cases, "recent")
    print(f"harmed, all            {share_harmed(cases, 'recent'):6.1f} %   (at most 6)")
    print(f"  with two kinds       {share_harmed(everything, 'recent'):6.1f} %")
    print(f"harmed, visible        {share_harmed(seen, 'recent'):6.1f} %   (at most 2.5)")
    harmful = int((means < HARM).sum())
    print(f"APPLY that harms, seen {harmful:6} of {len(means)}   (none; of single splits {lost} of {len(applied)})")
    print(f"gains kept             {100 * served / max(1, gaining):6.1f} % of {gaining}   (at least 95)")
    print(f"large matched banks    {half:+6.2f} against {LABELS['full']}   (at least -.30)")
    print(f"                       {loss:+6.2f} against {LABELS['third']}   (at least -.30)")
