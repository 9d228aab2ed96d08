"""Two readings of the paper: what its text says, and what its authors' published scripts compute.

They differ in temperature, rounds, DIS's k and how a median rank is rounded; every row of a table says what it used.
The scripts' numbers are facts read from them; none of their code is here.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unhub.foundation.errors import InputError
from unhub.methods import Method, configure, method_class

IMAGES = {"forward": {"is": 0.02, "dis": 0.0195}, "reverse": {"is": 0.01, "dis": 0.0095}}
VIDEOS = {"is": 0.01, "dis": 0.0095}
CONVERGED = 1000
"""rounds at the most of the solver that the scripts call where they do not say; it stops at a marginal error of 1e-9"""
STOPS_AT = 1e-9


@dataclass(frozen=True)
class Preset:
    """Which settings a protocol gives its methods."""

    name: str
    ties: str
    """how equal scores rank: identical captions of two videos are as right as each other"""
    floored: bool
    """whether a median rank is rounded down"""

    def method(self, name: str, modality: str, direction: str, *, banked: bool, given: Mapping[str, Any]) -> Method:
        """A method as this preset has it; what the experiment file gives comes before."""
        if self.name == "authors" and not modality:
            raise InputError(
                "the protocol authors needs dataset.modality, since the authors' scripts differ by it; write image, "
                "video or audio in the experiment file."
            )
        chosen = method_class(name).paper()
        if self.name == "authors":
            chosen = configure(chosen, _scripts(name, modality, direction, banked))
        return configure(chosen, given)


def _scripts(name: str, modality: str, direction: str, banked: bool) -> dict[str, Any]:
    """What the authors' scripts set where the paper says something else."""
    if name in ("dualis", "dualdis"):
        return {"tau2": 0.5} if modality == "video" else {}
    if name in ("sn", "dbsn"):
        if banked:
            return {"iterations": 10}
        return {"iterations": 5} if modality == "video" else {"iterations": CONVERGED, "tol": STOPS_AT}
    if banked:
        return {"k": 2} if name == "dis" and modality == "video" else {}
    taus = IMAGES[direction] if modality == "image" else VIDEOS
    return {"tau": taus[name]} if name in taus else {}


PRESETS = {
    "paper": Preset("paper", ties="optimistic", floored=False),
    "authors": Preset("authors", ties="optimistic", floored=True),
}


def preset(name: str) -> Preset:
    """The preset of that name."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, 1)
        raise InputError(
            f"there is no protocol {name!r}; {f'did you mean {near[0]}?' if near else 'use paper or authors.'}"
        )
    return PRESETS[name]
