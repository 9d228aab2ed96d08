"""What goes beside a correction: queries to ask, what is right, how everything is shown, and other methods."""

from __future__ import annotations

from dataclasses import dataclass

from unhub.methods import Method, method


@dataclass(frozen=True)
class Beside:
    """What can be given beside a correction: queries to ask, what is right, and how everything is shown."""

    targets: str | None = None
    queries: str | None = None
    scores: str | None = None
    relevant: object = None
    """as ``unhub.evaluate`` takes it"""
    relevant_flag: str | None = None
    target_bank: str | None = None
    captions: str | None = None
    target_captions: str | None = None
    bank_captions: str | None = None
    media: str | None = None


def beside_own(own: Method, name: str) -> Method:
    """A method beside a correction: its own as it is, others at its temperature, or at one that follows the scores."""
    if name == own.name:
        return own
    return method(name).at(own.temperature or "auto")
