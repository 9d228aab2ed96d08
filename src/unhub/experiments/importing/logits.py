"""Scores that are no cosines: divided by CLIP's scale where they fit it, left alone and told where they do not."""

from __future__ import annotations

from dataclasses import dataclass

from unhub.api.temperature import COSINE_LIMIT

AUTO = "auto"
CLIP_SCALE = 100.0
LEAST, MOST = 14.5, 105.0
"""the largest of a hundred times some cosines: they are rarely all below .145, and rounding takes them little past 1;
below that, a model may have begun with CLIP's first scale, 14.3, and kept it"""

APART = 10.0
"""times by which the largest scores of a bank and of the test set differ at the most, if they are of one scale"""


@dataclass(frozen=True)
class Scale:
    """What scores are divided by, whether they are cosines then, and a sentence if there is something to say."""

    divisor: float
    cosines: bool
    said: str | None = None


def scale_of(low: float, high: float, asked: str | float) -> Scale:
    """The scale of scores in this range: the one that is asked for, or what "auto" makes of them.

    >>> scale_of(-12.0, 41.0, "auto").divisor
    100.0
    """
    divisor = _automatic(low, high) if asked == AUTO else float(asked)
    largest = max(-low, high) / divisor
    cosines = largest <= COSINE_LIMIT
    said = None
    if divisor != 1:
        ground = "CLIP's scale" if asked == AUTO else "as asked"
        said = f"scores ran from {_range(low, high)} and were divided by {divisor:g} ({ground}): "
        said += f"they run from {_range(low / divisor, high / divisor)}"
    elif not cosines:
        said = f"scores run from {_range(low, high)} and are no cosines; they were left as they are"
    if not cosines:
        said = f'{said}, and tau = "auto" follows them'
    return Scale(divisor, cosines, said)


def other_scale(bank: str, largest: float, of_test: float) -> str | None:
    """A sentence if the scores of a bank are far larger or smaller than those of the test set."""
    if not of_test or not largest or 1 / APART < largest / of_test < APART:
        return None
    return (
        f"scores of the bank {bank} go up to {largest:.3g} and those of the test set to {of_test:.3g} in the files: "
        f"look whether they are of one scale"
    )


def _automatic(low: float, high: float) -> float:
    return CLIP_SCALE if high >= LEAST and max(-low, high) <= MOST else 1.0


def _range(low: float, high: float) -> str:
    return f"{low:.3g} to {high:.3g}"
