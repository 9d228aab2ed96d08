"""Optional packages, asked for in one place."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from unhub.foundation.errors import MissingDependencyError


def require(module: str, *, extra: str) -> Any:
    """The imported module, or an error that prints the pip command of the extra that brings it.

    >>> require("json", extra="files").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"this needs the package {module.partition('.')[0]!r}, which cannot be imported here; "
            f"install it with: pip install 'unhub[{extra}]'"
        ) from error


def installed(module: str) -> bool:
    """Whether a package could be imported; nothing is imported to find out."""
    return importlib.util.find_spec(module) is not None
