"""Which scripts texts are written in: Latin, Cyrillic, Thai, ..."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence


def script_shares(texts: Sequence[str]) -> dict[str, float]:
    """The share of each script among the letters of some texts, by the first word of Unicode's names of them.

    >>> script_shares(["ab", "да"])
    {'LATIN': 0.5, 'CYRILLIC': 0.5}
    """
    counts = Counter(
        unicodedata.name(letter, "").partition(" ")[0] for text in texts for letter in text if letter.isalpha()
    )
    total = sum(counts.values())
    return {script: count / total for script, count in counts.items()}


def shared_script(left: Sequence[str], right: Sequence[str]) -> float:
    """How much of the letters of two sets of texts is in the same scripts, from 0 to 1; 1 without letters."""
    own, others = script_shares(left), script_shares(right)
    if not own or not others:
        return 1.0
    return sum(min(share, others.get(script, 0.0)) for script, share in own.items())
