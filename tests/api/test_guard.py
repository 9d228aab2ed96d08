"""The strength that queries support, the verdict on it, and every sentence that says so."""

import dataclasses
import warnings

import numpy as np
import pytest
from reference import additive as literal
from reference import guard as reference
from reference.captioned_images import BANK, RECENT, TARGETS, captioned_images, unit

import unhub
from unhub import InputError
from unhub.api.verdict import Verdict, given_verdict, judge
from unhub.core.fingerprint import row_sketches
from unhub.methods.strength import LARGE, Evidence, evidence_of, gains, held_out_parts, held_out_slice
from unhub.scores import MatrixScores
from unhub.scores.dual import WIDEST

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")


@pytest.fixture(scope="module")
def shop():
    return captioned_images()


@pytest.fixture(scope="module")
def busy():
    return captioned_images(queries=1500)


def fitted(shop, method="sn", **more):
    parts = {"targets": shop["targets"], "query_bank": shop["query_bank"]} | more
    return unhub.fit(method, **parts)


def evidence(correction):
    return {each.source: each for each in correction.verdict.evidence}


# -- the number


@pytest.mark.parametrize("tau", [0.02, 0.1, 1.0])
def test_gains_are_the_literal_formula(shop, tau):
    s = shop["recent"] @ shop["targets"].T
    g = literal.gauge_free(literal.sinkhorn_normalisation(shop["query_bank"] @ shop["targets"].T, tau))
    found = gains(MatrixScores(s, 7), g, tau, 0.0)
    expected = np.stack([reference.dual(s, g, tau, strength) for strength in reference.STRENGTHS], axis=1)
    np.testing.assert_allclose(found, (expected - expected[:, :1]) / tau, atol=2e-5)


def test_gains_at_a_sharp_temperature_are_finite_and_right(shop):
    tau, s = 1e-4, shop["recent"] @ shop["targets"].T
    g = literal.gauge_free(literal.sinkhorn_normalisation(shop["query_bank"] @ shop["targets"].T, tau))
    assert np.ptp(g) > WIDEST * tau
    found = tau * gains(MatrixScores(s, 50), g, tau, 0.0)
    expected = np.stack([reference.dual(s, g, tau, strength) for strength in reference.STRENGTHS], axis=1)
    np.testing.assert_allclose(found, expected - expected[:, :1], atol=1e-5)


def test_every_strength_is_the_reference(shop):
    correction = fitted(shop, recent=shop["recent"], judged=shop["answers"], judged_queries=shop["asked"])
    tau, found = correction.settings["tau"], evidence(correction)
    s, recent, asked = (shop[name] @ shop["targets"].T for name in ("query_bank", "recent", "asked"))
    g = literal.gauge_free(literal.sinkhorn_normalisation(s, tau))
    np.testing.assert_allclose(correction.bias, g, atol=1e-6)
    assert found["bank"].strength == pytest.approx(
        reference.bank_strength(s, tau, held_out_parts(row_sketches(shop["query_bank"])[:, 0])), abs=0.011
    )
    whole, robust = reference.recent_strength(recent, g, tau), reference.robust_strength(recent, g, tau)
    assert found["recent"].strength == pytest.approx(min(whole, robust), abs=0.011)
    assert found["recent"].with_all == (pytest.approx(whole, abs=0.011) if robust < whole else None)
    right = np.zeros_like(asked, dtype=bool)
    right[np.arange(RECENT), shop["answers"]] = True
    assert found["judged"].strength == pytest.approx(reference.judged_strength(asked, g, tau, right), abs=0.011)
    assert correction.strength == min(each.strength for each in found.values())


def test_the_slope_changes_its_sign_at_the_best_strength(shop):
    few = shop["query_bank"][:40]
    correction = fitted(shop, query_bank=few, recent=shop["recent"])
    tau, g = correction.settings["tau"], correction.bias.astype(np.float64)
    s = shop["recent"] @ shop["targets"].T
    best = evidence_of(gains(MatrixScores(s, 50), g, tau, 0.0), "bank").strength
    assert 0.02 < best < 0.98
    assert reference.dual_slope(s, g, tau, best - 0.01).mean() > 0 > reference.dual_slope(s, g, tau, best + 0.01).mean()


