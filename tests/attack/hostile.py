"""Values that nobody expects, and the places in plain data where they can be put."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Path_ = tuple[str | int, ...]
DELETED = object()
DEEP = 100_000


class Deep:
    """Stands for a list in a list in a list; JSON writers would give up on the real one."""


CONTROL = "\x1b[31mred\x07\u0085\u202e\r\nunhub: everything is fine"
NUMBERS = (0, -1, 1, 2**31, -(2**63), 2**63, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), -float("inf"))
TEXTS = ("", "x", "x" * 100_000, CONTROL, "\x00", "../../etc/passwd", "%s%n{0}${HOME}", "\ud800", "auto", "sn")
OTHERS = (None, True, False, [], {}, [[]], [None], {"": None}, Deep())


def values(addresses: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Everything that may be put somewhere: numbers, texts, empty and deep values, and addresses."""
    return (DELETED, *NUMBERS, *TEXTS, *OTHERS, *addresses)


def places(data: Any, before: Path_ = ()) -> Iterator[Path_]:
    """The path of every value in plain data: inner ones and leaves."""
    inner = data.items() if isinstance(data, dict) else enumerate(data[:3]) if isinstance(data, list) else ()
    for key, value in inner:
        yield (*before, key)
        yield from places(value, (*before, key))


def replaced(data: Any, path: Path_, value: Any) -> Any:
    """A copy of plain data with one value replaced, or deleted."""
    made = copy.deepcopy(data)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if value is DELETED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return made


def as_json(data: Any) -> str:
    """JSON with NaN, with whatever numbers there are, and with nesting as deep as asked for."""
    import json

    text = json.dumps(data, default=lambda each: "DEEP" if isinstance(each, Deep) else repr(each))
    return text.replace('"DEEP"', "[" * DEEP + "]" * DEEP)


def shown(value: Any) -> str:
    """A value, short enough for a line."""
    if value is DELETED:
        return "deleted"
    text = "nested lists" if isinstance(value, Deep) else repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."
