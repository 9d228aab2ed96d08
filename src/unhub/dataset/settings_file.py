"""TOML and YAML that somebody else may have written: read only if it is no larger and no deeper than settings are."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.regular_files import open_regular

LARGEST = 4_000_000
"""bytes of a file of settings: far more than anybody writes"""

MOST, DEEPEST = 100_000, 32
"""values in it, each counted as often as it is named, and how far they lie inside each other"""

LONGEST = 64
"""bits of a whole number, as TOML has it"""


def read_settings(file: Path, kind: Literal["TOML", "YAML"]) -> Any:
    """What the file holds; every mistake in it is one sentence."""
    with open_regular(file) as opened:
        data = opened.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"{file} is larger than {LARGEST:,} bytes, which is too much for settings; give another file.")
    text = data.decode("utf-8-sig", errors="replace")
    try:
        settings = _yaml(text) if kind == "YAML" else tomllib.loads(text.replace("\r\n", "\n"))
        _count(settings, _members, {}, 0)
    except RecursionError as error:
        raise InputError(f"{file} is not usable {kind}: it is nested too deeply; write plain settings.") from error
    except _Excess as error:
        raise InputError(f"{file} is not usable {kind}: {error}; write plain settings.") from error
    except Exception as error:  # tomllib's and PyYAML's own, which share no base
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{file} is not valid {kind}: {reason}.") from error
    return settings


class _Excess(Exception):
    """Settings that no person writes."""


def _yaml(text: str) -> Any:
    """The values; an alias, which names a part again, is followed only if all of it together stays small."""
    yaml = require("yaml", extra="experiments")
    _count(yaml.compose(text, Loader=yaml.SafeLoader), _nodes, {}, 0)
    return yaml.safe_load(text)


def _nodes(node: Any) -> Iterable[Any]:
    """The parts of a YAML node: pairs of a mapping, entries of a list, nothing in a plain value."""
    held = getattr(node, "value", None)
    return held if isinstance(held, list | tuple) else node if isinstance(node, tuple) else ()


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, int) and value.bit_length() > LONGEST:
        raise _Excess(f"it has a number of {value.bit_length():,} bits")
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()


def _count(value: Any, members: Any, known: dict[int, int | None], depth: int) -> int:
    """How many values there are in all; each is looked at once, however often it is named."""
    if depth > DEEPEST:
        raise _Excess(f"it is nested deeper than {DEEPEST} levels")
    if id(value) in known:
        seen = known[id(value)]
        if seen is None:
            raise _Excess("it has a part that holds itself")
        return seen
    inside = members(value)
    if not inside:
        return 1
    known[id(value)] = None
    total = 1 + sum(_count(each, members, known, depth + 1) for each in inside)
    if total > MOST:
        raise _Excess(f"it stands for more than {MOST:,} values")
    known[id(value)] = total
    return total
