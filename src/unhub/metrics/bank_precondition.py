"""Whether a target bank can be expected to help: the precondition of Proposition 2, checked.

The proposition says that adding a target bank B_t to the targets T brings them closer to the query bank B_q.
Its proof needs EMD(B_q, B_t) < EMD(B_q, T); then, with w = |B_t| / (|T| + |B_t|),

    EMD(B_q, [T; B_t]) <= (1 - w) EMD(B_q, T) + w EMD(B_q, B_t) < EMD(B_q, T).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import argument
from unhub.metrics.emd import EMD, emd, emd_from_scores


@dataclass(frozen=True)
class BankPrecondition:
    """The three distances from the query bank, and the verdict.

    ``holds``: the target bank lies closer to the query bank than the targets do. ``certain``: no doubt from
    sampling, the distances being exact or their intervals apart.
    """

    to_target_bank: EMD
    to_targets: EMD
    to_both: EMD
    holds: bool
    certain: bool


def bank_precondition(
    query_bank: FloatArray,
    target_bank: FloatArray,
    targets: FloatArray,
    *,
    sample: int = 1000,
    rounds: int = 5,
    seed: int = 0,
) -> BankPrecondition:
    """EMD(B_q, B_t), EMD(B_q, T) and EMD(B_q, [T; B_t]) and whether the first is less than the second."""
    if target_bank.ndim != 2 or targets.ndim != 2 or target_bank.shape[1] != targets.shape[1]:
        raise InputError(
            "target_bank",
            f"has shape {target_bank.shape} and {argument('targets')} {targets.shape}",
            "give rows of one dimension, embedded with the same model",
        )
    return _verdict(
        emd(query_bank, target_bank, sample=sample, rounds=rounds, seed=seed),
        emd(query_bank, targets, sample=sample, rounds=rounds, seed=seed),
        emd(query_bank, np.concatenate((targets, target_bank)), sample=sample, rounds=rounds, seed=seed),
    )


def bank_precondition_from_scores(
    target_bank_scores: FloatArray,
    target_scores: FloatArray,
    *,
    sample: int = 1000,
    rounds: int = 5,
    seed: int = 0,
) -> BankPrecondition:
    """The same from scores: (bank, target bank) and (bank, gallery), one row for each banked query."""
    if len(target_bank_scores) != len(target_scores):
        raise InputError(
            "target_bank_scores",
            f"has {len(target_bank_scores)} rows and {argument('target_scores')} {len(target_scores)}",
            "both need one row for each query of the query bank",
        )
    both = np.concatenate((target_scores, target_bank_scores), axis=1)
    return _verdict(
        emd_from_scores(target_bank_scores, sample=sample, rounds=rounds, seed=seed),
        emd_from_scores(target_scores, sample=sample, rounds=rounds, seed=seed),
        emd_from_scores(both, sample=sample, rounds=rounds, seed=seed),
    )


def _verdict(to_target_bank: EMD, to_targets: EMD, to_both: EMD) -> BankPrecondition:
    holds = to_target_bank.value < to_targets.value
    near, far = (to_target_bank, to_targets) if holds else (to_targets, to_target_bank)
    certain = (near.exact and far.exact) or near.high < far.low
    return BankPrecondition(to_target_bank, to_targets, to_both, holds, certain)
