"""Would a wrong sign be caught? Small faults are put into a copy of the library, and a few tests must fail on each.

A fault is one piece of source text and what replaces it. The text must stand in its file exactly once, so that a change
of the library that moves it is noticed here and the fault does not quietly become harmless.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import unhub

SOURCE = Path(unhub.__file__).parent
TESTS = Path(__file__).parents[1]

SUBSET = (
    "picture/test_five_points.py",
    "reference/test_additive.py::test_published_defaults",
    "reference/test_additive.py::test_any_number_of_rounds",
    "reference/test_additive.py::test_marginals_other_than_uniform",
    "reference/test_additive.py::test_dual_inverted_softmax_with_published_temperatures",
    "reference/test_additive.py::test_the_row_marginal_error_that_is_reported",
    "reference/test_by_row.py::test_dynamic_inverted_softmax_leaves_some_rows_raw",
    "reference/test_by_row.py::test_globally_corrected",
    "identities/test_blocks.py::test_streamed_is_dense",
)
"""few and fast; pytest stops at the first that fails"""


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    text: str
    instead: str


MUTANTS = [
    Mutant(
        "the bias of is has the other sign",
        "methods/inverted_softmax.py",
        "return tau * log_prior(banks) - column_logsumexp(",
        "return tau * log_prior(banks) + column_logsumexp(",
    ),
    Mutant(
        "search takes the bias away",
        "banks/search.py",
        "top_k(scores + bias.astype(scores.dtype), k)",
        "top_k(scores - bias.astype(scores.dtype), k)",
    ),
    Mutant(
        "log-sum-exp has lost its exp",
        "core/logsumexp.py",
        "return np.exp(x, out=x) if is_numpy(x)",
        "return np.abs(x) + 1 if is_numpy(x)",
    ),
    Mutant(
        "Sinkhorn ends on the query side",
        "solvers/sinkhorn.py",
        "    g = prior - state.columns\n    error = ",
        "    error = ",
    ),
    Mutant(
        "Sinkhorn begins on the target side",
        "solvers/sinkhorn.py",
        "half_steps(namespace(b).zeros_like(b))",
        "half_steps(prior - half_steps(namespace(b).zeros_like(b))[1])",
    ),
    Mutant(
        "dbsn keeps the part of the target bank",
        "methods/sn.py",
        "found.g[:gallery]",
        "found.g[-gallery:]",
    ),
    Mutant(
        "blocks are merged by their maximum",
        "core/logsumexp.py",
        "namespace(left).logaddexp(left / tau, right / tau)",
        "namespace(left).maximum(left / tau, right / tau)",
    ),
    Mutant(
        "dualis has lost its joint temperature",
        "methods/dualis.py",
        "return tau1 * tau2 / (tau1 + tau2)",
        "return tau1",
    ),
    Mutant(
        "dis switches targets, not queries",
        "methods/dis.py",
        "np.outer(first_is_active(scores, active), bias)",
        "active * bias",
    ),
    Mutant(
        "targets that never come up are not counted",
        "metrics/hubness.py",
        "return np.bincount(ids, minlength=gallery)",
        "return np.bincount(ids)[np.bincount(ids) > 0]",
    ),
    Mutant(
        "unseen targets are put on another footing",
        "api/correction.py",
        "self.strength * (raw - self.offset)",
        "self.strength * raw",
    ),
    Mutant(
        "csls takes out the whole",
        "methods/csls.py",
        "return -0.5 * top_mean(banks, self.k)",
        "return -1.0 * top_mean(banks, self.k)",
    ),
]


def copy_of_the_library(folder):
    return shutil.copytree(SOURCE, folder / "unhub", ignore=shutil.ignore_patterns("__pycache__", "data"))


def the_tests_pass_on(copy):
    """Runs the subset with the copy in place of the library, and says whether every test passed."""
    command = "import sys, pytest, unhub; print(unhub.__file__, flush=True); sys.exit(pytest.main(sys.argv[1:]))"
    given = ["-x", "-q", "-p", "no:cacheprovider", *(str(TESTS / name) for name in SUBSET)]
    environment = os.environ | {"PYTHONPATH": str(copy.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", command, *given], cwd=copy.parent, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ran.stdout.startswith(str(copy)), f"the copy was not the library under test:\n{ran.stdout}\n{ran.stderr}"
    assert ran.returncode in (0, 1), f"the tests did not run:\n{ran.stdout}\n{ran.stderr}"
    return ran.returncode == 0


def test_the_copy_without_a_fault_passes(tmp_path):
    assert the_tests_pass_on(copy_of_the_library(tmp_path))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_is_caught(mutant, tmp_path):
    copy = copy_of_the_library(tmp_path)
    file = copy / mutant.file
    source = file.read_text(encoding="utf-8")
    assert source.count(mutant.text) == 1, f"{mutant.file} has changed; write this mutant anew"
    file.write_text(source.replace(mutant.text, mutant.instead), encoding="utf-8")
    assert not the_tests_pass_on(copy), f"no test noticed that {mutant.name}"