def test_a_gain_has_its_paired_standard_error():
    rng = np.random.default_rng(0)
    values = np.outer(rng.exponential(1, 400), np.linspace(0, 1, 101)) - np.linspace(0, 1, 101) ** 2
    found = evidence_of(values, "recent")
    at = round(100 * found.strength)
    counted = values[np.argsort(values[:, values.mean(axis=0).argmax()])[:396], at]  # without the hundredth
    assert found.gain == pytest.approx(counted.mean())
    assert found.standard_error == pytest.approx(counted.std(ddof=1) / 396**0.5)
    assert found.strength < found.with_all
    assert found.strength < evidence_of(values, "bank").strength  # half a standard error below the best
    assert found.queries == 400


@pytest.mark.parametrize("spam", [0, 1, 2, 3, 20])
def test_a_hundredth_of_the_recent_queries_does_not_decide(spam):
    lose, gain = np.linspace(0, -0.01, 101), np.linspace(0, 3, 101)
    found = evidence_of(np.stack([*[lose] * (200 - spam), *[gain] * spam]), "recent")
    assert (found.strength > 0.5) == (spam == 20)
    assert (found.left_out, found.with_all is None) == ((2, False) if spam in (2, 3) else (0, True))
    if spam in (2, 3):  # the gain of the others, at strength 1
        assert found.gain == pytest.approx(np.mean([*[-0.01] * (200 - spam), *[3] * (spam - 2)]))
    assert judge((found,)).served == (spam == 20)


def test_of_several_right_targets_the_mean_counts(shop):
    answers = [{int(each), int(each + 7) % TARGETS, 3} for each in shop["answers"]]
    correction = fitted(shop, judged=answers, judged_queries=shop["asked"])
    asked, g, tau = shop["asked"] @ shop["targets"].T, correction.bias.astype(np.float64), correction.verdict.tau
    right = np.zeros_like(asked, dtype=bool)
    for row, targets in enumerate(answers):
        right[row, list(targets)] = True
    judged = next(each for each in correction.verdict.evidence if each.source == "judged")
    best = reference.judged_strength(asked, g, tau, right)
    assert 0 < best < 1
    assert judged.strength == pytest.approx(best, abs=0.011)
    gain = reference.judged_dual(asked, g, tau, best, right) - reference.judged_dual(asked, g, tau, 0, right)
    assert judged.gain == pytest.approx(gain.mean() / tau, abs=1e-3)


@pytest.mark.parametrize("name", [name for name in unhub.ADDITIVE if name != "none"])
def test_every_additive_method_is_judged(name, shop):
    more = {"target_bank": shop["elsewhere"][:20]} if name in ("dbsn", "dualis") else {}
    correction = fitted(shop, name, recent=shop["recent"], **more)
    assert set(evidence(correction)) == {"bank", "recent"}
    assert 0 <= correction.strength <= 1
    np.testing.assert_allclose(correction.bias, fitted(shop, correction.method, **more, strength=1).bias, atol=1e-6)


# -- invariances


def strengths(correction):
    return {source: each.strength for source, each in evidence(correction).items()}


def test_a_constant_in_a_row_changes_nothing(shop):
    s, r = shop["query_bank"] @ shop["targets"].T, shop["recent"] @ shop["targets"].T
    rng = np.random.default_rng(0)
    moved = (s + rng.normal(size=(BANK, 1)) / 8).astype(np.float32)
    recent = (r + rng.normal(size=(RECENT, 1)) / 8).astype(np.float32)
    plain, other = unhub.fit("sn", scores=s, recent=r, tau=0.1), unhub.fit("sn", scores=moved, recent=recent, tau=0.1)
    assert strengths(plain) == pytest.approx(strengths(other), abs=0.011)


