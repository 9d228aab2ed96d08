"""Recent and judged queries that repeat each other or the bank: none may judge what was learned from it, none twice."""

import numpy as np
import pytest

import unhub
from unhub import InputError

TARGETS, BANK, RECENT = 60, 150, 80
SHARED = "{} of {} recent queries were left out: they are in the bank, or repeat another recent query."


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def shop():
    rng = np.random.default_rng(5)
    images = unit(rng.normal(size=(TARGETS, 24)) + rng.gamma(1.0, 0.4, size=(TARGETS, 1)))
    answers = rng.integers(0, TARGETS, BANK + RECENT)
    captions = unit(images[answers] + 0.2 + 0.2 * rng.normal(size=(BANK + RECENT, 24)))
    return {"targets": images, "bank": captions[:BANK], "recent": captions[BANK:], "answers": answers}


def fitted(shop, **more):
    return unhub.fit("sn", targets=shop["targets"], query_bank=shop["bank"], tau=0.2, **more)


def of(correction, source):
    return next(each for each in correction.verdict.evidence if each.source == source)


def encoded_again(rows):
    return rows.astype(np.float16).astype(np.float32)


@pytest.mark.parametrize("again", [np.array, encoded_again, lambda rows: rows.round(3)])
def test_a_bank_query_that_is_asked_again_does_not_judge(shop, again):
    asked = np.concatenate((again(shop["bank"][:40]), shop["recent"]))
    with pytest.warns(unhub.UnhubWarning, match="left out"):
        correction = fitted(shop, recent=asked)
    assert correction.warnings[0] == SHARED.format(40, 120)
    assert of(correction, "recent") == of(fitted(shop, recent=shop["recent"]), "recent")
    with pytest.warns(unhub.UnhubWarning, match="40 of 120 recent queries were left out"):
        later = unhub.guard(fitted(shop), recent=asked)
    assert later.evidence[-1].queries == RECENT


@pytest.mark.parametrize("again", [np.array, encoded_again])
def test_copies_among_the_recent_queries_make_no_error_smaller(shop, again):
    asked = np.concatenate((shop["recent"], *[again(shop["recent"])] * 9))
    with pytest.warns(unhub.UnhubWarning, match="left out"):
        correction = fitted(shop, recent=asked)
    assert correction.warnings[0] == SHARED.format(9 * RECENT, 10 * RECENT)
    assert of(correction, "recent") == of(fitted(shop, recent=shop["recent"]), "recent")


@pytest.mark.parametrize("rest", [49, 0])
def test_too_few_that_are_left(shop, rest):
    with pytest.raises(InputError) as refused:
        fitted(shop, recent=np.concatenate((shop["bank"], shop["recent"][:rest], shop["recent"][:rest])))
    assert str(refused.value) == (
        f"recent has {rest} different queries that are not in the bank, and fewer than 50 say nothing; give about 200."
    )


def test_copies_among_the_judged_queries(shop):
    twice = np.concatenate((shop["recent"][:30], encoded_again(shop["recent"][:30])))
    answers = np.tile(shop["answers"][BANK : BANK + 30], 2)
    once = fitted(shop, judged=answers[:30], judged_queries=twice[:30])
    assert of(fitted(shop, judged=answers, judged_queries=twice), "judged") == of(once, "judged")
    late = np.concatenate((np.full(30, -1), answers[:30]))
    assert of(fitted(shop, judged=late, judged_queries=twice), "judged").queries == 30
    with pytest.raises(InputError) as refused:
        fitted(shop, judged=np.tile(answers[:15], 2), judged_queries=np.tile(twice[:15], (2, 1)))
    assert str(refused.value) == (
        "judged has 15 different judged queries that are not in the bank, and fewer than 20 say nothing; judge about "
        "50."
    )


@pytest.mark.parametrize("again", [np.array, encoded_again])
def test_judged_bank_queries_are_left_out_and_refused_from_a_half(shop, again):
    asked = np.concatenate((again(shop["bank"][:29]), shop["recent"][:30]))
    answers = np.concatenate((shop["answers"][:29], shop["answers"][BANK : BANK + 30]))
    alone = fitted(shop, judged=answers[29:], judged_queries=asked[29:])
    assert of(fitted(shop, judged=answers, judged_queries=asked), "judged") == of(alone, "judged")
    more = np.concatenate((again(shop["bank"][29:30]), asked))
    with pytest.raises(InputError, match="judged holds 30 queries of the bank, as a log's clicks do"):
        fitted(shop, judged=np.concatenate((shop["answers"][29:30], answers)), judged_queries=more)


def test_of_scores_too(shop):
    s, r = shop["bank"] @ shop["targets"].T, shop["recent"] @ shop["targets"].T
    with pytest.warns(unhub.UnhubWarning, match=r"70 of 150 recent queries were left out"):
        correction = unhub.fit("sn", scores=s, recent=np.concatenate((s[:70], r)), tau=0.2)
    assert of(correction, "recent") == of(unhub.fit("sn", scores=s, recent=r, tau=0.2), "recent")


def test_answers_that_rank_by_chance_are_probably_the_wrong_rows(shop):
    rng = np.random.default_rng(1)
    answers = (shop["recent"] @ shop["targets"].T).argmax(axis=1)
    right = {"recent": shop["recent"], "judged": answers}
    assert not any("right rows" in each for each in fitted(shop, **right).warnings)
    with pytest.warns(unhub.UnhubWarning, match=r"The targets of judged are at rank \d+ of \d+ in the median"):
        fitted(shop, **right | {"judged": rng.permutation(len(shop["targets"]))[rng.integers(0, 40, len(answers))]})


def test_clicks_that_nothing_uses_are_told(shop):
    clicks = np.arange(len(shop["bank"])) % 5
    with pytest.warns(unhub.UnhubWarning, match="clicks was not used: target_prior='clicks' would use it"):
        fitted(shop, clicks=clicks)
    with pytest.warns(unhub.UnhubWarning, match="target_prior is taken for true: only judged queries can show"):
        fitted(shop, target_prior=np.arange(1.0, len(shop["targets"]) + 1))


def test_earlier_evidence_that_still_counts_is_told(shop):
    answers = (shop["recent"] @ shop["targets"].T).argmax(axis=1)
    correction = fitted(shop, recent=shop["recent"], judged=answers)
    with pytest.warns(unhub.UnhubWarning, match="What the judged queries of the earlier verdict said still counts"):
        verdict = unhub.guard(correction, recent=shop["recent"])
    assert str(verdict) == verdict.sentence


def test_a_crowd_of_recent_queries_is_sampled(shop, monkeypatch):
    monkeypatch.setattr("unhub.dataset.evidence.MOST_READ", 60)
    found = fitted(shop, recent=shop["recent"]).verdict.evidence[-1]
    assert found.queries == 60
