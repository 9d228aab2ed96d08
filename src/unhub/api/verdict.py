"""A Verdict: whether a correction should be served, how strongly, and on what evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from unhub.dataset.evidence import WANTED_JUDGED, WANTED_RECENT
from unhub.foundation.tables import percent
from unhub.foundation.wording import counted
from unhub.methods.strength import FEWEST, Evidence, Source

Decision = Literal["apply", "apply weaker", "refuse"]
Check = Literal["noise", "mismatch", "popularity"]
Reason = Literal["judged", "given", "transductive"]

APPLY, WEAKER = 0.85, 0.25
"""strengths from which a correction is applied, and applied weaker; below, it is refused"""
UNCHECKED = 0.84
"""the largest strength without recent queries: a bank that does not fit them harms one in five; judged ones are few"""
WANTED_BANK = 100
"""example queries that were worth two points of R@1, and harmed nowhere"""
CHECKED_BY: Mapping[Source, tuple[Check, ...]] = {
    "bank": ("noise",),
    "recent": ("noise", "mismatch"),
    "judged": ("noise", "popularity"),
}
"""what each kind of query can show: a bank too small or noisy, a bank unlike today's queries, popular targets"""
NAMES: Mapping[Source, str] = {
    "bank": "held-out bank queries",
    "recent": "recent queries",
    "judged": "judged queries",
}
MISSING: Mapping[Check, str] = {
    "mismatch": f"mismatch (give about {WANTED_RECENT} recent queries)",
    "popularity": f"popularity (give about {WANTED_JUDGED} judged pairs)",
}
SOME_COPIES, MANY_COPIES = 0.01, 0.1
"""share of the bank that repeats another query which is worth a sentence, and which a log of live traffic has"""
SAY_SO = "say so (own_log=True, or --popularity own_log)"
ADVICE: Mapping[Source, str] = {
    "bank": (
        "The bank is too small or too noisy, or there are hardly any hubs to correct; collect more queries, at least "
        f"{WANTED_BANK} different ones."
    ),
    "recent": "The bank is unlike the queries that are asked now; collect a bank from current traffic.",
    "judged": (
        f"The right answers lose: popular targets may look like hubs here. If the bank is this gallery's own log, "
        f"{SAY_SO}; otherwise leave the scores as they are."
    ),
}
"""what to do when these queries are the reason for a refusal"""
OWN_LOG = f"If it is this gallery's own log, {SAY_SO}."
"""beside the one on recent queries: those of a log want other targets than its popular ones"""
ADVICE_ON_OWN_LOG = "The right answers lose: popular targets look like hubs in this log. Leave the scores as they are."
"""the same of judged queries, where the bank was declared as the gallery's own log"""
ADVICE_ON_A_FEW = (
    "Only the few recent queries that gain the most support more: bots may be among them, or queries of another kind. "
    "Take them out, or collect a bank from current traffic."
)
"""the same of recent queries where leaving out a few of them is the reason"""
ADVICE_ON_LARGE_BANK = (
    "The bank is too small or too noisy for this gallery, or there are hardly any hubs to correct. Several times as "
    "many different queries would tell; otherwise leave the scores as they are."
)
"""the same of a bank that has as many queries as most need"""


