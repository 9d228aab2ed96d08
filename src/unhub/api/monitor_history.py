"""The history of ``monitor``: one line of JSON for each run, beside the correction file.

A file may come from anyone, so every field is checked before it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from unhub.foundation import field_checks as checked
from unhub.foundation.atomic import replace_file
from unhub.foundation.errors import InputError
from unhub.foundation.file_lock import locked
from unhub.foundation.regular_files import read_regular

Status = Literal["fine", "look again", "refit"]

ENDING = ".history.jsonl"
MOST_RUNS = 1000
"""runs that are kept: the newest, and the first one of each correction and k"""
MOST_HUBS = 50
"""hubs of one run that are kept, the most frequent ones"""
LONGEST_ID = 150
"""bytes of an id in JSON; a longer one, or one that no line of text can hold, goes by its hash"""
LONGEST_LINE = 20_000
"""bytes of one run: twice MOST_HUBS of the longest ids are 17,000, all else in it is below 2,000"""
LONGEST_FILE = MOST_RUNS * LONGEST_LINE
PATIENCE = 30.0
"""seconds to wait for another run that writes the same file"""
_MOST, _LARGEST = 1 << 40, 1e100


@dataclass(frozen=True)
class Figure:
    """A number that was measured on a sample of queries, with its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class MonitorRun:
    """What one run of ``monitor`` measured; one line of the history.

    date: when, UTC. correction: which one, by its fingerprint. served: the strength that was served. status: how the
    run ended. k: how many of the best count. queries, targets: how many. new, gone, changed: targets of the gallery
    since the fit. hubs: the targets that come up more often than chance hardly gives to any, with how often. new_hubs:
    the same, of those that came up far less before.

    figures, by name:
        strength, judged strength: what recent and judged queries support.
        gain: in nats per query, at the strength that is served.
        churn, first churn: share of the k best, and of first places, that the correction changes.
        never retrieved: share of targets that no query retrieves, corrected or not.
        buried: share of targets whose bias alone puts them out of the reach of every query.
        new hubs: share of the k best places that the new hubs hold.
    """

    date: str
    correction: str
    served: float
    status: Status
    k: int
    queries: int
    targets: int
    figures: Mapping[str, Figure]
    new: int = 0
    gone: int = 0
    changed: int = 0
    hubs: Mapping[str, int] = field(default_factory=dict)
    new_hubs: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"figures": {name: [each.value, each.error] for name, each in self.figures.items()}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> MonitorRun:
        """The run of plain data, every field checked by type and range; a ValueError or KeyError if one is wrong."""
        fields = {name: check(values, name) for name, check in _FIELDS.items()}
        return cls(**fields, figures=_figures(values["figures"]))


FIGURES = ("strength", "judged strength", "gain", "churn", "first churn", "never retrieved", "buried", "new hubs")
_COUNT = partial(checked.whole, least=0, most=_MOST)


def _date(values: Mapping[str, Any], name: str) -> str:
    text = checked.text(values, name, longest=40)
    datetime.fromisoformat(text)
    return text


def _counts(values: Mapping[str, Any], name: str) -> dict[str, int]:
    table = checked.table(values, name, most=MOST_HUBS, longest=LONGEST_ID + 40)
    for each in table:
        _COUNT(table, each)
    return table


def _figures(values: Any) -> dict[str, Figure]:
    if not isinstance(values, dict) or not set(values) <= set(FIGURES):
        raise ValueError(f"its figures are not a table of {', '.join(FIGURES)}")
    found = {name: _figure(name, pair) for name, pair in values.items()}
    return {name: found[name] for name in FIGURES if name in found or name != "judged strength"}


def _figure(name: str, pair: Any) -> Figure:
    if not isinstance(pair, list) or len(pair) != 2:
        raise ValueError(f"its {name} is not a number with its standard error")
    value = checked.number({name: pair[0]}, name, least=-_LARGEST, most=_LARGEST)
    return Figure(value, checked.number({name: pair[1]}, name, least=0, most=_LARGEST))


