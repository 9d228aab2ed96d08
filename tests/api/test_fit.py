"""fit: what comes back, in every form the input may have, and what is refused."""

import numpy as np
import pytest

import unhub
from unhub import InputError, UnhubWarning
from unhub.methods import DN, IS, SN
from unhub.scores import EmbeddingScores, spread

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")


@pytest.fixture
def problem(rng, unit_rows):
    return {"targets": unit_rows(40, 16), "query_bank": unit_rows(60, 16)}


@pytest.mark.parametrize("name", unhub.ADDITIVE)
def test_embeddings_and_scores_agree(name, problem, unit_rows):
    T, B = problem["targets"], problem["query_bank"]
    second = unit_rows(25, 16)
    by_vectors = unhub.fit(name, **problem, target_bank=second)
    by_scores = unhub.fit(name, scores=B @ T.T, cross_bank_scores=B @ second.T, target_bank_scores=second @ T.T)
    assert np.abs(by_vectors.bias - by_scores.bias).max() < 1e-6


@pytest.mark.parametrize("name", unhub.ADDITIVE)
def test_extend_gives_fitted_targets_their_bias(name, problem, unit_rows):
    correction = unhub.fit(name, **problem, target_bank=unit_rows(25, 16), strength=0.7)
    assert np.abs(correction.extend(problem["targets"]) - correction.bias).max() < 1e-6


@pytest.mark.parametrize("name", unhub.ADDITIVE)
def test_extend_from_scores_agrees_with_extend_from_vectors(name, problem, unit_rows):
    second, new = unit_rows(25, 16), unit_rows(5, 16)
    T, B = problem["targets"], problem["query_bank"]
    by_vectors = unhub.fit(name, **problem, target_bank=second).extend(new)
    by_scores = unhub.fit(name, scores=B @ T.T, cross_bank_scores=B @ second.T, target_bank_scores=second @ T.T).extend(
        scores=B @ new.T, target_bank_scores=second @ new.T
    )
    assert np.abs(by_vectors - by_scores).max() < 1e-6


def test_strength_scales_what_is_served_and_not_the_bias(problem):
    whole, half = unhub.fit("sn", **problem, strength=1), unhub.fit("sn", **problem, strength=0.5)
    np.testing.assert_array_equal(half.bias, whole.bias)
    np.testing.assert_array_equal(whole.served_bias, whole.bias)
    assert np.allclose(half.served_bias, 0.5 * whole.bias, atol=1e-7)
    np.testing.assert_array_equal(whole.at(0.5).served_bias, half.served_bias)


def test_memory_changes_blocks_and_not_the_bias(problem):
    whole = unhub.fit("sn", **problem).bias
    for memory in ("1kB", "20kB", "1MB"):
        assert np.abs(unhub.fit("sn", **problem, memory=memory).bias - whole).max() < 1e-6


def test_no_read_forms_the_whole_matrix(problem, calls_of):
    with calls_of(EmbeddingScores.read) as reads:
        unhub.fit("dbsn", **problem, target_bank=problem["targets"], memory="50kB")
    assert max(read["stop"] - read["start"] for read in reads) < len(problem["query_bank"])


@pytest.mark.parametrize("name", unhub.ADDITIVE)
def test_the_spread_of_a_bank_is_measured_once(name, problem, calls_of):
    with calls_of(spread) as measured:
        unhub.fit(name, **problem, target_bank=problem["targets"][::2].copy())
    shapes = [call["source"].shape for call in measured]
    expected = 0 if name == "none" else 2 if name == "dbsn" else 1  # one to judge by, also without a temperature
    assert len(shapes) == len(set(shapes)) == expected


def test_tau_auto_is_a_third_of_the_spread_and_a_half_at_a_given_strength(problem):
    scores = problem["query_bank"] @ problem["targets"].T
    assert unhub.fit("sn", **problem, tau="auto").settings["tau"] == pytest.approx(scores.std() / 3, rel=0.02)
    fixed = unhub.fit("sn", **problem, tau="auto", strength=1)
    assert fixed.settings["tau"] == pytest.approx(scores.std() / 2, rel=0.02)


