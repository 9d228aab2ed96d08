"""``monitor``: whether a correction still suits the queries that are asked now, run after run."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from unhub.api.artefact import loaded
from unhub.api.correction import Correction
from unhub.api.facade import facade, warn
from unhub.api.gallery_change import GalleryChange, current_correction
from unhub.api.guard import judge_again, open_guard_inputs
from unhub.api.monitor_figures import RecentFigures, measure, rank_twice
from unhub.api.monitor_history import (
    FIGURES,
    MOST_HUBS,
    MonitorRun,
    append_run,
    history_beside,
    name_in_history,
    read_history,
)
from unhub.api.monitor_result import MonitorResult, compare
from unhub.core.parameters import count
from unhub.foundation.errors import InputError
from unhub.foundation.types import IntArray
from unhub.methods.strength import sample_rows
from unhub.metrics.hubness import k_occurrence
from unhub.metrics.new_hubs import hub_count, new_hubs
from unhub.scores import select

NO_BIAS = "New and changed targets count with a bias of zero: the correction holds no bank to compute one from."


@facade
def monitor(
    correction: Correction | str | os.PathLike[str],
    *,
    recent: Any,
    targets: Any = None,
    judged: Any = None,
    judged_queries: Any = None,
    history: str | os.PathLike[str] | None = None,
    k: int = 10,
    date: str | None = None,
    memory: str | int | None = None,
) -> MonitorResult:
    """Whether a correction still suits the queries that are asked now; nothing is fitted.

    correction: a Correction, or the path of one.
    recent: (recent, dim) queries that are asked now, not of the bank; 200 are wanted, 50 are the least. Of a correction
        that was fitted on scores: (recent, gallery) scores.
    targets: the gallery as it is now, also the address of a store; by default where it was at the fit. It may have
        changed: new and changed targets get their exact bias.
    judged: which targets are right for which recent query, as in ``guard``.
    judged_queries: (judged, dim) the queries of ``judged``, where they are not the recent ones.
    history: a file of earlier runs, one line of JSON each; this run is compared with the first one of this correction
        in it, and added to it. Without one it is compared with the fit alone.
    k: how many of the best targets of each query count.
    date: when the queries were asked, as ISO text; now by default.
    memory: bounds the blocks of scores, where the correction is a path.

    Returns a MonitorResult: ``status`` ("fine", "look again", "refit"), ``sentence``, ``reasons``, ``changes``,
    ``new_hubs``, ``run.figures`` with standard errors.
    """
    if recent is None:
        raise InputError("recent", "is missing", "give queries that are asked now")
    k, when = count("k", k), _date(date)
    fitted = loaded(correction, memory)
    name = fingerprint_of(fitted)
    earlier = () if history is None else read_history(history, name)
    base = next((each for each in earlier if each.k == k), None)
    now, change = (fitted, GalleryChange()) if fitted.fingerprint is None else current_correction(fitted, targets)
    fresh = open_guard_inputs(now, recent=recent, judged=judged, judged_queries=judged_queries)
    found = measure(now, fresh, k)
    before, asked = _before(now, change, base, found, k)
    risen = new_hubs(found.counts, found.queries, before, asked, k)
    figures = {**found.figures, "new hubs": found.share_of(risen)}
    run = MonitorRun(
        date=when,
        correction=name,
        served=fitted.strength,
        status="fine",
        k=k,
        queries=found.queries,
        targets=now.bias.size,
        figures={each: figures[each] for each in FIGURES if each in figures},
        new=change.new,
        gone=change.gone,
        changed=change.changed,
        hubs=_named(now, found.counts, _hubs(found, k)),
        new_hubs=_named(now, found.counts, risen),
    )
    status, reasons, changes = compare(run, base)
    run = replace(run, status=status)
    if history is not None:
        beside = not isinstance(correction, Correction) and Path(history).expanduser() == history_beside(correction)
        append_run(history, run, named=not beside)
    unknown = now.query_bank is None and bool(change.new or change.changed)
    notes = (*fresh.queries.notes, *((NO_BIAS,) if unknown else ()))
    warn(notes)
    verdict = judge_again(now, found.evidence, fresh.tau)
    return MonitorResult(run, reasons, changes, verdict, base, (*earlier, run), notes)


def fingerprint_of(correction: Correction) -> str:
    """A short name for a correction and its strength; it stays the same while new targets are added."""
    facts = (correction.method.name, correction.settings, correction.bank_size, correction._offset, correction.strength)
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    if correction._potentials is not None:
        digest.update(np.ascontiguousarray(correction._potentials).tobytes())
    return digest.hexdigest()[:32]


def _date(given: str | None) -> str:
    if given is None:
        return datetime.now(UTC).isoformat(timespec="seconds")
    try:
        when = datetime.fromisoformat(given)
    except (TypeError, ValueError):
        raise InputError("date", f"is {given!r}", "write it as 2026-11-18 or 2026-11-18T09:30") from None
    when = (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    if when > datetime.now(UTC) + timedelta(days=1):
        raise InputError("date", f"is {given!r}, which is still to come", "say when the queries were asked")
    return when.isoformat()


def _hubs(found: RecentFigures, k: int) -> IntArray:
    rows = np.flatnonzero(found.counts >= hub_count(found.queries, found.gallery, k))
    order: IntArray = rows[np.argsort(-found.counts[rows], kind="stable")]
    return order


def _named(correction: Correction, counts: IntArray, rows: IntArray) -> dict[str, int]:
    names = correction.ids
    return {
        name_in_history(str(row) if names is None else names[row]): int(counts[row])
        for row in rows[:MOST_HUBS].tolist()
    }


def _before(
    correction: Correction, change: GalleryChange, base: MonitorRun | None, found: RecentFigures, k: int
) -> tuple[IntArray, int]:
    """How often each target came up before, and of how many queries: in the baseline, otherwise in the bank.

    The baseline holds its hubs alone, so any other target that was there counts with the most that it may have had. In
    the bank a target counts with the larger of its two rankings: the corrected one is evener there than elsewhere.
    """
    if base is not None:
        rest = hub_count(base.queries, base.targets, k) - 1
        if len(base.hubs) == MOST_HUBS:
            rest = min(base.hubs.values())
        ids = map(str, range(found.gallery)) if correction.ids is None else correction.ids
        before = np.asarray([base.hubs.get(name_in_history(each), rest) for each in ids])
        if base.new == 0:
            before[change.new_rows] = 0
        return before, base.queries
    if correction.query_bank is None or correction.targets is None:
        return found.counts, found.queries
    bank = correction._reader.products(correction.query_bank, correction.targets)
    rows = sample_rows(bank.shape[0])
    bank = bank if rows is None else select(bank, rows)
    ranked = rank_twice(correction, bank, k, correction._reader.execution(bank))
    either = [k_occurrence(best, found.gallery) for best in (ranked.raw, ranked.served)]
    return np.maximum(*either), bank.shape[0]
