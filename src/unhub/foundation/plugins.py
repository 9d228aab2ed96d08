"""What other packages offer by entry points: found by name, and imported only when that name is asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from unhub.foundation.errors import InputError


def offered(group: str) -> tuple[str, ...]:
    """The names that installed packages offer in a group; nothing is imported."""
    return tuple(_entries(group, tuple(sys.path)))


def load_offered(group: str, name: str) -> Any:
    """What an installed package offers under this name, imported now; None where nobody does."""
    entry = _entries(group, tuple(sys.path)).get(name)
    if entry is None:
        return None
    try:
        return entry.load()
    except Exception as error:  # somebody else's module may raise anything
        package = "a package" if entry.dist is None else f"the package {entry.dist.name}"
        raise InputError(
            f"{package} offers {entry.name} in {entry.group}, but {entry.value} cannot be imported "
            f"({type(error).__name__}: {error}); update or uninstall it."
        ) from error


@lru_cache(maxsize=8)
def _entries(group: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name; cached, since every installed package is looked at."""
    return {each.name: each for each in entry_points(group=group)}
