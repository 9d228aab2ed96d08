"""From a store's vectors to corrected results in the same store, and back again, in every store."""

import asyncio
from contextlib import closing

import numpy as np
import pytest

import unhub
from stores.journeys import Journey, every_store, without
from stores.problem import Problem, best, identical, overlap
from unhub.deploy.journal import Journal
from unhub.foundation.errors import InputError
from unhub.stores import open_store

K = 10
ALL = every_store((True, False))
EXACT = every_store((True,))


@pytest.fixture(scope="module")
def problem():
    return Problem.make(count=500, dim=24, queries=40)


@pytest.fixture
def journey(engines, problem, tmp_path):
    made = []

    def make(variant, **more):
        made.append(Journey(engines(variant.store), variant, problem, tmp_path, **more))
        return made[-1]

    yield make
    for each in made:
        if each.file.exists():
            unhub.rollback(each.file, to=each.url)
        with closing(open_store(each.url)) as store:
            store.drop()


def _lists_hold(journey, found, exact, tolerance):
    """Identical lists where the index is exact, the recall of the raw index otherwise."""
    problem = journey.problem
    if journey.variant.exact:
        identical(found.ids, problem.ids, exact, K, tolerance)
        return
    rows = np.vectorize(lambda each: problem.row[str(each)])(found.ids)
    assert overlap(rows, best(exact, K)) > 0.7


@pytest.mark.parametrize("variant", ALL)
def test_export_serves_corrected_results_and_rollback_leaves_no_trace(journey, variant):
    trip = journey(variant)
    fitted = trip.fit()
    assert sorted(fitted.ids) == sorted(trip.problem.ids)
    tolerance = 20 * variant.tolerance
    direct = unhub.fit(
        "sn", targets=trip.problem.vectors, query_bank=trip.problem.queries, tau=0.05, strength=1, normalize=True
    )
    rows = [trip.problem.row[each] for each in fitted.ids]
    np.testing.assert_allclose(fitted.bias, direct.bias[rows], atol=max(1e-5, tolerance))

    plan = unhub.plan_export(trip.file, trip.url)
    with closing(open_store(trip.url)) as store:
        before = store.describe()
        if plan.strategy in ("augment", "constant_norm"):
            assert not store.sibling(plan.destination).exists()
    assert (plan.items, plan.origin.dim) == (500, 24)

    done = unhub.export(trip.file, trip.url)
    assert (done.written, done.already_written, done.record.state) == (500, 0, "serving")
    assert done.self_test.passed
    assert done.self_test.identical + done.self_test.tied == 40 or not variant.exact
    assert not Journal(trip.file).path.exists()
    exact = trip.exact()
    with unhub.connect(trip.url, trip.file) as retriever:
        assert retriever.strategy == plan.strategy
        found = retriever.search(trip.problem.queries, K)
        _lists_hold(trip, found, exact, tolerance)
        assert found.missing == 0
        rows = np.vectorize(lambda each: trip.problem.row[str(each)])(found.ids)
        np.testing.assert_allclose(found.raw_scores, np.take_along_axis(trip.problem.inner(), rows, 1), atol=tolerance)
        np.testing.assert_allclose(found.scores, np.take_along_axis(exact, rows, 1), atol=tolerance)
        raw = retriever.search(trip.problem.queries, K, corrected=False)
        assert (raw.ids != found.ids).any()
        alone = retriever.search(trip.problem.queries[0], K)
        assert alone.ids.tolist() == found.ids[0].tolist()
        inside = retriever.search(trip.problem.queries, 5, filter=trip.engine.filter(1))
        groups = np.vectorize(lambda each: trip.problem.groups[trip.problem.row[str(each)]])(inside.ids)
        assert (groups == 1).all()
        assert asyncio.run(retriever.search_async(trip.problem.queries, K)).ids.tolist() == found.ids.tolist()

    again = unhub.export(trip.file, trip.url)
    assert (again.written, again.already_written) == (0, 500)
    first = unhub.rollback(trip.file, to=trip.url)
    assert len(first.exports) == 1
    assert unhub.rollback(trip.file, to=trip.url).exports == ()
    with closing(open_store(trip.url)) as store:
        assert store.describe() == before
        if plan.strategy in ("augment", "constant_norm"):
            assert not store.sibling(plan.destination).exists()
        if done.record.alias is not None:
            assert store.alias(done.record.alias) is None
    with unhub.connect(trip.url, trip.file) as retriever:
        assert retriever.strategy == "rerank"
        _lists_hold(trip, retriever.search(trip.problem.queries, K), exact, tolerance)