def test_the_order_of_targets_changes_nothing(shop):
    order = np.random.default_rng(0).permutation(TARGETS)
    plain = fitted(shop, recent=shop["recent"], tau=0.1)
    other = fitted(shop, targets=shop["targets"][order], recent=shop["recent"], tau=0.1)
    assert strengths(plain) == pytest.approx(strengths(other), abs=0.011)


def test_the_order_of_the_bank_changes_nothing(shop):
    """Which queries are held out together depends on the queries, not on where they stand."""
    orders = [np.random.default_rng(seed).permutation(BANK) for seed in range(6)]
    plain = fitted(shop)
    for order in orders:
        other = fitted(shop, query_bank=shop["query_bank"][order])
        assert strengths(plain) == pytest.approx(strengths(other), abs=0.011)
        assert evidence(plain)["bank"].gain == pytest.approx(evidence(other)["bank"].gain, abs=2e-3)


def test_copies_in_the_bank_change_nothing_but_their_share(shop):
    copies = np.concatenate((shop["query_bank"], np.repeat(shop["query_bank"][:30], 20, axis=0)))
    plain, other = fitted(shop, recent=shop["recent"]), fitted(shop, query_bank=copies, recent=shop["recent"])
    np.testing.assert_array_equal(plain.bias, other.bias)
    assert strengths(plain) == strengths(other)
    assert plain.verdict.duplicates == 0
    assert other.verdict.duplicates == pytest.approx(600 / 750)
    assert other.bank_size == BANK
    weighed = fitted(shop, query_bank=copies, duplicates="weigh", tau=0.1)
    counted = fitted(shop, query_weight=np.where(np.arange(BANK) < 30, 21.0, 1.0), tau=0.1)
    np.testing.assert_allclose(weighed.bias, counted.bias, atol=1e-6)


@pytest.mark.parametrize("duplicates", ["drop", "weigh"])
def test_rounded_copies_in_the_bank_are_copies(duplicates, shop):
    bank = shop["query_bank"]
    steps = np.abs(bank).max(axis=1, keepdims=True) / 127
    copies = np.concatenate((bank, bank[:60].astype(np.float16), np.round(bank[20:50] / steps[20:50]) * steps[20:50]))
    correction = fitted(shop, query_bank=copies, duplicates=duplicates, tau=0.1)
    assert correction.bank_size == BANK
    assert correction.verdict.duplicates == pytest.approx(90 / 240)
    times = 1.0 + (np.arange(BANK) < 60) + ((np.arange(BANK) >= 20) & (np.arange(BANK) < 50))
    alone = {} if duplicates == "drop" else {"query_weight": times}
    np.testing.assert_allclose(correction.bias, fitted(shop, tau=0.1, **alone).bias, atol=1e-6)


def test_a_given_strength_keeps_copies(shop):
    twice = np.concatenate((shop["query_bank"], shop["query_bank"][:50]))
    correction = fitted(shop, query_bank=twice, strength=1)
    assert correction.bank_size == BANK + 50


def test_a_large_bank_holds_out_one_slice():
    rows = held_out_slice(10 * LARGE)
    assert len(rows) == 1
    assert len(np.unique(rows[0])) == len(rows[0]) == 2048
    parts = held_out_parts(np.arange(LARGE - 1.0))
    assert len(parts) == 5
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(LARGE - 1))


# -- the verdict


def test_a_large_bank_of_the_same_traffic_is_applied(busy):
    verdict = fitted(busy, recent=busy["recent"]).verdict
    assert verdict.decision == "apply"
    assert verdict.checked == ("noise", "mismatch")
    assert verdict.unchecked == ("popularity",)


def test_without_recent_queries_at_most_weaker(busy):
    alone = fitted(busy)
    assert alone.verdict.evidence[0].strength >= 0.85
    assert (alone.verdict.decision, alone.strength) == ("apply weaker", 0.84)
    assert "Not checked: mismatch (give about 200 recent queries)" in alone.verdict.sentence


