"""What is special to Qdrant: addresses, ids, payload and named vectors, strategies in place, one client per folder."""

import gc
import json
import uuid

import numpy as np
import pytest

from stores.engines.qdrant import fast_folder, local, remove, shard
from unhub.foundation.errors import InputError, StoreError, UnhubError
from unhub.stores import Block, open_store

pytest.importorskip("qdrant_client")
edge = pytest.importorskip("qdrant_edge")
from qdrant_client import QdrantClient, models  # noqa: E402

FIRST, SECOND = "0b6ff5c2-0000-4000-8000-000000000001", "f0000000-0000-4000-8000-000000000002"
PAYLOAD = {
    "text": 'Grüße\n"x"',
    "whole": -(2**53),
    "part": 0.1,
    "yes": True,
    "nothing": None,
    "many": [1, "two", None, [3.5]],
    "inner": {"a.b": {"c": []}},
    "place": {"lon": 13.4, "lat": 52.5},
    "when": "2024-05-06T07:08:09Z",
}


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


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("qdrant://localhost", "give the name of a collection"),
        ("qdrant:///photos", "give a folder and a name in it"),
        ("qdrant-edge:///photos", "give a folder and a shard in it"),
        ("qdrant://localhost/photos?tiemout=3", "no option 'tiemout'"),
        ("qdrant:///data/photos?timeout=3", "no option 'timeout'"),
        ("qdrant-edge:///data/photos?https=true", "no option 'https'"),
        ("qdrant://localhost/photos?https=maybe", "give true or false"),
        ("qdrant://localhost/photos?timeout=soon", "give a number"),
        ("qdrant:///data/photos?into=column", "give payload or vector"),
    ],
)
def test_an_address_that_cannot_be_right_is_refused(url, said):
    with pytest.raises(InputError, match=said):
        open_store(url)


@pytest.mark.parametrize("scheme", ["qdrant", "qdrant-edge"])
def test_to_look_where_nothing_is_makes_nothing(home, scheme):
    store = open_store(f"{scheme}://{home}/none/photos")
    assert not store.exists()
    store.drop()
    with pytest.raises(StoreError, match="photos cannot be read"):
        store.describe()
    assert list(home.iterdir()) == []


def test_a_folder_that_is_no_shard_is_not_opened_overwritten_or_removed(home):
    url = shard(home, unit(5, 4))
    (home / "photos_unhub_1").mkdir()
    (home / "photos_unhub_1" / "letter.txt").write_text("keep")
    store = open_store(url)
    other = store.sibling("photos_unhub_1")
    assert not other.exists()
    other.drop()
    with pytest.raises(InputError, match="has other things in it"):
        other.create(store, 4, "ip")
    with pytest.raises(StoreError, match="no shard"):
        other.describe()
    assert [each.name for each in (home / "photos_unhub_1").iterdir()] == ["letter.txt"]


@BOTH
def test_one_folder_is_shared_and_let_go_of_by_the_last(home, fill):
    url = fill(home, unit(5, 4))
    first, second = open_store(url), open_store(url)
    third = first.sibling("photos")
    assert first.describe() == second.describe() == third.describe()
    first.close()
    first.close()
    second.close()
    assert third.describe().count == 5
    del third
    gc.collect()
    if fill is local:
        QdrantClient(path=str(home / "store")).close()
    else:
        edge.EdgeShard.load(str(home / "photos")).close()


@BOTH
def test_a_folder_that_another_client_has_open_gets_one_sentence(home, fill):
    url = fill(home, unit(5, 4))
    held = QdrantClient(path=str(home / "store")) if fill is local else edge.EdgeShard.load(str(home / "photos"))
    with pytest.raises(StoreError) as caught:
        open_store(url).describe()
    held.close()
    assert "photos cannot be read" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert open_store(url).describe().count == 5


@BOTH
def test_numbers_and_uuids_are_both_ids(home, fill):
    ids = [SECOND, 2**64 - 1, 0, FIRST, 30]
    vectors = unit(5, 4)
    store = open_store(fill(home, vectors, ids=ids))
    assert [each for some in store.ids(block=2) for each in some] == ["0", "30", str(2**64 - 1), FIRST, SECOND]
    found = store.search(vectors, 1)
    assert found.ids[:, 0].tolist() == ids
    new = store.sibling(store.derived("1"))
    new.create(store, 4, "ip")
    for block in store.scan(block=2):
        new.upsert(block)
    assert new.search(vectors, 1).ids[:, 0].tolist() == ids
    new.delete([FIRST, str(2**64 - 1), str(uuid.uuid4()), "99", "photo.jpg"])
    assert [each for some in new.ids() for each in some] == ["0", "30", SECOND]
    with pytest.raises(InputError, match=r"'photo\.jpg' cannot be an id in Qdrant"):
        new.upsert(Block(["7", "photo.jpg"], vectors[:2]))
    assert new.describe().count == 3


