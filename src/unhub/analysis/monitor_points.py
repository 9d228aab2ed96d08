"""What was monitored of a correction, as the report and the page draw it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from unhub.analysis.model import HistoryPoint
from unhub.analysis.session import Session
from unhub.api.monitor import fingerprint_of
from unhub.api.monitor_history import MonitorRun, history_beside, read_history
from unhub.api.monitor_result import sentence_of
from unhub.foundation.errors import InputError


def monitor_points(session: Session, data: Any, history: str | os.PathLike[str] | None = None) -> list[HistoryPoint]:
    """The runs of ``unhub monitor`` on a correction, oldest first; none for a dataset.

    session: of the correction. data: what it was opened from; the history is looked for beside the file of a
    correction. history: its file, where it is elsewhere; then it must exist.
    """
    correction = session.data.correction
    if correction is None:
        if history is not None:
            raise InputError("history", "is of a correction", "give the correction, or leave the history out")
        return []
    if history is not None and not os.path.lexists(Path(history).expanduser()):
        advice = "name a file that unhub monitor wrote, or leave it out"
        raise InputError("history", f"is {os.fspath(history)!r}, and there is no such file", advice)
    if history is None and isinstance(data, str | os.PathLike):
        history = history_beside(data)
    runs = () if history is None else read_history(history, fingerprint_of(correction))
    baselines: dict[int, MonitorRun] = {}
    for each in runs:  # in the order of the file, as monitor compares
        baselines.setdefault(each.k, each)
    return [_point(each, baselines[each.k]) for each in sorted(runs, key=lambda run: run.date)]


def _point(run: MonitorRun, base: MonitorRun) -> HistoryPoint:
    gain, strength, churn = (run.figures[name] for name in ("gain", "strength", "churn"))
    status, sentence = sentence_of(run, None if run is base else base)
    return HistoryPoint(
        run.date, gain.value, gain.error, strength.value, churn.value, len(run.new_hubs), status, sentence
    )
