"""Whether a correction still suits today's queries: figures, new hubs, a changed gallery, and when to fit again."""

import dataclasses

import numpy as np
import pytest
from reference import guard as reference

import unhub
from unhub import InputError
from unhub.api.monitor_history import Figure, MonitorRun, read_history
from unhub.api.monitor_result import MonitorResult, compare

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

TARGETS, BANK, RECENT = 120, 600, 150


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


class Shop:
    """Pictures with hubs, and captions of them: of the past, of every week, and of another world."""

    def __init__(self):
        self.rng = np.random.default_rng(5)
        self.common = self.rng.normal(size=24)
        hubness = self.rng.gamma(1.0, 0.8, size=(TARGETS, 1))
        self.targets = unit(self.rng.normal(size=(TARGETS, 24)) + hubness * self.common)
        self.ids = [f"picture {row}" for row in range(TARGETS)]
        self.bank = self.captions(BANK)
        self.recent = self.captions(RECENT)

    def captions(self, count, rows=None):
        rows = self.rng.integers(0, TARGETS, count) if rows is None else rows
        return unit(self.targets[rows] + 0.12 * self.common + 0.2 * self.rng.normal(size=(len(rows), 24)))

    def elsewhere(self, count):
        return unit(self.rng.normal(size=(count, 24)) - 3 * self.common)


@pytest.fixture(scope="module")
def shop():
    return Shop()


@pytest.fixture(autouse=True)
def same_draws(shop, correction):
    """Every test draws the same weeks, whatever ran before it in this process."""
    shop.rng = np.random.default_rng(6)


@pytest.fixture(scope="module")
def correction(shop):
    targets = unhub.io.Rows(shop.targets, ids=tuple(shop.ids))
    return unhub.fit("sn", targets=targets, query_bank=shop.bank, recent=shop.recent)


# -- figures


def test_figures_are_the_literal_ones(shop, correction):
    week = shop.captions(RECENT)
    run = unhub.monitor(correction, recent=week).run
    s, g, tau, served = (
        week @ shop.targets.T,
        correction.bias.astype(float),
        correction.verdict.tau,
        correction.strength,
    )
    gains = (reference.dual(s, g, tau, served) - reference.dual(s, g, tau, 0)) / tau
    raw, corrected = (np.argsort(-(s + bias), axis=1, kind="stable")[:, :10] for bias in (0, served * g))
    other = [1 - len(set(one) & set(two)) / 10 for one, two in zip(raw, corrected, strict=True)]
    counts = np.bincount(np.concatenate([raw, corrected]).ravel(), minlength=TARGETS)
    for name, values in (("gain", gains), ("churn", other), ("first churn", raw[:, 0] != corrected[:, 0])):
        assert run.figures[name].value == pytest.approx(np.mean(values), abs=1e-4)
        assert run.figures[name].error == pytest.approx(np.std(values, ddof=1) / RECENT**0.5, rel=1e-3)
    assert run.figures["never retrieved"].value == np.mean(counts == 0)
    assert run.figures["strength"].value == min(
        reference.recent_strength(s, g, tau), reference.robust_strength(s, g, tau)
    )
    assert (run.queries, run.targets, run.k, run.served) == (RECENT, TARGETS, 10, served)


def test_the_error_of_a_strength_is_its_spread_over_weeks(shop, correction):
    weeks = [unhub.monitor(correction, recent=shop.captions(RECENT)).run.figures["strength"] for _ in range(30)]
    assert np.std([each.value for each in weeks], ddof=1) == pytest.approx(
        np.mean([each.error for each in weeks]), rel=0.6
    )


def test_a_buried_target_is_one_that_the_best_score_would_not_bring_back(shop, correction):
    bias = correction.bias.copy()
    bias[7] = -10
    run = unhub.monitor(dataclasses.replace(correction, bias=bias), recent=shop.captions(RECENT)).run
    assert run.figures["buried"].value == 1 / TARGETS
    assert unhub.monitor(correction, recent=shop.captions(RECENT)).run.figures["buried"].value == 0


def test_a_correction_of_scores_is_monitored_with_scores(shop):
    whole = unhub.fit("sn", scores=shop.bank @ shop.targets.T)
    result = unhub.monitor(whole, recent=shop.captions(RECENT) @ shop.targets.T)
    assert result.status == "fine"
    assert result.new_hubs == {}


def test_judged_queries_are_a_figure_of_their_own(shop, correction):
    answers = shop.rng.integers(0, TARGETS, RECENT)
    result = unhub.monitor(correction, recent=shop.captions(RECENT, answers), judged=answers)
    assert result.run.figures["judged strength"].value > 0.5
    assert [each.source for each in result.verdict.evidence] == ["bank", "recent", "judged"]