def test_a_prior_moves_the_targets_it_favours(problem):
    prior = np.ones(40)
    prior[3] = 20
    plain, favoured = unhub.fit("sn", **problem, tau=0.1), unhub.fit("sn", **problem, tau=0.1, target_prior=prior)
    assert favoured.bias[3] - plain.bias[3] > 0.1


def test_a_weight_of_two_is_a_query_that_came_twice(problem):
    weight = np.ones(60)
    weight[:10] = 2
    twice = np.concatenate((problem["query_bank"], problem["query_bank"][:10]))
    for each in (IS.paper(), SN.paper(), DN(strength=1)):
        weighted = unhub.fit(each, **problem, query_weight=weight)
        repeated = unhub.fit(each, targets=problem["targets"], query_bank=twice)
        assert np.abs(weighted.bias - repeated.bias).max() < 2e-6


def test_weights_may_be_in_a_file(problem, tmp_path):
    np.save(tmp_path / "w.npy", np.linspace(1, 2, 60))
    by_file = unhub.fit("sn", **problem, query_weight=tmp_path / "w.npy")
    assert (by_file.bias == unhub.fit("sn", **problem, query_weight=np.linspace(1, 2, 60)).bias).all()


def test_tol_runs_on_to_convergence_and_iterations_bound_it(problem):
    converged = unhub.fit("sn", **problem, tau=0.1, tol=1e-6)
    assert converged.status == "converged"
    assert converged.marginal_error <= 1e-6
    stopped = unhub.fit("sn", **problem, tau=0.1, tol=1e-12, iterations=3)
    assert (stopped.status, stopped.iterations) == ("iterations reached", 3)


def test_progress_is_told(problem):
    told = []
    unhub.fit("sn", **problem, progress=lambda name, done, total: told.append((name, done, total)))
    assert told[-1] == ("sn, round 10 of 10", 60 * 10, 60 * 10)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_torch_tensors_and_half_precision(problem):
    torch = pytest.importorskip("torch")
    expected = unhub.fit("sn", **problem).bias
    tensors = {name: torch.from_numpy(rows) for name, rows in problem.items()}
    assert np.abs(unhub.fit("sn", **tensors).bias - expected).max() < 1e-6
    halves = {name: rows.astype(np.float16) for name, rows in problem.items()}
    assert np.abs(unhub.fit("sn", **halves).bias - expected).max() < 2e-3


def test_a_temperature_that_does_not_suit_the_scores_is_told(problem):
    with pytest.warns(UnhubWarning, match=r"tau = 0.001 of sn is sharp .* auto would be 0.0\d"):
        unhub.fit("sn", **problem, tau=0.001)
    with pytest.warns(UnhubWarning, match="soft"):
        unhub.fit("is", **problem, tau=5.0)


