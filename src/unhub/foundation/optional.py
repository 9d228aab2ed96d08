"""Other packages that may be installed: optional dependencies, and plug-ins offered through entry points."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from unhub.foundation.errors import InputError, MissingDependencyError


def require(module: str, *, extra: str, at_least: str | None = None, why: str = "") -> Any:
    """The imported module, or an error with the pip command of the extra that brings it.

    at_least: the lowest version that is used, such as "2.10". why: what is wrong with older ones.

    >>> require("json", extra="files").dumps([1])
    '[1]'
    """
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"this needs the package {module.partition('.')[0]!r}, which cannot be imported here; "
            f"install it with: pip install 'unhub[{extra}]'"
        ) from error
    if at_least is None:
        return imported
    version = str(getattr(imported, "__version__", ""))
    if _numbers(version) < _numbers(at_least):
        raise MissingDependencyError(
            f"{module} {version} is installed, and {at_least} or later is needed here: {why}; "
            f"install it with: pip install -U 'unhub[{extra}]'"
        )
    return imported


def _numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version: (2, 10) of "2.10.0+cpu"."""
    return tuple(int(each) for each in re.findall(r"\d+", version)[:2])


def installed(module: str) -> bool:
    """Whether a package can be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


def plugins(group: str) -> tuple[str, ...]:
    """The names that installed packages offer in an entry-point group; nothing is imported."""
    return tuple(_entries(group, tuple(sys.path)))


def load_plugin(group: str, name: str) -> Any:
    """What an installed package offers under this name, imported now; None if no package does."""
    entry = _entries(group, tuple(sys.path)).get(name)
    if entry is None:
        return None
    try:
        return entry.load()
    except Exception as error:  # third-party code may raise anything
        package = "a package" if entry.dist is None else f"the package {entry.dist.name}"
        raise InputError(
            f"{package} offers {entry.name} in {entry.group}, but {entry.value} cannot be imported "
            f"({type(error).__name__}: {error}); update or uninstall it."
        ) from error


@lru_cache(maxsize=8)
def _entries(group: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name; cached, because every installed package is searched."""
    return {each.name: each for each in entry_points(group=group)}
