"""How strongly a correction should be applied, written as the formulas stand: loops over strengths, float64.

scores s_uj: (query, gallery) of queries that g was not fitted on. g: (gallery,) the bias at strength 1, with mean zero.
l, strength: between 0 and 1. b: how often each target should come up; uniform when it is not given.
"""

import numpy as np

from reference.additive import gauge_free, log_sum_exp, shares, sinkhorn_normalisation

FOLDS = 5
STRENGTHS = np.arange(101) / 100
APPLY, WEAKER = 0.85, 0.25


def dual(s, g, tau, strength, b=None):
    """F_u(l) = l sum_j b_j g_j - tau log sum_j exp((s_uj + l g_j) / tau) for each query u; F is their mean"""
    s, g = np.asarray(s, dtype=np.float64), np.asarray(g, dtype=np.float64)
    return strength * (shares(b, g.size) @ g) - tau * log_sum_exp((s + strength * g) / tau, axis=1)


def dual_slope(s, g, tau, strength, b=None):
    """F_u'(l) = sum_j b_j g_j - sum_j p_uj g_j, where p_u = softmax((s_u + l g) / tau)"""
    s, g = np.asarray(s, dtype=np.float64), np.asarray(g, dtype=np.float64)
    x = (s + strength * g) / tau
    p = np.exp(x - log_sum_exp(x, axis=1)[:, None])
    return shares(b, g.size) @ g - p @ g


def judged_dual(s, g, tau, strength, right):
    """F with sum_j b_j g_j replaced by the mean of g over the right targets of each judged query u

    right: (query, gallery) bool. With one right target this is, up to a constant, tau times the log-likelihood of the
    answer under softmax((s_u + l g) / tau).
    """
    g = np.asarray(g, dtype=np.float64)
    x = (np.asarray(s, dtype=np.float64) + strength * g) / tau
    return strength * (right @ g) / right.sum(axis=1) - tau * log_sum_exp(x, axis=1)


def best_strength(value_of):
    """The first of the strengths 0, .01, ..., 1 with the largest mean of value_of(l)"""
    return float(STRENGTHS[np.argmax([value_of(strength).mean() for strength in STRENGTHS])])


def cautious_strength(value_of):
    """The smallest l whose mean is within half a standard error of the best: mean F_u(best) - F_u(l) <= SE / 2

    SE is that of the difference, query by query: std / sqrt(number of queries).
    """
    top = value_of(best_strength(value_of))
    for strength in STRENGTHS:
        fall = top - value_of(strength)
        if fall.mean() <= 0.5 * fall.std(ddof=1) / np.sqrt(fall.size):
            return float(strength)
    raise AssertionError("the best strength is within its own standard error")


def distinct(bank):
    """The rows without exact copies, in the order of their first appearance."""
    return bank[np.sort(np.unique(bank, axis=0, return_index=True)[1])]


def capped(s):
    """min(s_uj, second largest of row u): a hub is what comes up for queries that belong elsewhere"""
    return np.minimum(s, np.sort(s, axis=1)[:, -2][:, None])


def folds(rows, seed=0):
    """Row numbers in five random parts of about the same size"""
    return np.array_split(np.random.default_rng(seed).permutation(rows), FOLDS)


def bank_strength(s, tau, parts, rounds=10, b=None):
    """l_bank = argmax of F over the parts of the bank, each scored with g fitted on the rest

    s: scores of the distinct bank. parts: row numbers of each part.
    """
    held_out = [
        (s[part], gauge_free(sinkhorn_normalisation(np.delete(s, part, 0), tau, rounds, b=b))) for part in parts
    ]
    return best_strength(lambda strength: np.concatenate([dual(held, g, tau, strength, b) for held, g in held_out]))


def recent_strength(s, g, tau, b=None):
    """l_recent: the smallest l within half a standard error of the best on recent queries"""
    return cautious_strength(lambda strength: dual(s, g, tau, strength, b))


def robust_strength(s, g, tau, b=None):
    """The same without the hundredth of the queries that gains the most at the best strength of all of them"""
    best = best_strength(lambda strength: dual(s, g, tau, strength, b))
    gain = dual(s, g, tau, best, b) - dual(s, g, tau, 0, b)
    kept = np.sort(np.argsort(gain)[: int(np.floor(0.99 * gain.size))])
    return recent_strength(s[kept], g, tau, b)


def judged_strength(s, g, tau, right):
    """l_judged: the most likely l, given the right targets"""
    return best_strength(lambda strength: judged_dual(s, g, tau, strength, right))


def decision(*strengths):
    """The least of the strengths, and what to do with it."""
    strength = min(strengths)
    return strength, "APPLY" if strength >= APPLY else "APPLY WEAKER" if strength >= WEAKER else "REFUSE"
