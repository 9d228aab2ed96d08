"""What is made beside a collection of Milvus has its fields, its ids and its indexes."""

# ruff: noqa: F811 fixtures are arguments

import numpy as np
import pytest

from stores.milvus_cases import BOTH, LITE, SERVER, copied, engine, name, opened, rows_of, some_vectors, type_of  # noqa: F401
from unhub.foundation.errors import InputError
from unhub.stores import open_store

SCALARS = [
    ("yes", "BOOL", {}), ("tiny", "INT8", {}), ("small", "INT16", {}), ("middle", "INT32", {}), ("large", "INT64", {}),
    ("single", "FLOAT", {}), ("double", "DOUBLE", {}), ("text", "VARCHAR", {"max_length": 50}), ("tree", "JSON", {}),
]  # fmt: skip


@BOTH
def test_every_kind_of_field_is_copied(engine, name, opened):
    engine.make(
        name, dim=8, metric="cosine", index="FLAT",
        fields=[*SCALARS, ("words", "ARRAY", {"element_type": type_of("VARCHAR"), "max_length": 20, "max_capacity": 5}),
                ("numbers", "ARRAY", {"element_type": type_of("INT32"), "max_capacity": 5})],
    )  # fmt: skip
    vectors = some_vectors(3)
    rows = [
        {
            "pk": at, "embedding": vectors[at], "yes": at == 1, "tiny": -at, "small": 300 + at, "middle": 70_000 + at,
            "large": 2**40 + at, "single": 0.5 * at, "double": 1 / 3, "text": f"téxt\n{at}",
            "tree": {"a": [at, {"b": None}]}, "words": ["x", str(at)],
            "numbers": [at] * at, "more": {"deep": [1, 2.5, "z"]}, f"only_{at}": at,
        }
        for at in range(3)
    ]  # fmt: skip
    engine.client.insert(name, rows)
    store = opened(engine.url(name))
    new = opened(copied(store))
    ours, theirs = rows_of(engine, new.name), rows_of(engine, name)
    assert len(theirs) == 3
    for key, row in theirs.items():
        assert ours[key].pop("embedding")[:8] == pytest.approx(row.pop("embedding"))
        assert ours[key] == row
    assert new.search(np.pad(vectors, ((0, 0), (0, 8))), 3, filter="more['deep'][1] > 2 and only_1 == 1").ids[0, 0] == 1


@LITE
def test_fields_that_may_be_empty_and_fields_that_are_computed_are_copied(engine, name, opened):
    from pymilvus import Function, FunctionType

    schema = engine.client.create_schema()
    schema.add_field("pk", type_of("INT64"), is_primary=True)
    schema.add_field("embedding", type_of("FLOAT_VECTOR"), dim=8)
    schema.add_field("text", type_of("VARCHAR"), max_length=100, enable_analyzer=True)
    schema.add_field("price", type_of("DOUBLE"), nullable=True)
    schema.add_field("stars", type_of("INT64"), default_value=3)
    schema.add_field("sparse", type_of("SPARSE_FLOAT_VECTOR"))
    schema.add_function(Function("bm25", FunctionType.BM25, ["text"], ["sparse"]))
    made = engine.client.prepare_index_params()
    made.add_index("embedding", index_type="FLAT", metric_type="IP")
    made.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    made.add_index("stars", index_type="INVERTED")
    engine.client.create_collection(name, schema=schema, index_params=made)
    vectors = some_vectors(2)
    engine.client.insert(name, [{"pk": 1, "embedding": vectors[0], "text": "red cat", "price": None}])
    engine.client.insert(name, [{"pk": 2, "embedding": vectors[1], "text": "blue dog", "price": 2.5, "stars": 9}])
    store = opened(engine.url(name))
    new = opened(copied(store))
    found = engine.client.query(new.name, filter="", limit=9, output_fields=["text", "price", "stars"])
    assert sorted(map(dict, found), key=lambda row: row["pk"]) == [
        {"pk": 1, "text": "red cat", "price": None, "stars": 3},
        {"pk": 2, "text": "blue dog", "price": 2.5, "stars": 9},
    ]
    by_words = engine.client.search(new.name, ["dog"], anns_field="sparse", limit=2, output_fields=["pk"])
    assert by_words[0].ids == [2]
    assert _indexes(engine, new.name)["stars"] == _indexes(engine, name)["stars"]


@SERVER
def test_shards_consistency_and_indexes_of_other_fields_are_copied(engine, name, opened):
    schema = engine.client.create_schema()
    schema.add_field("pk", type_of("INT64"), is_primary=True)
    schema.add_field("embedding", type_of("FLOAT_VECTOR"), dim=8)
    schema.add_field("kind", type_of("VARCHAR"), max_length=20, is_partition_key=True)
    schema.add_field("price", type_of("DOUBLE"))
    made = engine.client.prepare_index_params()
    made.add_index("embedding", index_type="FLAT", metric_type="IP")
    made.add_index("price", index_type="STL_SORT", index_name="by_price")
    engine.client.create_collection(
        name, schema=schema, index_params=made, num_shards=2, num_partitions=3, consistency_level="Strong"
    )
    engine.client.insert(name, [{"pk": 1, "embedding": some_vectors(1)[0], "kind": "cat", "price": 0.5}])
    new = opened(copied(opened(engine.url(name))))
    ours, theirs = engine.client.describe_collection(new.name), engine.client.describe_collection(name)
    for setting in ("num_shards", "num_partitions", "consistency_level"):
        assert ours[setting] == theirs[setting]
    assert [each for each in ours["fields"] if each["name"] != "embedding"] == [
        each for each in theirs["fields"] if each["name"] != "embedding"
    ]
    assert _indexes(engine, new.name)["price"] == _indexes(engine, name)["price"]


