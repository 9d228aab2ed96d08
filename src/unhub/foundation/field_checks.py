"""Fields of a record that came from a file, each checked by type and range; a ValueError says which one is wrong.

A missing field is a KeyError, unless ``otherwise`` is its value then.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from typing import Any

Fields = Mapping[str, Any]

_NOT_TEXT = ("Cc", "Cs", "Zl", "Zp")  # Unicode categories: control characters, lone surrogates, line separators


def text(fields: Fields, name: str, *, longest: int, otherwise: str | None = None) -> str:
    """A text of at most so many characters, none of them a control character."""
    value = _value(fields, name, otherwise)
    _expect(_is_text(value, longest), name, f"a text of at most {longest} characters")
    return str(value)


def optional_text(fields: Fields, name: str, *, longest: int) -> str | None:
    """A text, or None."""
    return None if fields.get(name) is None else text(fields, name, longest=longest)


def optional_line(fields: Fields, name: str, *, longest: int) -> str | None:
    """A path or a sentence, which may hold any character but NUL; or None."""
    value = fields.get(name)
    _expect(value is None or _is_line(value, longest), name, f"a text of at most {longest} characters")
    return value


def lines(fields: Fields, name: str, *, most: int, longest: int) -> list[str]:
    """A list of at most so many sentences."""
    value = fields[name]
    valid = isinstance(value, list) and len(value) <= most and all(_is_line(each, longest) for each in value)
    _expect(valid, name, f"a list of at most {most} texts")
    return list(value)


def tables(fields: Fields, name: str, *, most: int) -> list[dict[str, Any]]:
    """A list of at most so many records; empty if there is no such field."""
    value = fields.get(name) or []
    valid = isinstance(value, list) and len(value) <= most and all(isinstance(each, dict) for each in value)
    _expect(valid, name, f"a list of at most {most} tables")
    return list(value)


def one_of(fields: Fields, name: str, known: Collection[str], otherwise: str | None = None) -> Any:
    """One of the known texts."""
    value = _value(fields, name, otherwise)
    _expect(isinstance(value, str) and value in known, name, f"one of {', '.join(known)}")
    return value


def whole(fields: Fields, name: str, *, least: int, most: int, otherwise: int | None = None) -> int:
    """A whole number within a range; True is none."""
    value = _value(fields, name, otherwise)
    _expect(type(value) is int and least <= value <= most, name, f"a whole number from {least} to {most}")
    return int(value)


def number(fields: Fields, name: str, *, least: float, most: float, otherwise: float | None = None) -> float:
    """A finite number within a range; True is none."""
    value = _value(fields, name, otherwise)
    _expect(type(value) in (int, float) and least <= value <= most, name, f"a number from {least:g} to {most:g}")
    return float(value)


def optional_number(fields: Fields, name: str, *, least: float, most: float) -> float | None:
    """A number within a range, or None."""
    return None if fields.get(name) is None else number(fields, name, least=least, most=most)


def switch(fields: Fields, name: str, *, otherwise: bool | None = None) -> bool:
    """True or false."""
    value = _value(fields, name, otherwise)
    _expect(isinstance(value, bool), name, "true or false")
    return bool(value)


def table(
    fields: Fields, name: str, *, most: int, longest: int, otherwise: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A dictionary of plain values: texts, numbers, true, false, null."""
    value = _value(fields, name, otherwise)
    _expect(isinstance(value, dict) and len(value) <= most, name, f"a table of at most {most} values")
    for each in (*value, *value.values()):
        plain = each is None or isinstance(each, bool | int | float) or _is_text(each, longest)
        _expect(plain, name, "a table of plain values")
    return dict(value)


def _value(fields: Fields, name: str, otherwise: Any) -> Any:
    return fields[name] if otherwise is None else fields.get(name, otherwise)


def _expect(valid: bool, name: str, wanted: str) -> None:
    if not valid:
        raise ValueError(f"its {name} is not {wanted}")


def _is_text(value: Any, longest: int) -> bool:
    if not isinstance(value, str) or len(value) > longest:
        return False
    return all(unicodedata.category(each) not in _NOT_TEXT for each in value)


def _is_line(value: Any, longest: int) -> bool:
    return isinstance(value, str) and len(value) <= longest and "\0" not in value
