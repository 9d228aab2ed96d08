"""What is special to LanceDB: columns of every type, versions, indexes that outlive a killed process, a full disk."""

import datetime
import os
import signal
import subprocess
import sys
import textwrap
import uuid

import numpy as np
import pytest

import unhub
from unhub.foundation.errors import InputError, StoreError, UnhubWarning
from unhub.stores import Block, open_store
from unhub.stores.lancedb import index as lancedb_index
from unhub.stores.lancedb import rows as lancedb_rows

lancedb = pytest.importorskip("lancedb")
arrow = pytest.importorskip("pyarrow")
kinds = pytest.importorskip("lancedb.index")

COUNT, DIM = 400, 16


def vectors(count=COUNT, dim=DIM, seed=3):
    made = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def rows(ids=None, numbers=None, **others):
    numbers = vectors() if numbers is None else numbers
    column = arrow.FixedSizeListArray.from_arrays(arrow.array(numbers.ravel()), numbers.shape[1])
    ids = [f"item {each}" for each in range(len(numbers))] if ids is None else ids
    return arrow.table({"id": ids, "vector": column} | others)


@pytest.fixture
def database(tmp_path):
    return lancedb.connect(str(tmp_path))


@pytest.fixture
def opened(database, tmp_path):
    """A function that makes a table with LanceDB's own client and opens it with unhub."""

    def make(table=None, *, index=None, options="", name="items"):
        made = database.create_table(name, rows() if table is None else table)
        if index is not None:
            made.create_index("vector", config=index)
        return open_store(f"lancedb://{tmp_path}/{name}{options}")

    return make


def copied(store, *, dim=DIM, metric="ip", name="copy"):
    """A sibling with the same items, their vectors padded with zeros."""
    new = store.sibling(name)
    new.create(store, dim, metric)
    for block in store.scan(block=150):
        new.upsert(Block(block.ids, np.pad(block.vectors, ((0, 0), (0, dim - block.vectors.shape[1]))), block.payload))
    new.finish()
    return new


