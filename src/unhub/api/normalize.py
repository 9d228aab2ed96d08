"""``normalize``: corrected scores from scores, for every method in its matrix form."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from unhub.api.facade import facade, warn
from unhub.api.running import apply_method
from unhub.dataset import Dataset
from unhub.dataset.task import check_needs
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import setting
from unhub.methods import HyperParameters, Method
from unhub.methods import method as method_by_name

UNCHANGED = f"So the scores are unchanged; {setting('strength', 1)} gives the whole correction."


@facade
def normalize(
    method: str | Method,
    *,
    scores: Any,
    query_bank_scores: Any = None,
    cross_bank_scores: Any = None,
    target_bank_scores: Any = None,
    query_weight: Any = None,
    target_prior: Any = None,
    memory: str | int | None = None,
    **hyper_parameters: Unpack[HyperParameters],
) -> FloatArray:
    """The corrected scores: (query, gallery), larger is better.

    Methods that are a bias give scores + strength * bias; transport methods give their plan.

    method: a name of ``unhub.METHODS``, or an object.
    scores: (query, gallery).
    query_bank_scores: (bank, gallery); without it the rows of ``scores`` are the bank, which is transductive.
    cross_bank_scores: (bank, target bank), for dbsn. target_bank_scores: (target bank, gallery), for dualis.
    query_weight: (bank,) how much each bank query counts. target_prior: (gallery,) how often a target is expected.
    memory: such as "2GB": bounds the scores that are held at once.
    hyper_parameters: by name. strength="auto", the default of a bias, is what queries held out of the bank support: .84
        at most, since recent or judged queries cannot be given here, and 0, with a warning, where they refuse it.
        Without a bank, or with strength=1, it is the whole correction.

    Returns an array of the shape of ``scores``.

    >>> normalize("hn", scores=np.array([[0.9, 0.8], [0.7, 0.1]])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    chosen = method_by_name(method, hyper_parameters)
    data = Dataset(
        scores=scores,
        query_bank_scores=query_bank_scores,
        cross_bank_scores=cross_bank_scores,
        target_bank_scores=target_bank_scores,
        query_weight=query_weight,
        target_prior=target_prior,
        memory=memory,
        allow_overlap=True,
    )
    task = data.task("forward", data.bank_name())
    check_needs(chosen, task.banks)
    resolved = task.resolve(chosen)
    assert task.scores is not None
    corrected = apply_method(resolved.method, task)
    verdict = corrected.verdict
    refused = () if verdict is None or verdict.served else (f"{verdict.sentence} {UNCHANGED}",)
    warn(resolved.notes + corrected.notes + refused)
    return np.concatenate([rows for _, rows in corrected.rows])