_FIELDS: Mapping[str, Callable[[Mapping[str, Any], str], Any]] = {
    "date": _date,
    "correction": partial(checked.text, longest=64),
    "served": partial(checked.number, least=0, most=100),
    "status": partial(checked.one_of, known=get_args(Status)),
    "k": partial(checked.whole, least=1, most=_MOST),
    "queries": partial(checked.whole, least=1, most=_MOST),
    "targets": partial(checked.whole, least=1, most=_MOST),
    **dict.fromkeys(("new", "gone", "changed"), _COUNT),
    **dict.fromkeys(("hubs", "new_hubs"), _counts),
}


def history_beside(correction: str | os.PathLike[str]) -> Path:
    """Where the history of a correction file is: "x.history.jsonl" of "x.unhub".

    >>> str(history_beside("shop/x.unhub"))
    'shop/x.history.jsonl'
    """
    file = Path(correction).expanduser()
    return file.with_name((file.stem if file.suffix == ".unhub" else file.name) + ENDING)


def name_in_history(name: str) -> str:
    """The name that a target has in a history: its id, unless that is too long or no text of one line."""
    if len(name) <= LONGEST_ID and name.isprintable() and len(_json(name)) <= LONGEST_ID + len('""'):
        return name
    return f"sha256:{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:32]}"


def read_history(path: str | os.PathLike[str], correction: str | None = None) -> tuple[MonitorRun, ...]:
    """The runs in a history file, the oldest first; none if there is no file.

    path: the file. correction: the fingerprint of the correction whose runs are wanted; all without it.
    """
    file = Path(path).expanduser()
    if not os.path.lexists(file):
        return ()
    try:
        lines = read_regular(file, longest=LONGEST_FILE).splitlines()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}.") from error
    runs = [_run(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    return tuple(each for each in runs if correction is None or each.correction == correction)


def append_run(path: str | os.PathLike[str], run: MonitorRun, *, named: bool = True) -> None:
    """Adds a run to a history file, which is replaced as a whole; a run of another process at the same time stays.

    path: the file. run: what to add. named: whether the user named the file; otherwise it may not be a link.
    """
    file = Path(path).expanduser()
    if named:
        file = Path(os.path.realpath(file))  # the same lock through any link
    if not file.parent.is_dir():
        raise InputError(f"cannot write {file}: there is no folder {file.parent}; make it first.")
    busy = f"another process holds {file}; run it again when that is done."
    with locked(file.with_name(f"{file.name}.lock"), busy, patience=PATIENCE):
        runs = _bounded((*read_history(file), run))
        with replace_file(file, follow_links=named) as temporary:
            temporary.write_bytes(b"".join(_json(each.to_dict()) + b"\n" for each in runs))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _bounded(runs: Sequence[MonitorRun]) -> list[MonitorRun]:
    """The newest runs, and the first one of each correction and k: the baseline of the next run.

    With too many of these, the baselines that were in use last.
    """
    newest_first = range(len(runs) - 1, -1, -1)
    baselines = {(runs[at].correction, runs[at].k): at for at in newest_first}
    wanted = dict.fromkeys((len(runs) - 1, *baselines.values(), *newest_first))
    return [runs[at] for at in sorted(list(wanted)[:MOST_RUNS])]


def _run(file: Path, number: int, line: bytes) -> MonitorRun:
    try:
        if len(line) > LONGEST_LINE:
            raise ValueError(f"it has more than {LONGEST_LINE:,} bytes")
        values = json.loads(line)
        if not isinstance(values, dict):
            raise ValueError("it is no table")
        return MonitorRun.from_dict(values)
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        reason = f"it has no {error.args[0]}" if isinstance(error, KeyError) else str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"line {number} of {file} is not of a history that unhub wrote ({reason}); remove the file or name another."
        ) from error
