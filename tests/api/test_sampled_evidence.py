"""Recent and judged queries in a sample of a gallery that is too large to be shown: asked of the targets that stay."""

import numpy as np
import pytest

import unhub
from unhub import Dataset
from unhub.api.guard import estimate_bias
from unhub.dataset import sampled_evidence
from unhub.scores import whole_matrix

TARGETS, STAY = 400, 120


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def shop():
    rng = np.random.default_rng(5)
    targets = unit(rng.normal(size=(TARGETS, 24)) + rng.gamma(1.0, 0.4, size=(TARGETS, 1)))
    right = rng.integers(0, TARGETS, 500)
    asked = unit(targets[right] + 0.2 + 0.2 * rng.normal(size=(500, 24)))
    judged = np.where(np.arange(80) < 30, right[420:], -1)
    return {
        "queries": asked[:20], "relevant": right[:20], "targets": targets, "query_bank": asked[20:420],
        "recent": asked[420:], "judged": judged,
    }  # fmt: skip


def of_scores(shop):
    scores = {name: shop[name] @ shop["targets"].T for name in ("queries", "query_bank", "recent")}
    return Dataset(
        scores=scores["queries"], query_bank_scores=scores["query_bank"], recent=scores["recent"],
        judged=shop["judged"], relevant=shop["relevant"],
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["vectors", "scores"])
def test_fresh_queries_are_asked_of_the_targets_that_stay(shop, kind):
    data = Dataset(**shop) if kind == "vectors" else of_scores(shop)
    part = data.sample(1_000_000, seed=3, most_targets=STAY)
    stay = part.drawn["targets"]
    assert len(stay) == STAY
    fresh = part.task("forward", "bank").fresh
    wanted = shop["recent"] @ shop["targets"][stay].T
    np.testing.assert_allclose(whole_matrix(fresh.recent), wanted, atol=1e-6)
    np.testing.assert_allclose(whole_matrix(fresh.judged.scores), wanted[:30], atol=1e-6)
    assert stay[fresh.judged.relevance.targets].tolist() == shop["judged"][:30].tolist()


def test_the_guard_of_a_sample_has_the_evidence_of_the_whole(shop):
    data, method = Dataset(**shop), unhub.methods.SN(tau=0.1)
    whole, part = (each.task("forward", "bank") for each in (data, data.sample(1_000_000, most_targets=STAY)))
    found = [estimate_bias(method, each).verdict.evidence for each in (whole, part)]
    for evidence in found:
        assert [(each.source, each.queries) for each in evidence] == [("bank", 400), ("recent", 80), ("judged", 30)]


def test_of_many_fresh_queries_some_stay_and_the_judged_ones_first(shop, monkeypatch):
    monkeypatch.setattr(sampled_evidence, "BLOCK", 60)
    monkeypatch.setattr(sampled_evidence, "MOST_SCORES", 60 * STAY)
    fresh = Dataset(**shop).sample(1_000_000, most_targets=STAY).task("forward", "bank").fresh
    assert fresh.recent.shape[0] == 60
    assert fresh.judged.scores.shape[0] == 30
    shown = Dataset(**shop).sample(1_000_000).task("forward", "bank").fresh
    assert shown.recent.shape == (80, TARGETS), "a gallery that stays whole keeps them all"
