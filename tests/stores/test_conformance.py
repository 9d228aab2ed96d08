"""One suite for every store, against the real engine: what the protocol promises, each store keeps."""

import itertools

import numpy as np
import pytest

from stores.engines import VARIANTS
from stores.problem import Problem, best, identical, overlap
from unhub.foundation.errors import InputError, UnhubError
from unhub.stores import Block, NativeStrategies, NewCollection, make_encoding, open_store, parse

K = 10
COUNTER = itertools.count()


def _ranks_by(variant, metric, strategy):
    """What the corrected vectors are ranked by: inner products, or whatever a constant norm makes right."""
    if strategy == "constant_norm":
        return variant.metrics if metric == variant.metrics[0] else []
    return ["ip"] if strategy == "augment" else [metric]


PAIRS = [pytest.param(v, m, id=f"{v}-{m}", marks=pytest.mark.xdist_group(v.store)) for v in VARIANTS for m in v.metrics]
FIRST = [pytest.param(v, v.metrics[0], id=str(v), marks=pytest.mark.xdist_group(v.store)) for v in VARIANTS]
FORMS = [
    pytest.param(v, m, strategy, by, id=f"{v}-{m}-{strategy}-{by}", marks=pytest.mark.xdist_group(v.store))
    for v in VARIANTS
    for m in v.metrics
    for strategy in v.strategies
    for by in _ranks_by(v, m, strategy)
]


@pytest.fixture(scope="module")
def problem():
    return Problem.make(count=600, dim=24, queries=20)


@pytest.fixture
def collection(engines, problem):
    """A function that fills a real collection and opens it."""
    opened = []

    def make(variant, metric, *, name=None):
        called = name or f"items_{next(COUNTER)}"
        url = engines(variant.store).fill(
            called, problem.ids, problem.vectors, problem.groups, metric=metric, index=variant.index
        )
        opened.append(open_store(url))
        return opened[-1]

    yield make
    for each in opened:
        each.drop()
        each.close()


@pytest.mark.parametrize(("variant", "metric"), PAIRS)
def test_a_collection_is_described_as_it_is(collection, problem, variant, metric):
    seen = collection(variant, metric).describe()
    assert (seen.metric, seen.dim, seen.count) == (metric, 24, 600)
    assert seen.exact is variant.exact
    assert seen.unit is True
    assert seen.index


@pytest.mark.parametrize(("variant", "metric"), PAIRS)
def test_a_scan_gives_every_item_once_and_always_in_one_order(collection, problem, variant, metric):
    store = collection(variant, metric)
    blocks = list(store.scan(block=250))
    ids = [each for block in blocks for each in block.ids]
    vectors = np.concatenate([block.vectors for block in blocks])
    assert all(0 < len(block) <= 250 for block in blocks)
    assert sorted(ids) == sorted(problem.ids)
    assert vectors.dtype == np.float32
    rows = [problem.row[each] for each in ids]
    np.testing.assert_allclose(vectors, problem.vectors[rows], atol=max(variant.tolerance, 1e-6))
    assert [each for block in store.scan(block=100) for each in block.ids] == ids
    assert [each for some in store.ids(block=130) for each in some] == ids


@pytest.mark.parametrize(("variant", "metric"), PAIRS)
def test_a_search_gives_similarities_the_best_first(collection, problem, variant, metric):
    store = collection(variant, metric)
    found = store.search(problem.queries, K)
    assert found.ids.shape == found.scores.shape == (20, K)
    expected = problem.similarities(metric)
    rows = np.vectorize(lambda each: problem.row[str(each)])(found.ids)
    np.testing.assert_allclose(found.scores, np.take_along_axis(expected, rows, 1), atol=10 * variant.tolerance)
    assert (np.diff(found.scores, axis=1) <= variant.tolerance).all()
    if variant.exact:
        identical(found.ids, problem.ids, expected, K, variant.tolerance)


@pytest.mark.parametrize(("variant", "metric"), FIRST)
def test_a_search_for_more_than_there_is_gives_what_there_is(collection, problem, variant, metric):
    store = collection(variant, metric)
    keep = problem.ids[:3]
    store.delete([each for each in problem.ids if each not in keep])
    store.finish()
    found = store.search(problem.queries[:2], 5)
    assert found.ids.shape == (2, 5)
    assert sorted(map(str, found.ids[0, :3])) == sorted(keep)
    assert all(each is None for each in found.ids[0, 3:])
    assert np.isneginf(found.scores[:, 3:]).all()


@pytest.mark.parametrize(("variant", "metric"), FIRST)
def test_a_search_within_a_filter_finds_the_best_of_those(engines, collection, problem, variant, metric):
    store = collection(variant, metric)
    engine = engines(variant.store)
    found = store.search(problem.queries, K, filter=engine.filter(2))
    groups = np.vectorize(lambda each: problem.groups[problem.row[str(each)]])(found.ids)
    assert (groups == 2).all()
    if variant.exact:
        among = np.where(problem.groups == 2, problem.similarities(metric), -np.inf)
        identical(found.ids, problem.ids, among, K, variant.tolerance)


@pytest.mark.parametrize(("variant", "metric"), FIRST)
def test_an_exact_search_looks_at_every_vector(collection, problem, variant, metric):
    store = collection(variant, metric)
    if not store.abilities.exact:
        with pytest.raises(InputError, match="exact"):
            store.search(problem.queries, K, exact=True)
        return
    found = store.search(problem.queries, K, exact=True)
    identical(found.ids, problem.ids, problem.similarities(metric), K, variant.tolerance)


