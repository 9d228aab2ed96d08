"""As much of a dataset as can be ranked again in a moment: rows are drawn first and read as they are stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from unhub.dataset.galleries import some_rows, take
from unhub.dataset.items import Items
from unhub.dataset.sampled_evidence import draw_evidence, keep_evidence, subset
from unhub.dataset.sources import Bank
from unhub.foundation.types import FloatArray, IntArray
from unhub.io import Rows

if TYPE_CHECKING:
    from unhub.dataset.dataset import Dataset

FEWEST = 200
"""queries, of the test set and of a bank, that stay however many targets there are"""


@dataclass(frozen=True)
class Draw:
    """Rows that stay, and a sentence about it where not all do."""

    rows: IntArray
    note: str | None = None


def draw(size: int, most: int, what: str, rng: np.random.Generator) -> Draw:
    """At most so many rows, drawn at random, in order.

    >>> draw(3, 10, "queries", np.random.default_rng(0))
    Draw(rows=array([0, 1, 2]), note=None)
    """
    if size <= most:
        return Draw(np.arange(size))
    return Draw(np.sort(rng.permutation(size)[:most]), f"{most:,} of {size:,} {what}, drawn at random")


def draw_targets(right: IntArray, gallery: int, most: int, rng: np.random.Generator) -> Draw:
    """Targets of a gallery that is too large to be shown: those that are right, and others at random.

    Whatever is drawn otherwise, by rank say, would favour the ranking that it was drawn by.
    """
    if gallery <= most:
        return Draw(np.arange(gallery))
    stays = np.zeros(gallery, dtype=bool)
    stays[right] = True
    free = rng.permutation(np.flatnonzero(~stays))
    stays[free[: max(0, most - int(stays.sum()))]] = True
    rows = np.flatnonzero(stays)
    note = f"{len(rows):,} of {gallery:,} targets, the right ones and others drawn at random (ranks are among them)"
    return Draw(rows, note)


def sampled_dataset(data: Dataset, cells: int, bank_cells: int, most_targets: int, seed: int, *, back: bool) -> Dataset:
    """The dataset with drawn rows of queries, targets and banks in memory; back: drawn for the reverse direction."""
    rng = np.random.default_rng(seed)
    way = "reverse" if back else "forward"
    evidence = None
    if not back and not data.ignore_self and data.shape[1] > most_targets:
        evidence = draw_evidence(data, most_targets, np.random.default_rng(seed))
    judged = np.empty(0, dtype=np.int64) if evidence is None else evidence.right
    queries, targets = _test_rows(data, way, cells, most_targets, judged, rng)
    asking, gallery = ("targets", "queries") if back else ("queries", "targets")
    drawn = {asking: queries.rows, gallery: targets.rows}
    sample = data._copy()
    sample._sources = dict(data._sources)
    notes = list(dict.fromkeys(each.note for each in (queries, targets) if each.note))
    sample.notes = (*data.notes, *([f"This is a sample: {', and '.join(notes)}."] if notes else []))
    if data.kind == "vectors":
        for part in ("queries", "targets"):
            rows = data._required(part)
            sample._sources[part] = sample._opened[part,] = some_rows(rows, drawn[part])
    else:
        block = take(data.scores_rows(), drawn["queries"])[:, drawn["targets"]]
        sample._sources["scores"] = sample._opened["scores",] = Rows(block, name="scores")
    sample._sources["query_ids"] = sample._sources["target_ids"] = None
    items = zip(("queries", "targets"), data.items(), strict=True)
    own: list[Items] = [each.take(drawn[part].tolist()) for part, each in items]
    sample._opened["items",] = tuple(own)
    sample._sources["captions"], sample._sources["target_captions"] = (list(each.names) for each in own)
    if data.kind == "scores":
        for part, each in zip(("query_ids", "target_ids"), own, strict=True):
            sample._sources[part] = sample._opened[part,] = tuple(each.ids)
    relevance = data.relevance()
    if relevance is not None:
        some = subset(relevance, drawn["queries"], drawn["targets"])
        sample._sources["relevant"] = sample._opened["relevance", sample._variant] = some
    prior = data._sources["target_prior"]
    if prior is not None:
        whole, mean = data._marginals(None, 0, len(data.items()[1]), back=False)[1:]
        sample._sources["target_prior"] = None if whole is None else whole[drawn["targets"]] * mean
    if len(targets.rows) < len(data.items()[0 if back else 1]):
        fresh = ("recent", "judged", "judged_queries") if evidence is None else ()
        sample._sources |= dict.fromkeys((*fresh, "clicks"))
        if evidence is not None:
            keep_evidence(data, sample, evidence, targets.rows)
    sample.banks, sample.bank_notes = {}, {}
    for name, bank in data.banks.items():
        sample.banks[name] = _bank(data, name, bank, sample, drawn, bank_cells, rng, back=back)
    sample.drawn = drawn
    return sample


def _test_rows(
    data: Dataset, way: str, cells: int, most_targets: int, judged: IntArray, rng: np.random.Generator
) -> tuple[Draw, Draw]:
    count, gallery = data.shape[::-1] if way == "reverse" else data.shape
    if data.ignore_self:  # an item is query and target at once
        if count * gallery <= cells:
            return Draw(np.arange(count)), Draw(np.arange(gallery))
        same = draw(min(count, gallery), int(cells**0.5), "items", rng)
        return same, same
    shown = min(gallery, most_targets)
    queries = draw(count, min(count, max(FEWEST, cells // max(1, shown))), "queries", rng)
    relevance = data.relevance(way)
    right = judged
    if relevance is not None:
        right = np.union1d(judged, relevance.targets[np.isin(relevance.query_rows, queries.rows)])
    return queries, draw_targets(right, gallery, most_targets, rng)


def _bank(
    data: Dataset,
    name: str,
    bank: Bank,
    sample: Dataset,
    drawn: dict[str, IntArray],
    cells: int,
    rng: np.random.Generator,
    *,
    back: bool,
) -> Bank:
    """As many queries and targets of a bank as its scores may be, before the targets that stay."""
    gallery = len(drawn["queries" if back else "targets"])
    if data.kind == "scores":
        first, second, third = (data._matrix(part, name) for part in ("scores", "cross_scores", "target_scores"))
        count = 0 if second is None else second.shape[1]
    else:
        first, second = (data._vectors(part, name) for part in ("queries", "targets"))
        third, count = None, 0 if second is None else len(second)
    sizes = (count, 0 if first is None else len(first))
    counts = sizes[::-1] if back else sizes
    others = draw(counts[0], max(FEWEST, cells // max(1, gallery)), "bank targets", rng)
    most = max(FEWEST, cells // max(1, gallery + len(others.rows)))
    asked = draw(counts[1], most, "bank queries", rng)
    rows, its_targets = (others.rows, asked.rows) if back else (asked.rows, others.rows)
    rows = rows if bank.own_queries else drawn["queries"]  # the test queries are its queries
    drawn[f"banks.{name}.queries"], drawn[f"banks.{name}.targets"] = rows, its_targets
    parts: dict[str, Rows] = {}
    if data.kind == "scores":
        if first is not None:
            parts["scores"] = replace(first, data=take(first, rows)[:, drawn["targets"]], ids=None, stamp=None)
        if second is not None:
            parts["cross_scores"] = replace(second, data=take(second, rows)[:, its_targets], stamp=None)
        if third is not None:
            parts["target_scores"] = replace(third, data=take(third, its_targets)[:, drawn["targets"]], stamp=None)
    else:
        parts |= {} if first is None else {"queries": some_rows(first, rows)}
        parts |= {} if second is None else {"targets": some_rows(second, its_targets)}
    for part, block in parts.items():
        sample._opened["bank", name, part] = block
    weights: FloatArray | None = None
    if bank.weights is not None:
        weights = data.weights(name, data.shape[0] if first is None else len(first))
    names = data.bank_names(name)
    captions = None if names is None else [names[row] for row in rows.tolist()]
    left = [f"{len(asked.rows):,} of {counts[1]:,} queries"] if asked.note else []
    left += [others.note] if others.note else []
    if left:
        sample.bank_notes[name] = f"This view uses part of the bank {name}: {' and '.join(left)}."
    return Bank(**parts, weights=None if weights is None else weights[rows], captions=captions)
