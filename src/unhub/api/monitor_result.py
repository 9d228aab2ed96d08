"""The result of ``monitor``: what recent queries show, what has changed, and whether to fit again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unhub.api import notebook
from unhub.api.monitor_history import Figure, MonitorRun, Status
from unhub.api.verdict import Verdict
from unhub.foundation.safe_text import printable
from unhub.foundation.tables import percent
from unhub.foundation.wording import counted

BEYOND = 2.0
"""standard errors beyond which a difference is a change and not noise"""
MUCH_MORE = 0.1
"""by how much the guard must now serve a correction more strongly than it is, for a word about it"""
MUCH_OF_GALLERY = 0.05
"""share of the gallery that is new, gone or changed, from which on to look again"""
SHOWN_HUBS = 5
STRENGTHS = {"strength": "recent", "judged strength": "judged"}
SHARES = ("churn", "first churn", "buried")
"""figures that compare over time; how many targets are never retrieved depends on the number of queries"""
ADVICE: dict[Status, str] = {
    "fine": "",
    "look again": "Run it again with more queries; if it stays, judge the correction again or fit again.",
    "refit": "Collect a bank from current traffic and fit again.",
}


GROWN = "Extend the correction to the new targets, or fit again."
CHANGED = "Fit again on the gallery as it is now."
"""what to do where nothing but the gallery has changed"""


@dataclass(frozen=True, eq=False, repr=False)
class MonitorResult:
    """Whether a correction still suits the queries that are asked now. Made by ``unhub.monitor``.

    run: what was measured, as the history keeps it. status: "fine", "look again" or "refit". reasons: why, if it is not
    fine. changes: figures that moved by more than two standard errors since the baseline. baseline: the first run of
    this correction in the history; None without one. verdict: what the guard says now. history: the earlier runs and
    this one, the oldest first. notes: what else to know.
    """

    run: MonitorRun
    reasons: tuple[str, ...]
    changes: tuple[str, ...]
    verdict: Verdict
    baseline: MonitorRun | None = None
    history: tuple[MonitorRun, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """ "fine", "look again" or "refit"."""
        return self.run.status

    @property
    def new_hubs(self) -> dict[str, int]:
        """Targets that have become hubs, with their k-occurrence, the most frequent first."""
        return dict(self.run.new_hubs)

    @property
    def sentence(self) -> str:
        """Whether to fit again, why, and what has changed; if it is fine, also whether more of it could be served."""
        return " ".join(filter(None, [sentence_of(self.run, self.baseline)[1], self._could_be_more()]))

    def _could_be_more(self) -> str:
        run, strength = self.run, self.verdict.strength
        supported = all(_above(run.figures[name], run.served) for name in STRENGTHS if name in run.figures)
        if self.status != "fine" or not supported or strength < run.served + MUCH_MORE:
            return ""
        return f"Judged by them it would be served at {strength:.2f}: unhub guard with -o saves that verdict."

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.run.to_dict(),
            "reasons": list(self.reasons),
            "changes": list(self.changes),
            "sentence": self.sentence,
            "baseline": None if self.baseline is None else self.baseline.to_dict(),
            "verdict": self.verdict.to_dict(),
        }

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"MonitorResult({self.status}: {counted(self.run.queries, 'recent query')})"

    def rows(self) -> list[tuple[str, str, str]]:
        """Each figure with its standard error, now and in the baseline, as text."""
        before = {} if self.baseline is None else self.baseline.figures
        return [
            (name, _shown(name, each), _shown(name, before[name]) if name in before else "-")
            for name, each in self.run.figures.items()
        ]

    def _repr_html_(self) -> str:
        table = notebook.plain_table(self.sentence, ["", "now", "baseline"], self.rows(), self.notes)
        return notebook.html_table(table, "")


def sentence_of(run: MonitorRun, base: MonitorRun | None) -> tuple[Status, str]:
    """The status of a run beside its baseline, and the sentence: whether to fit again, why, what has changed."""
    status, reasons, changes = compare(run, base)
    parts = [f"{status.capitalize()}: {'; '.join(reasons) or _fine(run)}."]
    if changes and base is not None:
        parts.append(f"Since {base.date[:10]}: {', '.join(changes)}.")
    changed_alone = status == "look again" and len(reasons) == 1 and _changed_much(run)
    advice = (CHANGED if run.gone or run.changed else GROWN) if changed_alone else ADVICE[status]
    return status, " ".join([*parts, *filter(None, [advice])])


def _changed_much(run: MonitorRun) -> bool:
    return run.new + run.gone + run.changed >= MUCH_OF_GALLERY * run.targets


def compare(run: MonitorRun, base: MonitorRun | None) -> tuple[Status, tuple[str, ...], tuple[str, ...]]:
    """The status of a run, the reasons for it, and the figures that moved since the baseline.

    A figure has moved if it differs by more than two standard errors of the difference. It is a reason to look again
    where recent or judged queries support less than what is served, also by more than two standard errors; to fit again
    where they support less than half of it, since serving the bias then does more harm than it can do good.
    """
    refit: list[str] = []
    look: list[str] = []
    if run.served == 0:
        refit.append("the verdict on this correction was to refuse it, so nothing is served")
    for name, source in STRENGTHS.items():
        now, before = run.figures.get(name), None if base is None else base.figures.get(name)
        if now is None or not _below(now, run.served):
            continue
        if now.value < run.served / 2:
            refit.append(f"{source} queries support strength {_number(now)} where {run.served:.2f} is served")
        elif before is None or _moved(now, before) < 0 or _below(before, run.served):
            look.append(f"{source} queries support strength {_number(now)} where {run.served:.2f} is served")
    gain, before = run.figures["gain"], None if base is None else base.figures["gain"]
    if gain.value + BEYOND * gain.error < 0:
        refit.append(f"the correction costs recent queries {_number(Figure(-gain.value, gain.error), 3)} nats each")
    elif before is not None and gain.value <= BEYOND * gain.error and _moved(gain, before) < 0:
        look.append(f"the gain is down to {_number(gain, 3)} nats per query")
    if run.new_hubs:
        look.append(_hubs(run, run.figures["new hubs"]))
    if _changed_much(run):
        look.append(
            f"the gallery has {run.new:,} new, {run.gone:,} gone and {run.changed:,} changed targets since the fit"
        )
    if base is not None and _moved(run.figures["buried"], base.figures["buried"]) > 0:
        look.append(f"the bias puts {percent(run.figures['buried'].value)} of the targets out of reach of every query")
    status: Status = "refit" if refit else "look again" if look else "fine"
    return status, (*refit, *look), () if base is None else tuple(_changes(run, base))


def _changes(run: MonitorRun, base: MonitorRun) -> list[str]:
    words = []
    for name in (*STRENGTHS, "gain", *SHARES):
        now, before = run.figures.get(name), base.figures.get(name)
        if now is None or before is None or not (way := _moved(now, before)):
            continue
        show: Callable[[float], str] = percent if name in SHARES else "{:.2f}".format
        words.append(f"{name} {'up' if way > 0 else 'down'} from {show(before.value)} to {show(now.value)}")
    return words


def _moved(now: Figure, before: Figure) -> int:
    """1 or -1 if a figure is larger or smaller than before by more than two standard errors of the difference."""
    apart, error = now.value - before.value, (now.error**2 + before.error**2) ** 0.5
    return 0 if abs(apart) <= BEYOND * error else 1 if apart > 0 else -1


def _below(now: Figure, served: float) -> bool:
    return now.value + BEYOND * now.error < served


def _above(now: Figure, served: float) -> bool:
    return now.value - BEYOND * now.error > served


def _fine(run: MonitorRun) -> str:
    gain = _number(run.figures["gain"], 3, "+")
    return (
        f"{counted(run.queries, 'recent query')} support strength {_number(run.figures['strength'])} where "
        f"{run.served:.2f} is served (gain {gain} nats per query); no new hubs"
    )


def _hubs(run: MonitorRun, share: Figure) -> str:
    names = list(run.new_hubs)
    shown = ", ".join(map(printable, names[:SHOWN_HUBS])) + (", ..." if len(names) > SHOWN_HUBS else "")
    verb = "holds" if len(names) == 1 else "hold"
    return f"{counted(len(names), 'new hub')} ({shown}) {verb} {percent(share.value)} of the top {run.k}"


def _number(figure: Figure, digits: int = 2, sign: str = "") -> str:
    return f"{figure.value:{sign}.{digits}f} ± {figure.error:.{digits}f}"


def _shown(name: str, figure: Figure) -> str:
    if name in STRENGTHS or name == "gain":
        return _number(figure, 3 if name == "gain" else 2)
    return f"{percent(figure.value)} ± {percent(figure.error)}"
