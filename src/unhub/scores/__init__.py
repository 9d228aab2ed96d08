"""Where scores come from: sources give blocks of scores (bank rows x gallery), folds run over them."""

from unhub.core.execution import FitObserver
from unhub.scores.dual import row_logsumexps
from unhub.scores.embedding import EmbeddingScores
from unhub.scores.folds import Fold, activation_set, column_logsumexp, column_means, column_moments, column_top, fold
from unhub.scores.parts import in_parts
from unhub.scores.search import search
from unhub.scores.selection import in_memory, select, select_banks, without
from unhub.scores.sinkhorn_operator import SinkhornOperator
from unhub.scores.source import Banks, MatrixScores, ScoreSource, blocks, whole_matrix
from unhub.scores.spread import Spread, spread
from unhub.scores.views import (
    Budget,
    CachedScores,
    CappedScores,
    JoinedScores,
    MaskedScores,
    ProgressSource,
    cap,
    columns,
    rows,
    with_progress,
)  # fmt: skip

__all__ = [
    "Banks", "Budget", "CachedScores", "CappedScores", "EmbeddingScores", "FitObserver", "Fold", "JoinedScores",
    "MaskedScores", "MatrixScores", "ProgressSource", "ScoreSource", "SinkhornOperator", "Spread", "activation_set",
    "blocks", "cap", "column_logsumexp", "column_means", "column_moments", "column_top", "columns", "fold",
    "in_memory", "in_parts", "row_logsumexps", "rows", "search", "select", "select_banks", "spread",
    "whole_matrix", "with_progress", "without",
]  # fmt: skip
