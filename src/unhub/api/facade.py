"""What all public functions share: mistyped arguments get a hint, and notes become warnings."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from unhub.dataset import Dataset
from unhub.foundation import facade as base
from unhub.foundation.errors import InputError
from unhub.foundation.facade import warn as warn
from unhub.foundation.wording import argument
from unhub.methods import HyperParameters, Method, configure, hyper_parameters

P = ParamSpec("P")
T = TypeVar("T")


def facade(function: Callable[P, T]) -> Callable[P, T]:
    """The function; a keyword that it does not have is an error with the name that was probably meant."""
    return base.facade(function, hyper_parameters, HyperParameters.__annotations__)


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
        raise InputError("data", f"is of type {type(data).__name__}", advice + argument("targets"))
    for name, value in given.items():
        default = _parameters(function)[name].default
        if value is not default and (default is None or value != default):
            raise InputError(name, f"came beside {data.path or 'a Dataset'}", "give it there instead")
    return data


def open_dataset(data: Dataset | str | os.PathLike[str]) -> Dataset:
    """A dataset as it is, or that of an experiment file."""
    if isinstance(data, str | os.PathLike):
        return Dataset.open(data)
    if not isinstance(data, Dataset):
        raise InputError(
            "data", f"is of type {type(data).__name__}", "give a Dataset or the path of an experiment file"
        )
    return data


def with_settings(name: str | Method, method: Method, data: Dataset, given: Mapping[str, Any]) -> Method:
    """A method that was named, with the hyper-parameters of the dataset's settings; an object as it is."""
    settings = {key: value for key, value in data.hyper_parameters.items() if key not in given}
    with data.words():
        return configure(method, settings) if settings and isinstance(name, str) else method


@functools.cache
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


_OF_DATASETS = frozenset(_parameters(Dataset)) - {"metrics"}
"""arguments that a façade passes on to a Dataset; ``metrics`` of ``evaluate`` are those to compute"""