def everything(store):
    """(ids, vectors) of a collection."""
    blocks = list(store.scan())
    return [each for block in blocks for each in block.ids], np.concatenate([block.vectors for block in blocks])


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("lancedb://", "no table is named"),
        ("lancedb:///data/items?probes=3", "no option 'probes'; known are vector, id"),
        ("lancedb:///data/items?metric=dot", "no metric 'dot'; use ip, cosine or l2"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(url, says):
    with pytest.raises(InputError, match=says):
        open_store(url)


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    store = open_store(f"lancedb://{tmp_path}/nowhere/items")
    assert not store.exists()
    with pytest.raises(StoreError, match=r"there is no folder .*nowhere"):
        store.describe()
    store.drop()
    assert not (tmp_path / "nowhere").exists()


def test_a_table_that_is_not_there_names_those_that_are(opened):
    with pytest.raises(StoreError, match="there is no table 'photos'; there are items"):
        opened().sibling("photos").describe()


def test_a_relative_folder_and_a_uri_open_the_same_table(opened, tmp_path, monkeypatch):
    expected = opened().describe().count
    monkeypatch.chdir(tmp_path.parent)
    assert open_store(f"lancedb://{tmp_path.name}/items").describe().count == expected
    monkeypatch.chdir(tmp_path)
    bare = open_store("lancedb://items")
    assert bare.describe().count == expected
    assert bare.sibling("copy").url == f"lancedb://{tmp_path}/copy"
    elsewhere = open_store(f"lancedb:///items?uri=file://{tmp_path}")
    assert elsewhere.describe().count == expected
    assert open_store(elsewhere.url).sibling("items").exists()


def test_a_key_is_in_no_address_and_in_no_error(tmp_path):
    store = open_store("lancedb:///items?uri=db://shop&host=http://127.0.0.1:9&api_key=sk_very_secret")
    with pytest.raises(StoreError) as caught:
        store.describe()
    assert "sk_very_secret" not in f"{store.url} {caught.value}"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("what", ["manifests", "data"])
def test_a_damaged_table_gets_one_sentence(opened, tmp_path, what):
    store = opened()
    for each in (tmp_path / "items.lance" / {"manifests": "_versions", "data": "data"}[what]).iterdir():
        each.write_bytes(b"rubbish")
    with pytest.raises(StoreError, match="items cannot be read") as caught:
        list(open_store(store.url).scan())
    assert "\n" not in str(caught.value)
    assert ".rs:" not in str(caught.value)


def test_the_columns_are_found_or_asked_for(opened):
    table = rows(title=["x"] * COUNT, number=arrow.array(range(COUNT)))
    two = table.append_column("other", table.column("vector"))
    with pytest.raises(InputError, match=r"say which column holds the vectors with \?vector=NAME; the columns are id"):
        opened(two, name="two").describe()
    assert opened(two, name="chosen", options="?vector=other").describe().dim == DIM
    nameless = table.rename_columns(["Its key", "a vector", "title", "number"])
    with pytest.raises(InputError, match=r"holds the ids with \?id=NAME"):
        opened(nameless, name="nameless").describe()
    with pytest.raises(InputError, match="title holds no vectors"):
        opened(nameless, name="wrong", options="?vector=title&id=number").describe()
    odd = opened(nameless, name="odd", options="?id=Its%20key")
    odd.delete(["item 3"])
    assert odd.describe().count == COUNT - 1
    assert odd.search(vectors()[5:6], 1, filter="`number` > 2").ids[0, 0] == "item 5"


KEYS = {
    "text": ([f'it\'s {each} "x" ü' for each in range(COUNT)], lambda: arrow.string()),
    "whole": ([3 * each - 50 for each in range(COUNT)], lambda: arrow.int32()),
    "unsigned": ([2**63 + each for each in range(COUNT)], lambda: arrow.uint64()),
    "uuid": ([uuid.UUID(int=each + 7).bytes for each in range(COUNT)], lambda: arrow.uuid()),
    "bytes": ([uuid.UUID(int=each + 7).bytes for each in range(COUNT)], lambda: arrow.binary(16)),
}


@pytest.mark.parametrize("key", KEYS)
def test_ids_of_every_type_are_read_written_replaced_and_deleted(opened, key):
    values, kind = KEYS[key]
    store = opened(rows(arrow.array(values, type=kind())))
    expected = [str(uuid.UUID(bytes=each)) if isinstance(each, bytes) else each for each in values]
    assert [each for some in store.ids() for each in some] == [str(each) for each in expected]
    found = store.search(vectors()[:3], 1)
    assert found.ids[:, 0].tolist() == expected[:3]
    new = copied(store)
    assert everything(new)[0] == [str(each) for each in expected]
    new.upsert(Block([str(expected[0])], -vectors()[:1]))
    new.delete([str(each) for each in expected[1:3]])
    ids, numbers = everything(new)
    assert sorted(ids) == sorted(str(each) for each in [expected[0], *expected[3:]])
    np.testing.assert_array_equal(numbers[ids.index(str(expected[0]))], -vectors()[0])


def test_an_id_that_cannot_be_one_is_refused(opened):
    store = opened(rows(arrow.array(range(COUNT))))
    with pytest.raises(InputError, match="an id does not fit the column id of int64"):
        store.upsert(Block(["first"], vectors()[:1]))


def test_columns_of_every_type_are_copied_and_picked(opened, database):
    moment = datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)
    others = {
        "flag": arrow.array([True, None] * (COUNT // 2)),
        "half": arrow.array(np.arange(COUNT, dtype=np.float16)),
        "moment": arrow.array([moment] * COUNT, type=arrow.timestamp("us", "UTC")),
        "price": arrow.array([None] * COUNT, type=arrow.decimal128(10, 2)),
        "raw": arrow.array([b"\0\1\2"] * COUNT),
        "tags": arrow.array([["a", None], []] * (COUNT // 2), type=arrow.list_(arrow.string())),
        "inner": arrow.array([{"a": each, "b": "x"} for each in range(COUNT)]),
        "word": arrow.array(["red", "blue"] * (COUNT // 2)).dictionary_encode(),
        "json": arrow.array(['{"a":1}'] * COUNT, type=arrow.json_()),
        "second": rows().column("vector"),
    }
    store = opened(rows(**others), options="?vector=vector")
    new = store.sibling("copy")
    new.create(store, DIM, "cosine")
    for block in store.scan(block=100):
        backwards = list(range(len(block)))[::-1]
        new.upsert(block.pick(backwards))
    new.finish()
    before, after = (database.open_table(name).to_arrow().sort_by("id") for name in ("items", "copy"))
    assert after.drop_columns("vector").to_pylist() == before.drop_columns("vector").to_pylist()
    assert [str(each.type) for each in after.schema] == [str(each.type) for each in before.schema]
    some = next(store.scan(block=50)).payload
    assert len(some) == len(some[:]) == 50
    assert some[-1][1] == 49
    with pytest.raises(IndexError):
        some[50]


def test_blobs_are_left_out_with_a_warning(opened):
    field = arrow.field("image", arrow.large_binary(), metadata={"lance-encoding:blob": "true"})
    store = opened(rows().append_column(field, arrow.array([b"x"] * COUNT, type=arrow.large_binary())))
    assert store.describe().notes == (f"{store.url}: blobs are not copied (image)",)
    correction = unhub.fit("sn", targets=store.url, query_bank=vectors(20, seed=3), strength=1)
    with pytest.warns(UnhubWarning, match=r"blobs are not copied \(image\)"):
        assert unhub.export(correction, store.url).notes == store.describe().notes
    new = copied(store)
    assert new.describe().count == COUNT
    assert lancedb.connect(store.url[len("lancedb://") : -len("/items")]).open_table("copy").schema.names == [
        "id",
        "vector",
    ]


def test_rows_without_a_vector_or_an_id_are_named(opened, database):
    store = opened()
    database.open_table("items").add([{"id": "bare", "vector": None}], on_bad_vectors="null")
    with pytest.raises(StoreError, match="'bare' has no vector; fill such rows"):
        list(store.scan())
    with pytest.raises(StoreError, match="1 rows have no id"):
        list(opened(rows([None, *map(str, range(COUNT - 1))]), name="nameless").scan())


def test_an_id_that_is_there_twice_is_named(opened):
    store = opened(rows([f"item {each % 399}" for each in range(COUNT)]))
    for block in (50, COUNT):
        with pytest.raises(StoreError, match="the id 'item 0' occurs twice"):
            list(store.scan(block=block))


def test_a_scan_sees_one_version_whoever_writes_meanwhile(opened, database, monkeypatch):
    monkeypatch.setattr(lancedb_rows, "_AT_ONCE", 1)
    store = opened()
    expected, _ = everything(store)
    scan, ids = store.scan(block=50), store.ids(block=50)
    seen, named = next(scan).ids, next(ids)
    other = database.open_table("items")
    other.delete("id IN ('item 0', 'item 399')")
    other.add(rows(["late"], vectors(1)))
    other.optimize()
    assert seen + [each for block in scan for each in block.ids] == expected
    assert named + [each for some in ids for each in some] == expected
    assert store.describe().count == COUNT - 1


def test_what_another_writes_is_found_without_opening_again(opened, database):
    store = opened()
    store.search(vectors()[:1], 1)
    late = np.full((1, DIM), 9, dtype=np.float32)
    database.open_table("items").add(rows(["late"], late))
    assert store.search(late, 1).ids[0, 0] == "late"


INDEXES = {
    "ivf_flat": kinds.IvfFlat(num_partitions=3),
    "ivf_sq": kinds.IvfSq(num_partitions=3, target_partition_size=50),
    "ivf_rq": kinds.IvfRq(num_partitions=3, num_bits=1),
    "ivf_pq": kinds.IvfPq(num_partitions=1, num_sub_vectors=4, num_bits=4),
    "ivf_hnsw_sq": kinds.HnswSq(num_partitions=3, m=7, ef_construction=60),
    "ivf_hnsw_pq": kinds.HnswPq(num_partitions=1, num_sub_vectors=2, m=7, ef_construction=60),
    "ivf_hnsw_flat": kinds.HnswFlat(num_partitions=3, m=7, ef_construction=60),
}


def details(table):
    (index,) = (each for each in table.list_indices() if each.columns == ["vector"])
    return {key: value for key, value in index.index_details.items() if key != "runtime_hints"}


@pytest.mark.parametrize("kind", INDEXES)
def test_every_kind_of_index_is_built_again_with_its_parameters(opened, database, kind):
    store = opened(index=INDEXES[kind])
    assert (store.describe().index, store.describe().exact, store.describe().metric) == (kind, False, "l2")
    new = copied(store, dim=24, metric="cosine")
    seen = new.describe()
    assert (seen.index, seen.exact, seen.metric, seen.count) == (kind, False, "cosine", COUNT)
    before, after = (details(database.open_table(name)) for name in ("items", "copy"))
    assert after.get("hnsw") == before.get("hnsw")
    compressed, again = before.get("compression", {}), after.get("compression", {})
    assert again.get("num_bits") == compressed.get("num_bits")
    if "num_sub_vectors" in compressed:
        assert 24 // again["num_sub_vectors"] == DIM // compressed["num_sub_vectors"]
    assert parts(new) == parts(store) == INDEXES[kind].num_partitions


def parts(store):
    return lancedb_index.partitions(*store._newest(), "vector_idx")


def test_sub_vectors_of_four_bits_stay_even_in_number(opened, database):
    store = opened(index=kinds.IvfPq(num_partitions=1, num_sub_vectors=2, num_bits=4))
    copied(store, dim=24)
    assert details(database.open_table("copy"))["compression"]["num_sub_vectors"] == 4


def test_indexes_on_other_columns_are_built_again(opened, database):
    words = {"text": [f"hello world {each}" for each in range(COUNT)], "tags": [["a"]] * COUNT, "group": range(COUNT)}
    store = opened(rows(**{name: arrow.array(values) for name, values in words.items()}))
    table = database.open_table("items")
    table.create_index("group", config=kinds.BTree())
    table.create_index("id", config=kinds.Bitmap(), name="names")
    table.create_index("tags", config=kinds.LabelList())
    table.create_index(
        "text", config=kinds.FTS(with_position=True, stem=False, base_tokenizer="ngram", ngram_max_length=5)
    )
    copied(store)
    before, after = (
        {
            each.name: (each.index_type, each.columns, each.index_details)
            for each in database.open_table(name).list_indices()
        }
        for name in ("items", "copy")
    )
    assert len(before) == 4
    assert after == before


def test_a_table_too_small_for_its_quantiser_is_searched_exactly_until_it_has_grown(opened):
    store = opened(index=kinds.IvfPq(num_partitions=2, num_sub_vectors=4))
    new = store.sibling("copy")
    new.create(store, DIM, "ip")
    new.finish()
    (whole,) = store.scan()
    new.upsert(whole.pick(range(200)))
    new.finish()
    assert (new.describe().index, new.describe().exact) == ("flat", True)
    assert new.search(vectors()[:1], 1).ids[0, 0] == "item 0"
    new.upsert(whole.pick(range(200, COUNT)))
    new.finish()
    assert (new.describe().index, new.describe().exact) == ("ivf_pq", False)


def test_rows_written_after_the_index_was_built_are_taken_into_it(opened, database):
    store = opened(index=kinds.IvfFlat(num_partitions=2))
    new = copied(store)
    new.upsert(Block(["late"], vectors(1, seed=9)))
    new.finish()
    seen = database.open_table("copy").index_stats("vector_idx")
    assert (seen.num_indexed_rows, seen.num_unindexed_rows) == (COUNT + 1, 0)


def test_the_scores_of_a_quantised_index_are_those_of_the_vectors_unless_asked_otherwise(opened):
    quantised = kinds.IvfPq(num_partitions=1, num_sub_vectors=2, num_bits=4, distance_type="cosine")
    store = opened(index=quantised)
    queries = vectors(20, seed=8)
    found = store.search(queries, 5)
    rows_of = np.vectorize(lambda each: int(each.removeprefix("item ")))(found.ids)
    true = np.take_along_axis(queries @ vectors().T, rows_of, 1)
    np.testing.assert_allclose(found.scores, true, atol=1e-5)
    raw = open_store(f"{store.url}?refine_factor=0").search(queries, 5)
    assert not np.allclose(raw.scores[:, 0], found.scores[:, 0], atol=1e-2)
    many = open_store(f"{store.url}?refine_factor=80").search(queries, 5)
    exact = store.search(queries, 5, exact=True)
    assert many.ids.tolist() == exact.ids.tolist() != found.ids.tolist()


def test_the_metric_is_that_of_the_index_of_the_address_or_of_unhubs_note(opened):
    store = opened(options="?metric=cosine")
    assert store.describe().metric == "cosine"
    new = copied(store, metric="ip")
    assert "?" not in new.url
    assert open_store(new.url).describe().metric == "ip"
    assert open_store(store.url.partition("?")[0]).describe().metric == "l2"
    wrong = opened(index=kinds.IvfFlat(num_partitions=1, distance_type="dot"), name="indexed", options="?metric=l2")
    with pytest.raises(InputError, match="its index ranks by ip; leave out metric=l2"):
        wrong.search(vectors()[:1], 1)


def test_a_query_that_takes_too_long_gets_one_sentence(opened):
    store = opened(options="?timeout=0.000001")
    with pytest.raises(StoreError, match="timeout"):
        store.search(vectors(), 10)


def test_more_queries_than_go_together_are_answered_in_their_order(opened):
    store = opened()
    assert (
        store.search(np.concatenate([vectors()] * 2), 1).ids[:, 0].tolist() == [f"item {i}" for i in range(COUNT)] * 2
    )


def test_many_puts_make_few_versions_and_none_is_lost(opened, database):
    store = opened()
    new = store.sibling("copy")
    new.create(store, DIM, "ip")
    for block in store.scan(block=10):
        new.upsert(block)
    assert database.open_table("copy").count_rows() == 0
    new.close()
    table = database.open_table("copy")
    assert (table.count_rows(), table.version) == (COUNT, 2)


def test_an_item_put_twice_is_there_once_as_it_was_put_last(opened):
    new = copied(opened())
    new.upsert(Block(["item 1", "new", "new"], vectors(3, seed=5)))
    new.upsert(Block(["new", "item 2"], vectors(2, seed=6)))
    ids, numbers = everything(new)
    assert sorted(ids) == sorted([f"item {each}" for each in range(COUNT)] + ["new"])
    seen = dict(zip(ids, numbers.tolist(), strict=True))
    assert [seen[each] for each in ("item 1", "new", "item 2")] == [
        vectors(3, seed=5)[0].tolist(),
        *vectors(2, seed=6).tolist(),
    ]
    with pytest.raises(InputError, match=r"vectors have shape \(1, 3\), not \(1, 16\)"):
        new.upsert(Block(["short"], np.ones((1, 3), dtype=np.float32)))


KILLED = """
import os, signal, sys
from unhub.stores import open_store
from unhub.stores.lancedb import rows as lancedb_writer
lancedb_writer._COMMIT = 200 * 64
store = open_store(sys.argv[1])
new = store.sibling("copy")
new.create(store, 16, "ip")
for number, block in enumerate(store.scan(block=100)):
    new.upsert(block)
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_copy_goes_on_where_it_was_and_gets_its_index(opened, tmp_path):
    store = opened(index=kinds.IvfFlat(num_partitions=2))
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), store.url], check=False, env=dict(os.environ)
    )
    assert ended.returncode == -signal.SIGKILL
    new = open_store(f"lancedb://{tmp_path}/copy")
    there = {each for some in new.ids() for each in some}
    assert there == {f"item {each}" for each in range(200)}
    for block in store.scan(block=100):
        new.upsert(block.pick([row for row, each in enumerate(block.ids) if each not in there]))
    new.close()
    again = open_store(f"lancedb://{tmp_path}/copy")
    again.finish()
    seen = again.describe()
    assert (seen.count, seen.index, seen.metric) == (COUNT, "ivf_flat", "ip")


@pytest.fixture
def small_disk(tmp_path):
    """A folder with room for eight megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_gets_one_sentence_and_keeps_what_was_written(small_disk, monkeypatch):
    monkeypatch.setattr(lancedb_rows, "_COMMIT", 1)
    lancedb.connect(str(small_disk)).create_table("items", rows(["first"], vectors(1, 128)))
    store = open_store(f"lancedb://{small_disk}/items")
    new = store.sibling("copy")
    new.create(store, 128, "ip")
    blocks = [Block([f"{n} {each}" for each in range(2000)], vectors(2000, 128, seed=n)) for n in range(20)]
    written = []

    def write():
        for block in blocks:
            new.upsert(block)
            written.extend(block.ids)

    with pytest.raises(StoreError, match="the disk is full there: free some space") as caught:
        write()
    assert "\n" not in str(caught.value)
    assert 0 < len(written) < 40_000
    assert [each for some in open_store(new.url).ids() for each in some] == written
    new.drop()
    assert not new.exists()
