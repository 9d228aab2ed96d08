"""What cannot change, literally: for each target the worst that errors within a bound can do to it, float64.

scores: (target,) corrected scores of one query. Ties count as changes, since an index may break them otherwise.
"""

import numpy as np


def order(scores):
    """Targets, best first, ties to the lower index."""
    return np.argsort(-scores, kind="stable")


def stays_among(scores, target, error, k):
    """Whether fewer than k others reach a target that is lowered by the error while all others are raised by it."""
    others = np.delete(scores, target) + error
    return bool((others >= scores[target] - error).sum() < k)


def keeps_place(scores, target, error):
    """Whether all above stay above when it is raised and they are lowered, and all below stay below."""
    place = order(scores).tolist().index(target)
    above, below = order(scores)[:place], order(scores)[place + 1 :]
    return bool(
        (scores[above] - error > scores[target] + error).all()
        and (scores[below] + error < scores[target] - error).all()
    )


def float16(values):
    """Half precision, read back."""
    return np.asarray(values, dtype=np.float16).astype(np.float64)


def int8(values, largest):
    """Whole numbers from -127 to 127 times one step for all."""
    step = np.float32(largest / 127)
    codes = np.round(np.asarray(values, dtype=np.float32) / step)
    assert np.abs(codes).max() <= 127
    return codes.astype(np.int8).astype(np.float64) * float(step)