# -- the same traffic, and other traffic


def test_stable_traffic_is_fine_for_eight_weeks(shop, correction, tmp_path):
    history = tmp_path / "h.jsonl"
    results = [unhub.monitor(correction, recent=shop.captions(RECENT), history=history) for _ in range(8)]
    assert {each.status for each in results} == {"fine"}
    assert [len(each.history) for each in results] == list(range(1, 9))
    assert all(each.baseline == results[0].run for each in results[1:])
    assert read_history(history) == results[-1].history
    assert str(results[0]).startswith("Fine: 150 recent queries support strength ")
    assert str(results[0]).endswith("nats per query); no new hubs.")


def test_other_traffic_asks_for_a_refit(shop, correction, tmp_path):
    history = tmp_path / "h.jsonl"
    told = []
    for week in range(9):
        some = RECENT * week // 8
        queries = np.concatenate([shop.captions(RECENT - some), shop.elsewhere(some)])
        told.append(unhub.monitor(correction, recent=queries, history=history))
    assert told[0].status == "fine"
    assert told[-1].status == "refit"
    strengths = [each.run.figures["strength"].value for each in told]
    assert strengths[-1] < 0.1 < 0.7 < strengths[0]
    assert f"recent queries support strength {strengths[-1]:.2f}" in told[-1].sentence
    assert "strength down from" in told[-1].sentence
    assert told[-1].sentence.endswith("Collect a bank from current traffic and fit again.")


# -- hubs and the gallery


def test_new_hubs_are_named(shop, correction, tmp_path):
    history = tmp_path / "h.jsonl"
    unhub.monitor(correction, recent=shop.captions(RECENT), history=history)
    rows = np.where(np.arange(RECENT) % 3 > 0, 11, shop.rng.integers(0, TARGETS, RECENT))
    result = unhub.monitor(correction, recent=shop.captions(RECENT, rows), history=history)
    assert "picture 11" in result.new_hubs
    assert result.status == "look again"
    assert "picture 11" in result.sentence