@dataclass(frozen=True)
class Verdict:
    """Whether to serve a correction. ``print(verdict.sentence)`` says it in words.

    decision: "apply", "apply weaker" or "refuse". strength: what the bias is multiplied by where it is served; 0 where
    it is refused. evidence: what each kind of query supports. bank_size: different queries in the bank. duplicates:
    share of the bank that repeats another query. own_log: whether the bank was declared as this gallery's own traffic.
    tau: the temperature that it was judged at. reason: "judged"; "given" for a strength that the user chose;
    "transductive" where the test queries are the bank.
    """

    decision: Decision
    strength: float
    evidence: tuple[Evidence, ...] = ()
    bank_size: int = 0
    duplicates: float = 0.0
    own_log: bool = False
    tau: float | None = None
    reason: Reason = "judged"

    @property
    def checked(self) -> tuple[Check, ...]:
        """What was looked at: "noise", "mismatch", "popularity"."""
        seen = {check for each in self.evidence for check in CHECKED_BY[each.source]}
        return tuple(check for check in get_args(Check) if check in seen)

    @property
    def unchecked(self) -> tuple[Check, ...]:
        """What was not looked at."""
        return tuple(check for check in get_args(Check) if check not in self.checked)

    @property
    def of_bank(self) -> Evidence | None:
        """What the held-out queries of the bank say, where there were any; no later verdict changes it."""
        return next((each for each in self.evidence if each.source == "bank"), None)

    @property
    def served(self) -> bool:
        """Whether it may be served."""
        return self.decision != "refuse"

    @property
    def binding(self) -> Evidence | None:
        """The evidence that decides; None where there is none.

        It has the smallest strength, and is the latest kind where they are equal. Of a refusal it is the first kind
        that is too weak: held-out queries of a bank that is noise say it all, as recent ones do of a mismatched bank.
        """
        if not self.served:
            return next((each for each in self.evidence if each.strength < WEAKER), None)
        return min(reversed(self.evidence), key=lambda each: each.strength, default=None)

    @property
    def sentence(self) -> str:
        """The decision, its evidence, what was not checked, and what to do."""
        return " ".join(self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same one by one, the decision first."""
        if self.reason == "given":
            return (f"APPLY at strength {self.strength:g}, as given; nothing was checked.",)
        if self.reason == "transductive":
            return (f"APPLY at strength {self.strength:g}: the test queries are the bank, so nothing can be checked.",)
        parts = (self._head(), self._evidence(), self._copies(), self._capped(), self._not_checked(), self._advice())
        return tuple(part for part in parts if part)

    @property
    def headline(self) -> str:
        """The decision in a few words: "APPLY WEAKER at strength 0.62"."""
        return "REFUSE" if not self.served else f"{self.decision.upper()} at strength {self.strength:.2g}"

    @property
    def summary(self) -> str:
        """The sentence without its headline and its evidence, for readers who see both already."""
        if self.reason == "given":
            return "A strength of your own; nothing was checked."
        if self.reason == "transductive":
            return "The test queries are the bank, so nothing can be checked."
        head = "" if self.served else self._head().removeprefix("REFUSE: ")
        parts = [head[:1].upper() + head[1:], self._copies(), self._capped(), self._not_checked(), self._advice()]
        return " ".join(part for part in parts if part)

    def __str__(self) -> str:
        return self.sentence

    def _head(self) -> str:
        if self.decision != "refuse":
            return f"{self.headline}."
        least = self.binding
        if least is None:
            return (
                f"REFUSE: the bank has {counted(self.bank_size, 'different query')}, too few to judge by; no "
                f"correction is served."
            )
        return (
            f"REFUSE: {NAMES[least.source]} support a strength of {least.strength:.2f}, below {WEAKER:g}; no "
            f"correction is served."
        )

    def _evidence(self) -> str:
        if not self.evidence:
            return ""
        words = [
            f"{each.queries:,} {NAMES[each.source]} {each.strength:.2f} "
            f"({each.gain:+.3f} ± {each.standard_error:.3f} nats per query{_at_full(each)}{_with_all(each)})"
            for each in self.evidence
        ]
        return f"Supported strength: {'; '.join(words)}."

    def _copies(self) -> str:
        if self.duplicates < SOME_COPIES:
            return ""
        said = f"{percent(self.duplicates)} of the bank repeats other queries."
        return said if self.own_log or self.duplicates < MANY_COPIES else f"{said} {OWN_LOG}"

    def _capped(self) -> str:
        capped = self.evidence and self.strength == UNCHECKED < min(each.strength for each in self.evidence)
        return f"Without recent queries it is served at {UNCHECKED:g} at most." if capped else ""

    def _not_checked(self) -> str:
        left = ", ".join(MISSING[check] for check in self.unchecked) if self.evidence else ""
        return f"Not checked: {left}." if left else ""

    def _advice(self) -> str:
        if self.served:
            return ""
        tiny = 0 < self.bank_size < FEWEST  # whatever other queries say of its bias
        source = "bank" if self.binding is None or tiny else self.binding.source
        if source == "judged" and self.own_log:
            return ADVICE_ON_OWN_LOG
        if self.binding is not None and (self.binding.with_all or 0.0) >= WEAKER:
            return ADVICE_ON_A_FEW
        if source == "recent" and not self.own_log:
            if self.duplicates >= MANY_COPIES:  # said already
                return ADVICE[source]
            return f"{ADVICE[source]} {OWN_LOG}"
        return ADVICE_ON_LARGE_BANK if source == "bank" and self.bank_size >= WANTED_BANK else ADVICE[source]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain = asdict(self) | {"checked": list(self.checked), "unchecked": list(self.unchecked)}
        return plain | {"evidence": [asdict(each) for each in self.evidence], "sentence": self.sentence}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Verdict:
        """The verdict of plain data, as ``to_dict`` gives it."""
        names = ("decision", "strength", "bank_size", "duplicates", "own_log", "tau", "reason")
        evidence = tuple(Evidence(**each) for each in values["evidence"])
        return cls(**{name: values[name] for name in names}, evidence=evidence)


def _at_full(evidence: Evidence) -> str:
    return "" if evidence.strength else " at strength 1"


def _with_all(evidence: Evidence) -> str:
    left_out, strength = evidence.left_out, evidence.with_all
    return f"; {strength:.2f} with the {left_out:,} that gain the most" if left_out else ""


def given_verdict(strength: float, **facts: Any) -> Verdict:
    """The verdict of a strength that the user chose; facts: bank_size, duplicates, own_log and tau, for later ones."""
    return Verdict("apply", strength, reason="given", **facts)


def judge(
    evidence: tuple[Evidence, ...],
    *,
    bank_size: int = 0,
    duplicates: float = 0.0,
    own_log: bool = False,
    tau: float | None = None,
) -> Verdict:
    """The verdict on some evidence: the smallest strength that any of it supports decides."""
    evidence = tuple(sorted(evidence, key=lambda each: get_args(Source).index(each.source)))
    strength = min((each.strength for each in evidence), default=0.0)
    if not own_log and all(each.source != "recent" for each in evidence):
        strength = min(strength, UNCHECKED)
    decision: Decision = "apply" if strength >= APPLY else "apply weaker" if strength >= WEAKER else "refuse"
    served = 0.0 if decision == "refuse" else strength
    return Verdict(decision, served, evidence, bank_size, duplicates, own_log, tau)
