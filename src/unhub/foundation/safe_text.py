"""Text from outside, such as ids, file names and answers of servers, made safe to show."""

from __future__ import annotations

import re
import reprlib
from typing import Any


def printable(text: str) -> str:
    """The text with every unprintable character as an escape.

    Control characters would repaint a terminal, bidirectional and zero-width ones would make a text look like another
    one, and line ends would make two sentences of one.

    >>> printable("caf\\u00e9 \\x1b[2J\\u202e\\n")
    'café \\\\x1b[2J\\\\u202e\\\\n'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 3, 60, 60


def short_repr(value: Any) -> str:
    """The value as Python writes it, with dots for what is too long or too deep.

    >>> short_repr("a"), short_repr([[[[1]]]]), short_repr(1 << 20_000)
    ("'a'", '[[[[...]]]]', 'a number of 6,021 digits')
    """
    if isinstance(value, int) and abs(value) >= 1 << 1000:
        return f"a number of {int(value.bit_length() * 0.30103) + 1:,} digits"
    try:
        return _SHORT.repr(value)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__}"


def slug(name: str) -> str:
    """A name as part of a file name: letters, digits, underscores and hyphens, in any script.

    >>> slug("val & val"), slug("sparse_k(k=1)"), slug("train & -"), slug("文 → 图")
    ('val_val', 'sparse_k_k_1', 'train', '文_图')
    """
    return re.sub(r"[^\w-]+", "_", name).strip("_-") or "unnamed"


def reason_of(error: Exception, longest: int = 200) -> str:
    """The message of an error on one line, without its full stop, cut after so many characters; else its type.

    >>> reason_of(ValueError("no such\\n file.")), reason_of(KeyError())
    ('no such file', 'KeyError')
    """
    text = " ".join(str(error).split()).rstrip(".:")
    return (text if len(text) <= longest else f"{text[:longest]}...") or type(error).__name__
