"""``unhub.report``: one HTML file that shows what a correction changes, and whether to use it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from unhub.analysis.model import ReportData
from unhub.analysis.monitor_points import monitor_points
from unhub.analysis.report_data import report_data
from unhub.analysis.session import PARTS, Session
from unhub.api.correction import Correction
from unhub.api.facade import facade, warn
from unhub.dataset import Dataset
from unhub.experiments.protocols import Preset
from unhub.experiments.reproduction import recorded_run
from unhub.foundation.atomic import replace_file
from unhub.foundation.errors import InputError
from unhub.foundation.types import Progress


@facade
def report(
    data: Dataset | Correction | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = "report.html",
    *,
    direction: str | None = None,
    bank: str | None = None,
    method: str | None = None,
    protocol: str | Preset | None = None,
    sweeps: str | os.PathLike[str] | None = None,
    queries: Any = None,
    scores: Any = None,
    relevant: Any = None,
    targets: Any = None,
    target_bank: Any = None,
    recent: Any = None,
    judged: Any = None,
    judged_queries: Any = None,
    captions: Any = None,
    target_captions: Any = None,
    bank_captions: Any = None,
    media: Any = None,
    history: str | os.PathLike[str] | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> ReportData:
    """Write a report: hubs, what a correction changes, and which queries get better or worse.

    data: a Dataset, a Correction, or the path of an experiment file, of a correction, or of a folder that reproduce
        wrote.
    path: the HTML file to write; None writes none.
    direction: the name of a direction; the first by default.
    bank: the name of a bank; the first by default.
    method: the method to show; dbsn or sn by default, or that of the correction.
    protocol: settings of the methods: "auto" (the default), "paper" or "authors".
    sweeps: a folder that ``unhub.sweep`` saved points in.
    queries, or scores: with a correction, the queries to judge it by; its bank's by default.
    relevant: with a correction, which targets are right for these queries.
    targets: with a correction, its gallery, where its file does not name it.
    target_bank: with a correction, other targets, for methods of two banks.
    recent, judged, judged_queries: with a correction, what other methods are judged by, as in ``fit``.
    captions, target_captions, bank_captions: with a correction, what queries, targets and bank queries say.
    media: with a correction, a folder with a picture per target.
    history: with a correction, the file that ``unhub monitor`` adds to; by default the one beside the correction.
    command: the command that makes the report again, to be shown in it.
    progress: called with the name of the work, how much is done, and how much there is.

    Returns a ReportData: ``.headline.sentence``, ``.verdict``, ``.table``, ``.hubs``, ``.to_dict()``.
    """
    parts = {name: value for name, value in locals().items() if name in PARTS}
    session = Session.open(data, protocol, **parts)
    folders: list[Path] = []
    for each in (sweeps, data if isinstance(data, str | os.PathLike) else None):
        folders += [] if each is None else [Path(each).expanduser()]
    if sweeps is not None and not folders[0].is_dir():
        raise InputError("sweeps", f"is {sweeps}, which is not a folder", "name one that unhub sweep wrote")
    if bank is None and folders and folders[-1].is_dir() and not isinstance(data, Dataset | Correction):
        bank = recorded_run(folders[-1]).bank
    result = report_data(
        session, direction=direction, bank=bank, method=method, command=command, progress=progress,
        sweeps=[each for each in folders if each.is_dir()], history=monitor_points(session, data, history),
    )  # fmt: skip
    if path is not None:
        from unhub.reports.html import html_report

        text = html_report(result)
        with replace_file(Path(path)) as temporary:
            Path(temporary).write_text(text, encoding="utf-8")
    warn(session.notes)
    return result
