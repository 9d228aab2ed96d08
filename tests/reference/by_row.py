"""The methods that are no bias: corrected test scores (query, gallery), given bank scores (bank, gallery)."""

from math import erfc, sqrt

import numpy as np

from reference.additive import (
    inverted_softmax,
    log_sum_exp,
    mean_of_the_largest,
    sinkhorn_normalisation,
    top_means,
)


def first_target(row):
    """The raw top-1 target, the lower index among equals."""
    return max(range(len(row)), key=lambda j: (row[j], -j))


def activation_set(bank, k):
    """Union over bank rows of their k best targets."""
    active = set()
    for row in bank:
        active.update(sorted(range(len(row)), key=lambda j: (-row[j], j))[:k])
    return active


def dynamic_inverted_softmax(s, bank, tau, k=1):
    """s_ij + bias_j of IS for rows whose first target is active; other rows stay raw."""
    active, bias = activation_set(bank, k), inverted_softmax(bank, tau)
    return np.array([row + bias if first_target(row) in active else row for row in s])


def dynamic_inverted_softmax_as_printed(s, bank, tau, k=1):
    """exp(s_ij / tau) / sum_u exp(s_uj / tau) for active targets j, else s_ij"""
    active = activation_set(bank, k)
    corrected = s.copy()
    for j in active:
        corrected[:, j] = np.exp(s[:, j] / tau - log_sum_exp(bank[:, j] / tau, axis=0))
    return corrected


def dual_dynamic_inverted_softmax(s, bank, target_bank, tau1, tau2, k=1):
    """s_ij - lambda (act1_i LSE_u(s_uj / tau1) + act2_i LSE_v(s_vj / tau2)), lambda = tau1 tau2 / (tau1 + tau2)"""
    lam = tau1 * tau2 / (tau1 + tau2)
    active1, active2 = activation_set(bank, k), activation_set(target_bank, k)
    sum1, sum2 = log_sum_exp(bank / tau1, axis=0), log_sum_exp(target_bank / tau2, axis=0)
    corrected = s.copy()
    for i, row in enumerate(s):
        first = first_target(row)
        if first in active1:
            corrected[i] -= lam * sum1
        if first in active2:
            corrected[i] -= lam * sum2
    return corrected


def dual_inverted_softmax_product(s, bank, target_bank, tau1, tau2):
    """The product of the two softmax factors as it is printed; ranks as s + the bias of dualis."""
    one = np.exp(s / tau1) / np.exp(bank / tau1).sum(axis=0)
    two = np.exp(s / tau2) / np.exp(target_bank / tau2).sum(axis=0)
    return one * two


def globally_corrected_order(s, bank):
    """Target numbers, best first: by 1 + #{u: s_uj > s_ij}, then by falling score, then by index."""
    places = 1 + (bank[None, :, :] > s[:, None, :]).sum(axis=1)
    n = s.shape[1]
    return np.array([sorted(range(n), key=lambda j: (places[i, j], -s[i, j], j)) for i in range(len(s))])


def dual_softmax(s, tau=0.01):
    """s_ij * exp(s_ij / tau) / sum_i exp(s_ij / tau)"""
    return s * np.exp(s / tau - log_sum_exp(s / tau, axis=0))


def single_sinkhorn(s, bank, tau, rounds=10):
    """s_ij + tau log beta_j, Sinkhorn run on the bank with the one row of query i added."""
    return np.array([row + sinkhorn_normalisation(np.vstack((bank, row)), tau, rounds) for row in s])


def nearest_distances(values, k):
    """The k smallest 1 - value, nearest first."""
    return sorted(1 - values)[:k]


def local_scaling(s, bank, k=10):
    """exp(-d_ij^2 / (sigma_i sigma_j)), sigma the distance to the k-th neighbour, d = 1 - s"""
    sigma_query = np.array([nearest_distances(row, k)[-1] for row in s])
    sigma_target = np.array([nearest_distances(column, k)[-1] for column in bank.T])
    return np.exp(-((1 - s) ** 2) / np.outer(sigma_query, sigma_target))


def contextual_dissimilarity(s, bank, k=10):
    """1 - d_ij / sqrt(mu_i mu_j), mu the mean distance to the k nearest, d = 1 - s"""
    mu_query = np.array([np.mean(nearest_distances(row, k)) for row in s])
    mu_target = np.array([np.mean(nearest_distances(column, k)) for column in bank.T])
    return 1 - (1 - s) / np.sqrt(np.outer(mu_query, mu_target))


def survival(d, values):
    """P(D > d) for a normal D with the mean and the population deviation of the values."""
    mean, deviation = np.mean(values), np.std(values)
    return erfc((d - mean) / deviation / sqrt(2)) / 2


def mutual_proximity(s, bank):
    """P(D_i > d_ij) * P(D_j > d_ij): D_i over the gallery, D_j over the bank, d = 1 - s"""
    d, d_bank = 1 - s, 1 - bank
    return np.array(
        [[survival(d[i, j], d[i]) * survival(d[i, j], d_bank[:, j]) for j in range(s.shape[1])] for i in range(len(s))]
    )


def localised_centring(s, bank, k=10, gamma=1.0):
    """s_ij - (mean of the k largest s_uj)^gamma"""
    return s - top_means(bank, k) ** gamma


def two_sided_csls(s, bank, k=10):
    """2 s_ij - r_i - r_j as published: r the mean of the k largest on the other side."""
    r_query = np.array([mean_of_the_largest(row, k, np.ones(len(row))) for row in s])
    return 2 * s - r_query[:, None] - top_means(bank, k)
