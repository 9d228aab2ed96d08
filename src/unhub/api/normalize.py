"""``normalize``: corrected scores from scores, for every method in its matrix form."""

from __future__ import annotations

import warnings
from typing import Any, Unpack

import numpy as np

from unhub.api.correctors import corrected
from unhub.api.problem import check_needs, from_scores
from unhub.api.sources import Reader, same_rows
from unhub.api.temperature import settle_temperature, temperature_given
from unhub.foundation.errors import UnhubWarning
from unhub.foundation.types import FloatArray
from unhub.methods import HyperParameters, Method, method


def normalize(
    which: str | Method,
    *,
    scores: Any,
    query_bank_scores: Any = None,
    cross_bank_scores: Any = None,
    target_bank_scores: Any = None,
    query_weight: Any = None,
    target_prior: Any = None,
    memory: str | int | None = None,
    **given: Unpack[HyperParameters],
) -> FloatArray:
    """The corrected scores: (query, gallery), larger is better.

    Without query_bank_scores (bank, gallery) the rows of ``scores`` are the bank: transductive. Methods that are a
    bias give scores + bias; transport methods give their plan.

    >>> normalize("hn", scores=np.array([[0.9, 0.8], [0.7, 0.1]])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    chosen = method(which, given)
    reader = Reader(memory=memory, tensors=False)
    asked = reader.scores(scores, "scores")
    bank = asked
    if query_bank_scores is not None:
        bank = reader.scores(query_bank_scores, "query_bank_scores")
        same_rows(bank, "query_bank_scores", asked, "scores", axis=(1, 1))
    marginals = {"query_weight": query_weight, "target_prior": target_prior}
    problem = from_scores(reader, bank, cross_bank_scores, target_bank_scores, **marginals)
    check_needs(chosen, problem.banks)
    settled = settle_temperature(chosen, problem.banks.queries, given=temperature_given(which, given))
    for sentence in settled.warnings:
        warnings.warn(sentence, UnhubWarning, stacklevel=2)
    fixed = corrected(settled.method, reader.matrix(asked), problem.banks)
    return np.concatenate([rows for _, rows in fixed.rows])
