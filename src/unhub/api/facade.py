"""What every function that users call has in common: mistyped arguments are answered, and notes become warnings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from unhub.dataset import Dataset
from unhub.foundation import facade as base
from unhub.foundation.errors import InputError
from unhub.foundation.facade import warn as warn
from unhub.foundation.wording import argument
from unhub.methods import hyper_parameters

P = ParamSpec("P")
T = TypeVar("T")


def facade(function: Callable[P, T]) -> Callable[P, T]:
    """The function; a keyword that it does not have is an error with the name that was probably meant."""
    return base.facade(function, hyper_parameters)


def dataset_of(data: Dataset | None, keywords: Mapping[str, Any], defaults: Mapping[str, Any]) -> Dataset:
    """The dataset that was given, or one of the keywords; not both.

    defaults: what each keyword is where it was not given.
    """
    if data is None:
        return Dataset(**keywords)
    if not isinstance(data, Dataset):
        raise InputError(
            "data",
            f"is a {type(data).__name__}",
            f"give a Dataset, as in unhub.Dataset.open('experiment.toml'), and arrays by name, such as "
            f"{argument('targets')}",
        )
    for name, value in keywords.items():
        if value is not defaults.get(name) and value != defaults.get(name):
            raise InputError(name, "came beside a Dataset, which has its own", "leave one of them out")
    return data
