"""What all public functions share: mistyped arguments get a hint, and notes become warnings."""

from __future__ import annotations

import difflib
import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from unhub.dataset import Dataset
from unhub.foundation.errors import InputError, UnhubWarning
from unhub.foundation.wording import argument
from unhub.methods import HyperParameters, hyper_parameters

P = ParamSpec("P")
T = TypeVar("T")


def facade(function: Callable[P, T]) -> Callable[P, T]:
    """The function; a keyword that it does not have is an error with the name that was probably meant."""
    signature = inspect.signature(function).parameters
    takes_hyper_parameters = any(each.kind is each.VAR_KEYWORD for each in signature.values())
    arguments = [name for name, each in signature.items() if each.kind is not each.VAR_KEYWORD]
    usual = {*arguments, *(HyperParameters.__annotations__ if takes_hyper_parameters else ())}

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in kwargs.keys() - usual:
            known = arguments + (hyper_parameters() if takes_hyper_parameters else [])
            if name not in known:
                near = difflib.get_close_matches(name, known, 1, cutoff=0.5)
                hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}."
                raise InputError(f"{function.__name__} has no argument {name}; {hint}")
        return function(*args, **kwargs)

    return checked


def warn(notes: Iterable[str], *, stacklevel: int = 4) -> None:
    """Shows each note once, as a warning at the line that called the function decorated by ``facade``."""
    for note in dict.fromkeys(notes):
        warnings.warn(UnhubWarning(note), stacklevel=stacklevel)


def dataset_of(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Dataset:
    """The Dataset given as ``data``, or one made of the array arguments; not both.

    function: the façade. arguments: its arguments by name, as ``locals()`` has them.
    """
    data = arguments.get("data")
    given = {name: arguments[name] for name in _parameters(function) if name in _OF_DATASETS}
    if data is None:
        return Dataset(**given)
    if not isinstance(data, Dataset):
        advice = "give a Dataset, as in unhub.Dataset.open('experiment.toml'), and arrays by name, such as "
        raise InputError("data", f"is a {type(data).__name__}", advice + argument("targets"))
    for name, value in given.items():
        default = _parameters(function)[name].default
        if value is not default and value != default:
            raise InputError(name, "came beside a Dataset, which has its own", "leave one of them out")
    return data


@functools.cache
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


_OF_DATASETS = frozenset(_parameters(Dataset)) - {"metrics"}
"""arguments that a façade passes on to a Dataset; ``metrics`` of ``evaluate`` are those to compute"""
