"""Which export of a correction serves a collection."""

from __future__ import annotations

from unhub.api.correction import Correction
from unhub.core.fingerprint import fingerprint
from unhub.stores import Export


def bias_name(correction: Correction) -> str:
    """A short name for the bias of a correction, by which an export of it is known from those of earlier fits."""
    return fingerprint(correction.bias.view("<u4").astype("<u8"))[:16]


def serving_export(correction: Correction, origin: str) -> Export | None:
    """The newest export of just this bias that serves the collection at this address."""
    mine = bias_name(correction) if correction.exports else ""
    serving = [
        each for each in correction.exports if each.origin == origin and each.state == "serving" and each.bias == mine
    ]
    return serving[-1] if serving else None
