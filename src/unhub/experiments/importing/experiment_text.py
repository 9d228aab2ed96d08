"""The text of an experiment file, with where each of its arrays came from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Written:
    """One file of the folder: its name, its shape, and where it came from."""

    file: str
    shape: tuple[int, ...]
    source: str


def experiment_text(
    about: Mapping[str, Any],
    sections: Mapping[str, Mapping[str, Written]],
    settings: Mapping[str, Any],
    said: Sequence[str],
) -> str:
    """TOML. sections: the parts of the test set and of each bank. said: what was done on the way."""
    lines = ["# Imported from published files. Check it with: unhub check experiment.toml"]
    lines += [f"# - {_line(each)}" for each in said]
    lines += ["", "[dataset]", *_pairs(about)]
    for section, parts in sections.items():
        lines += ["", f"[{section}]"]
        for name, part in parts.items():
            lines += [f"# from {_line(part.source)}", f"{name} = {toml_value(part.file)}"]
    if settings:
        lines += ["", "[settings]", *_pairs(settings)]
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    r"""A text, a truth value or a list of texts as TOML writes it.

    >>> print(toml_value('a "b"\n'))
    "a \"b\"\n"
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    plain = value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {toml_value(value)}" for name, value in values.items()]


def _line(text: str) -> str:
    """The text in one line of a comment."""
    return toml_value(text)[1:-1].replace('\\"', '"')