REFUSED = {
    "nan": (
        lambda p: p["targets"].__setitem__((3, 2), np.nan),
        r"targets has NaN or infinite values in 1 row \(row 3\)",
    ),
    "zero": (
        lambda p: p["targets"].__setitem__(5, 0),
        r"targets has 1 zero vector \(row 5\); a zero vector is similar to nothing",
    ),
    "long": (
        lambda p: p["query_bank"].__imul__(3),
        r"query_bank is not of unit length \(row lengths run from 3 to 3\).*normalize=True for cosine similarity, or "
        r"metric='ip' to use",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_vectors_that_cannot_be_used_are_refused(case, problem):
    spoil, sentence = REFUSED[case]
    spoil(problem)
    with pytest.raises(InputError, match=sentence):
        unhub.fit("sn", **problem)


def test_float16_infinities_are_explained(problem):
    problem["targets"] = problem["targets"].astype(np.float16)
    problem["targets"][7, 1] = np.inf
    with pytest.raises(InputError, match=r"row 7\); float16 ends at 65504"):
        unhub.fit("sn", **problem)


def test_dimensions_must_agree(problem, unit_rows):
    with pytest.raises(InputError, match="query_bank has dimension 8 but targets has 16; embed both with the same"):
        unhub.fit("sn", targets=problem["targets"], query_bank=unit_rows(60, 8))


def test_an_empty_bank_is_refused(problem):
    with pytest.raises(InputError, match=r"query_bank .*0"):
        unhub.fit("sn", targets=problem["targets"], query_bank=np.empty((0, 16), dtype=np.float32))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tau": 0.0}, "tau is 0.0, but a temperature is a positive number"),
        ({"tau": -1}, "tau is -1, but a temperature is a positive number"),
        ({"tau": float("nan")}, "temperature is a positive number"),
        ({"tau": "cold"}, "pass tau='auto'"),
        ({"tau": 1e-9}, "tau is 1e-09, but float32 scores .* pass a larger one, or tau='auto'"),
        ({"tau": [0.1]}, "tau is .0.1., but a temperature"),
        ({"tau": True}, "tau is True, but a temperature"),
        ({"iterations": 2.5}, "iterations is 2.5; give a whole number"),
        ({"iterations": "ten"}, "iterations is 'ten'; give a whole number"),
        ({"strength": float("inf")}, r"strength is inf; give 'auto' or a number from 0 \(no correction\) to 4"),
        ({"iterations": 0}, "iterations is 0; give a whole number of at least 1"),
        ({"tol": 0.0}, "tol is 0.0; give a number above 0"),
        ({"strength": -1.0}, r"strength is -1.0; give 'auto' or a number from 0 \(no correction\) to 4"),
        ({"k": 3}, "sn has no hyper-parameter k; it has tau, iterations, tol, strength"),
        ({"metric": "l2"}, "metric is 'l2'; use 'cosine' or 'ip'"),
        ({"memory": "lots"}, "memory is 'lots'; give a size"),
        ({"query_weight": np.ones(3)}, r"query_weight has shape \(3,\) but there are 60 bank queries"),
        ({"target_prior": np.zeros(40)}, "target_prior must be positive and finite; it is not at rows 0, 1"),
        ({"target_ids": ["a", "b"]}, "targets has 40 rows but there are 2 ids"),
        ({"target_ids": ["a"] * 40}, "targets has ids that are not unique"),
        ({"scores": np.eye(3)}, "scores and targets came together"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(given, sentence, problem):
    with pytest.raises(InputError, match=sentence):
        unhub.fit("sn", **problem, **given)


def test_missing_parts_are_named(problem):
    with pytest.raises(InputError, match="query_bank is missing; give embeddings of past queries"):
        unhub.fit("sn", targets=problem["targets"])
    with pytest.raises(InputError, match="dbsn needs a target bank: pass target_bank"):
        unhub.fit("dbsn", **problem)
    with pytest.raises(InputError, match="dualis needs a target bank"):
        unhub.fit("dualis", **problem)


def test_methods_that_are_no_bias_say_so(problem):
    for name in sorted(set(unhub.METHODS) - set(unhub.ADDITIVE)):
        with pytest.raises(InputError, match=rf"{name} is not a bias .* Methods that are a bias: none, is, dualis, sn"):
            unhub.fit(name, **problem)


def test_a_typo_lists_what_exists(problem):
    with pytest.raises(InputError, match=r"there is no method 'dbns'; there are none, is, .* Did you mean 'dbsn'\?"):
        unhub.fit("dbns", **problem)


def test_the_default_temperature_follows_logits_as_it_follows_cosines(problem):
    cosines = problem["query_bank"] @ problem["targets"].T
    scores = 100 * cosines
    np.testing.assert_allclose(
        unhub.fit("sn", scores=scores).bias, 100 * unhub.fit("sn", scores=cosines).bias, atol=2e-4
    )
    with pytest.warns(UnhubWarning, match=r"tau = 0.01 of sn is sharp for scores with a standard deviation of 2\d"):
        unhub.fit(SN.paper(), scores=scores)
    assert np.isfinite(unhub.fit("sn", scores=scores, tau="auto").bias).all()
    assert np.isfinite(unhub.fit("sn", scores=scores, tau=1.0).bias).all()


def test_the_gallery_as_its_own_bank_is_noticed_and_can_be_meant(problem):
    itself = {"targets": problem["targets"], "query_bank": problem["targets"]}
    with pytest.warns(UnhubWarning, match="query_bank is the gallery itself: 40 of 40 vectors are targets"):
        unhub.fit("is", **itself, tau=0.05, strength=1)
    masked = unhub.fit("is", **itself, tau=0.05, ignore_self=True)
    scores = problem["targets"] @ problem["targets"].T
    np.fill_diagonal(scores, -np.inf)
    expected = -0.05 * np.log(np.exp(scores / 0.05).sum(axis=0))
    assert np.allclose(masked.bias, expected - expected.mean(), atol=1e-6)
    with pytest.raises(InputError, match="ignore_self needs the gallery as its own bank, but 60 bank rows meet 40"):
        unhub.fit("is", **problem, ignore_self=True)


def test_none_leaves_a_hyper_parameter_as_it_is(problem):
    assert unhub.fit("sn", **problem, tau=None, strength=None).settings == unhub.fit("sn", **problem).settings


@pytest.mark.parametrize("scale", [1e20, 1e-25])
def test_any_length_can_be_normalised(problem, scale):
    plain = unhub.fit("is", **problem, tau=0.05)
    scaled = unhub.fit("is", targets=problem["targets"] * np.float32(scale), query_bank=problem["query_bank"],
                       normalize=True, tau=0.05)  # fmt: skip
    assert np.allclose(scaled.bias, plain.bias, atol=1e-5)


@pytest.mark.parametrize("name", ["is", "sn", "dbsn", "dualis"])
def test_extend_takes_the_prior_of_new_targets(name, problem, unit_rows):
    prior = np.linspace(2, 8, 40)
    correction = unhub.fit(name, **problem, target_bank=unit_rows(25, 16), target_prior=prior)
    again = correction.extend(problem["targets"], target_prior=prior)
    assert np.abs(again - correction.bias).max() < 1e-6
    average = correction.extend(problem["targets"], target_prior=np.full(40, 5.0))
    assert np.abs(average - correction.extend(problem["targets"])).max() < 1e-6


def test_whole_numbers_may_come_as_floats(problem):
    assert unhub.fit("sn", **problem, iterations=5.0).iterations == 5


def test_a_bias_that_is_no_number_is_refused(problem):
    huge = {name: rows * np.float32(1e30) for name, rows in problem.items()}
    with pytest.raises(InputError, match="the bias of is is not a number for 40 of 40 targets"):
        unhub.fit("is", **huge, metric="ip", tau=1e22)
    with pytest.raises(InputError, match="dualis needs a target bank"):
        unhub.fit("dualis", **problem, target_bank=np.empty((0, 16), dtype=np.float32))


def test_constant_scores_have_a_temperature_too():
    assert np.abs(unhub.fit("sn", scores=np.full((31, 23), 0.9, dtype=np.float32), tau="auto").bias).max() < 1e-6


def test_the_spread_of_a_wide_gallery_is_seen_in_many_rows():
    from unhub.scores import MatrixScores, spread

    scores = np.linspace(-1, 1, 20, dtype=np.float32)[:, None] + np.zeros((1, 300_000), dtype=np.float32)
    assert spread(MatrixScores(scores, 1)).std == pytest.approx(scores.std(), rel=0.05)


@pytest.mark.parametrize("block", [1, 1000])
def test_the_spread_of_two_kinds_of_targets_in_turn(block):
    """Every second column would show one kind only, and the spread of its noise."""
    from unhub.scores import MatrixScores, spread

    scores = np.tile(np.array([0.1, 0.9], dtype=np.float32), (16, 20_000))
    seen = spread(MatrixScores(scores, block))
    assert (seen.low, seen.high) == (np.float32(0.1), np.float32(0.9))
    assert seen.std == pytest.approx(0.4, rel=0.01)
