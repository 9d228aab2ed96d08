"""The guard's verdict in report and page: the same numbers, computed once, and refused where it is refused."""

from dataclasses import replace

import numpy as np
import pytest

import unhub
from unhub.analysis.hubs import hub_card
from unhub.analysis.report_data import report_data
from unhub.analysis.session import Session, ViewSettings
from unhub.analysis.verdict import verdict_card
from unhub.analysis.view import view
from unhub.api.guard import estimate_bias
from unhub.api.verdict import APPLY, WEAKER, given_verdict, judge
from unhub.methods.strength import Evidence
from unhub.reports.html import html_report

from .small_experiment import unit, write_experiment

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")


@pytest.fixture
def experiment(tmp_path):
    return write_experiment(tmp_path)


def settings(**values):
    return ViewSettings(**({"direction": "t2i", "bank": "val", "method": "sn", "k": 1} | values))


def arrays(folder, *names):
    return [np.load(folder / f"{name}.npy") for name in names]


def refused(folder, **more):
    """A correction that was fitted on noise; nothing supports it."""
    noise = unit(np.random.default_rng(0).normal(size=(60, 16)))
    correction = unhub.fit("sn", targets=folder / "targets.npy", query_bank=noise, **more)
    assert correction.verdict.decision == "refuse"
    return correction


def test_report_page_and_evaluate_come_to_one_verdict(experiment):
    session = Session.open(experiment)
    shown = view(session, session.before_after(settings(method="dbsn")))
    told = report_data(Session.open(experiment)).guard
    queries, targets, bank, others = arrays(experiment.parent, "queries", "targets", "bank", "others")
    verdict = unhub.evaluate(
        queries=queries, targets=targets, query_bank=bank, target_bank=others, methods=["dbsn"], tau=0.1,
        relevant=experiment.parent / "relevant.npy",
    )["dbsn"].verdict  # fmt: skip
    assert shown.guard == told == verdict_card(verdict)
    assert shown.strength == told.strength == verdict.strength > 0
    assert told.checks == {"noise": True, "mismatch": False, "popularity": False}
    assert told.summary == (
        "Without recent queries it is served at 0.84 at most. Not checked: mismatch (give about 200 recent queries), "
        "popularity (give about 50 judged pairs)."
    )


@pytest.mark.parametrize(("decision", "colour"), [("apply", "use"), ("apply weaker", "unclear"), ("refuse", "refuse")])
def test_limits_and_colour_of_the_card_are_those_of_the_verdict(experiment, decision, colour):
    told = report_data(Session.open(experiment))
    at = {"apply": APPLY, "apply weaker": WEAKER, "refuse": WEAKER - 0.01}[decision]
    card = verdict_card(judge((Evidence("recent", at, 0.1, 0.01, 200, with_all=at + 0.1),)))
    assert (card.decision, card.colour, card.limits) == (decision, colour, [WEAKER, APPLY])
    page = html_report(replace(told, guard=replace(card, limits=[0.125, 0.5])))
    assert f'class="guard {colour}"' in page
    assert 'class="limit" d="M12.5 -2V12M50 -2V12"' in page
    assert f"200 queries; {at + 0.1:.2f} with the 2 that gain the most</span>" in page
    assert f"; {at + 0.1:.2f} with the 2 that gain the most)" in card.sentence  # in the same words
    assert '<p class="asked">Guard: judged by queries that the bias was not fitted on.</p>' in page


def test_a_card_of_a_strength_that_was_given_does_not_say_that_it_was_judged(experiment):
    told = report_data(Session.open(experiment))
    page = html_report(replace(told, guard=verdict_card(given_verdict(0.5))))
    assert "A strength of your own; nothing was checked." in page
    assert 'class="asked"' not in page


def test_the_guard_runs_once_for_a_bank_a_method_and_a_temperature(experiment, calls_of):
    session = Session.open(experiment)
    with calls_of(estimate_bias) as calls:
        for strength in (None, 0.2, 0.9, None, 1.5):
            session.before_after(settings(strength=strength))
            hub_card(session.before_after(settings(strength=strength, k=5)), 1)
    assert [call["method"].name for call in calls if call["method"].name != "none"] == ["sn"]
    with calls_of(estimate_bias) as calls:
        session.before_after(settings(tau=0.07))
    assert len(calls) == 1, "another temperature has another bias"


