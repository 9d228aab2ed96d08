"""Marginals other than uniform: how much each bank query counts, and how often each target should come up."""

from __future__ import annotations

import numpy as np

from unhub.foundation.types import FloatArray
from unhub.scores import Banks


def query_marginal(banks: Banks) -> FloatArray:
    """a: (bank,) of sum one, from the query weights, or uniform."""
    m = banks.queries.shape[0]
    return np.full(m, 1 / m) if banks.query_weight is None else banks.query_weight / banks.query_weight.sum()


def target_marginal(banks: Banks, extra: int = 0) -> FloatArray:
    """b: (gallery + extra,) of sum one, from the target prior, or uniform; ``extra`` bank targets weigh one each."""
    n = banks.queries.shape[1]
    prior = np.ones(n) if banks.target_prior is None else banks.target_prior
    return np.concatenate((prior, np.ones(extra))) / (n + extra)


def log_prior(banks: Banks) -> FloatArray | float:
    """log of the prior, relative to an average target of one; zero when the prior is uniform."""
    return 0.0 if banks.target_prior is None else np.log(banks.target_prior)


def row_potential(banks: Banks, tau: float) -> FloatArray | None:
    """tau log(m a_u), or None when every bank query counts the same."""
    if banks.query_weight is None:
        return None
    potential: FloatArray = tau * np.log(query_marginal(banks) * banks.queries.shape[0])
    return potential