def _indexes(engine, name):
    said = [engine.client.describe_index(name, each) for each in engine.client.list_indexes(name)]
    return {each["field_name"]: {name: value for name, value in each.items() if "_rows" not in name} for each in said}


@BOTH
@pytest.mark.parametrize("index", ["HNSW", "IVF_FLAT", "IVF_SQ8"])
def test_the_settings_of_an_index_are_copied(engine, name, opened, index):
    engine.make(name, dim=8, metric="l2", index=index)
    new = opened(copied(opened(engine.url(name)), metric="cosine"))
    ours, theirs = _indexes(engine, new.name)["embedding"], _indexes(engine, name)["embedding"]
    assert theirs["params"]
    assert ours == {**theirs, "metric_type": "COSINE"}


@SERVER
def test_a_product_quantiser_is_fitted_to_the_new_dimension(engine, name, opened):
    engine.make(name, dim=24, metric="l2", index="FLAT")
    engine.client.release_collection(name)
    engine.client.drop_index(name, "embedding")
    made = engine.client.prepare_index_params()
    made.add_index("embedding", index_type="IVF_PQ", metric_type="L2", nlist=4, m=3, nbits=4)
    engine.client.create_index(name, made)
    engine.client.load_collection(name)
    vectors = some_vectors(500, 24)
    engine.client.insert(name, [{"pk": at, "embedding": row} for at, row in enumerate(vectors)])
    new = opened(copied(opened(engine.url(name, "nprobe=4")), dim=40))
    assert (_indexes(engine, new.name)["embedding"]["m"], _indexes(engine, new.name)["embedding"]["nbits"]) == (
        "5",
        "4",
    )
    assert new.describe().index == "ivf_pq"
    found = new.search(np.pad(vectors[:50], ((0, 0), (0, 16))), 50)
    assert sum(at in line for at, line in enumerate(found.ids.tolist())) > 40


@BOTH
def test_ids_that_milvus_made_are_kept(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="FLAT", auto_id=True)
    vectors = some_vectors(20)
    made = engine.client.insert(name, [{"embedding": row} for row in vectors])["ids"]
    store = opened(engine.url(name))
    new = opened(copied(store))
    assert sorted(each for some in new.ids() for each in some) == sorted(map(str, made))
    assert new.search(np.pad(vectors, ((0, 0), (0, 8))), 1).ids[:, 0].tolist() == list(made)


@SERVER
def test_half_precision_stays_half_precision(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="FLAT", vector="FLOAT16_VECTOR")
    vectors = some_vectors(30).astype(np.float16)
    engine.client.insert(name, [{"pk": at, "embedding": row} for at, row in enumerate(vectors)])
    store = opened(engine.url(name))
    new = opened(copied(store))
    for each in (store, new):
        assert each.describe().dtype == "float16"
        assert each.describe().unit is True
    np.testing.assert_array_equal(next(new.scan()).vectors[:, :8], vectors.astype(np.float32))
    assert new.search(np.pad(vectors.astype(np.float32), ((0, 0), (0, 8))), 1).ids[:, 0].tolist() == list(range(30))


@LITE
def test_one_of_several_vectors_is_chosen_by_name_and_the_others_are_copied(engine, name, opened):
    others = [("picture", "FLOAT_VECTOR", {"dim": 4}), ("words", "SPARSE_FLOAT_VECTOR", {})]
    engine.make(name, dim=8, metric="ip", index="FLAT", fields=others)
    made = engine.client.prepare_index_params()
    made.add_index("picture", index_type="HNSW", metric_type="L2")
    made.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    engine.client.release_collection(name)
    engine.client.create_index(name, made)
    texts, pictures = some_vectors(5), some_vectors(5, 4)
    rows = [{"pk": at, "embedding": texts[at], "picture": pictures[at], "words": {at: 0.5, 99: 1.0}} for at in range(5)]
    engine.client.load_collection(name)
    engine.client.insert(name, rows)
    for url, said in ((engine.url(name), "none is chosen"), (engine.url(name, "vector=sound"), "'sound' is not among")):
        with pytest.raises(InputError, match=f"embedding, picture.*{said}"):
            open_store(url).describe()
    store = opened(engine.url(name, "vector=picture"))
    assert (store.describe().dim, store.describe().metric) == (4, "l2")
    new = opened(copied(store, dim=8))
    assert (new.describe().dim, new.describe().metric, new.describe().index) == (8, "ip", "hnsw")
    rows = rows_of(engine, new.name)
    for at in range(5):
        assert rows[at]["embedding"] == pytest.approx(texts[at])
        assert rows[at]["words"] == {at: 0.5, 99: 1.0}
        assert rows[at]["picture"] == pytest.approx([*pictures[at], 0, 0, 0, 0])


@LITE
def test_a_collection_without_an_index_is_searched_by_the_cosine(engine, name, opened):
    schema = engine.client.create_schema()
    schema.add_field("pk", type_of("INT64"), is_primary=True)
    schema.add_field("embedding", type_of("FLOAT_VECTOR"), dim=8)
    engine.client.create_collection(name, schema=schema)
    vectors = some_vectors(20)
    engine.client.insert(name, [{"pk": at, "embedding": 3 * row} for at, row in enumerate(vectors)])
    store = opened(engine.url(name))
    seen = store.describe()
    assert (seen.metric, seen.index, seen.exact, seen.unit) == ("cosine", "none", True, False)
    np.testing.assert_allclose(store.search(vectors, 1).scores, 1, atol=1e-5)
    new = opened(copied(store, metric="l2"))
    assert (new.describe().metric, new.describe().index) == ("l2", "flat")