@pytest.mark.parametrize(("variant", "metric"), FIRST)
def test_a_new_collection_is_made_filled_changed_and_dropped(engines, collection, problem, variant, metric):
    store = collection(variant, metric)
    new = store.sibling(store.derived("0123abcd"))
    assert not new.exists()
    if "augment" not in store.abilities.strategies:
        with pytest.raises(InputError):
            new.create(store, 24, metric)
        return
    new.drop()
    new.create(store, 24, metric)
    new.create(store, 24, metric)
    assert new.exists()
    for block in store.scan(block=200):
        new.upsert(block)
    new.finish()
    assert sorted(each for some in new.ids() for each in some) == sorted(problem.ids)
    found = new.search(problem.queries, K, filter=engines(variant.store).filter(1))
    groups = np.vectorize(lambda each: problem.groups[problem.row[str(each)]])(found.ids)
    assert (groups == 1).all()
    again = next(iter(store.scan(block=5)))
    new.upsert(Block(again.ids, again.vectors[::-1].copy(), again.payload))
    new.finish()
    assert new.describe().count == 600
    swapped = {each: row for block in new.scan() for each, row in zip(block.ids, block.vectors, strict=True)}
    tolerance = max(variant.tolerance, 1e-6)
    for each, row in zip(again.ids, again.vectors[::-1], strict=True):
        np.testing.assert_allclose(swapped[each], row, atol=tolerance)
    new.delete(again.ids[:2])
    new.delete(again.ids[:2])
    new.finish()
    assert new.describe().count == 598
    assert open_store(new.url).describe().count == 598
    new.drop()
    new.drop()
    assert not new.exists()
    assert store.describe().count == 600


@pytest.mark.parametrize(("variant", "metric"), FIRST)
def test_an_alias_points_to_one_collection_and_then_another(collection, problem, variant, metric):
    store = collection(variant, metric)
    if not store.abilities.aliases:
        assert store.alias("anything") is None
        with pytest.raises(InputError, match="alias"):
            store.set_alias("anything", store.name)
        return
    new = store.sibling(store.derived("0123abcd"))
    new.create(store, 24, metric)
    new.upsert(next(iter(store.scan())))
    new.finish()
    name = f"{store.name}_corrected"
    assert store.alias(name) is None
    store.set_alias(name, None)
    store.set_alias(name, store.name)
    assert store.alias(name) == store.name
    store.set_alias(name, new.name)
    store.set_alias(name, new.name)
    assert store.alias(name) == new.name
    store.set_alias(name, None)
    assert store.alias(name) is None
    new.drop()


@pytest.mark.parametrize(("variant", "metric", "strategy", "ranks_by"), FORMS)
def test_the_corrected_index_ranks_as_exact_corrected_search_would(
    engines, collection, problem, variant, metric, strategy, ranks_by
):
    store = collection(variant, metric)
    assert strategy in store.abilities.strategies
    assert strategy not in ("augment", "constant_norm") or ranks_by in store.abilities.metrics
    plan = make_encoding(strategy, ranks_by, 24, problem.bias, longest=1 + variant.tolerance)
    name = store.derived("0123abcd")
    made = (
        NewCollection(store, store.sibling(name), plan)
        if strategy in ("augment", "constant_norm")
        else store.corrected_index(name, plan)
    )
    assert strategy in ("augment", "constant_norm") or isinstance(store, NativeStrategies)
    assert not made.exists()
    made.create()
    made.create()
    for block in store.scan(block=128):
        made.write(block, problem.bias[[problem.row[each] for each in block.ids]])
    made.finish()
    made.finish()
    assert sorted(each for some in made.ids() for each in some) == sorted(problem.ids)
    corrected = problem.inner() + problem.bias
    found = made.search(problem.queries, K)
    rows = np.vectorize(lambda each: problem.row[str(each)])(found.ids)
    np.testing.assert_allclose(found.scores, np.take_along_axis(corrected, rows, 1), atol=20 * variant.tolerance)
    if variant.exact or strategy == "column":
        identical(found.ids, problem.ids, corrected, K, 20 * variant.tolerance)
    else:
        raw = np.vectorize(lambda each: problem.row[str(each)])(store.search(problem.queries, K).ids)
        assert overlap(rows, best(corrected, K)) > min(0.95, overlap(raw, best(problem.inner(), K)) - 0.15)
    within = made.search(problem.queries, K, filter=engines(variant.store).filter(0))
    groups = np.vectorize(lambda each: problem.groups[problem.row[str(each)]])(within.ids)
    assert (groups == 0).all()
    if variant.exact:
        among = np.where(problem.groups == 0, corrected, -np.inf)
        identical(within.ids, problem.ids, among, K, 20 * variant.tolerance)
    made.drop()
    made.drop()
    assert not made.exists()
    assert store.describe().count == 600


@pytest.mark.parametrize(("variant", "metric"), FIRST)
def test_what_is_not_there_or_does_not_fit_gets_one_sentence(collection, problem, variant, metric):
    store = collection(variant, metric)
    missing = store.sibling("not_there")
    for act in (missing.describe, lambda: list(missing.scan()), lambda: missing.search(problem.queries, K)):
        with pytest.raises(UnhubError) as caught:
            act()
        assert "not_there" in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(UnhubError) as caught:
        store.search(problem.queries[:, :7], K)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("variant", "metric"), FIRST)
def test_the_address_opens_it_again(collection, variant, metric):
    store = collection(variant, metric)
    assert str(parse(store.url)) == store.url
    again = open_store(store.url)
    assert again.describe() == store.describe()
