"""The guard where the gallery grew, the bank is tiny, the memory is short, or evidence cannot be used."""

import numpy as np
import pytest
from reference import guard as reference
from reference.captioned_images import BANK, RECENT, captioned_images, unit

import unhub
from unhub.foundation.errors import InputError
from unhub.foundation.wording import in_python, spoken

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")


@pytest.fixture(scope="module")
def shop():
    return captioned_images()


@pytest.fixture(scope="module")
def grown(shop):
    """A gallery with more images, most of them far from what is asked."""
    rng = np.random.default_rng(2)
    return unit(np.concatenate((shop["targets"], rng.normal(size=(40, 24)) - shop["targets"].mean(axis=0))))


def fit(shop, method="sn", **more):
    return unhub.fit(method, **{"targets": shop["targets"], "query_bank": shop["query_bank"]} | more)


def test_a_correction_with_new_targets_is_judged_by_all_of_them(shop, grown, tmp_path):
    correction = fit(shop)
    longer = correction.extended(grown[len(shop["targets"]) :])
    longer.save(tmp_path / "longer.unhub")
    g, tau = longer.bias.astype(np.float64), correction.verdict.tau
    assert abs(g.mean()) > 0.1 * g.std()
    s = shop["recent"] @ grown.T
    expected = min(each(s, g, tau) for each in (reference.recent_strength, reference.robust_strength))
    for one in (longer, tmp_path / "longer.unhub"):
        found = unhub.guard(one, recent=shop["recent"], targets=grown).evidence[-1]
        assert found.strength == pytest.approx(expected, abs=0.011)
        gain = reference.dual(s, g, tau, found.strength) - reference.dual(s, g, tau, 0)
        assert found.with_all is not None or found.gain == pytest.approx(gain.mean() / tau, abs=1e-3)
    for one, gallery in ((correction, grown), (longer, grown)):
        seen = unhub.monitor(one, recent=shop["recent"], targets=gallery)
        assert seen.run.figures["strength"].value == pytest.approx(expected, abs=0.011)


def test_a_tiny_bank_is_judged_by_recent_queries_as_a_later_guard_does(shop):
    bank = shop["query_bank"][:9]
    alone, judged = fit(shop, query_bank=bank), fit(shop, query_bank=bank, recent=shop["recent"])
    assert alone.verdict.sentence.startswith("REFUSE: the bank has 9 different queries, too few to judge by;")
    assert [each.source for each in judged.verdict.evidence] == ["recent"]
    assert unhub.guard(alone, recent=shop["recent"]) == judged.verdict


@pytest.mark.parametrize("method", ["sn", "csls"])
def test_a_small_memory_has_the_same_verdict(shop, method):
    """Parts take turns where five biases beside the whole would take much of it, and fewer strengths are computed."""
    rng = np.random.default_rng(0)
    targets = unit(rng.normal(size=(4000, 24)) + rng.gamma(1.0, 0.4, size=(4000, 1)) * shop["targets"].mean(axis=0))
    few, many = (fit(shop, method, targets=targets, recent=shop["recent"], memory=each) for each in ("2MB", "1GB"))
    np.testing.assert_allclose(few.bias, many.bias, atol=1e-5)
    for one, other in zip(few.verdict.evidence, many.verdict.evidence, strict=True):
        assert (one.source, one.queries) == (other.source, other.queries)
        assert one.strength == pytest.approx(other.strength, abs=0.011)
        assert one.gain == pytest.approx(other.gain, abs=2e-3)


@pytest.mark.parametrize("method", ["nnn", "csls"])
def test_columns_in_parts_have_the_same_verdict(shop, method):
    rng = np.random.default_rng(0)
    targets = unit(rng.normal(size=(3000, 24)) + 0.4 * shop["targets"].mean(axis=0))
    short, wide = (fit(shop, method, targets=targets, memory=each, k=4) for each in ("3MB", "1GB"))
    np.testing.assert_allclose(short.bias, wide.bias, atol=1e-6)
    assert short.verdict.evidence[0].queries == wide.verdict.evidence[0].queries
    assert short.strength == pytest.approx(wide.strength, abs=0.011)


