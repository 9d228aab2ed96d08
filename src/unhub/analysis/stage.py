"""Ranking a material again for any setting, quickly: biases and rankings are cached, and stop if nobody waits."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from unhub.analysis.byte_cache import ByteCache
from unhub.analysis.material import SAVED, Learnt, Material, Subject
from unhub.analysis.reading import Reading
from unhub.api.evaluation import MethodResult
from unhub.api.running import Options, finite, measure_method
from unhub.core.bias import Bias
from unhub.core.parameters import strength_number
from unhub.dataset import Task as Trial
from unhub.foundation.errors import InputError
from unhub.methods import (
    Method,
    ResolvedMethod,
    configure,
    is_additive,
    is_matrix_only,
    method,
    method_classes,
    resolve,
)

T = TypeVar("T")
DEPTHS = (1, 3, 5, 10, 20)
"""k: places at the head of a list that count"""
JUDGED = ("R@1", "R@5", "R@10", "MdR", "MnR")
UNEVEN = tuple(f"{name}@{k}" for name in ("skew", "antihub", "max_n", "gini") for k in DEPTHS)
MOST_TRIALS = 4
"""directions and banks whose trials are held: made anew in milliseconds, but each may hold arrays of its own"""
Wanted = Callable[[], bool]
"""whether somebody still waits for the answer"""


class Abandoned(Exception):
    """Nobody waits for the answer any more, so it was not computed."""


def always() -> bool:
    """Somebody waits until the end."""
    return True


@dataclass(frozen=True)
class Setting:
    """What a view is of: the direction, the bank, the method with its temperature and strength, and k."""

    direction: str
    bank: str
    method: str
    tau: float | None = None
    """None: as the method is used here"""
    strength: float | None = None
    """None: one, or that of a correction as it was saved"""
    k: int = 10


@dataclass(frozen=True, eq=False)
class Scene:
    """One setting played: how everything ranks without a correction and with it."""

    setting: Setting
    material: Material
    learnt: Learnt | None
    """the bank behind it; None for a correction whose bank is not here"""
    method: Method
    before: MethodResult
    after: MethodResult
    bias: Bias | None
    warnings: tuple[str, ...] = ()

    @property
    def reading(self) -> Reading:
        """Both rankings, and who everybody is."""
        its = self.material
        return Reading(self.before, self.after, its.relevance, its.queries, its.targets, its.target_ids)

    @property
    def transductive(self) -> bool:
        """Whether the correction has seen test queries, as far as that is known."""
        return self.setting.method != "none" and self.learnt is not None and self.learnt.transductive


@dataclass(eq=False)
class Stage:
    """A subject, and the biases and rankings of it that were computed."""

    subject: Subject
    cache: ByteCache[Any] = field(default_factory=ByteCache, repr=False)
    _trials: dict[tuple[str, str], Trial] = field(default_factory=dict, repr=False)
    """the last few, by direction and bank; they share the arrays of the material"""
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def scene(self, setting: Setting, wanted: Wanted = always) -> Scene:
        """The setting, computed or cached; an error where it names what is not there.

        Between a bias and a ranking ``wanted`` is asked; when nobody waits any more it ends with ``Abandoned``.
        """
        material = self.subject.material(setting.direction)
        if setting.bank not in material.banks:
            raise InputError(f"there is no bank {setting.bank!r}; there are {', '.join(material.banks)}.")
        if setting.k not in DEPTHS:
            raise InputError(f"k is {setting.k}; choose one of {', '.join(map(str, DEPTHS))}.")
        can = methods_of(material, setting.bank)
        if setting.method not in can:
            raise InputError(f"there is no method {setting.method!r} with this bank; there are {', '.join(can)}.")
        if setting.strength is None:
            own = getattr(material.method(SAVED, True), "strength", 1.0) if setting.method == SAVED else 1.0
            setting = dataclasses.replace(setting, strength=float(own))
        strength_number("strength", setting.strength)
        chosen, bias, warned = self._estimated(material, setting, wanted)
        before = self._ranked(material, setting, method("none"), None, wanted)
        after = before if setting.method == "none" else self._ranked(material, setting, chosen, bias, wanted)
        learnt: Learnt | None = material.banks[setting.bank]
        if setting.method == SAVED and material.fitted_on is None:
            learnt = None
        return Scene(setting, material, learnt, chosen, before, after, bias, warned)

    def _trial(self, material: Material, bank: str) -> Trial:
        """Called with the lock."""
        key = material.direction, bank
        trial = self._trials.pop(key, None) or material.trial(bank)
        self._trials[key] = trial  # the newest stands last
        while len(self._trials) > MOST_TRIALS:
            del self._trials[next(iter(self._trials))]
        return trial

    def _estimated(
        self, material: Material, setting: Setting, wanted: Wanted
    ) -> tuple[Method, Bias | None, tuple[str, ...]]:
        """The method as it is used, its bias at a strength of one where it is a bias, and what to say about it."""
        if setting.method == SAVED:
            own = material.method(SAVED, True)
            return configure(own, {"strength": setting.strength}), material.fitted, ()
        banked = material.banks[setting.bank].scores is not None
        asked = material.method(setting.method, banked)
        if setting.tau is not None:
            if asked.temperature is None:
                raise InputError("tau", f"is {setting.tau:g}, but {asked.name} has no temperature", "leave it out")
            asked = asked.at(setting.tau)
        key = ("bias", material.direction, setting.bank, setting.method, setting.tau)
        resolved, bias = self._once(key, lambda: self._bias(material, setting.bank, asked), wanted)
        return configure(resolved.method, {"strength": setting.strength}), bias, resolved.notes

    def _bias(self, material: Material, bank: str, asked: Method) -> tuple[ResolvedMethod, Bias | None]:
        trial = self._trial(material, bank)
        resolved = resolve(asked, trial.banks.queries)
        if not is_additive(resolved.method):
            return resolved, None
        return resolved, finite(resolved.method, resolved.method.estimate(trial.banks))

    def _ranked(
        self, material: Material, setting: Setting, chosen: Method, bias: Bias | None, wanted: Wanted
    ) -> MethodResult:
        bank = setting.bank if chosen.name != "none" else next(iter(material.banks))
        metrics = (*(JUDGED if material.judged else ()), *UNEVEN)
        options = Options(metrics, material.ties, None, material.ignore_self, 1, material.seed, False, None)
        key = ("ranking", material.direction, bank, chosen, bias is material.fitted)

        def ranking() -> MethodResult:
            return measure_method(chosen.name, ResolvedMethod(chosen), self._trial(material, bank), options, bias)[0]

        return self._once(key, ranking, wanted)

    def _once(self, key: Hashable, make: Callable[[], T], wanted: Wanted) -> T:
        """What is cached under the key, or made now; one at a time, since each takes all cores."""
        with self._lock:
            cached = self.cache.get(key)
            if cached is None:
                if not wanted():
                    raise Abandoned
                cached = make()
                self.cache.put(key, cached)
            return cast(T, cached)


def methods_of(material: Material, bank: str) -> list[str]:
    """The methods that can be shown with a bank, by name; not those that are slow or need all queries at once."""
    learnt = material.banks[bank]
    own = material.fitted is not None and material.fitted_on in (None, bank)
    has = {"cross": learnt.cross is not None, "targets": learnt.target_scores is not None}
    return [SAVED] * own + [
        name
        for name, each in method_classes().items()
        if each.live and not each.audit and not is_matrix_only(each) and all(has[need] for need in each.requires)
    ]


def temperature(which: Method) -> float | None:
    """Its temperature, if it has one and that is a number."""
    return float(which.temperature) if isinstance(which.temperature, int | float) else None
