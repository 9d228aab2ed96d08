"""The additive methods, written as their formulas stand in the literature: one number per target, before centring.

scores s_uj: (bank, gallery), larger is better. a: how much each bank query counts, b: how often each target should
come up; both are scaled to sum one, and both are uniform when they are not given.
"""

import numpy as np


def log_sum_exp(x, axis):
    """log sum exp(x), shifted by the true maximum."""
    top = x.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis=axis)


def gauge_free(bias):
    """The bias with mean zero: a constant does not rank."""
    return bias - bias.mean()


def shares(weights, size):
    """weights / sum, or 1 / size for each."""
    weights = np.ones(size) if weights is None else np.asarray(weights, dtype=np.float64)
    return weights / weights.sum()


def none(s):
    """bias_j = 0"""
    return np.zeros(s.shape[1])


def inverted_softmax(s, tau, a=None, b=None):
    """bias_j = tau log b_j - tau log sum_u a_u exp(s_uj / tau)"""
    s = np.asarray(s, dtype=np.float64)
    a, b = shares(a, s.shape[0]), shares(b, s.shape[1])
    return tau * np.log(b) - tau * log_sum_exp(s / tau + np.log(a)[:, None], axis=0)


def dual_inverted_softmax(s, s_tt, tau1, tau2, a=None, b=None):
    """bias_j = lambda (log b_j - LSE_u(s_uj / tau1 + log a_u) - LSE_v(s_vj / tau2))

    lambda = tau1 tau2 / (tau1 + tau2)
    """
    s, s_tt = np.asarray(s, dtype=np.float64), np.asarray(s_tt, dtype=np.float64)
    a, b = shares(a, s.shape[0]), shares(b, s.shape[1])
    lam = tau1 * tau2 / (tau1 + tau2)
    over_queries = log_sum_exp(s / tau1 + np.log(a)[:, None], axis=0)
    over_targets = log_sum_exp(s_tt / tau2, axis=0)
    return lam * (np.log(b) - over_queries - over_targets)


def sinkhorn(s, tau, rounds, a=None, b=None):
    """log alpha and log beta after some rounds of alpha = a / (xi beta), beta = b / (xi' alpha), beta_0 = 1

    xi = exp(s / tau). Every product is a sum of logarithms here, so that tau = 1e-4 stays finite.
    """
    s = np.asarray(s, dtype=np.float64)
    a, b = shares(a, s.shape[0]), shares(b, s.shape[1])
    log_xi, log_beta = s / tau, np.zeros(s.shape[1])
    for _ in range(rounds):
        log_alpha = np.log(a) - log_sum_exp(log_xi + log_beta, axis=1)
        log_beta = np.log(b) - log_sum_exp(log_xi + log_alpha[:, None], axis=0)
    return log_alpha, log_beta


def sinkhorn_without_logarithms(s, tau, rounds):
    """beta of Algorithm A1, letter by letter; overflows unless the scores are small beside tau."""
    m, n = s.shape
    xi, a, b, beta = np.exp(s / tau), np.ones(m) / m, np.ones(n) / n, np.ones(n)
    for _ in range(rounds):
        alpha = a / (xi @ beta)
        beta = b / (xi.T @ alpha)
    return beta


def plan(s, tau, log_alpha, log_beta):
    """pi_uj = alpha_u exp(s_uj / tau) beta_j"""
    return np.exp(log_alpha[:, None] + np.asarray(s, dtype=np.float64) / tau + log_beta)


def sinkhorn_normalisation(s, tau, rounds=10, a=None, b=None):
    """bias_j = tau log beta_j"""
    return tau * sinkhorn(s, tau, rounds, a, b)[1]


def dual_bank_sinkhorn_normalisation(s_bt, s_bb, tau, rounds=10, a=None, b=None):
    """The first part of Sinkhorn normalisation on [s_bt, s_bb]; each item of the target bank has an equal share."""
    n, extra = s_bt.shape[1], s_bb.shape[1]
    b = np.concatenate((n * shares(b, n), np.ones(extra)))
    return sinkhorn_normalisation(np.hstack((s_bt, s_bb)), tau, rounds, a, b)[:n]


def mean_of_the_largest(values, k, weights):
    """Weighted mean of the k largest values, or of all where there are fewer."""
    largest = sorted(range(len(values)), key=lambda u: (-values[u], u))[:k]
    return sum(weights[u] * values[u] for u in largest) / sum(weights[u] for u in largest)


def top_means(s, k, a=None):
    """mean of the k largest s_uj over u, for each j"""
    s = np.asarray(s, dtype=np.float64)
    a = shares(a, s.shape[0])
    return np.array([mean_of_the_largest(column, k, a) for column in s.T])


def nearest_neighbour_normalisation(s, k=128, alpha=0.75, a=None):
    """bias_j = -alpha * mean of the k largest s_uj"""
    return -alpha * top_means(s, k, a)


def cross_domain_local_scaling(s, k=10, a=None):
    """bias_j = -1/2 * mean of the k largest s_uj"""
    return -top_means(s, k, a) / 2


def distribution_normalisation(s, w=0.5, a=None):
    """bias_j = -w * sum_u a_u s_uj"""
    return -w * (shares(a, s.shape[0]) @ np.asarray(s, dtype=np.float64))