def test_a_soft_temperature_is_judged_at_half_the_spread(shop):
    """At a large tau the dual of the method's own tau supports whatever evens out the means of the targets."""
    soft = fitted(shop, recent=shop["recent"], tau=1.0)
    s, r = shop["query_bank"] @ shop["targets"].T, shop["recent"] @ shop["targets"].T
    assert soft.verdict.tau == pytest.approx(s.std() / 2, rel=1e-3)
    found, g = soft.verdict.evidence[-1], soft.bias.astype(np.float64)
    assert found.strength == pytest.approx(
        min(each(r, g, soft.verdict.tau) for each in (reference.recent_strength, reference.robust_strength)), abs=0.011
    )
    assert found.strength < 0.8 < 0.9 < reference.recent_strength(r, g, 1.0)
    sharp = fitted(shop, recent=shop["recent"], tau=0.05)
    assert sharp.verdict.tau == 0.05


def test_a_bank_from_elsewhere_is_refused_and_serves_the_scores_as_they_are(shop):
    with pytest.warns(unhub.UnhubWarning, match="REFUSE: recent queries support a strength of 0.0"):
        correction = fitted(shop, query_bank=shop["elsewhere"], recent=shop["recent"])
    assert correction.verdict.decision == "refuse"
    assert correction.strength == 0
    assert np.ptp(correction.bias) > 0  # kept for a look
    raw = correction.search(shop["recent"], k=5, corrected=False)
    np.testing.assert_array_equal(correction.search(shop["recent"], k=5).rows, raw.rows)
    forced = correction.at(1.0)
    assert (forced.search(shop["recent"], k=5).rows != raw.rows).any()
    assert forced.verdict.sentence == "APPLY at strength 1, as given; nothing was checked."


def test_an_existing_correction_is_judged_again_without_a_fit(shop):
    alone = fitted(shop, tau=0.2)
    verdict = unhub.guard(alone, recent=shop["recent"])
    together = fitted(shop, tau=0.2, recent=shop["recent"])
    assert verdict.decision == together.verdict.decision
    for found, expected in zip(verdict.evidence, together.verdict.evidence, strict=True):
        assert dataclasses.astuple(found) == pytest.approx(dataclasses.astuple(expected), abs=1e-6)
    assert alone.with_verdict(verdict).strength == together.strength
    judged = unhub.guard(alone, recent=shop["asked"], judged=shop["answers"])
    assert judged.checked == ("noise", "mismatch", "popularity")
    assert unhub.guard(alone, judged=shop["answers"], judged_queries=shop["asked"]).evidence[-1] == judged.evidence[-1]


def test_a_correction_of_scores_is_judged_by_scores(shop):
    s, r = shop["query_bank"] @ shop["targets"].T, shop["recent"] @ shop["targets"].T
    verdict = unhub.guard(unhub.fit("sn", scores=s, tau=0.2), recent=r)
    expected = fitted(shop, tau=0.2, recent=shop["recent"]).verdict
    assert verdict.evidence[1] == expected.evidence[1]  # the parts of the bank that are held out are others
    assert verdict.evidence[0].strength == pytest.approx(expected.evidence[0].strength, abs=0.2)


def test_the_verdict_travels_in_the_file(shop, tmp_path):
    correction = fitted(shop, query_bank=shop["query_bank"][:30], recent=shop["recent"])
    correction.save(tmp_path / "a.unhub")
    loaded = unhub.load(tmp_path / "a.unhub", targets=shop["targets"])
    assert loaded.verdict == correction.verdict
    np.testing.assert_array_equal(loaded.served_bias, correction.served_bias)
    assert Verdict.from_dict(correction.verdict.to_dict()) == correction.verdict
    assert correction.verdict.sentence in str(loaded)
    assert correction.verdict.sentence in loaded._repr_html_()
    assert loaded.verdict.headline in repr(loaded)


# -- own logs