def test_spam_is_named(shop, correction, tmp_path):
    """Items made for queries that the bank lacks; those made for the bank's own queries get a low bias and hide."""
    history = tmp_path / "h.jsonl"
    unhub.monitor(correction, recent=shop.captions(RECENT), history=history)
    topic = shop.elsewhere(RECENT // 5)
    spam = unit(topic.mean(axis=0) + 0.02 * shop.rng.normal(size=(2, 24)))
    gallery = unhub.io.Rows(np.concatenate([shop.targets, spam]), ids=(*shop.ids, "spam 1", "spam 2"))
    queries = np.concatenate([shop.captions(RECENT - len(topic)), topic])
    result = unhub.monitor(correction, recent=queries, targets=gallery, history=history)
    assert {"spam 1", "spam 2"} <= set(result.new_hubs)
    hidden = unit(shop.bank.mean(axis=0) + 0.02 * shop.rng.normal(size=(2, 24)))
    gallery = unhub.io.Rows(np.concatenate([shop.targets, hidden]), ids=(*shop.ids, "spam 1", "spam 2"))
    assert not unhub.monitor(correction, recent=shop.captions(RECENT), targets=gallery, history=history).new_hubs


def test_a_changed_gallery_is_counted_and_ranked_as_it_is(shop, correction):
    now = shop.targets.copy()
    now[[3, 4]] = unit(shop.rng.normal(size=(2, 24)))
    order = shop.rng.permutation(np.arange(10, TARGETS))
    some = unit(shop.rng.normal(size=(5, 24)))
    keep = np.concatenate([order, np.arange(9)])
    rows = unhub.io.Rows(np.concatenate([now[keep], some]), ids=(*(shop.ids[row] for row in keep), *"abcde"))
    week = shop.captions(RECENT)
    result = unhub.monitor(correction, recent=week, targets=rows)
    assert (result.run.new, result.run.gone, result.run.changed) == (5, 1, 2)
    assert result.status == "look again"
    assert "the gallery has 5 new, 1 gone and 2 changed targets since the fit" in result.sentence
    bias = np.concatenate([correction.bias[keep], correction.extend(some)])
    bias[np.flatnonzero(np.isin(keep, [3, 4]))] = correction.extend(now[keep[np.isin(keep, [3, 4])]])
    s, tau = week @ np.concatenate([now[keep], some]).T, correction.verdict.tau
    gains = (reference.dual(s, bias, tau, correction.strength) - reference.dual(s, bias, tau, 0)) / tau
    assert result.run.figures["gain"].value == pytest.approx(gains.mean(), abs=1e-4)


def test_an_order_of_its_own_is_no_change(shop, correction):
    order = shop.rng.permutation(TARGETS)
    rows = unhub.io.Rows(shop.targets[order], ids=tuple(shop.ids[row] for row in order))
    week = shop.captions(RECENT)
    assert unhub.monitor(correction, recent=week, targets=rows, date="2026-01-01").run == (
        unhub.monitor(correction, recent=week, date="2026-01-01").run
    )


def test_without_ids_vectors_tell_what_is_new_and_gone(shop):
    plain = unhub.fit("sn", targets=shop.targets, query_bank=shop.bank, recent=shop.recent)
    now = np.concatenate([shop.targets[:5], shop.targets[7:], unit(shop.rng.normal(size=(4, 24)))])
    run = unhub.monitor(plain, recent=shop.captions(RECENT), targets=now).run
    assert (run.new, run.gone, run.changed) == (4, 2, 0)


def test_a_file_that_changed_since_the_fit_is_read_as_it_is(shop, tmp_path):
    file = tmp_path / "targets.npy"
    np.save(file, shop.targets)
    unhub.fit("sn", targets=file, query_bank=shop.bank, recent=shop.recent).save(tmp_path / "x.unhub")
    np.save(file, np.concatenate([shop.targets, unit(shop.rng.normal(size=(2, 24)))]))
    run = unhub.monitor(tmp_path / "x.unhub", recent=shop.captions(RECENT)).run
    assert (run.new, run.gone, run.changed, run.targets) == (2, 0, 0, TARGETS + 2)


# -- sentences, by the rule alone


def entry(strength=(0.93, 0.02), gain=(0.5, 0.03), churn=(0.3, 0.01), buried=(0.0, 0.0), **more):
    figures = {"strength": strength, "gain": gain, "churn": churn, "first churn": (0.2, 0.02), "buried": buried}
    figures |= {"never retrieved": (0.1, 0.01), "new hubs": (0.091, 0.01)} | more.pop("figures", {})
    plain = {name: Figure(*each) for name, each in figures.items()}
    fields = {"served": 0.93, "status": "fine", "k": 10, "queries": 412, "targets": 1000} | more
    return MonitorRun("2026-10-01T00:00:00+00:00", "a" * 32, figures=plain, **fields)


def say(run, base=None):
    status, reasons, changes = compare(run, base)
    verdict = unhub.api.verdict.given_verdict(1.0)
    return MonitorResult(dataclasses.replace(run, status=status), reasons, changes, verdict, base).sentence


AGAIN = "Run it again with more queries; if it stays, judge the correction again or fit again."
REFIT = "Collect a bank from current traffic and fit again."


@pytest.mark.parametrize(
    ("run", "base", "sentence"),
    [
        (
            entry(),
            None,
            "Fine: 412 recent queries support strength 0.93 ± 0.02 where 0.93 is served (gain +0.500 ± 0.030 nats per "
            "query); no new hubs.",
        ),
        (entry(strength=(0.91, 0.02)), entry(), None),
        (
            entry(strength=(0.6, 0.05)),
            entry(),
            "Look again: recent queries support strength 0.60 ± 0.05 where 0.93 is served. Since 2026-10-01: strength "
            f"down from 0.93 to 0.60. {AGAIN}",
        ),
        (
            entry(strength=(0.41, 0.05), new_hubs={"a": 30, "b": 29}),
            entry(),
            "Refit: recent queries support strength 0.41 ± 0.05 where 0.93 is served; 2 new hubs (a, b) hold 9.1% of "
            f"the top 10. Since 2026-10-01: strength down from 0.93 to 0.41. {REFIT}",
        ),
        (
            entry(gain=(-0.2, 0.05)),
            None,
            f"Refit: the correction costs recent queries 0.200 ± 0.050 nats each. {REFIT}",
        ),
        (
            entry(gain=(0.02, 0.03)),
            entry(),
            "Look again: the gain is down to 0.020 ± 0.030 nats per query. Since 2026-10-01: gain down from 0.50 to "
            f"0.02. {AGAIN}",
        ),
        (
            entry(new_hubs=dict.fromkeys("abcdef", 20)),
            None,
            f"Look again: 6 new hubs (a, b, c, d, e, ...) hold 9.1% of the top 10. {AGAIN}",
        ),
        (
            entry(buried=(0.012, 0.002)),
            entry(),
            "Look again: the bias puts 1.2% of the targets out of reach of every query. Since 2026-10-01: buried up "
            f"from 0% to 1.2%. {AGAIN}",
        ),
        (
            entry(figures={"judged strength": (0.3, 0.1)}),
            None,
            f"Refit: judged queries support strength 0.30 ± 0.10 where 0.93 is served. {REFIT}",
        ),
        (
            entry(served=0.0, gain=(0.0, 0.0)),
            None,
            f"Refit: the verdict on this correction was to refuse it, so nothing is served. {REFIT}",
        ),
        (entry(strength=(0.4, 0.4)), None, None),
        (entry(new=20, gone=10, changed=19), None, None),
        (
            entry(new=20, gone=10, changed=20),
            None,
            "Look again: the gallery has 20 new, 10 gone and 20 changed targets since the fit. "
            "Fit again on the gallery as it is now.",
        ),
        (entry(churn=(0.31, 0.01)), entry(), None),
    ],
)
def test_every_sentence(run, base, sentence):
    said = say(run, base)
    assert said == sentence if sentence is not None else said.startswith("Fine: ") and "Since" not in said


def test_more_than_is_served_is_told_if_it_is_clear_and_the_guard_agrees():
    def after(run, strength):
        status, reasons, changes = compare(run, None)
        verdict = unhub.api.verdict.given_verdict(strength)
        return MonitorResult(dataclasses.replace(run, status=status), reasons, changes, verdict)

    advice = " Judged by them it would be served at 0.97: unhub guard with -o saves that verdict."
    more = entry(strength=(0.99, 0.02), served=0.84)
    assert after(more, 0.97).sentence.endswith("no new hubs." + advice)
    assert after(more, 0.97).status == "fine"
    assert after(more, 0.97).to_dict()["sentence"].endswith(advice)
    weak_judged = {"judged strength": (0.8, 0.1)}
    for run, strength in (
        (more, 0.93),  # no more than 0.1
        (entry(strength=(0.99, 0.1), served=0.84), 0.97),  # within two standard errors
        (entry(strength=(0.99, 0.02), served=0.84, figures=weak_judged), 0.97),
        (entry(strength=(0.99, 0.02), served=0.84, new_hubs={"a": 30}), 0.97),  # not fine
    ):
        assert "unhub guard" not in after(run, strength).sentence


def test_a_correction_that_is_served_weakly_hears_that_more_is_supported(shop, correction):
    weak, week = correction.at(0.3), shop.captions(RECENT)
    result, strength = unhub.monitor(weak, recent=week), unhub.guard(weak, recent=week).strength
    assert strength > 0.7
    assert result.status == "fine"
    assert result.sentence.endswith(f"served at {strength:.2f}: unhub guard with -o saves that verdict.")


# -- the value, and bad input


def test_the_result_is_plain_data_and_a_page(shop, correction):
    result = unhub.monitor(correction, recent=shop.captions(RECENT))
    plain = result.to_dict()
    assert plain["status"] == "fine"
    assert plain["figures"]["gain"] == [result.run.figures["gain"].value, result.run.figures["gain"].error]
    assert plain["sentence"] == str(result)
    assert repr(result) == "MonitorResult(fine: 150 recent queries)"
    assert "0.93 is served" in result._repr_html_() or "is served" in result._repr_html_()


def test_another_strength_is_another_correction(shop, correction, tmp_path):
    history = tmp_path / "h.jsonl"
    unhub.monitor(correction, recent=shop.captions(RECENT), history=history)
    result = unhub.monitor(correction.at(0.5), recent=shop.captions(RECENT), history=history)
    assert result.baseline is None
    assert result.run.served == 0.5
    assert len(read_history(history)) == 2


def test_a_strength_above_one_is_measured_as_served(shop, correction):
    week = shop.captions(RECENT)
    run = unhub.monitor(correction.at(1.5), recent=week).run
    s, g = week @ shop.targets.T, correction.bias.astype(float)
    tau = correction.method.tau
    gains = (reference.dual(s, g, tau, 1.5) - reference.dual(s, g, tau, 0)) / tau
    assert run.figures["gain"].value == pytest.approx(gains.mean(), abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"k": 500}, "k is 500, but targets has 120; use a smaller one."),
        ({"date": "today"}, "date is 'today'; write it as 2026-11-18 or 2026-11-18T09:30."),
        ({"recent": None}, "recent is missing; give queries that are asked now."),
    ],
)
def test_bad_input_is_one_sentence(shop, correction, arguments, sentence):
    with pytest.raises(InputError) as told:
        unhub.monitor(correction, **({"recent": shop.captions(RECENT)} | arguments))
    assert str(told.value) == sentence
