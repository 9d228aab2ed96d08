"""What is judged is what is deployed: evaluate gives each method the tau, bias, strength and verdict that fit gives."""

import numpy as np
import pytest

import unhub

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

TARGETS, DIFFERENT, COPIES = 60, 140, 60


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def shop():
    """A shop whose bank repeats three queries in ten: the hub's visitors, half of them exactly, half encoded again."""
    rng = np.random.default_rng(3)
    common = rng.normal(size=24)
    images = unit(rng.normal(size=(TARGETS, 24)) + rng.gamma(1.0, 0.4, size=(TARGETS, 1)) * common)

    def captions(rows):
        return unit(images[rows] + 0.12 * common + 0.2 * rng.normal(size=(len(rows), 24)))

    bank = captions(rng.integers(0, TARGETS, DIFFERENT))
    popular = bank[np.repeat(np.argsort(bank @ common)[-6:], COPIES // 6)]
    popular[::2] = unit(popular[::2] + 1e-5 * rng.normal(size=popular[::2].shape))
    answers = rng.integers(0, TARGETS, 100)
    asked = captions(answers)
    return {
        "targets": images,
        "query_bank": np.concatenate((bank, popular))[rng.permutation(DIFFERENT + COPIES)],
        "different": bank,
        "recent": captions(rng.integers(0, TARGETS, 80)),
        "queries": asked,
        "relevant": answers,
    }


def as_vectors(shop, recent=True):
    parts = ("targets", "query_bank", "recent") if recent else ("targets", "query_bank")
    return {name: shop[name] for name in parts}, {name: shop[name] for name in ("queries", "relevant")}


def both(shop, method="sn", recent=True, **more):
    """A fit, and the row of an evaluation, of the same data with the same arguments."""
    data, test = as_vectors(shop, recent)
    correction = unhub.fit(method, **data, **more)
    result = unhub.evaluate(**data, **test, methods=["none", method], **more)
    return correction, result[correction.method.name]


def assert_same(correction, row):
    assert row.settings == correction.settings | {"strength": correction.strength}
    np.testing.assert_array_equal(row.bias, correction.served_bias)
    assert row.verdict == correction.verdict


WEIGHTS = np.random.default_rng(0).uniform(0.2, 3.0, DIFFERENT + COPIES)
CASES = {
    "sn": {},
    "is": {"method": "is"},
    "csls": {"method": "csls"},
    "without recent queries": {"recent": False},
    "own log": {"own_log": True},
    "weights": {"query_weight": WEIGHTS},
    "weighed copies": {"duplicates": "weigh"},
    "a temperature": {"tau": 0.05},
    "strength 1": {"strength": 1},
    "is, strength 1": {"method": "is", "strength": 1},
    "csls, strength 1": {"method": "csls", "strength": 1},
    "weights, strength 1": {"query_weight": WEIGHTS, "strength": 1},
}


@pytest.mark.parametrize("more", CASES.values(), ids=CASES)
def test_evaluate_gives_what_fit_gives(more, shop):
    correction, row = both(shop, **more)
    assert_same(correction, row)
    if correction.verdict.reason == "judged":
        assert correction.verdict.duplicates == pytest.approx(COPIES / (DIFFERENT + COPIES))


def test_copies_and_their_absence_give_one_temperature(shop):
    plain, row = both(shop | {"query_bank": shop["different"]})[1], both(shop)[1]
    assert row.settings["tau"] == pytest.approx(plain.settings["tau"], rel=1e-4)
    assert row.settings["tau"] != pytest.approx(both(shop, strength=1)[1].settings["tau"] * 2 / 3, rel=1e-2)


@pytest.mark.parametrize("method", ["sn", "is", "csls"])
def test_matrices_are_judged_as_they_are_fitted(method, shop):
    def scores(name):
        return shop[name] @ shop["targets"].T

    correction = unhub.fit(method, scores=scores("query_bank"), recent=scores("recent"))
    test = {"scores": scores("queries"), "relevant": shop["relevant"]}
    bank = {"query_bank_scores": scores("query_bank"), "recent": scores("recent")}
    assert_same(correction, unhub.evaluate(**test, **bank, methods=["none", method])[method])


def test_items_that_are_not_their_own_results_are_judged_by_the_distinct_bank(shop):
    """The gallery asks, so that its items are not their own results; the bank is another one, with its copies."""
    bank = {"targets": shop["targets"], "query_bank": shop["query_bank"]}
    classes = np.arange(TARGETS) // 2
    relevant = [set(np.flatnonzero(classes == each)) for each in classes]
    correction = unhub.fit("sn", **bank)
    result = unhub.evaluate(
        **bank, queries=shop["targets"], relevant=relevant, ignore_self=True, methods=["none", "sn"]
    )
    assert_same(correction, result["sn"])


@pytest.mark.parametrize("more", [{}, {"own_log": True}, {"strength": 1}, {"query_weight": WEIGHTS}])
@pytest.mark.parametrize("saved", [False, True])
def test_a_correction_is_judged_as_it_is(saved, more, shop, tmp_path):
    data, test = as_vectors(shop)
    correction = unhub.fit("sn", **data, **more)
    path = tmp_path / "shop.unhub"
    correction.save(path)
    result = unhub.evaluate(correction=path if saved else correction, targets=shop["targets"], **test)
    assert_same(correction, result[correction.method.name])


def test_a_method_beside_a_correction_learns_from_the_same_bank(shop):
    data, test = as_vectors(shop, recent=False)
    correction = unhub.fit("sn", **data)
    result = unhub.evaluate(correction=correction, targets=shop["targets"], **test, methods=["none", "sn", "is"])
    row, other = result["is"], unhub.fit("is", **data)
    assert row.settings["tau"] == other.settings["tau"]
    np.testing.assert_allclose(row.bias, other.served_bias, atol=1e-6)
    assert row.verdict.strength == other.strength
