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
    "identities/test_plans_agree.py::test_the_bound_knows_the_largest_scores[1]",
    "identities/test_plans_agree.py::test_a_matrix_is_not_written_to",
    "core/test_compiled.py::test_column_sums_follow_the_largest_term",
    "core/test_compiled.py::test_the_best_of_each_row",
    "core/test_compiled.py::test_the_best_of_each_column",
    "core/test_compiled.py::test_row_sums",
    "core/test_compiled.py::test_a_kernel_kept_in_16_bits",
    "core/test_compiled.py::test_balance_is_the_same_on_any_number_of_threads",
    "core/test_compiled.py::test_plain_balance_is_the_compiled_one",
    "identities/test_plans_agree.py::test_the_bound_follows_the_rounds",
    "identities/test_plans_agree.py::test_every_plan_measures_the_marginal_error",
    "identities/test_plans_agree.py::test_a_target_that_hardly_ever_comes_up",
    "api/test_guard.py::test_every_strength_is_the_reference",
    "api/test_guard.py::test_a_gain_has_its_paired_standard_error",
    "api/test_guard.py::test_without_recent_queries_at_most_weaker",
    "api/test_guard.py::test_an_own_log_is_capped_and_may_be_applied_without_recent_queries",
    "api/test_guard_corners.py::test_a_correction_with_new_targets_is_judged_by_all_of_them",
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
        "return tau * banks.log_prior() - column_logsumexp(",
        "return tau * banks.log_prior() + column_logsumexp(",
    ),
    Mutant(
        "search takes the bias away",
        "scores/search.py",
        "top_k(scores + self.bias.astype(scores.dtype, copy=False), self.k)",
        "top_k(scores - self.bias.astype(scores.dtype, copy=False), self.k)",
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
        "solvers/sinkhorn.py",
        "potentials.g[:gallery]",
        "potentials.g[-gallery:]",
    ),
    Mutant(
        "blocks are merged by their maximum",
        "core/logsumexp.py",
        "namespace(left).logaddexp(left / tau, right / tau)",
        "namespace(left).maximum(left / tau, right / tau)",
    ),
    Mutant(
        "dualis has lost its joint temperature",
        "methods/inverted_softmax.py",
        "return tau1 * tau2 / (tau1 + tau2)",
        "return tau1",
    ),
    Mutant(
        "dis switches targets, not queries",
        "methods/inverted_softmax.py",
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
        "return (raw - self._offset).astype(np.float32)",
        "return raw.astype(np.float32)",
    ),
    Mutant(
        "csls takes out the whole",
        "methods/nearest_neighbours.py",
        "return -0.5 * top_mean(banks, self.k)",
        "return -1.0 * top_mean(banks, self.k)",
    ),
    Mutant(
        "compiled rows are not shifted by their maximum",
        "core/compiled.py",
        "power = _exp2((row[j] - top) * scale)",
        "power = _exp2(row[j] * scale)",
    ),
    Mutant(
        "compiled column sums stay behind when the maximum moves",
        "core/compiled.py",
        "sums[j] *= _exp2((shift[j] - top[j]) * scale)",
        "sums[j] *= np.float32(1)",
    ),
    Mutant(
        "terms that run far ahead are not added again",
        "core/compiled.py",
        "if ahead < _FAR:",
        "if ahead < np.float32(1e30):",
    ),
    Mutant(
        "the last of an odd number of rows is left out",
        "core/compiled.py",
        "for u in range(whole, rows):",
        "for u in range(whole, rows - 1):",
    ),
    Mutant(
        "the first edge of a column leaves out its equals",
        "scores/column_top.py",
        "return np.nextafter(edge, np.float32(-np.inf))",
        "return edge",
    ),
    Mutant(
        "the first edge of a column is too high",
        "scores/column_top.py",
        "surplus = len(tops) - self._k",
        "surplus = len(tops) - self._k // 2",
    ),
    Mutant(
        "16 bits are cut off and not rounded",
        "core/compiled.py",
        "bits = _bits_of(row[j]) - HALF_BASE + np.int32(1 << (HALF_SHIFT - 1))",
        "bits = _bits_of(row[j]) - HALF_BASE",
    ),
    Mutant(
        "equal scores go to the higher column",
        "core/compiled.py",
        "while place > 0 and best[place - 1] < score:",
        "while place > 0 and best[place - 1] <= score:",
    ),
    Mutant(
        "the last columns of a gallery are not gathered",
        "core/compiled.py",
        "for j in range(even, right):",
        "for j in range(even, right - 1):",
    ),
    Mutant(
        "rows are balanced without the scaling of the columns",
        "core/sinkhorn_kernel.py",
        "np.matmul(kernel[rows], v, out=z[rows])",
        "np.sum(kernel[rows], axis=1, out=z[rows])",
    ),
    Mutant(
        "a part's mass is left from the block before",
        "core/sinkhorn_kernel.py",
        "self._mass[part].fill(0)",
        "self._mass[part][1:].fill(0)",
    ),
    Mutant(
        "row sums have lost their maximum",
        "core/sinkhorn_kernel.py",
        "return top + self._tau * np.log(z.astype(np.float64))",
        "return self._tau * np.log(z.astype(np.float64))",
    ),
    Mutant(
        "the reference of a kept kernel is forgotten",
        "scores/sinkhorn_operator.py",
        "float(np.log(self.plan.rows))) - p - xp.max(g - p)",
        "float(np.log(self.plan.rows))) - g - xp.max(g - p)",
    ),
    Mutant(
        "what is too small to be kept goes unnoticed",
        "scores/sinkhorn_operator.py",
        "elif not loss <= WORST_LOSS:",
        "elif loss < 0:",
    ),
    Mutant(
        "the error bound is forgotten from round to round",
        "scores/sinkhorn_operator.py",
        "self.error = self.error + loss + rounding",
        "self.error = 0.0",
    ),
    Mutant(
        "the error bound forgets how large the scores are",
        "scores/sinkhorn_operator.py",
        "(8 * (reach / self._tau + 1) + in_a_row)",
        "(8 * (0 * reach + 1) + in_a_row)",
    ),
    Mutant(
        "a masked block is not the caller's own",
        "scores/views.py",
        "return mask_self(scores, self.first + start, in_place=scores is out)",
        "return mask_self(scores, self.first + start, in_place=True)",
    ),
    Mutant(
        "recent queries support the best strength, not the smallest near it",
        "methods/strength.py",
        "mean[best] - mean[: best + 1] <= caution * error",
        "mean[best] - mean[: best + 1] <= -caution * error",
    ),
    Mutant(
        "gains are counted from full strength",
        "methods/strength.py",
        "values: FloatArray = (straight - (sums - sums[:, :1])) / tau",
        "values: FloatArray = (straight - (sums - sums[:, -1:])) / tau",
    ),
    Mutant(
        "new targets are expected as often as their bias says",
        "api/correction.py",
        "linear = float(bias.mean(dtype=np.float64)) + uneven * known / bias.size",
        "linear = self._linear",
    ),
    Mutant(
        "a bank applies itself",
        "api/verdict.py",
        "strength = min(strength, UNCHECKED)",
        "strength = max(strength, UNCHECKED)",
    ),
    Mutant(
        "the best score of an own log's query is the lowest, not the second best",
        "scores/views.py",
        "capped[best] = capped.max(axis=1)",
        "capped[best] = capped.min(axis=1)",
    ),
    Mutant(
        "the marginal error is measured against the kernel of the first round",
        "scores/sinkhorn_shard.py",
        "z = self._kernel.from_kernel(self._kept[low:high], v, self._share[low:high])[0]",
        "z = self._kernel.from_kernel(self._kept[low:high], namespace(g).ones_like(v), self._share[low:high])[0]",
    ),
]


def copy_of_the_library(folder):
    """With what numba keeps beside a source file: it is used again unless that file has changed."""
    return shutil.copytree(SOURCE, folder / "unhub", ignore=shutil.ignore_patterns("*.pyc", "data"))


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
