"""The methods that are no bias, against their literal formulas: by value where a value is defined, else by ranking."""

import numpy as np
import pytest

import unhub
from reference import additive, by_row
from reference.problems import scores
from unhub.methods import method_class

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

TOLERANCE = 1e-5

SIZES = [(1, 1, 1), (1, 9, 6), (5, 4, 3), (30, 20, 25), (12, 60, 40)]
"""test queries, bank queries, targets"""

sizes = pytest.mark.parametrize(("queries", "bank", "targets"), SIZES)


def problem(queries, bank, targets, extra=14):
    """Test scores, bank scores, target-bank scores, all float32."""
    rng = np.random.default_rng([queries, bank, targets])
    return scores(rng, queries, targets), scores(rng, bank, targets), scores(rng, extra, targets)


def exact(*arrays):
    return [x.astype(np.float64) for x in arrays]


def centred(x):
    """Rows with mean zero: a constant in a row does not rank."""
    return x - x.mean(axis=1, keepdims=True)


def agree(found, expected, tolerance=TOLERANCE):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("tau", [0.005, 0.02, 0.3])
@sizes
def test_dynamic_inverted_softmax(queries, bank, targets, tau, k):
    s, b, _ = problem(queries, bank, targets)
    found = unhub.normalize("dis", scores=s, query_bank_scores=b, tau=tau, k=k)
    agree(centred(found), centred(by_row.dynamic_inverted_softmax(*exact(s, b), tau, k)))


def test_dynamic_inverted_softmax_leaves_some_rows_raw():
    """The sizes above would not tell rows from targets if every target were active."""
    s, b, _ = problem(12, 3, 40)
    active = by_row.activation_set(b, 1)
    switched = [by_row.first_target(row) in active for row in s]
    assert any(switched)
    assert not all(switched)
    found = unhub.normalize("dis", scores=s, query_bank_scores=b, tau=0.02)
    agree(centred(found), centred(by_row.dynamic_inverted_softmax(*exact(s, b), 0.02)))
    np.testing.assert_array_equal(found[~np.array(switched)], s[~np.array(switched)])


@pytest.mark.parametrize("tau", [0.02, 0.3])
@sizes
def test_dynamic_inverted_softmax_as_printed(queries, bank, targets, tau):
    s, b, _ = problem(queries, bank, targets)
    expected = by_row.dynamic_inverted_softmax_as_printed(*exact(s, b), tau)
    with pytest.warns(unhub.UnhubWarning, match="audit"):
        found = unhub.normalize("dis_paper", scores=s, query_bank_scores=b, tau=tau)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("k", [1, 2])
@sizes
def test_dual_dynamic_inverted_softmax(queries, bank, targets, k):
    s, b, t = problem(queries, bank, targets, extra=3)
    given = {"tau1": 0.02, "tau2": 0.5, "k": k}
    found = unhub.normalize("dualdis", scores=s, query_bank_scores=b, target_bank_scores=t, **given)
    agree(centred(found), centred(by_row.dual_dynamic_inverted_softmax(*exact(s, b, t), **given)))


def test_dual_inverted_softmax_is_the_product_as_printed():
    s, b, t = exact(*problem(20, 30, 25))
    found = unhub.normalize(
        "dualis", scores=s, query_bank_scores=b, target_bank_scores=t, tau1=0.05, tau2=0.2, strength=1
    )
    product = by_row.dual_inverted_softmax_product(s, b, t, 0.05, 0.2)
    agree(centred(found), centred(0.04 * np.log(product)))


@sizes
def test_globally_corrected(queries, bank, targets):
    s, b, _ = problem(queries, bank, targets)
    found = unhub.normalize("gc", scores=s, query_bank_scores=b)
    np.testing.assert_array_equal(
        np.argsort(-found, axis=1, kind="stable"), by_row.globally_corrected_order(*exact(s, b))
    )