def test_recent_queries_of_an_experiment_file_are_used(tmp_path):
    path = write_experiment(tmp_path, more='recent = "recent.npy"\n')
    rng = np.random.default_rng(3)
    queries = np.load(tmp_path / "queries.npy")
    np.save(tmp_path / "recent.npy", unit(np.repeat(queries, 2, axis=0) + 0.1 * rng.normal(size=(180, 16))))
    session = Session.open(path)
    shown = view(session, session.before_after(settings()))
    assert [(each.source, each.queries) for each in shown.guard.evidence] == [("bank", 150), ("recent", 180)]
    assert shown.guard.checks["mismatch"]
    assert "--recent" in shown.command
    assert report_data(Session.open(path)).guard.checks["mismatch"]


def test_the_test_queries_as_the_bank_are_served_at_strength_one(experiment):
    session = Session.open(experiment)
    shown = view(session, session.before_after(settings(bank="test queries")))
    assert (shown.guard.reason, shown.strength) == ("transductive", 1.0)
    assert shown.guard.summary == "The test queries are the bank, so nothing can be checked."


def test_what_is_refused_is_shown_as_refused_with_its_bias(experiment):
    folder = experiment.parent
    correction = refused(folder)
    correction.save(folder / "noise.unhub")
    session = Session.open(folder / "noise.unhub", queries=str(folder / "queries.npy"))
    bank = session.banks(session.directions[0])[0]
    ranked = session.before_after(ViewSettings(session.directions[0], bank, "saved", k=1))
    shown = view(session, ranked)
    assert (shown.guard.decision, shown.strength, shown.verdict.kind) == ("refuse", 0.0, "refused")
    assert shown.counts_after == shown.counts_before
    assert shown.bias == pytest.approx(correction.bias, abs=1e-5), "for inspection"
    assert hub_card(ranked, 1).bias == pytest.approx(float(correction.bias[1]))
    own = session.before_after(ViewSettings(session.directions[0], bank, "saved", strength=1.0, k=1))
    assert own.after.bias == pytest.approx(correction.bias)
    assert view(session, own).guard == shown.guard, "the guard does not change its mind"
    told = report_data(Session.open(folder / "noise.unhub", queries=str(folder / "queries.npy")))
    assert 'class="guard refuse"' in html_report(told)
    assert told.to_dict()["guard"]["sentence"] == correction.verdict.sentence


def test_shares_are_of_the_right_queries_in_a_bank_with_copies(experiment):
    folder = experiment.parent
    bank = np.load(folder / "bank.npy")
    np.save(folder / "bank.npy", np.concatenate((bank[:20], bank)))  # the first twenty come twice
    session = Session.open(experiment)
    ranked = session.before_after(settings())
    assert ranked.task.duplicate_share == pytest.approx(20 / 170)
    rows = [each.row for each in hub_card(ranked, 1).contributions]
    assert not {each for each in rows if 20 <= each < 40}, "a copy is the query that came first"
    target, whole = np.load(folder / "targets.npy")[1], np.load(folder / "bank.npy")
    for each in hub_card(ranked, 1).contributions[:5]:
        assert each.score == pytest.approx(float(whole[each.row] @ target), abs=1e-5)
    everything = session.before_after(settings(strength=1.0))
    assert everything.task.duplicate_share == 0, "a strength of one's own has the bank as it is"


def test_shares_of_capped_sn_add_up_to_one(experiment):
    folder = experiment.parent
    experiment.write_text(experiment.read_text() + "own_log = true\n")
    session = Session.open(experiment)
    ranked = session.before_after(settings(strength=1.0))
    assert ranked.method.name == "capped_sn"
    shares = [each.share for each in hub_card(ranked, 1).contributions]
    scores = np.load(folder / "bank.npy").astype(float) @ np.load(folder / "targets.npy").astype(float).T
    f, caps = ranked.bias.potentials
    terms = np.exp((np.minimum(scores[:, 1], caps) + f) / 0.1)
    assert shares[0] == pytest.approx((terms / terms.sum()).max(), rel=1e-3)