@BOTH
def test_an_id_that_is_put_twice_is_there_once_as_it_was_last(home, fill):
    vectors = unit(5, 4)
    store = open_store(fill(home, vectors))
    store.upsert(Block(["7", "7"], vectors[:2], [({"n": 1}, {}), ({"n": 2}, {})]))
    (block,) = store.scan()
    assert block.ids == ["0", "1", "2", "3", "4", "7"]
    np.testing.assert_allclose(block.vectors[5], vectors[1], atol=1e-6)
    assert block.payload[5][0] == {"n": 2}


@BOTH
def test_payload_of_every_type_is_copied(home, fill):
    vectors = unit(2, 4)
    store = open_store(fill(home, vectors, payload=[PAYLOAD, {}]))
    new = store.sibling(store.derived("1"))
    new.create(store, 4, "cosine")
    for block in store.scan():
        new.upsert(block)
    new.finish()
    (copied,) = new.scan()
    assert copied.payload[0][0] == PAYLOAD
    assert not copied.payload[1][0]


def test_other_vectors_are_copied_and_points_without_the_vector_are_left_out(home):
    client = QdrantClient(path=str(home / "store"))
    client.create_collection(
        "photos",
        vectors_config={
            "image": models.VectorParams(size=2, distance="Dot"),
            "title": models.VectorParams(size=3, distance="Manhattan"),
            "tokens": models.VectorParams(
                size=2, distance="Dot", multivector_config=models.MultiVectorConfig(comparator="max_sim")
            ),
        },
        sparse_vectors_config={"words": models.SparseVectorParams()},
    )
    whole = {
        "image": [0.6, 0.8],
        "title": [1.0, 2.0, 3.0],
        "tokens": [[1.0, 0.0], [0.0, 1.0]],
        "words": models.SparseVector(indices=[3, 7], values=[0.5, 0.25]),
    }
    client.upsert(
        "photos",
        [
            models.PointStruct(id=1, vector=whole, payload={"n": 1}),
            models.PointStruct(id=2, vector={"title": [0.0, 0.0, 1.0]}, payload={}),
            models.PointStruct(id=3, vector={"image": [1.0, 0.0]}, payload={}),
        ],
    )
    client.close()
    url = f"qdrant://{home}/store/photos"
    with pytest.raises(InputError, match=r"\?vector=<name>; there are image, title, tokens"):
        open_store(url).describe()
    with pytest.raises(InputError, match="the distance Manhattan"):
        open_store(f"{url}?vector=title").describe()
    with pytest.raises(InputError, match="more than one vector"):
        open_store(f"{url}?vector=tokens").describe()
    store = open_store(f"{url}?vector=image")
    assert store.describe().count == 2
    assert [each for some in store.ids() for each in some] == ["1", "3"]
    new = store.sibling(store.derived("1"))
    new.create(store, 8, "ip")
    for block in store.scan():
        new.upsert(Block(block.ids, np.pad(block.vectors, ((0, 0), (0, 6))), block.payload))
    new.close()
    store.close()
    client = QdrantClient(path=str(home / "store"))
    copied = client.retrieve("photos_unhub_1", [1, 2, 3], with_vectors=True)
    client.close()
    assert [each.id for each in copied] == [1, 3]
    np.testing.assert_allclose(copied[0].vector.pop("image"), [0.6, 0.8, 0, 0, 0, 0, 0, 0], atol=1e-6)
    assert copied[0].vector == {name: each for name, each in whole.items() if name != "image"}
    assert copied[0].payload == {"n": 1}


def test_a_new_shard_has_the_settings_and_the_indexes_of_the_old(home):
    settings = {
        "hnsw_config": edge.HnswIndexConfig(m=6, ef_construct=40, full_scan_threshold=1, on_disk=True),
        "quantization_config": edge.ScalarQuantizationConfig(edge.ScalarType.Int8, quantile=0.95),
        "optimizers": edge.EdgeOptimizersConfig(indexing_threshold=1, deleted_threshold=0.5),
        "on_disk_payload": True,
        "params": edge.EdgeVectorParams(
            size=16, distance=edge.Distance.Dot, on_disk=True, datatype=edge.VectorStorageDatatype.Float16
        ),
    }
    store = open_store(shard(home, unit(300, 16), **settings))
    store.engine.shard.update(edge.UpdateOperation.create_field_index("n", edge.IntegerIndexParams(range=False)))
    store.engine.shard.update(edge.UpdateOperation.create_field_index("word", edge.PayloadSchemaType.Keyword))
    new = store.sibling(store.derived("1"))
    new.create(store, 24, "l2")
    for block in store.scan():
        new.upsert(Block(block.ids, np.pad(block.vectors, ((0, 0), (0, 8))), block.payload))
    new.finish()
    old = json.loads((home / "photos" / "edge_config.json").read_text())
    made = json.loads((home / "photos_unhub_1" / "edge_config.json").read_text())
    old["vectors"][""].update(size=24, distance="Euclid")
    assert made == old
    schema = new.engine.shard.info().payload_schema
    assert set(schema) == {"n", "word"}
    assert schema["n"].params.range is False
    seen, was = new.describe(), store.describe()
    assert (seen.index, seen.exact, seen.dtype) == (was.index, was.exact, was.dtype) == ("hnsw+int8", False, "float16")


