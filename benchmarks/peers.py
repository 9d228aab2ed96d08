"""The peers' rows: the same vectors in, a bias of the gallery out, each in the way that suits it best.

Costs are -s or an increasing function of it: a constant does not change a bias of mean zero.
"""

from __future__ import annotations

import contextlib
import io

import numpy as np
from contenders import Contender, Outcome, Ready
from problems import CSLS_K, NNN_ALPHA, NNN_K, ROUNDS, TAU, Problem

OTT_BATCH = 1024
POT_BATCH = 1000
NNN_BATCH = 128


def pot_float64(problem: Problem) -> Ready:
    """POT on NumPy float64, the full matrix, as the authors of SN run it."""
    import ot

    def work() -> Outcome:
        cost = 1.0 - (problem.bank @ problem.targets.T).astype(np.float64)
        a, b = (np.full(n, 1 / n) for n in cost.shape)
        _, log = ot.sinkhorn(a, b, cost, TAU, numItermax=ROUNDS, stopThr=0, warn=False, log=True)
        return Outcome(TAU * np.log(log["v"]))

    return work


def _pot_torch(problem: Problem, method: str) -> Ready:
    import ot
    import torch

    bank, targets = torch.from_numpy(problem.bank), torch.from_numpy(problem.targets)

    def work() -> Outcome:
        cost = -(bank @ targets.T)
        a, b = (torch.full((n,), 1 / n) for n in cost.shape)
        _, log = ot.sinkhorn(a, b, cost, TAU, method=method, numItermax=ROUNDS, stopThr=0, warn=False, log=True)
        return Outcome(TAU * torch.log(log["v"]).numpy())

    return work


def pot_torch(problem: Problem) -> Ready:
    """POT on torch float32 tensors."""
    return _pot_torch(problem, "sinkhorn")


def pot_torch_log(problem: Problem) -> Ready:
    """POT on torch float32 tensors, in the log domain: what does not overflow."""
    return _pot_torch(problem, "sinkhorn_log")


def pot_lazy(problem: Problem) -> Ready:
    """POT with the cost computed in batches, which bounds its memory; |x - y|^2 = 2 - 2s, so reg = 2 tau."""
    import ot

    def work() -> Outcome:
        solved = ot.solve_sample(
            problem.bank, problem.targets, reg=2 * TAU, lazy=True, batch_size=POT_BATCH, max_iter=ROUNDS, tol=0
        )
        return Outcome(TAU * solved.potentials[1])

    return work


def geomloss(problem: Problem) -> Ready:
    """GeomLoss's potentials for |x - y|^2 / 2 = 1 - s; its annealing is made so flat that epsilon is tau throughout."""
    import torch
    from geomloss import SamplesLoss

    bank, targets = torch.from_numpy(problem.bank), torch.from_numpy(problem.targets)
    scaling, blur = 1 - 1e-6, TAU**0.5
    loss = SamplesLoss(
        "sinkhorn",
        p=2,
        blur=blur,
        scaling=scaling,
        diameter=blur / scaling ** (ROUNDS - 2.5),
        debias=False,
        potentials=True,
        backend="tensorized",
    )
    return lambda: Outcome(loss(bank, targets)[1].numpy().ravel())


def _ott(problem: Problem, batch_size: int | None) -> Ready:
    import jax
    from ott.geometry import costs, pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    solver = sinkhorn.Sinkhorn(
        threshold=0.0, max_iterations=ROUNDS, min_iterations=ROUNDS, inner_iterations=ROUNDS, lse_mode=True
    )

    def solve(targets: jax.Array, bank: jax.Array) -> jax.Array:
        # OTT updates its second side first and its first side last: the targets go first.
        cost = costs.NegDotProduct()
        geometry = pointcloud.PointCloud(targets, bank, cost_fn=cost, batch_size=batch_size, epsilon=TAU)
        return solver(linear_problem.LinearProblem(geometry)).f

    compiled = jax.jit(solve).lower(problem.targets, problem.bank).compile()
    return lambda: Outcome(np.asarray(compiled(problem.targets, problem.bank)))


def ott_dense(problem: Problem) -> Ready:
    """OTT-JAX with the cost matrix in memory."""
    return _ott(problem, None)


def ott_online(problem: Problem) -> Ready:
    """OTT-JAX with the cost computed again in every half round, a batch at a time."""
    return _ott(problem, OTT_BATCH)


def nnn_retrieval(problem: Problem) -> Ready:
    """The NNN authors' package; it prints at import and draws a progress bar."""
    with contextlib.redirect_stdout(io.StringIO()):
        from nnn import NNNRanker, NNNRetriever

    def work() -> Outcome:
        ranker = NNNRanker(
            NNNRetriever(problem.bank.shape[1]),
            problem.targets,
            problem.bank,
            alternate_ks=min(NNN_K, len(problem.bank)),
            batch_size=NNN_BATCH,
            alternate_weight=NNN_ALPHA,
        )
        return Outcome(-NNN_ALPHA * ranker.alignment_means.numpy().ravel())

    return work


def kiez_csls(problem: Problem) -> Ready:
    """kiez's CSLS; its distances are 1 - s, and it keeps the mean over a target's nearest bank queries."""
    from kiez import Kiez

    def work() -> Outcome:
        model = Kiez(n_candidates=CSLS_K, algorithm="SklearnNN", algorithm_kwargs={"metric": "cosine"}, hubness="CSLS")
        model.fit(problem.bank, problem.targets)
        return Outcome(model.hubness.r_dist_train_.mean(axis=1) / 2)

    return work


TARGETS_FIRST = "updates targets first, so its iterate is half a round from sn; error is against that iterate"
CONTENDERS = {
    "pot": Contender("POT sn, NumPy float64", pot_float64, "sn targets first", "sn", remark=TARGETS_FIRST),
    "pot-torch": Contender("POT sn, torch float32", pot_torch, "sn targets first", "sn", remark=TARGETS_FIRST),
    "pot-log": Contender("POT sn, torch float32, log", pot_torch_log, "sn targets first", "sn", remark=TARGETS_FIRST),
    "pot-lazy": Contender("POT sn, lazy", pot_lazy, "sn", "sn"),
    "geomloss": Contender(
        "GeomLoss sn, tensorized",
        geomloss,
        "sn averaged",
        "sn",
        remark="updates both sides at once and averages with the last; error is against that iterate",
    ),
    "ott": Contender("OTT-JAX sn, dense", ott_dense, "sn", "sn"),
    "ott-online": Contender("OTT-JAX sn, online", ott_online, "sn", "sn"),
    "nnn": Contender("nnn-retrieval nnn", nnn_retrieval, "nnn", "nnn"),
    "kiez": Contender(
        "kiez csls", kiez_csls, "csls", "csls", remark="compare with unhub fit csls; kiez has no sn or is"
    ),
}
