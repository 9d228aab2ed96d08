"""Sentences of the functions below, in the words of an experiment file, where nobody passes arguments or options."""

from __future__ import annotations

import re

ARGUMENT = re.compile(
    r"""(?P<verb>pass )?(?P<name>\w+)=(?P<value>True|'\w+'|"\w+") \(--[\w-]+(?: \w+)?(?:; (?P<more>[^)]*))?\)"""
)
BANKS = {"query_bank": "queries", "target_bank": "targets"}


def in_file(sentence: str, bank: str | None = None) -> str:
    """The sentence with settings for arguments and options, and with the parts of a bank for their names.

    >>> in_file("take them out, or pass allow_overlap=True (--allow-overlap) if that is meant.")
    'take them out, or write allow_overlap = true in the section [settings] if that is meant.'
    >>> in_file("8 are also in query_bank (first rows: 2)", "val")
    '8 are also in banks.val.queries (first rows: 2)'
    """
    said = ARGUMENT.sub(_setting, sentence)
    if bank is None:
        return said
    return re.sub(r"\b(query_bank|target_bank)\b", lambda found: f"banks.{bank}.{BANKS[found[1]]}", said)


def _setting(found: re.Match[str]) -> str:
    value = "true" if found["value"] == "True" else f'"{found["value"][1:-1]}"'
    told = f"{found['name']} = {value} in the section [settings]"
    more = f" ({found['more']})" if found["more"] else ""
    return ("write " if found["verb"] else "") + told + more
