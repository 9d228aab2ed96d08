"""Optional packages, asked for in one place."""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import Any

from unhub.foundation.errors import MissingDependencyError


def require(module: str, *, extra: str, at_least: str | None = None, why: str = "") -> Any:
    """The imported module, or an error that prints the pip command of the extra that brings it.

    at_least: the lowest version that is used, such as "2.10"; ``why`` is what is wrong with those before it.

    >>> require("json", extra="files").dumps([1])
    '[1]'
    """
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"this needs the package {module.partition('.')[0]!r}, which cannot be imported here; "
            f"install it with: pip install 'unhub[{extra}]'"
        ) from error
    if at_least is None:
        return found
    version = str(getattr(found, "__version__", ""))
    if _numbers(version) < _numbers(at_least):
        raise MissingDependencyError(
            f"{module} {version} is installed, and {at_least} or later is needed here: {why}; "
            f"install it with: pip install -U 'unhub[{extra}]'"
        )
    return found


def _numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version: (2, 10) of "2.10.0+cpu"."""
    return tuple(int(each) for each in re.findall(r"\d+", version)[:2])


def installed(module: str) -> bool:
    """Whether a package could be imported; nothing is imported to find out."""
    return importlib.util.find_spec(module) is not None