def test_a_log_that_was_declared_stays_one_when_it_is_judged_again(shop):
    declared = fitted(shop, own_log=True, tau=0.12)
    verdict = unhub.guard(declared, recent=shop["recent"])
    assert verdict.own_log
    capped = MatrixScores(reference.capped(shop["recent"] @ shop["targets"].T).astype(np.float32), 50)
    expected = evidence_of(gains(capped, declared.bias.astype(np.float64), 0.12, 0.0), "recent")
    assert verdict.evidence[-1].gain == pytest.approx(expected.gain, abs=1e-5)


def test_judged_queries_are_judged_by_the_scores_that_rank(shop):
    declared = fitted(shop, own_log=True, tau=0.12)
    verdict = unhub.guard(declared, judged=shop["answers"], judged_queries=shop["asked"])
    asked, g = shop["asked"] @ shop["targets"].T, declared.bias.astype(np.float64)
    expected = evidence_of(gains(MatrixScores(asked, 50), g, 0.12, g[shop["answers"]]), "judged")
    assert verdict.evidence[-1].strength == expected.strength
    assert verdict.evidence[-1].gain == pytest.approx(expected.gain, abs=1e-5)


def test_an_own_log_is_capped_and_may_be_applied_without_recent_queries(shop):
    correction = fitted(shop, own_log=True, tau=0.12)
    assert correction.method.name == "capped_sn"
    assert correction.verdict.own_log
    assert correction.verdict.decision == "apply"
    assert "Not checked: mismatch" in correction.verdict.sentence  # declared, not looked at
    s = reference.capped(shop["query_bank"] @ shop["targets"].T)
    expected = literal.gauge_free(literal.sinkhorn_normalisation(s, 0.12))
    np.testing.assert_allclose(correction.bias, expected, atol=1e-6)
    np.testing.assert_allclose(correction.extend(shop["targets"]), correction.bias, atol=1e-6)


def test_the_capped_extension_survives_the_file(shop, tmp_path):
    correction = fitted(shop, "capped_sn", tau=0.2)
    correction.save(tmp_path / "a.unhub")
    loaded = unhub.load(tmp_path / "a.unhub", targets=shop["targets"])
    np.testing.assert_allclose(loaded.extend(shop["targets"][:9]), correction.bias[:9], atol=1e-6)


def popular_log(shop, rng):
    """A log in which some targets are wanted far more often, with the target of every query as its click."""
    popularity = 1.0 / np.arange(1, TARGETS + 1) ** 1.2
    wanted = rng.choice(TARGETS, 900, p=popularity / popularity.sum())
    noise = 0.35 * rng.normal(size=(900, 24))
    return unit(shop["targets"][wanted] + noise), wanted


def test_clicks_become_the_prior_only_if_judged_queries_prefer_them(shop):
    rng = np.random.default_rng(1)
    queries, wanted = popular_log(shop, rng)
    log = {"query_bank": queries[:600], "clicks": wanted[:600], "target_prior": "clicks", "own_log": True}
    unjudged = fitted(shop, **log)
    assert "The clicks were not used: only judged queries can tell" in unjudged.warnings[0]
    popular = fitted(shop, **log, judged=wanted[600:], judged_queries=queries[600:])
    assert popular.warnings[0] == "Targets are expected as often as they were clicked: the judged queries prefer that."
    assert np.corrcoef(popular.bias, np.bincount(wanted[:600], minlength=TARGETS))[0, 1] > 0.3
    even = fitted(shop, **log, judged=shop["answers"], judged_queries=shop["asked"])
    assert even.warnings[0] == "The clicks were not used: the judged queries do not prefer them."


@pytest.mark.parametrize("many", [30, BANK])
def test_raw_clicks_are_not_judgements(shop, many):
    clicked = np.arange(many) % TARGETS
    with pytest.raises(InputError) as refused:
        fitted(shop, judged=clicked, judged_queries=shop["query_bank"][:many])
    assert str(refused.value) == (
        f"judged holds {many} queries of the bank, as a log's clicks do; raw clicks are not judgements: "
        "people click what "
        "was shown first, so that clicks only repeat the ranking as it is. Judge about 50 other queries by hand."
    )


