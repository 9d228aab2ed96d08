"""Docstrings as the pages show them: examples become code blocks, and source keys become links."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?m)^>>> .*(?:\n(?!\s*$).*)*")
_SOURCES = re.compile(r"\[([a-z]+:\d{2}[^\]\n]*)\](?![\[(])")
_KEY = re.compile(r"\b([a-z]+):(\d{2})\b")


class ReadableDocstrings(griffe.Extension):
    """Prepares every docstring for Markdown."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrites the docstring of one object, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)


def readable(text: str) -> str:
    """The text with fenced examples, and with [smith:17; pan:25, Eq. 1] pointing to the list of references."""
    fenced = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
    return _SOURCES.sub(lambda found: "(" + _KEY.sub(r"[\1:\2][\1-\2]", found[1]) + ")", fenced)