@pytest.mark.parametrize("variant", EXACT)
def test_a_gallery_that_lives_is_followed(journey, variant, rng):
    trip = journey(variant)
    trip.fit()
    done = unhub.export(trip.file, trip.url)
    problem = trip.problem
    fresh = rng.standard_normal((3, 24)).astype(np.float32)
    fresh /= np.linalg.norm(fresh, axis=1, keepdims=True)
    put = {"900001": fresh[0], "900002": fresh[1], problem.ids[4]: fresh[2]}
    trip.change(gone=problem.ids[:2], put=put)

    counts = (
        r"2 of its 500 items .*900001.* 1 have another vector .*" + problem.ids[4] + r".* 2 of the correction's 500"
    )
    with pytest.raises(InputError, match=counts):
        unhub.export(trip.file, trip.url)

    kept = unhub.load(trip.file)
    refreshed = unhub.refresh(trip.file, trip.url)
    assert sorted(refreshed.new) == ["900001", "900002"]
    assert refreshed.changed == (problem.ids[4],)
    assert sorted(refreshed.gone) == sorted(problem.ids[:2])
    now = unhub.load(trip.file)
    bias = dict(zip(now.ids, now.bias.tolist(), strict=True))
    before = dict(zip(kept.ids, kept.bias.tolist(), strict=True))
    assert all(bias[each] == before[each] for each in problem.ids[5:])
    exact = kept.extend(fresh)
    np.testing.assert_allclose([bias[each] for each in put], exact, atol=max(1e-5, 10 * variant.tolerance))

    ids = [each for each in problem.ids[2:] if each != problem.ids[4]] + list(put)
    vectors = np.concatenate((problem.vectors[[problem.row[each] for each in ids[:-3]]], fresh))
    wanted = problem.queries.astype(np.float64) @ vectors.T + now.strength * np.array([bias[each] for each in ids])
    with unhub.connect(trip.url, trip.file) as retriever:
        assert retriever.strategy == done.plan.strategy
        found = retriever.search(problem.queries, K)
        assert found.missing == 0
        identical(found.ids, ids, wanted, K, 20 * variant.tolerance)
    assert unhub.refresh(trip.file, trip.url).to_dict() == {"new": 0, "changed": 0, "gone": 0}
    again = unhub.export(trip.file, trip.url)
    assert (again.written, again.self_test.passed) == (0, True)


@pytest.mark.parametrize("variant", EXACT)
def test_what_the_correction_does_not_know_counts_with_no_bias(journey, variant):
    trip = journey(variant)
    fitted = trip.fit()
    unknown = set(trip.problem.ids[:200])
    without(fitted, unknown).save(trip.file)
    with pytest.raises(InputError, match="200 of its 500 items are not in the correction"):
        unhub.export(trip.file, trip.url)
    exact = trip.exact()
    for export in (False, True):
        if export:
            unhub.export(trip.file, trip.url, allow_missing=True)
        with unhub.connect(trip.url, trip.file) as retriever:
            assert (retriever.strategy == "rerank") is not export
            found = retriever.search(trip.problem.queries, K)
        identical(found.ids, trip.problem.ids, exact, K, 20 * variant.tolerance)
        assert found.missing == sum(str(each) in unknown for each in found.ids.ravel())
        assert found.missing > 0


@pytest.mark.parametrize("variant", ALL)
def test_a_collection_of_other_vectors_is_refused_before_anything_is_written(journey, variant):
    trip = journey(variant)
    fitted = trip.fit()
    other = unhub.fit(
        "sn", targets=-trip.problem.vectors, query_bank=trip.problem.queries, tau=0.05, strength=1, normalize=True
    )
    assert fitted.bias.size == other.bias.size
    other.save(trip.file)
    with pytest.raises(InputError, match=r"500 of its 500 items are not in the correction|have another vector"):
        unhub.export(trip.file, trip.url)
    left = trip.problem.vectors[:, :8], trip.problem.queries[:, :8]
    narrow = unhub.fit("sn", targets=left[0], query_bank=left[1], tau=0.1, strength=1, normalize=True)
    narrow.save(trip.file)
    with pytest.raises(InputError, match=r"dimension 8 but .* has 24"):
        unhub.export(trip.file, trip.url)
    assert not Journal(trip.file).path.exists()
