"""Values from somebody's file in an error sentence: short, however long or deep they are."""

from __future__ import annotations

import reprlib
from typing import Any

_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 3, 60, 60


def shown(value: Any) -> str:
    """The value as Python writes it, with dots for what is too long or too deep.

    >>> shown("a"), shown([[[[1]]]]), shown(1 << 20_000)
    ("'a'", '[[[[...]]]]', 'a number of 6,021 digits')
    """
    if isinstance(value, int) and abs(value) >= 1 << 1000:
        return f"a number of {int(value.bit_length() * 0.30103) + 1:,} digits"
    try:
        return _SHORT.repr(value)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__}"
