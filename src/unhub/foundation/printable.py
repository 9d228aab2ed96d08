"""Text from outside, such as ids, names of files and answers of servers, made safe to show."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with every character that is not seen as itself written as an escape.

    Control characters would repaint a terminal, bidirectional ones and those of no width would make a text look like
    another one, and line ends would make two sentences of one.

    >>> printable("caf\\u00e9 \\x1b[2J\\u202e\\n")
    'café \\\\x1b[2J\\\\u202e\\\\n'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
