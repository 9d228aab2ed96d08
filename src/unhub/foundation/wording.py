"""Sentences that name arguments in the words of the door that shows them.

A function knows its arguments by their Python names; at a terminal they are options, in an experiment file they are
keys. So a sentence holds marks instead of names, and the door that shows it fills them in:

    f"pass {setting('tau', 'auto')}"    Python: pass tau='auto'    terminal: pass --tau auto
    f"{argument('query_bank')} is ..."  Python: query_bank is ...  terminal: --query-bank is ...
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any

OPEN, EQUALS, CLOSE = "\ue000", "\ue001", "\ue002"
"""characters of Unicode's private use area, which no sentence contains otherwise"""

_MARK = re.compile(f"{OPEN}(\\w+)(?:{EQUALS}([^{CLOSE}]*))?{CLOSE}")

Door = Callable[[str, str | None], str]
"""(name of an argument, its value or None) -> what it is called at this door; a value is text, 'True' for a switch"""


def argument(name: str) -> str:
    """A mark for the name of an argument, to be put into a sentence; what is no Python name stays as it is."""
    return f"{OPEN}{name}{CLOSE}" if name.isidentifier() else name


def setting(name: str, value: Any) -> str:
    """A mark for an argument with a value, to be put into a sentence."""
    return f"{OPEN}{name}{EQUALS}{value}{CLOSE}"


def spoken(text: str, door: Door) -> str:
    """The text with its marks in the words of a door."""
    return _MARK.sub(lambda mark: door(mark[1], mark[2]), text)


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A question with the known name that is nearest; other words where none is near.

    >>> did_you_mean("auhtors", ["paper", "authors"]), did_you_mean("mine", ["paper"], "use paper")
    ('did you mean authors?', 'use paper')
    """
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]}?" if near else otherwise


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "query"), counted(2_000, "query"), counted(0, "row")
    ('1 query', '2,000 queries', '0 rows')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def there_are(number: int, noun: str) -> str:
    """The start of a sentence about a number of things.

    >>> there_are(1, "id"), there_are(3, "id")
    ('there is 1 id', 'there are 3 ids')
    """
    return f"there {'is' if number == 1 else 'are'} {counted(number, noun)}"


def no_such(what: str, name: str, known: Iterable[str], listed: str = "") -> str:
    """The sentence for a name that does not exist; listed: the known names, where they are more than names.

    >>> no_such("figure", "rader", ["radar", "top5"])
    "there is no figure 'rader'; did you mean radar? There are radar, top5."
    """
    hint = did_you_mean(name, known)
    return f"there is no {what} {name!r}; {f'{hint} There' if hint else 'there'} are {listed or ', '.join(known)}."


def in_python(name: str, value: str | None) -> str:
    """An argument as Python has it.

    >>> spoken(f"pass {setting('tau', 'auto')} or {setting('k', 3)}", in_python)
    "pass tau='auto' or k=3"
    """
    if value is None:
        return name
    return f"{name}={value}" if _is_literal(value) else f"{name}={value!r}"


def on_command_line(name: str, value: str | None) -> str:
    """An argument as the command line has it.

    >>> spoken(f"pass {setting('query_bank', 'FILE')} or {setting('allow_overlap', True)}", on_command_line)
    'pass --query-bank FILE or --allow-overlap'
    """
    flag = f"--{name.replace('_', '-')}"
    return flag if value in (None, "True") else f"{flag} {value}"


def _is_literal(value: str) -> bool:
    """Whether a value stands in Python without quotes: a number, True, False, None, or three dots."""
    return re.fullmatch(r"True|False|None|\.\.\.|[-+]?[\d.]+(e[-+]?\d+)?", value) is not None
