"""``relevance``, for ``cli/subjects.py`` alone: a Dataset understands the same texts itself."""

from __future__ import annotations

from typing import Any

from unhub.dataset.sources import relevance_source


def relevance(text: str, shape: tuple[int, int]) -> Any:
    """What ``--relevant`` means; shape: (queries, targets)."""
    return relevance_source(text, shape, allow_empty=False)
