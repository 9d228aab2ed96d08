"""Plain data that every reader of JSON takes."""

from __future__ import annotations

import math
from typing import Any


def finite(value: Any) -> Any:
    """The value with None for numbers that are not finite, lists for tuples, and texts for keys.

    >>> finite({1: (0.5, float("nan"))})
    {'1': [0.5, None]}
    """
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
