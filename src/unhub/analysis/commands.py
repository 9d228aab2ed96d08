"""The command that computes the numbers of a view again, over all of the data."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from unhub.analysis.session import Session
from unhub.api.verdict import Verdict
from unhub.dataset import TEST_QUERIES, Dataset
from unhub.dataset.dataset import FITTED_BANK
from unhub.dataset.sources import ALIGNED, ARGUMENTS, LABELS, Labels
from unhub.foundation.safe_text import printable
from unhub.foundation.wording import on_command_line
from unhub.methods import HyperParameters, Method, settings
from unhub.stores.address import is_address, without_secrets

TEST = ("queries", "targets", "scores", "query_ids", "target_ids", "target_prior")
FRESH = ("recent", "judged", "judged_queries", "clicks")
BANK = ("queries", "targets", "weights", "scores", "cross_scores", "target_scores")

OPTIONS = HyperParameters.__annotations__
"""hyper-parameters that the command line knows; those of a registered method may have other names"""


class _InMemory(Exception):
    """A part of the data has no address that a command could name."""


def command_of(session: Session, direction: str, bank: str, method: Method, *, saved: bool = False) -> str:
    """The evaluation of a method beside no correction, or a diagnosis without relevance; "" for arrays in memory."""
    try:
        if session.data.correction is not None:
            return _of_correction(session, bank, method, saved=saved)
        return _of_dataset(session, direction, bank, method)
    except _InMemory:
        return ""


def _of_dataset(session: Session, direction: str, bank: str, method: Method) -> str:
    data, sources = session.data, session.data._sources
    parts = {part: sources[part] for part in TEST}
    if data.kind == "vectors" and parts["queries"] is None:
        parts["queries"] = parts["targets"]
    if bank != TEST_QUERIES:
        parts |= {ARGUMENTS[part]: getattr(data.banks[bank], part) for part in BANK}
        if _guarded(method):
            parts |= {part: sources[part] for part in FRESH}
    words = [word for name, at in parts.items() if at is not None for word in (_flag(name), _address(at))]
    relevant, reading = _relevant(data), _reading(session, direction, bank)
    if relevant is None:
        names = ("--queries", "--targets", "--scores")
        pairs = [word for pair in zip(words[::2], words[1::2], strict=False) if pair[0] in names for word in pair]
        return _joined(["unhub", "diagnose", *pairs, *reading])
    words += ["--direction", "reverse"] if session.way(direction) == "reverse" else []
    words += ["--ties", session.ties] + (["--ignore-self"] if data.ignore_self else [])
    words += ["--own-log"] if data.own_log else []
    words += ["--duplicates", data.duplicates] if data.duplicates != "drop" else []
    return _evaluation([*words, *reading], relevant, method)


def _of_correction(session: Session, bank: str, method: Method, *, saved: bool) -> str:
    """A correction that cannot be fitted again from what is here is judged as it is."""
    data, its, path = session.data, session.data.correction, session.source
    if not path:
        raise _InMemory
    if data.kind == "scores":
        asked, gallery = ["--scores", _address(data._sources["scores"])], None
    else:
        queries, rows = data._sources["queries"], data.rows("targets")
        asked = ["--queries", f"{path}::query_bank" if data.asks_bank else _address(queries)]
        gallery = None if rows is None else rows.source
    shown = without_secrets(gallery) if gallery is not None and is_address(gallery) else gallery
    targets, reading = [] if shown is None else ["--targets", shown], _reading(session, session.directions[0], bank)
    relevant = _relevant(data)
    if relevant is None:
        return _joined(["unhub", "diagnose", *asked, *targets, *reading])
    second = data.banks[FITTED_BANK].targets if FITTED_BANK in data.banks else None
    second = None if second is None or second is its.target_bank else _address(second)
    lacking = bool(method.requires) and second is None
    lacking |= its.query_bank is None or its.weights is not None or its._prior_mean != 1.0
    lacking |= _guarded(method) and not _from_bank_alone(its.verdict)
    if saved and (lacking or data.kind == "scores"):
        return _joined(["unhub", "evaluate", "--correction", path, *asked, *targets, "--relevant", relevant])
    if bank != TEST_QUERIES and its.query_bank is not None:
        targets += ["--query-bank", f"{path}::query_bank"]
    targets += ["--target-bank", second] if second else []
    return _evaluation([*asked, *targets, *reading], relevant, method)


def _reading(session: Session, direction: str, bank: str) -> list[str]:
    data, reader = session.data, session.data.reader
    words = ["--metric", reader.metric] if "metric" in data.settings or reader.metric != "cosine" else []
    words += ["--normalize"] if reader.normalize else []
    if not data.has_relevance:
        return words
    relevance = session.whole.relevance()
    assert relevance is not None
    overlap = bank != TEST_QUERIES and session.whole.overlap(bank, session.way(direction)) > 0
    return words + ["--allow-overlap"] * overlap + ["--allow-empty"] * (not relevance.judged().all())


def _relevant(data: Dataset) -> str | None:
    """Relevance as ``--relevant`` takes it; None without relevance."""
    source = data._sources["relevant"]
    if isinstance(source, Labels):
        sides = (source.queries, source.targets)
        return LABELS + ",".join(_address(each) for each in sides if each is not None)
    if source is None:
        return None
    return "diagonal" if isinstance(source, str) and source in ALIGNED else _address(source)


def _address(source: object) -> str:
    if not isinstance(source, str | os.PathLike):
        raise _InMemory
    return os.fspath(source)


def _guarded(method: Method) -> bool:
    """Whether the guard chooses its strength."""
    return getattr(method, "strength", None) == "auto"


def _from_bank_alone(verdict: Verdict) -> bool:
    """Whether the guard comes to this verdict again from the bank that is in the file."""
    return (
        verdict.reason == "judged" and not verdict.own_log and all(each.source == "bank" for each in verdict.evidence)
    )


def _evaluation(words: Sequence[str], relevant: str, method: Method) -> str:
    names = ",".join(dict.fromkeys(("none", method.name)))
    values = {
        name: value for name, value in settings(method).items() if value not in (None, "auto") and name in OPTIONS
    }
    texts = {name: f"{value:.6g}" if isinstance(value, float) else str(value) for name, value in values.items()}
    chosen = [word for name, text in texts.items() for word in (_flag(name), text)]
    return _joined(["unhub", "evaluate", *words, "--relevant", relevant, "--methods", names, *chosen])


def _joined(words: Sequence[str]) -> str:
    """The words as a shell takes them, with escapes for what is not printable in a file's name."""
    return printable(shlex.join(words))


def _flag(name: str) -> str:
    return on_command_line(name, None)
