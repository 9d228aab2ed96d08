"""Corrected results in Qdrant: a payload field, a second vector, and vectors that are quantised."""

import numpy as np
import pytest

from stores.engines.qdrant import fast_folder, local, remove, shard
from unhub.foundation.errors import InputError
from unhub.stores import Block, NewCollection, make_encoding, open_store

pytest.importorskip("qdrant_client")
edge = pytest.importorskip("qdrant_edge")

PAYLOAD = {"text": "Grüße", "nothing": None, "inner": {"a.b": [1, {"c": 2.5}]}}


@pytest.fixture
def home():
    """A folder that is fast to write to."""
    made = fast_folder()
    yield made
    remove(made)


def unit(count, dim, seed=3):
    made = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


BOTH = pytest.mark.parametrize("fill", [local, shard])


@BOTH
def test_the_payload_form_adds_one_field_and_takes_it_away_again(home, fill):
    payload = [{**PAYLOAD, "n": each} for each in range(30)]
    store = open_store(fill(home, unit(30, 4), name="my photos.v2", payload=payload))
    bias = np.linspace(-0.5, 0.5, 30)
    place = store.corrected_index(store.derived("1"), make_encoding("payload", "ip", 4, bias))
    before = next(store.scan())
    place.create()
    assert not place.exists()
    place.write(before, bias)
    place.finish()
    assert place.exists()
    (point,) = store.engine.page(None, 1, _any(), whole=True)[0]
    assert point.payload == {**payload[0], "my_photos_v2_unhub_1": pytest.approx(-0.5)}
    assert next(store.scan()).payload == before.payload
    place.delete(["0", "1", "77", "photo.jpg"])
    assert [each for some in place.ids(block=7) for each in some] == [str(each) for each in range(2, 30)]
    place.drop()
    after = next(store.scan())
    assert (after.ids, after.payload) == (before.ids, before.payload)
    np.testing.assert_array_equal(after.vectors, before.vectors)
    assert store.engine.page(None, 1, _any(), whole=True)[0][0].payload == payload[0]


def _any():
    from unhub.stores.qdrant.engine import Having

    return Having()


@pytest.mark.parametrize("into", ["payload", "vector"])
@pytest.mark.parametrize("distance", ["Dot", "Euclid", "Cosine"])
@BOTH
def test_vectors_of_any_length_are_ranked_by_score_and_bias(home, fill, distance, into):
    rng = np.random.default_rng(5)
    vectors = unit(50, 6) * rng.uniform(0.5, 2.0, (50, 1)).astype(np.float32)
    queries = unit(4, 6, seed=8) * np.float32(1.7)
    bias = rng.standard_normal(50)
    store = open_store(f"{fill(home, vectors, distance=distance)}?into={into}")
    place = store.corrected_index(store.derived("1"), make_encoding("payload", "ip", 6, bias))
    place.create()
    for block in store.scan(block=20):
        place.write(block, bias[[int(each) for each in block.ids]])
    place.finish()
    shrink = np.linalg.norm(queries[0]) * np.linalg.norm(vectors, axis=1) if distance == "Cosine" else 1
    expected = queries @ vectors.T / shrink + bias
    found = place.search(queries, 7)
    np.testing.assert_array_equal(found.ids.astype(int), np.argsort(-expected, axis=1)[:, :7])
    np.testing.assert_allclose(found.scores, -np.sort(-expected, axis=1)[:, :7], atol=1e-4)


def test_an_item_without_a_bias_counts_as_average_in_the_payload_form(home):
    vectors = unit(30, 6)
    bias = np.random.default_rng(2).standard_normal(30) - 5
    store = open_store(shard(home, vectors))
    place = store.corrected_index(store.derived("1"), make_encoding("payload", "ip", 6, bias))
    (block,) = store.scan()
    place.write(block.pick(range(1, 30)), bias[1:])
    bias[0] = bias.mean()
    expected = vectors @ vectors.T + bias
    found = place.search(vectors, 5)
    np.testing.assert_array_equal(found.ids.astype(int), np.argsort(-expected, axis=1)[:, :5])


def test_the_payload_form_sorts_only_what_it_fetches(home):
    vectors = unit(300, 6)
    bias = np.zeros(300)
    query = vectors[:1]
    last = int(np.argmin(vectors @ query[0]))
    bias[last] = 10.0
    url = shard(home, vectors)
    for fetch, expected in (("", False), ("?fetch=300", True)):
        store = open_store(f"{url}{fetch}")
        place = store.corrected_index(store.derived("1"), make_encoding("payload", "ip", 6, bias))
        (block,) = store.scan()
        place.write(block, bias)
        assert (place.search(query, 1).ids[0, 0] == last) is expected


def test_a_unit_layout_on_vectors_of_other_lengths_is_refused_by_the_payload_form(home):
    store = open_store(shard(home, 2 * unit(5, 4)))
    place = store.corrected_index(store.derived("1"), make_encoding("payload", "ip", 4, np.zeros(5), unit=True))
    with pytest.raises(InputError, match="not of unit length"):
        place.write(next(store.scan()), np.zeros(5))


@BOTH
def test_a_corrected_vector_leaves_the_raw_one_as_it_is(home, fill):
    vectors = unit(40, 6)
    url = fill(home, vectors, payload=[{"n": each} for each in range(40)])
    store = open_store(f"{url}?into=vector")
    before, raw = next(store.scan()), store.search(vectors, 5)
    place = store.corrected_index(store.derived("1"), make_encoding("payload", "ip", 6, np.zeros(40)))
    place.create()
    assert place.exists()
    assert list(place.ids()) == []
    place.write(before, np.linspace(0, 400, 40))
    place.delete(["39", "77"])
    assert place.search(vectors, 1).ids[:, 0].tolist() == [38] * 40
    again = open_store(url)
    assert (again.describe().dim, again.describe().count) == (6, 40)
    np.testing.assert_array_equal(again.search(vectors, 5).ids, raw.ids)
    assert next(again.scan()).payload == before.payload
    again.upsert(Block(["40"], vectors[:1]))
    assert store.describe().count == 41
    new = again.sibling(again.derived("2"))
    new.create(again, 6, "ip")
    assert list(new.engine.shape().vectors) == [""]
    place.drop()
    assert not place.exists()
    assert list(store.engine.shape().vectors) == [""]


def test_quantised_vectors_with_a_bias_are_scored_again_whole(home):
    vectors, queries = unit(3000, 32), unit(50, 32, seed=9)
    bias = 0.1 * np.random.default_rng(4).standard_normal(3000)
    store = open_store(
        shard(
            home,
            vectors,
            hnsw_config=edge.HnswIndexConfig(m=16, ef_construct=100, full_scan_threshold=1),
            quantization_config=edge.ScalarQuantizationConfig(edge.ScalarType.Int8),
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=1),
        )
    )
    place = NewCollection(store, store.sibling(store.derived("1")), make_encoding("augment", "ip", 32, bias))
    place.create()
    for block in store.scan():
        place.write(block, bias[[int(each) for each in block.ids]])
    place.finish()
    assert place.copy.describe().index == "hnsw+int8"
    expected = queries @ vectors.T + bias
    best = np.argsort(-expected, axis=1)[:, :10].tolist()

    def recall(found):
        return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.ids.tolist(), best, strict=True)])

    bare = NewCollection(store, open_store(f"{place.copy.url}?oversampling=1"), place.encoding)
    assert recall(place.search(queries, 10)) > 0.95
    assert recall(bare.search(queries, 10)) < 0.85