@pytest.mark.parametrize(
    ("settings", "index", "exact"),
    [
        ({}, "flat", True),
        ({"hnsw_config": edge.HnswIndexConfig(m=8, ef_construct=32, full_scan_threshold=1)}, "hnsw", False),
        ({"hnsw_config": edge.HnswIndexConfig(m=8, ef_construct=32, full_scan_threshold=9000)}, "hnsw", True),
        ({"hnsw_config": edge.HnswIndexConfig(m=0, ef_construct=32, full_scan_threshold=1)}, "flat", True),
        ({"quantization_config": edge.ScalarQuantizationConfig(edge.ScalarType.Int8)}, "hnsw+int8", False),
    ],
)
def test_an_index_that_is_not_used_counts_as_none(home, settings, index, exact):
    if settings:
        settings = {**settings, "optimizers": edge.EdgeOptimizersConfig(indexing_threshold=1)}
    seen = open_store(shard(home, unit(300, 16), **settings)).describe()
    assert (seen.index, seen.exact) == (index, exact)


@BOTH
def test_what_stays_while_others_come_and_go_is_scanned_exactly_once(home, fill):
    store = open_store(fill(home, unit(40, 4), ids=list(range(100, 140))))
    scan = store.scan(block=10)
    seen = list(next(scan).ids)
    store.delete(["105", "125"])
    store.upsert(Block(["5", "135", "500"], unit(3, 4)))
    seen += [each for block in scan for each in block.ids]
    stayed = {str(each) for each in range(100, 140)} - {"105", "125"}
    assert len(set(seen)) == len(seen)
    assert stayed <= set(seen)


@pytest.mark.parametrize("block", [1, 5])
def test_an_id_that_comes_twice_is_an_error(home, block):
    store = open_store(shard(home, unit(20, 4)))

    class Again:
        """The engine, but a page that has been read comes once more, as after a change of shards."""

        def __init__(self, engine):
            self.engine, self.pages = engine, []

        def __getattr__(self, name):
            return getattr(self.engine, name)

        def page(self, start, limit, having, *, whole):
            self.pages.append(self.engine.page(start, limit, having, whole=whole))
            return self.pages[0] if len(self.pages) < 3 else self.pages[-1]

    store.engine = Again(store.engine)
    with pytest.raises(StoreError, match="changed while it was read"):
        list(store.scan(block=block))


@BOTH
def test_a_filter_may_be_said_in_the_words_of_rest(home, fill):
    payload = [{"n": each, "kind": "even" if each % 2 == 0 else "odd"} for each in range(20)]
    vectors = unit(20, 4)
    store = open_store(fill(home, vectors, payload=payload))
    words = {
        "must": [{"key": "kind", "match": {"value": "odd"}}, {"key": "n", "range": {"gte": 5, "lt": 16}}],
        "must_not": {"key": "n", "match": {"any": [7, 9]}},
        "should": [{"has_id": [11, 13]}, {"must": [{"key": "n", "match": {"except": [11, 15]}}]}],
    }
    found = store.search(vectors[:1], 20, filter=words)
    assert sorted(each for each in found.ids[0] if each is not None) == [5, 11, 13]
    with pytest.raises(UnhubError) as caught:
        store.search(vectors[:1], 3, filter={"most": []})
    assert "\n" not in str(caught.value)


def test_an_alias_of_local_mode_lasts(home):
    url = local(home, unit(5, 4))
    store = open_store(url)
    store.set_alias("best", "photos")
    assert open_store(url.replace("/photos", "/best")).describe().count == 5
    store.close()
    gc.collect()
    again = open_store(url)
    assert again.alias("best") == "photos"
    with pytest.raises(StoreError, match="cannot be given the alias"):
        again.set_alias("best", "not_there")
    assert again.alias("best") == "photos"


def test_a_shard_has_no_aliases(home):
    store = open_store(shard(home, unit(5, 4)))
    assert not store.abilities.aliases
    assert store.alias("best") is None
    store.set_alias("best", None)
    with pytest.raises(InputError, match="has no aliases"):
        store.set_alias("best", "photos")
