"""Where scores come from: banks give blocks of scores (bank rows x gallery), folds run over them."""

from unhub.banks.bank import Bank, Banks, Journal, blocks
from unhub.banks.cached import Budget, CachedBank
from unhub.banks.embedding import EmbeddingBank
from unhub.banks.folds import (
    activation_set,
    column_logsumexp,
    column_means,
    column_moments,
    column_top,
)
from unhub.banks.joined import JoinedBank
from unhub.banks.masked import MaskedBank
from unhub.banks.matrix import MatrixBank
from unhub.banks.passes import Passes
from unhub.banks.search import search
from unhub.banks.sliced import columns
from unhub.banks.spread import Spread, spread
from unhub.banks.watched import WatchedBank

__all__ = [
    "Bank",
    "Banks",
    "Budget",
    "CachedBank",
    "EmbeddingBank",
    "JoinedBank",
    "Journal",
    "MaskedBank",
    "MatrixBank",
    "Passes",
    "Spread",
    "WatchedBank",
    "activation_set",
    "blocks",
    "column_logsumexp",
    "column_means",
    "column_moments",
    "column_top",
    "columns",
    "search",
    "spread",
]
