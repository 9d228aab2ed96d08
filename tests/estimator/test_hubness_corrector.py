"""The estimator says what ``unhub.fit`` says, in scikit-learn's words."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline

import unhub
from unhub.estimator import HubnessCorrector
from unhub.foundation.errors import InputError, UnhubWarning


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def world():
    """Targets around a common centre, so that some are hubs; queries are noisy copies, and so is the bank."""
    rng = np.random.default_rng(7)
    centre = rng.normal(size=24)
    targets = unit(rng.normal(size=(120, 24)) + centre * rng.uniform(0, 0.5, size=(120, 1)))

    def noisy(rows):
        return unit(rows + 0.25 * rng.normal(size=rows.shape) + 0.2 * centre)

    answers = np.arange(120)
    return targets, noisy(targets), answers, noisy(targets[rng.permutation(120)])


def literal_self_bank_is(gallery, tau):
    """-tau log sum over the *other* rows of exp(cosine / tau), float64, mean zero."""
    unit64 = gallery / np.linalg.norm(gallery, axis=1, keepdims=True)
    scores = unit64 @ unit64.T
    raw = np.array(
        [
            -tau * np.log(sum(np.exp(scores[u, j] / tau) for u in range(len(gallery)) if u != j))
            for j in range(len(gallery))
        ]
    )
    return raw - raw.mean()


def test_a_bank_gives_the_correction_of_fit(world):
    targets, queries, _, bank = world
    corrector = HubnessCorrector("sn", tau=0.05, query_bank=bank).fit(targets)
    correction = unhub.fit("sn", targets=targets, query_bank=bank, tau=0.05, normalize=True)
    np.testing.assert_array_equal(corrector.bias_, correction.bias)
    np.testing.assert_array_equal(corrector.hubness_, -correction.bias)
    hits = correction.search(queries, k=4)
    distances, indices = corrector.kneighbors(queries, n_neighbors=4)
    np.testing.assert_array_equal(indices, hits.rows)
    np.testing.assert_array_equal(distances, 1 - hits.scores)
    assert (np.diff(distances, axis=1) >= 0).all()


def test_neighbours_are_ordered_by_one_minus_score_plus_bias():
    """Five points a reader can draw: target 2 lies between all queries and wins every one until it is corrected."""
    angles = np.deg2rad([0, 90, 45, 10, 80])
    gallery = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    asked = np.deg2rad([30, 36, 40, 50, 54, 60])
    queries = np.stack((np.cos(asked), np.sin(asked)), axis=1)
    plain = HubnessCorrector("none", query_bank=queries).fit(gallery)
    corrected = HubnessCorrector("sn", tau=0.1, strength=1, query_bank=queries).fit(gallery)
    assert plain.kneighbors(queries, 1, return_distance=False).ravel().tolist() == [2] * 6
    assert corrected.hubness_.argmax() == 2
    found = corrected.kneighbors(queries, 1, return_distance=False).ravel()
    assert len(set(found.tolist())) > 1
    distances, indices = corrected.kneighbors(queries, 5)
    expected = 1 - (queries @ gallery.T + corrected.bias_)
    np.testing.assert_allclose(distances, np.sort(expected, axis=1), atol=1e-6)
    np.testing.assert_array_equal(indices, np.argsort(expected, axis=1, kind="stable"))


def test_without_a_bank_no_target_speaks_for_itself():
    gallery = np.random.default_rng(0).normal(size=(30, 6)) + 0.4
    with pytest.warns(UnhubWarning, match="sharp"):
        corrector = HubnessCorrector("is", tau=0.03).fit(gallery)
    np.testing.assert_allclose(corrector.bias_, literal_self_bank_is(gallery, 0.03), atol=1e-5)


def test_with_itself_in_the_bank_nothing_would_be_corrected():
    gallery = unit(np.random.default_rng(0).normal(size=(60, 64)) + 0.2)
    with_itself = unhub.fit("is", targets=gallery, query_bank=gallery, tau="auto", strength=1)
    without = HubnessCorrector("is", strength=1).fit(gallery)
    assert np.abs(with_itself.bias).max() < 0.01 * np.abs(without.bias_).max()


@pytest.mark.parametrize("name", ["is", "sn", "nnn", "csls", "dn", "none"])
def test_every_method_works_on_its_own_gallery(name):
    gallery = np.random.default_rng(1).normal(size=(20, 5))
    bias = HubnessCorrector(name).fit(gallery).bias_
    assert np.isfinite(bias).all()
    assert abs(bias.mean()) < 1e-6


@pytest.mark.parametrize("name", ["dbsn", "dualis"])
def test_a_target_bank_reaches_the_method(name, world):
    targets, _, _, bank = world
    rng = np.random.default_rng(2)
    others = rng.normal(size=(50, 24))
    corrector = HubnessCorrector(name, query_bank=bank, target_bank=others).fit(targets)
    expected = unhub.fit(corrector.correction_.method, targets=targets, query_bank=bank, target_bank=unit(others))
    np.testing.assert_allclose(corrector.bias_, expected.bias, atol=1e-5)
    assert np.isfinite(HubnessCorrector(name, target_bank=others).fit(targets).bias_).all()
    with pytest.raises(InputError, match=f"{name} needs a target bank"):
        HubnessCorrector(name, query_bank=bank).fit(targets)


def test_transform_augments_fitted_and_unseen_targets(world):
    targets, queries, _, bank = world
    corrector = HubnessCorrector("sn", query_bank=bank).fit(targets[:80])
    augmented = corrector.transform(targets)
    assert augmented.shape == (120, 25)
    assert augmented.dtype == np.float32
    np.testing.assert_allclose(augmented[:, :-1], targets, atol=1e-6)
    served = corrector.correction_.served_bias
    assert 0 < corrector.strength_ < 1, "the bank alone supports less than all of it"
    np.testing.assert_array_equal(served, np.float32(corrector.strength_) * corrector.bias_)
    np.testing.assert_array_equal(augmented[:80, -1], served)
    unseen = corrector.correction_.extend(targets[80:])
    np.testing.assert_array_equal(augmented[80:, -1], np.float32(corrector.strength_) * unseen)
    np.testing.assert_allclose(corrector.correction_.extend(targets[:80]), corrector.bias_, atol=1e-5)
    products = corrector.correction_.augment_queries(queries) @ augmented[:80].T
    found = corrector.kneighbors(queries, 1, return_distance=False).ravel()
    np.testing.assert_array_equal(products.argmax(axis=1), found)


def test_a_refused_correction_serves_the_scores_as_they_are(world):
    targets, queries, _, bank = world
    with pytest.warns(UnhubWarning, match="REFUSE: the bank has 6 different queries, too few"):
        refused = HubnessCorrector(query_bank=bank[:6]).fit(targets)
    assert (refused.strength_, refused.verdict_.decision) == (0.0, "refuse")
    assert np.abs(refused.bias_).max() > 0, "the bias is there to be looked at"
    plain = HubnessCorrector("none", query_bank=bank).fit(targets)
    np.testing.assert_array_equal(refused.kneighbors(queries, 3)[1], plain.kneighbors(queries, 3)[1])
    assert not refused.transform(targets)[:, -1].any()


def test_recent_and_judged_queries_reach_the_verdict(world):
    targets, queries, right, bank = world
    fresh = {"recent": queries, "judged": right}
    corrector = HubnessCorrector(query_bank=bank, **fresh).fit(targets)
    expected = unhub.fit("sn", targets=targets, query_bank=bank, normalize=True, **fresh).verdict
    assert [each.source for each in corrector.verdict_.evidence] == ["bank", "recent", "judged"]
    assert corrector.verdict_ == expected
    assert corrector.verdict_.checked == ("noise", "mismatch", "popularity")


def test_rows_are_found_in_any_order_and_any_precision(world):
    targets, _, _, bank = world
    corrector = HubnessCorrector(query_bank=bank).fit(targets.astype(np.float64))
    order = np.random.default_rng(3).permutation(120)
    np.testing.assert_array_equal(corrector.transform(targets[order])[:, -1], corrector.correction_.served_bias[order])


def test_lengths_do_not_matter_unless_they_are_meant_to(world):
    targets, _, _, bank = world
    lengths = np.random.default_rng(4).uniform(0.1, 9, size=(120, 1))
    scaled = HubnessCorrector(query_bank=7 * bank).fit(targets * lengths)
    np.testing.assert_allclose(scaled.bias_, HubnessCorrector(query_bank=bank).fit(targets).bias_, atol=1e-5)
    with pytest.raises(InputError, match="not of unit length"):
        HubnessCorrector(query_bank=bank, normalize=False).fit(targets * lengths)
    products = HubnessCorrector("is", query_bank=bank, metric="ip", normalize=False).fit(targets * lengths)
    np.testing.assert_allclose(products.transform(targets * lengths)[:, :-1], targets * lengths, rtol=1e-6)


def test_score_is_the_share_of_first_places(world):
    targets, queries, answers, bank = world
    corrector = HubnessCorrector(query_bank=bank, tau=0.05).fit(targets)
    result = unhub.evaluate(
        queries=queries, targets=targets, relevant=answers, query_bank=bank, methods=["sn"], tau=0.05
    )
    assert 100 * corrector.score(queries, answers) == pytest.approx(result["sn"]["R@1"])
    with pytest.raises(InputError, match="121"):
        corrector.score(queries, np.append(answers, 0))
    with pytest.raises(InputError, match=r"^y names target 120 for query"):
        corrector.score(queries, answers + 1)


@pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")
def test_tau_can_be_grid_searched(world):
    """The gallery is the part to fit on, the dev queries are the part to score on."""
    targets, queries, answers, bank = world
    rows = np.concatenate((targets, queries))
    right = np.concatenate((np.full(120, -1), answers))
    split = PredefinedSplit([-1] * 120 + [0] * 120)
    taus = [0.02, 0.06, 0.5]
    search = GridSearchCV(HubnessCorrector(query_bank=bank), {"tau": taus}, cv=split, refit=False)
    search.fit(rows, right)
    alone = [HubnessCorrector(query_bank=bank, tau=tau).fit(targets).score(queries, answers) for tau in taus]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], alone)
    assert search.best_params_["tau"] == taus[int(np.argmax(alone))]


def test_it_is_a_step_of_a_pipeline(world):
    targets, queries, answers, _ = world
    pipeline = make_pipeline(PCA(16, random_state=0), HubnessCorrector())
    assert pipeline.fit_transform(targets).shape == (120, 17)
    assert pipeline.get_feature_names_out()[-1] == "hubnesscorrector16"
    step = pipeline[-1]
    by_hand = step.score(pipeline[:-1].transform(queries), answers)
    assert pipeline.score(queries, answers) == by_hand


@pytest.mark.parametrize("name", unhub.ADDITIVE)
def test_it_knows_every_hyper_parameter_of_every_method(name):
    assert set(unhub.methods.settings(unhub.methods.method_class(name)())) <= set(HubnessCorrector(name).get_params())


def test_hyper_parameters_reach_the_method(world):
    targets, _, _, bank = world

    def settings(**given):
        return HubnessCorrector(query_bank=bank, **given).fit(targets).correction_.settings

    assert settings(method="nnn", k=5, alpha=0.3, strength=0.5) == {"k": 5, "alpha": 0.3, "strength": 0.5}
    assert settings(method="sn", iterations=3, tau=0.04)["iterations"] == 3
    assert settings(method="sn", tol=1e-3)["tol"] == 1e-3
    assert settings(method=unhub.methods.SN(tau=0.07))["tau"] == 0.07
    assert settings(method=unhub.methods.SN(tau=0.07), tau=0.05)["tau"] == 0.05
    with pytest.raises(InputError, match="nnn has no hyper-parameter tau"):
        settings(method="nnn", tau=0.05)
    with pytest.raises(InputError, match="is not a bias"):
        settings(method="dis")
    with pytest.raises(InputError, match="Did you mean 'csls'"):
        settings(method="clss")


def test_auto_follows_the_spread_for_methods_with_two_temperatures(world):
    targets, _, _, bank = world
    found = HubnessCorrector("dualis", query_bank=bank, target_bank=bank).fit(targets).correction_.settings
    assert found["tau2"] == pytest.approx(50 * found["tau1"])


def test_a_bank_may_be_a_path(world, tmp_path):
    targets, _, _, bank = world
    np.save(tmp_path / "bank.npy", bank)
    by_path = HubnessCorrector(query_bank=str(tmp_path / "bank.npy")).fit(targets)
    np.testing.assert_allclose(by_path.bias_, HubnessCorrector(query_bank=bank).fit(targets).bias_, atol=1e-6)


def test_errors_say_what_to_do(world):
    targets, queries, _, bank = world
    with pytest.raises(NotFittedError):
        HubnessCorrector().kneighbors(queries)
    corrector = HubnessCorrector(query_bank=bank).fit(targets)
    with pytest.raises(InputError, match="n_neighbors is 121 but the gallery has 120 targets; ask for no more"):
        corrector.kneighbors(queries, n_neighbors=121)
    with pytest.raises(InputError, match="k is 0"):
        corrector.kneighbors(queries, n_neighbors=0)
    with pytest.raises(InputError, match="query_bank has dimension 23 but targets has 24"):
        HubnessCorrector(query_bank=bank[:, :-1]).fit(targets)
    with pytest.raises(InputError, match="'cosine' or 'ip'"):
        HubnessCorrector(metric="euclidean").fit(targets)


def test_it_can_be_cloned_and_pickled(world):
    targets, queries, _, bank = world
    corrector = HubnessCorrector(unhub.methods.IS(tau=0.05), query_bank=bank).fit(targets)
    again = pickle.loads(pickle.dumps(corrector))
    np.testing.assert_array_equal(again.kneighbors(queries)[1], corrector.kneighbors(queries)[1])
    np.testing.assert_array_equal(clone(corrector).fit(targets).bias_, corrector.bias_)


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False)


def test_importing_unhub_leaves_scikit_learn_out():
    code = "import sys, unhub; assert 'sklearn' not in sys.modules"
    assert run(code).returncode == 0


def test_the_check_above_can_fail():
    code = "import sys, unhub.estimator; assert 'sklearn' not in sys.modules"
    assert "AssertionError" in run(code).stderr


def test_without_scikit_learn_the_error_has_the_command():
    code = "import sys; sys.modules['sklearn'] = None; import unhub.estimator"
    assert "pip install 'unhub[sklearn]'" in run(code).stderr
