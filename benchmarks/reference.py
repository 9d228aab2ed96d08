"""Every estimate in float64 with plain NumPy: what the errors in the tables are measured against.

python benchmarks/reference.py 20000x10000x512+5000 --seed 0 -o reference.npz
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from problems import CSLS_K, NNN_ALPHA, NNN_K, ROUNDS, TAU, Problem, Shape, make_problem

BLOCK = 1000
"""rows that are computed at once"""


def kernel(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """exp(rows . columns / tau) in float64, in blocks; unit vectors stay far inside its range at tau = .01."""
    right = columns.astype(np.float64).T
    out = np.empty((len(rows), len(columns)))
    for start in range(0, len(rows), BLOCK):
        block = np.matmul(rows[start : start + BLOCK].astype(np.float64), right, out=out[start : start + BLOCK])
        block /= TAU
        np.exp(block, out=block)
    return out


def sn(k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """beta and alpha after T rounds from beta = 1, queries first, targets last, up to a factor."""
    beta = np.ones(k.shape[1])
    for _ in range(ROUNDS):
        alpha = 1 / (k @ beta)
        beta = 1 / (k.T @ alpha)
    return beta, alpha


def sn_targets_first(k: np.ndarray) -> np.ndarray:
    """beta after T rounds from alpha = 1, targets first: what POT computes."""
    beta = 1 / k.sum(axis=0)
    for _ in range(ROUNDS - 1):
        beta = 1 / (k.T @ (1 / (k @ beta)))
    return beta


def sn_averaged(k: np.ndarray) -> np.ndarray:
    """beta after T rounds that update both sides at once and average in the log domain: what GeomLoss computes."""
    m, n = k.shape
    alpha, beta = n / k.sum(axis=1), m / k.sum(axis=0)
    for _ in range(ROUNDS):
        alpha, beta = np.sqrt(alpha * n / (k @ beta)), np.sqrt(beta * m / (k.T @ alpha))
    return 1 / (k.T @ alpha)


def mean_of_largest(k: np.ndarray, count: int) -> np.ndarray:
    """For each target the mean of its largest bank scores."""
    count = min(count, len(k))
    blocks = (k[:, start : start + BLOCK] for start in range(0, k.shape[1], BLOCK))
    largest = (np.partition(block, len(k) - count, axis=0)[len(k) - count :] for block in blocks)
    return np.concatenate([TAU * np.log(values).mean(axis=0) for values in largest])


def references(problem: Problem) -> dict[str, np.ndarray]:
    """name -> bias in float64; a bias is defined up to a constant."""
    n = len(problem.targets)
    joined = kernel(problem.bank, np.concatenate((problem.targets, problem.target_bank)))
    k = joined[:, :n]
    beta, alpha = sn(k)
    new = 1 / (kernel(problem.new_targets, problem.bank) @ alpha)
    scalings = {
        "sn": beta,
        "extend": np.concatenate((beta, new)),
        "sn targets first": sn_targets_first(k),
        "sn averaged": sn_averaged(k),
        "is": 1 / k.sum(axis=0),
        "dbsn": sn(joined)[0][:n],
    }
    largest = mean_of_largest(k, NNN_K), mean_of_largest(k, CSLS_K)
    return {
        "none": np.zeros(n),
        **{name: TAU * np.log(scaling) for name, scaling in scalings.items()},
        "nnn": -NNN_ALPHA * largest[0],
        "csls": -largest[1] / 2,
    }


def largest_error(bias: np.ndarray, reference: np.ndarray) -> float:
    """The largest difference of two biases, both brought to mean zero."""
    difference = np.asarray(bias, dtype=np.float64) - reference
    return float(np.abs(difference - difference.mean()).max())


def top(scores: np.ndarray, count: int = 10) -> np.ndarray:
    """The columns of the largest scores of each row, in no order."""
    return np.argpartition(-scores, min(count, scores.shape[1] - 1), axis=1)[:, :count]


def overlap(found: np.ndarray, wanted: np.ndarray) -> float:
    """The mean share of the wanted columns that were found, row by row."""
    return float(np.mean([np.isin(row, right).mean() for row, right in zip(found, wanted, strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", type=Shape.parse)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    np.savez(options.output, **references(make_problem(options.shape, options.seed)))


if __name__ == "__main__":
    main()
