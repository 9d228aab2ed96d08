"""Milvus's own words: literals of its expressions, filters with values in them, and which of its errors mean what."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from unhub.foundation.errors import InputError

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_TOO_LARGE = ("larger than max", "maxoutputsize")
"""how a server says that a message has more bytes than it takes"""


def literal(value: Any) -> str:
    """A value as Milvus's expressions have it.

    >>> literal(['a"b', 2, True])
    '["a\\\\"b", 2, true]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, int | float):
        return repr(value)
    if hasattr(value, "tolist"):
        return literal(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return f"[{', '.join(map(literal, value))}]"
    raise InputError(f"{value!r} came as a value of a filter; give texts, numbers, true, false, or lists of them.")


def expression(filter: Any) -> str:
    """The text of a filter: an expression of Milvus, or a pair of one with ``{name}`` in it and the values.

    The values are filled in here, because Milvus Lite and servers before 2.5 cannot do it.

    >>> expression(("color in {colors}", {"colors": ["red", "blue"]}))
    'color in ["red", "blue"]'
    """
    if filter is None:
        return ""
    if isinstance(filter, str):
        return filter
    if not (isinstance(filter, tuple) and len(filter) == 2 and isinstance(filter[1], Mapping)):
        raise InputError(
            f"a filter came as {type(filter).__name__}; give an expression of Milvus such as 'price < 10', "
            "or a pair of one with {name} in it and a dictionary of values."
        )
    text, values = filter
    missing = [each for each in re.findall(r"\{(\w+)\}", text) if each not in values]
    if missing:
        raise InputError(f"the filter {text!r} has no value for {missing[0]!r}; give one in the dictionary.")
    return re.sub(r"\{(\w+)\}", lambda match: literal(values[match[1]]), text)


def too_large(error: BaseException) -> bool:
    """Whether fewer rows at once would have gone through."""
    said = str(error).casefold()
    return any(mark in said for mark in _TOO_LARGE)