# -- what is refused


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            lambda shop: {"recent": shop["recent"][:49]},
            "recent has 49 queries, and fewer than 50 say nothing; give about 200.",
        ),
        (
            lambda shop: {"judged": shop["answers"]},
            "judged says which targets are right, but not for which queries; give recent, whose rows it names, or "
            "judged_queries.",
        ),
        (
            lambda shop: {"judged": list(enumerate(shop["answers"][:19].tolist())), "recent": shop["recent"]},
            "judged has 19 different judged queries that are not in the bank, and fewer than 20 say nothing; judge "
            "about 50.",
        ),
        (
            lambda shop: {"judged_queries": shop["asked"]},
            "judged_queries came without their right targets; give judged too.",
        ),
        (lambda shop: {"target_prior": "clicks"}, "target_prior is 'clicks', but there are none; give clicks too."),
        (lambda shop: {"duplicates": "keep"}, "duplicates is 'keep'; use 'drop' or 'weigh'."),
        (
            lambda shop: {"judged": [TARGETS] * 30, "recent": shop["recent"]},
            None,
        ),
    ],
)
def test_evidence_that_cannot_be_used_is_refused(more, sentence, shop):
    with pytest.raises(InputError) as refused:
        fitted(shop, **more(shop))
    assert sentence is None or str(refused.value) == sentence


def test_test_queries_are_never_recent_ones(shop):
    test = {"queries": shop["asked"], "relevant": shop["answers"], "targets": shop["targets"]}
    with pytest.raises(InputError) as refused:
        unhub.Dataset(**test, query_bank=shop["query_bank"], recent=shop["asked"]).task(bank="bank")
    assert str(refused.value) == (
        f"recent holds {RECENT} of the {RECENT} test queries; take them out: what chooses the strength cannot also "
        "measure it."
    )


def test_a_part_of_the_recent_queries_may_be_judged(shop):
    partly = np.where(np.arange(RECENT) % 2, shop["answers"], -1)
    by_mark = fitted(shop, recent=shop["asked"], judged=partly)
    pairs = [(row, int(partly[row])) for row in range(RECENT) if partly[row] >= 0]
    assert by_mark.verdict == fitted(shop, recent=shop["asked"], judged=pairs).verdict
    assert evidence(by_mark)["judged"].queries == RECENT // 2
    with pytest.raises(InputError, match="judged has 30 entries but there are 80 queries; give one for each query"):
        fitted(shop, recent=shop["asked"], judged=shop["answers"][:30])  # of which queries?


# -- sentences


