"""Fields of a record that came from a file, each by its type and its range; a ValueError says which one is wrong.

A field that the record does not have is a KeyError, unless ``otherwise`` says what it is then.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from typing import Any

_NOT_TEXT = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories that no name or address has: control characters, lone surrogates, line separators"""


def text(fields: Mapping[str, Any], name: str, *, longest: int, otherwise: str | None = None) -> str:
    """A text of at most so many characters, none of them a control character."""
    value = _value(fields, name, otherwise)
    if not isinstance(value, str) or len(value) > longest or not printable(value):
        raise ValueError(f"its {name} is not a text of at most {longest} characters")
    return value


def optional_text(fields: Mapping[str, Any], name: str, *, longest: int) -> str | None:
    """A text, or None."""
    return None if fields.get(name) is None else text(fields, name, longest=longest)


def optional_line(fields: Mapping[str, Any], name: str, *, longest: int) -> str | None:
    """A path or a sentence, which may hold any character but NUL; or None."""
    value = fields.get(name)
    if value is not None and not _is_line(value, longest):
        raise ValueError(f"its {name} is not a text of at most {longest} characters")
    return value


def lines(fields: Mapping[str, Any], name: str, *, most: int, longest: int) -> list[str]:
    """A list of at most so many sentences."""
    value = fields[name]
    if not isinstance(value, list) or len(value) > most or not all(_is_line(each, longest) for each in value):
        raise ValueError(f"its {name} is not a list of at most {most} texts")
    return value


def tables(fields: Mapping[str, Any], name: str, *, most: int) -> list[dict[str, Any]]:
    """A list of at most so many records; none where there is no such field."""
    value = fields.get(name) or []
    if not isinstance(value, list) or len(value) > most or not all(isinstance(each, dict) for each in value):
        raise ValueError(f"its {name} is not a list of at most {most} tables")
    return value


def one_of(fields: Mapping[str, Any], name: str, known: Collection[str], otherwise: str | None = None) -> Any:
    """One of the known texts."""
    value = _value(fields, name, otherwise)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"its {name} is not one of {', '.join(known)}")
    return value


def whole(fields: Mapping[str, Any], name: str, *, least: int, most: int, otherwise: int | None = None) -> int:
    """A whole number within a range; True is none."""
    value = _value(fields, name, otherwise)
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"its {name} is not a whole number from {least} to {most}")
    return value


def number(fields: Mapping[str, Any], name: str, *, least: float, most: float, otherwise: float | None = None) -> float:
    """A number within a range; True is none, and neither is what is not finite."""
    value = _value(fields, name, otherwise)
    if type(value) not in (int, float) or not least <= value <= most:
        raise ValueError(f"its {name} is not a number from {least:g} to {most:g}")
    return float(value)


def optional_number(fields: Mapping[str, Any], name: str, *, least: float, most: float) -> float | None:
    """A number within a range, or None."""
    return None if fields.get(name) is None else number(fields, name, least=least, most=most)


def switch(fields: Mapping[str, Any], name: str, *, otherwise: bool | None = None) -> bool:
    """True or false."""
    value = _value(fields, name, otherwise)
    if not isinstance(value, bool):
        raise ValueError(f"its {name} is neither true nor false")
    return value


def table(
    fields: Mapping[str, Any], name: str, *, most: int, longest: int, otherwise: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A dictionary of plain values: texts, numbers, true, false, nothing."""
    value = _value(fields, name, otherwise)
    if not isinstance(value, dict) or len(value) > most:
        raise ValueError(f"its {name} is not a table of at most {most} values")
    for each in (*value, *value.values()):
        readable = isinstance(each, str) and len(each) <= longest and printable(each)
        if not readable and not (each is None or isinstance(each, bool | int | float)):
            raise ValueError(f"its {name} holds something else than plain values")
    return dict(value)


def printable(value: str) -> bool:
    """Whether no character in it is a control character, a lone surrogate or a line separator.

    >>> printable("photos_unhub_1f3c9a2b"), printable("photos\\x1b[2J")
    (True, False)
    """
    return all(unicodedata.category(each) not in _NOT_TEXT for each in value)


def _value(fields: Mapping[str, Any], name: str, otherwise: Any) -> Any:
    return fields[name] if otherwise is None else fields.get(name, otherwise)


def _is_line(value: Any, longest: int) -> bool:
    return isinstance(value, str) and len(value) <= longest and "\0" not in value
