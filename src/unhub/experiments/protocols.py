"""Protocols: unhub's own defaults, what the paper's text says, and what its authors' published scripts compute.

They differ in temperature, rounds, DIS's k and how a median rank is rounded; every row of a table says what it used.
The scripts' numbers are facts read from them; none of their code is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.wording import argument, did_you_mean
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
    published: bool = True
    """whether its temperatures are the published ones, for cosines; otherwise tau is "auto\""""

    def method(self, name: str, modality: str, direction: str, *, banked: bool, settings: Mapping[str, Any]) -> Method:
        """A method with the settings of this protocol; those of the dataset come first."""
        if self.name == "authors" and not modality:
            raise InputError(
                f"the protocol authors needs {argument('modality')}, since the authors' scripts differ by it; give "
                f"image, video or audio."
            )
        chosen = method_class(name).paper() if self.published else method_class(name)()
        if self.name == "authors":
            chosen = configure(chosen, _scripts(name, modality, direction, banked))
        return configure(chosen, settings)


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
    "auto": Preset("auto", ties="average", floored=False, published=False),
    "paper": Preset("paper", ties="optimistic", floored=False),
    "authors": Preset("authors", ties="optimistic", floored=True),
}

DEFAULT = "auto"
"""the protocol where none is named: what is judged is what is deployed"""


def preset(name: str | Preset | None = None) -> Preset:
    """The protocol of that name; a preset as it is; unhub's own defaults without a name."""
    if isinstance(name, Preset):
        return name
    if (name or DEFAULT) not in PRESETS:
        advice = did_you_mean(str(name), PRESETS, f"use {', '.join(PRESETS)}")
        raise InputError("protocol", f"is {name!r}", advice)
    return PRESETS[name or DEFAULT]
