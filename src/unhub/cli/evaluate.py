"""``unhub evaluate``: methods x metrics, as a table, a file or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli import console, options, output
from unhub.cli.evaluation_text import FORMATS, ENDINGS, comparison, text_of
from unhub.cli.inputs import relevance, with_weights
from unhub.cli.progress import working
from unhub.foundation.errors import InputError

if TYPE_CHECKING:
    from unhub.api.evaluation import Evaluation

SOURCES = (
    "scores", "queries", "targets", "query_bank", "target_bank", "query_bank_scores", "cross_bank_scores",
    "target_bank_scores", "query_ids", "target_ids", "query_weight", "target_prior",
)  # fmt: skip
SETTINGS = (
    "direction", "ties", "group_targets", "ignore_self", "allow_overlap", "metric", "normalize", "memory",
    "resamples", "seed",
)  # fmt: skip