FRESH = Evidence("recent", 0.62, 0.0213, 0.004, 200)
SENTENCES = {
    "APPLY at strength 0.93. Supported strength: 5,000 held-out bank queries 0.93 (+0.100 ± 0.010 nats per query); 200 "
    "recent queries 0.95 (+0.050 ± 0.005 nats per query). Not checked: popularity (give about 50 judged pairs).": judge(
        (Evidence("bank", 0.93, 0.1, 0.01, 5000), Evidence("recent", 0.95, 0.05, 0.005, 200)), bank_size=5000
    ),
    "APPLY WEAKER at strength 0.62. Supported strength: 200 recent queries 0.62 (+0.021 ± 0.004 nats "
    "per query); 50 judged "
    "queries 0.80 (+0.030 ± 0.020 nats per query).": judge((FRESH, Evidence("judged", 0.8, 0.03, 0.02, 50))),
    "APPLY WEAKER at strength 0.84. Supported strength: 300 held-out bank queries 0.90 (+0.100 ± 0.010 "
    "nats per query). Without recent queries it is served at 0.84 at most. Not "
    "checked: mismatch (give about 200 recent queries), popularity (give about 50 judged pairs).": judge(
        (Evidence("bank", 0.9, 0.1, 0.01, 300),)
    ),
    "APPLY at strength 0.9. Supported strength: 300 held-out bank queries 0.90 (+0.100 ± 0.010 nats per query). Not "
    "checked: mismatch (give about 200 recent queries), popularity (give about 50 judged pairs).": judge(
        (Evidence("bank", 0.9, 0.1, 0.01, 300),), own_log=True
    ),
    "REFUSE: held-out bank queries support a strength of 0.10, below 0.25; no correction is served. "
    "Supported strength: 16 "
    "held-out bank queries 0.10 (+0.001 ± 0.010 nats per query). Not checked: mismatch (give about 200 "
    "recent queries), "
    "popularity (give about 50 judged pairs). The bank is too small or too noisy, or there are hardly any hubs to "
    "correct; collect more queries, at least 100 different ones.": judge((Evidence("bank", 0.1, 0.001, 0.01, 16),)),
    "REFUSE: recent queries support a strength of 0.00, below 0.25; no correction is served. Supported "
    "strength: 200 recent "
    "queries 0.00 (-1.461 ± 0.026 nats per query at strength 1). Not checked: popularity (give about 50 judged "
    "pairs). The bank is unlike "
    "the queries that are asked now; collect a bank from current traffic. If it is this gallery's own log, say so "
    "(own_log=True, or --popularity own_log).": judge((Evidence("recent", 0.0, -1.461, 0.026, 200),)),
    "REFUSE: recent queries support a strength of 0.00, below 0.25; no correction is served. Supported strength: 90 "
    "held-out bank queries 0.90 (+0.100 ± 0.010 nats per query); 200 recent queries 0.00 (-1.461 ± 0.026 nats per "
    "query at strength 1). 72% of the bank repeats other queries. Not checked: popularity (give about 50 judged "
    "pairs). The bank "
    "is unlike the queries that are asked now; collect a bank from current traffic.": judge(
        (Evidence("recent", 0.0, -1.461, 0.026, 200), Evidence("bank", 0.9, 0.1, 0.01, 90)),
        own_log=True,
        duplicates=0.72,
    ),
    "REFUSE: held-out bank queries support a strength of 0.00, below 0.25; no correction is served. Supported "
    "strength: 16 held-out bank queries 0.00 (-0.200 ± 0.030 nats per query at strength 1); 200 recent queries 0.00 "
    "(-0.300 ± 0.026 nats per query at strength 1). Not checked: popularity (give about 50 judged pairs). The bank is "
    "too small or too noisy, or there are hardly any hubs to correct; collect more queries, at least 100 different "
    "ones.": judge((Evidence("bank", 0.0, -0.2, 0.03, 16), Evidence("recent", 0.0, -0.3, 0.026, 200)), bank_size=16),
    "REFUSE: recent queries support a strength of 0.10, below 0.25; no correction is served. Supported strength: 200 "
    "recent queries 0.10 (+0.021 ± 0.004 nats per query; 0.62 with the 2 that gain the most). Not checked: popularity "
    "(give about 50 judged pairs). Only the few recent queries that gain the most support more: bots may be among "
    "them, or queries of another kind. Take them out, or collect a bank from current traffic.": judge(
        (dataclasses.replace(FRESH, strength=0.1, with_all=0.62),)
    ),
    "APPLY WEAKER at strength 0.55. Supported strength: 120 recent queries 0.55 (+0.021 ± 0.004 nats per query; 0.62 "
    "with the 2 that gain the most). Not checked: popularity (give about 50 judged pairs).": judge(
        (dataclasses.replace(FRESH, queries=120, strength=0.55, with_all=0.62),)
    ),
    "REFUSE: judged queries support a strength of 0.00, below 0.25; no correction is served. Supported "
    "strength: 50 judged "
    "queries 0.00 (-0.100 ± 0.020 nats per query at strength 1). Not checked: mismatch (give about 200 "
    "recent queries). The right answers lose: popular targets may look "
    "like hubs here. If the "
    "bank is this gallery's own log, say so (own_log=True, or --popularity own_log); otherwise leave the scores as "
    "they are.": judge((Evidence("judged", 0.0, -0.1, 0.02, 50),)),
    "REFUSE: judged queries support a strength of 0.10, below 0.25; no correction is served. Supported strength: 50 "
    "judged queries 0.10 (+0.001 ± 0.010 nats per query). Not checked: mismatch (give about 200 recent queries). The "
    "right answers lose: popular targets look like hubs in "
    "this log. Leave the scores as they are.": judge((Evidence("judged", 0.1, 0.001, 0.01, 50),), own_log=True),
    "REFUSE: the bank has 1 different query, too few to judge by; no correction is served. The bank is too small or "
    "too noisy, or there are hardly any hubs to correct; collect more queries, at least 100 different ones.": judge(
        (), bank_size=1
    ),
    "REFUSE: held-out bank queries support a strength of 0.00, below 0.25; no correction is served. Supported "
    "strength: 120 held-out bank queries 0.00 (-0.100 ± 0.020 nats per query at strength 1). Not checked: mismatch "
    "(give about 200 recent queries), popularity (give about 50 judged pairs). The bank is too small or too noisy for "
    "this gallery, or there are hardly any hubs to correct. Several times as many different queries would tell; "
    "otherwise leave the scores as they are.": judge((Evidence("bank", 0.0, -0.1, 0.02, 120),), bank_size=120),
    "REFUSE: recent queries support a strength of 0.00, below 0.25; no correction is served. Supported strength: 200 "
    "recent queries 0.00 (-1.461 ± 0.026 nats per query at strength 1). Not checked: popularity (give about 50 judged "
    "pairs). The bank is too small or too noisy, or there are hardly any hubs to correct; collect more queries, at "
    "least "
    "100 different ones.": judge((Evidence("recent", 0.0, -1.461, 0.026, 200),), bank_size=4),
    "APPLY at strength 0.9. Supported strength: 200 recent queries 0.90 (+0.021 ± 0.004 nats per query). 30% of the "
    "bank "
    "repeats other queries. If it is this gallery's own log, say so (own_log=True, or --popularity own_log). Not "
    "checked: "
    "popularity (give about 50 judged pairs).": judge((dataclasses.replace(FRESH, strength=0.9),), duplicates=0.3),
    "APPLY at strength 0.5, as given; nothing was checked.": given_verdict(0.5),
    "APPLY at strength 1: the test queries are the bank, so nothing can be checked.": Verdict(
        "apply", 1.0, reason="transductive"
    ),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_of_the_verdict(sentence):
    assert SENTENCES[sentence].sentence == sentence


@pytest.mark.parametrize(
    ("strength", "decision"),
    [
        (1.0, "apply"),
        (0.85, "apply"),
        (0.84, "apply weaker"),
        (0.25, "apply weaker"),
        (0.24, "refuse"),
        (0.0, "refuse"),
    ],
)
def test_the_decision_by_the_smallest_strength(strength, decision):
    verdict = judge((Evidence("bank", 1.0, 0.1, 0.01, 900), dataclasses.replace(FRESH, strength=strength)))
    assert verdict.decision == decision
    assert verdict.strength == (0 if decision == "refuse" else strength)
    assert verdict.binding.strength == strength


def test_ties_go_to_the_evidence_that_sees_more():
    verdict = judge((Evidence("bank", 0.5, 0.1, 0.01, 900), dataclasses.replace(FRESH, strength=0.5)))
    assert verdict.binding.source == "recent"


def test_a_small_fit_warns_of_nothing_but_a_refusal(shop):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(shop, recent=shop["recent"], tau=0.2)


def test_recent_queries_do_not_undo_what_judged_ones_said(shop):
    hub = fitted(shop, strength=1).bias.argsort()[np.arange(RECENT) % 2]  # two that are right for everybody
    correction = fitted(shop, recent=shop["recent"], judged=hub, judged_queries=shop["asked"])
    assert correction.verdict.decision == "refuse"
    again = unhub.guard(correction, recent=shop["recent"])
    assert (again.decision, again.checked) == ("refuse", correction.verdict.checked)
    assert unhub.guard(correction, recent=shop["recent"], judged=shop["answers"], judged_queries=shop["asked"]).served
