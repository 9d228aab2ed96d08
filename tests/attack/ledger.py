"""What was tried and what came of it: counts per part, and a line for every attack that succeeded."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field

from attack.child import Ended

GOOD = ("unchanged", "answered", "refused", "resumed")
"""how an attack may end: nothing came of it, values came back, one sentence said no, or the next run put it right"""

BAD = ("traceback", "bug", "crash", "hang", "memory", "damage", "leftover", "different", "leak", "sentence")
"""how it may not: see docs/reliability.md, where each of these is a column or a line"""

GROWTH = 1 << 30
"""bytes that a child may grow by on a file of a few kilobytes"""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


@dataclass(frozen=True)
class Budget:
    """How much is tried: ``scale`` cases where the quick attack tries one, chosen by ``seed``."""

    scale: int = 1
    seed: int = 0


@dataclass
class Ledger:
    """The counts of one part of the attack, and its failures."""

    part: str
    counts: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def note(self, outcome: str, case: str, evidence: str = "") -> None:
        """Counts an attack; one that succeeded is kept with its evidence."""
        if outcome not in GOOD + BAD:
            raise ValueError(outcome)
        self.counts[outcome] += 1
        if outcome in BAD:
            self.failures.append(f"{self.part}: {case}: {outcome}: {' '.join(evidence.split())[:400]}")

    def note_code(self, ended: Ended) -> None:
        """Counts how a process ended."""
        self.codes[f"signal {ended.signal}" if ended.code is None else f"exit {ended.code}"] += 1

    @property
    def tried(self) -> int:
        """How many attacks were counted."""
        return sum(self.counts.values())

    def as_json(self) -> str:
        """The ledger as one line, for another process."""
        return json.dumps({"part": self.part, "counts": self.counts, "codes": self.codes, "failures": self.failures})


def from_json(text: str) -> Ledger:
    """The ledger that ``as_json`` wrote."""
    plain = json.loads(text)
    return Ledger(plain["part"], Counter(plain["counts"]), Counter(plain["codes"]), plain["failures"])


def judge(ended: Ended, *, grown: int = GROWTH) -> tuple[str, str]:
    """What a command that met a hostile file came to, and the evidence: exit 0, or exit 2 and one sentence."""
    if ended.hung:
        return "hang", ended.err
    if ended.grown > grown:
        return "memory", f"{ended.grown >> 20} MB; {ended.err}"
    if ended.code is None:
        return "crash", f"signal {ended.signal}; {ended.err}"
    if "Traceback" in ended.err + ended.out:
        return "traceback", ended.err[-400:]
    if ended.code == 0:
        return ("sentence", repr(ended.out[:300])) if _CONTROL.search(ended.out + ended.err) else ("answered", "")
    if ended.code != 2:
        return "bug", f"exit {ended.code}; {ended.err}"
    sentences = [line for line in ended.err.splitlines() if not line.startswith("unhub: note: ")]
    if len(sentences) != 1 or not sentences[0].startswith("unhub: ") or _CONTROL.search(ended.err + ended.out):
        return "sentence", repr(ended.err[:400])
    return "refused", sentences[0]


COLUMNS: dict[str, tuple[str, ...]] = {
    "right": GOOD,
    "of these refused in a sentence": ("refused",),
    "crashes": ("crash",),
    "hangs": ("hang",),
    "tracebacks, bugs": ("traceback", "bug"),
    "memory": ("memory",),
    "damaged, different": ("damage", "different"),
    "left over": ("leftover",),
    "code run, address followed": ("leak",),
    "no clear sentence": ("sentence",),
}
"""of the table in docs/reliability.md, and the outcomes that each counts"""


def table(ledgers: list[Ledger]) -> str:
    """The counts as a Markdown table, a row per part, as docs/reliability.md has it."""
    every = Ledger("all", sum((each.counts for each in ledgers), Counter()))
    rows = [("part", "tried", *COLUMNS), ("---",) * (2 + len(COLUMNS))]
    for each in (*ledgers, every):
        counted = [sum(each.counts[name] for name in names) for names in COLUMNS.values()]
        rows.append((each.part, f"{each.tried:,}", *(f"{count:,}" for count in counted)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