def test_a_path_is_judged_like_its_correction(shop, tmp_path):
    correction = fit(shop)
    correction.save(tmp_path / "c.unhub")
    assert unhub.guard(tmp_path / "c.unhub", recent=shop["recent"], targets=shop["targets"]) == unhub.guard(
        correction, recent=shop["recent"]
    )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda c, shop: unhub.guard(3, recent=shop["recent"]), "correction is of type int; give what unhub.fit"),
        (lambda c, shop: unhub.guard(c), "recent is missing; give queries that are asked now"),
        (lambda c, shop: unhub.guard(c, judged=shop["answers"]), "judged says which targets are right, but not for"),
        (lambda c, shop: c.with_verdict("apply"), "verdict is a str; pass what unhub.guard returns."),
        (
            lambda c, shop: c.with_verdict(fit(shop, query_bank=shop["query_bank"][:90]).verdict),
            "verdict is on a bank of 90 queries, but this correction's has 150; pass what unhub.guard returns for this",
        ),
        (
            lambda c, shop: c.with_verdict(fit(shop, tau=0.05).verdict),
            "verdict was judged at tau 0.05, but this correction is judged at 0.0811977; pass what unhub",
        ),
        (
            lambda c, shop: c.with_verdict(fit(shop, query_bank=shop["elsewhere"], tau=c.verdict.tau).verdict),
            "verdict is on another correction: its bank queries say something else; pass what unhub.guard returns for",
        ),
        (lambda c, shop: fit(shop, own_log="no"), "own_log is 'no'; use True or False."),
        (
            lambda c, shop: fit(shop, recent=shop["recent"], judged=np.full(RECENT, -5)),
            "judged holds -5; write -1 for a query that nobody has judged.",
        ),
        (
            lambda c, shop: fit(shop, recent=shop["recent"], judged=np.zeros(RECENT, dtype=int)),
            "judged names one target for every query, as if it had not been filled in; say for about 50 queries which",
        ),
        (
            lambda c, shop: unhub.monitor(c, recent=shop["recent"], date="2999-01-01"),
            "date is '2999-01-01', which is still to come; say when the queries were asked.",
        ),
    ],
)
def test_wrong_arguments_are_one_sentence(call, sentence, shop):
    with pytest.raises(InputError) as refused:
        call(fit(shop), shop)
    assert str(refused.value).startswith(sentence)


def test_evidence_that_is_not_used_is_told(shop):
    given = {"recent": shop["recent"], "judged": shop["answers"], "judged_queries": shop["asked"]}
    notes = ("recent was not used: the strength is 1, not auto.", "judged was not used: the strength is 1, not auto.")
    assert fit(shop, strength=1, **given).warnings == notes
    assert not fit(shop, "none", **given).warnings
    own = unhub.evaluate(
        queries=shop["query_bank"], targets=shop["targets"], relevant=np.zeros(BANK, dtype=int), recent=shop["recent"],
        methods=["none", "sn"], metrics=["R@1"], resamples=1,
    )  # fmt: skip
    told = [spoken(each, in_python) for each in own["sn"].notes]
    assert "recent was not used: the test queries are the bank." in told
    assert not own["none"].notes
    clicks = np.arange(BANK) % 60
    assert (
        "clicks was not used: the strength is 1, not auto."
        in fit(shop, strength=1, clicks=clicks, target_prior="clicks").warnings
    )


def test_a_log_is_declared_for_methods_that_cap_nothing(shop):
    for more in ({}, {"strength": 1}):
        assert (
            fit(shop, "is", own_log=True, **more)
            .warnings[0]
            .startswith("is takes the popular targets of an own log for hubs")
        )
    assert not any("capped" in each for each in fit(shop, own_log=True).warnings)


def test_a_strength_of_your_own_keeps_what_is_known_of_the_bank(shop):
    for own in (fit(shop, own_log=True).at(1.0), fit(shop, own_log=True, strength=1)):
        assert (own.verdict.own_log, own.verdict.bank_size, own.verdict.reason) == (True, BANK, "given")
        assert unhub.guard(own, recent=shop["recent"]).own_log


def test_clicks_belong_to_the_bank_not_to_the_test_queries(shop):
    data = unhub.Dataset(
        queries=shop["asked"][:30], targets=shop["targets"], relevant=shop["answers"][:30],
        query_bank=shop["query_bank"], clicks=np.arange(BANK) % 60, target_prior="clicks", recent=shop["recent"],
    )  # fmt: skip
    assert unhub.check(data).ready
    assert data.task(bank=None).clicks is None