def test_globally_corrected_with_many_ties():
    rng = np.random.default_rng(3)
    s, b = (rng.integers(0, 4, shape).astype(np.float32) / 4 for shape in ((20, 15), (6, 15)))
    found = unhub.normalize("gc", scores=s, query_bank_scores=b)
    np.testing.assert_array_equal(
        np.argsort(-found, axis=1, kind="stable"), by_row.globally_corrected_order(*exact(s, b))
    )


@pytest.mark.parametrize("tau", [0.01, 0.2])
def test_dual_softmax(tau):
    s, _, _ = problem(30, 1, 20)
    found = unhub.normalize("dsl", scores=s, tau=tau)
    np.testing.assert_allclose(found, by_row.dual_softmax(*exact(s), tau), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("tau", [1e-4, 0.01, 0.3])
@sizes
def test_single_sinkhorn(queries, bank, targets, tau):
    s, b, _ = problem(queries, bank, targets)
    found = unhub.normalize("single_sinkhorn", scores=s, query_bank_scores=b, tau=tau)
    agree(centred(found), centred(by_row.single_sinkhorn(*exact(s, b), tau)))


@pytest.mark.parametrize("k", [1, 5, 10])
@sizes
def test_local_scaling_and_contextual_dissimilarity(queries, bank, targets, k):
    s, b, _ = problem(queries, bank, targets)
    found = unhub.normalize("local_scaling", scores=s, query_bank_scores=b, k=k)
    agree(found, by_row.local_scaling(*exact(s, b), k))
    found = unhub.normalize("nicdm", scores=s, query_bank_scores=b, k=k)
    agree(found, by_row.contextual_dissimilarity(*exact(s, b), k))


def test_mutual_proximity():
    s, b, _ = problem(12, 60, 40)
    found = unhub.normalize("mutual_proximity", scores=s, query_bank_scores=b)
    agree(np.exp(found), by_row.mutual_proximity(*exact(s, b)))


@pytest.mark.parametrize("gamma", [1.0, 2.0])
@sizes
def test_localised_centring(queries, bank, targets, gamma):
    s, b, _ = problem(queries, bank, targets)
    found = unhub.normalize("centering", scores=s, query_bank_scores=b, k=3, gamma=gamma)
    agree(centred(found), centred(by_row.localised_centring(*exact(s, b), 3, gamma)))


def test_two_sided_csls_ranks_as_the_bias():
    s, b, _ = exact(*problem(30, 20, 25))
    found = unhub.normalize("csls", scores=s, query_bank_scores=b, strength=1)
    agree(2 * centred(found), centred(by_row.two_sided_csls(s, b)))


TRANSDUCTIVE = {
    "is": lambda s: s + additive.inverted_softmax(s, 0.02),
    "sn": lambda s: s + additive.sinkhorn_normalisation(s, 0.01),
    "csls": lambda s: s + additive.cross_domain_local_scaling(s),
    "dis": lambda s: by_row.dynamic_inverted_softmax(s, s, 0.02),
    "nicdm": lambda s: by_row.contextual_dissimilarity(s, s),
    "centering": lambda s: by_row.localised_centring(s, s),
}


@pytest.mark.parametrize("name", TRANSDUCTIVE)
def test_without_a_bank_the_rows_are_the_bank(name):
    s, _, _ = problem(30, 1, 25)
    found = unhub.normalize(method_class(name).paper(), scores=s)
    agree(centred(found), centred(TRANSDUCTIVE[name](*exact(s))))


NOT_A_BIAS = ["dis", "dis_paper", "dualdis", "gc", "dsl", "single_sinkhorn", "local_scaling", "nicdm",
              "mutual_proximity", "centering", "otn", "l2n", "hn", "sparse_k"]  # fmt: skip


@pytest.mark.parametrize("name", NOT_A_BIAS)
def test_what_is_no_bias_cannot_be_fitted(name):
    with pytest.raises(ValueError, match=f"{name} is not a bias"):
        unhub.fit(name, scores=problem(5, 1, 4)[0])


def test_every_method_is_in_one_of_the_lists():
    assert set(unhub.METHODS) == {"none", "is", "dualis", "sn", "capped_sn", "dbsn", "nnn", "csls", "dn", *NOT_A_BIAS}
