"""Problems that come with their known answer."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from reference.problems import scores, unit_vectors, weights

TAUS = (0.005, 0.01, 0.03, 0.1)
"""sharp to soft for scores whose standard deviation is about 0.05"""


@dataclass(frozen=True)
class Matrices:
    """Test scores s, bank scores s_bt, s_bb (query bank x target bank), s_tt (target bank x gallery), and a tau."""

    s: np.ndarray
    s_bt: np.ndarray
    s_bb: np.ndarray
    s_tt: np.ndarray
    tau: float
    rng: np.random.Generator

    def __repr__(self):
        return f"Matrices(s {self.s.shape}, s_bt {self.s_bt.shape}, s_bb {self.s_bb.shape}, tau {self.tau})"

    def given(self, name, **changed):
        """The arguments of ``fit`` for that method; ``changed`` replaces any of them."""
        arguments = {"scores": self.s_bt}
        if name == "dbsn":
            arguments["cross_bank_scores"] = self.s_bb
        if name == "dualis":
            arguments |= {"target_bank_scores": self.s_tt, "tau1": self.tau, "tau2": 5 * self.tau}
        if name in ("is", "sn", "capped_sn", "dbsn"):
            arguments["tau"] = self.tau
        if name in ("nnn", "csls"):
            arguments["k"] = 4
        return arguments | changed


@dataclass(frozen=True)
class Vectors:
    """Unit vectors of test queries, targets and both banks, and a tau that suits their products."""

    queries: np.ndarray
    targets: np.ndarray
    query_bank: np.ndarray
    target_bank: np.ndarray
    tau: float
    rng: np.random.Generator

    def __repr__(self):
        sizes = ", ".join(str(len(x)) for x in (self.queries, self.targets, self.query_bank, self.target_bank))
        return f"Vectors(queries, targets, query bank, target bank: {sizes}; tau {self.tau})"

    def given(self, name):
        """The arguments of ``fit`` for that method."""
        arguments = {"targets": self.targets, "query_bank": self.query_bank}
        if name in ("dbsn", "dualis"):
            arguments["target_bank"] = self.target_bank
        return arguments | self._hyper_parameters(name)

    def given_matrices(self, name):
        """The same problem as matrices."""
        arguments = {"scores": self.query_bank @ self.targets.T}
        if name == "dbsn":
            arguments["cross_bank_scores"] = self.query_bank @ self.target_bank.T
        if name == "dualis":
            arguments["target_bank_scores"] = self.target_bank @ self.targets.T
        return arguments | self._hyper_parameters(name)

    def _hyper_parameters(self, name):
        if name in ("is", "sn", "capped_sn", "dbsn"):
            return {"tau": self.tau}
        return {"dualis": {"tau1": self.tau, "tau2": 0.5}, "nnn": {"k": 4}, "csls": {"k": 4}}.get(name, {})


sizes = st.integers(1, 24)
seeds = st.integers(0, 2**32 - 1)
generators = st.builds(np.random.default_rng, seeds)


def tied(rng, rows, columns):
    """Scores from a handful of values: equal scores everywhere."""
    return (rng.integers(0, 5, (rows, columns)) / 16).astype(np.float32)


@st.composite
def matrices(draw, largest=24, kinds=(scores, tied)):
    """Four matrices of one problem; now and then full of ties."""
    size = st.integers(1, largest)
    queries, bank, targets, extra = (draw(size) for _ in range(4))
    rng, make = draw(generators), draw(st.sampled_from(kinds))
    shapes = (queries, targets), (bank, targets), (bank, extra), (extra, targets)
    return Matrices(*(make(rng, *shape) for shape in shapes), draw(st.sampled_from(TAUS)), rng)


@st.composite
def vectors(draw):
    queries, targets, bank, extra = (draw(sizes) for _ in range(4))
    dim, rng = draw(st.integers(2, 16)), draw(generators)
    parts = (unit_vectors(rng, size, dim) for size in (queries, targets, bank, extra))
    return Vectors(*parts, draw(st.sampled_from((0.02, 0.05, 0.2))), rng)


@st.composite
def separable(draw):
    """s_uj = r_u + c_j, and the answer: nothing but c sets targets apart, so a whole correction is -c."""
    rows, columns, rng = draw(sizes), draw(sizes), draw(generators)
    r, c = rng.normal(0, 0.1, rows), rng.normal(0, 0.1, columns)
    s = (r[:, None] + c).astype(np.float32)
    return s, draw(st.sampled_from(TAUS)), c.mean() - c


@st.composite
def planted(draw):
    """A plan with the wanted marginals, hidden behind potentials, and the answer: the target potentials g.

    Choose a positive plan P, call its marginals a and b, and set s = tau log P - f - g. Then s has P as its Sinkhorn
    plan, and tau log beta converges to g.
    """
    rows, columns, rng = draw(st.integers(2, 12)), draw(st.integers(2, 12)), draw(generators)
    tau = draw(st.sampled_from((0.02, 0.1)))
    plan = np.exp(rng.uniform(-1, 1, (rows, columns)))
    plan /= plan.sum()
    f, g = rng.normal(0, 0.05, rows), rng.normal(0, 0.05, columns)
    s = tau * np.log(plan) - f[:, None] - g
    return s, tau, plan.sum(axis=1), plan.sum(axis=0), g - g.mean()


@st.composite
def orders(draw, size):
    """A permutation of that many items."""
    return np.array(draw(st.permutations(range(size))), dtype=int)


def some_weights(rng, size):
    """Weights that are not all alike."""
    return weights(rng, size)
