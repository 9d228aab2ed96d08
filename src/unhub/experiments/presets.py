"""Two readings of the paper: what its text says, and what its authors' published scripts compute.

They differ in temperature, rounds, DIS's k and how a median rank is rounded; every row of a table says what it used.
The scripts' numbers are facts read from them; none of their code is here.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from unhub.foundation.errors import InputError
from unhub.methods import REGISTRY, Method, method, settings

PAPER_TAU = {"is": 0.02, "dis": 0.02, "dualis": 0.02, "dualdis": 0.02, "sn": 0.01, "dbsn": 0.01}
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
        wanted = self._settings(name, modality, direction, banked)
        fields = settings(REGISTRY[name]())
        own = {key: value for key, value in given.items() if key in fields}
        if "tau" in given and "tau1" in fields:
            own["tau1"] = given["tau"]
        return method(name, cast(Any, {key: value for key, value in wanted.items() if key in fields} | own))

    def _settings(self, name: str, modality: str, direction: str, banked: bool) -> dict[str, Any]:
        if name in ("dualis", "dualdis"):
            chosen: dict[str, Any] = {"tau1": PAPER_TAU[name]}
            return chosen | ({"tau2": 0.5} if self.name == "authors" and modality == "video" else {})
        chosen = {"tau": PAPER_TAU[name]} if name in PAPER_TAU else {}
        chosen |= {"iterations": 10} if name in ("sn", "dbsn") else {}
        if self.name == "authors":
            chosen |= self._scripts(name, modality, direction, banked)
        return chosen

    def _scripts(self, name: str, modality: str, direction: str, banked: bool) -> dict[str, Any]:
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
