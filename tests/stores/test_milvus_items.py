"""Items of Milvus: ids of every kind, scans while others write, filters, and what the address says of searches."""

# ruff: noqa: F811 fixtures are arguments

import numpy as np
import pytest

from stores.milvus_cases import BOTH, LITE, SERVER, copied, engine, name, opened, rows_of, some_vectors  # noqa: F401
from unhub.foundation.errors import InputError, StoreError
from unhub.stores import Block, open_store

ODD = ['quo"te', "apo'strophe", "back\\slash", "ümlaut %20", "new\nline", " space", "{name}", "tab\t", "z"]


@BOTH
def test_ids_that_are_texts_may_have_anything_in_them(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="FLAT", key="VARCHAR")
    vectors = some_vectors(len(ODD))
    store = opened(engine.url(name))
    store.upsert(Block(ODD, vectors, [{"note": each} for each in ODD]))
    store.finish()
    assert [each for block in store.scan(block=2) for each in block.ids] == sorted(ODD)
    assert [each for some in store.ids(block=4) for each in some] == sorted(ODD)
    assert store.search(vectors, 1).ids[:, 0].tolist() == ODD
    for each in ODD:
        assert store.search(vectors, 1, filter=("note == {is}", {"is": each})).ids[0].tolist() == [each]
    store.delete(ODD[:-1])
    store.finish()
    assert [each for some in store.ids() for each in some] == ["z"]


@BOTH
def test_ids_that_are_numbers_may_be_any(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="FLAT")
    own = [-(2**63) + 1, -7, 0, 5, 2**63 - 2]  # the last one that Milvus 2.3 gives back at all
    store = opened(engine.url(name))
    vectors = some_vectors(len(own))
    store.upsert(Block([str(each) for each in own], vectors))
    store.finish()
    assert [each for block in store.scan(block=2) for each in block.ids] == [str(each) for each in own]
    assert store.search(vectors, 1).ids[:, 0].tolist() == own
    with pytest.raises(InputError, match="no whole number"):
        store.upsert(Block(["seven"], vectors[:1]))


@BOTH
def test_an_item_is_replaced_whole(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="FLAT")
    vectors = some_vectors(2)
    store = opened(engine.url(name))
    store.upsert(Block(["1", "2"], vectors, [{"colour": "red"}, {"colour": "blue"}]))
    store.finish()
    store.upsert(Block(["1"], -vectors[:1], [{"shape": "round"}]))
    store.finish()
    assert store.describe().count == 2
    rows = rows_of(engine, name)
    assert rows[1].pop("embedding") == pytest.approx(-vectors[0])
    assert rows[1] == {"shape": "round"}
    assert rows[2]["colour"] == "blue"


@SERVER
def test_an_id_that_a_server_holds_twice_is_read_once(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="FLAT")
    vectors = some_vectors(3)
    for _ in range(2):
        engine.client.insert(name, [{"pk": at, "embedding": row} for at, row in enumerate(vectors)])
    store = opened(engine.url(name))
    assert store.describe().count == 6
    assert [each for some in store.ids(block=2) for each in some] == ["0", "1", "2"]
    assert opened(copied(store)).describe().count == 3


@BOTH
def test_a_scan_gives_what_stays_once_whoever_writes_meanwhile(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="FLAT")
    store, writer = opened(engine.url(name)), open_store(engine.url(name))
    numbers = [str(each) for each in range(0, 400, 2)]
    store.upsert(Block(numbers, some_vectors(200)))
    seen = []
    for at, block in enumerate(store.scan(block=50)):
        seen += block.ids
        between = sorted({str(int(each) | 1) for each in block.ids})
        writer.upsert(Block(between, some_vectors(len(between))))
        writer.upsert(block)
        if at == 1:
            writer.delete(["0", "398"])
    assert len(seen) == len(set(seen))
    assert set(numbers) - {"398"} <= set(seen)
    writer.close()


@BOTH
def test_an_empty_collection_is_described_read_and_searched(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="FLAT")
    store = opened(engine.url(name))
    seen = store.describe()
    assert (seen.count, seen.dim, seen.unit) == (0, 8, None)
    assert list(store.scan()) == list(store.ids()) == []
    found = store.search(some_vectors(2), 3)
    assert found.ids.tolist() == [[None] * 3] * 2
    assert np.isneginf(found.scores).all()
    assert store.search(some_vectors(0), 3).ids.shape == (0, 3)
    store.finish()
    store.delete(["7"])


@SERVER
def test_more_rows_than_milvus_gives_at_once_are_read(engine, name, opened):
    engine.make(name, dim=4, metric="ip", index="FLAT")
    count = 16_384 + 600
    vectors = some_vectors(count, 4)
    store = opened(engine.url(name))
    store.upsert(Block([str(at) for at in range(count)], vectors))
    store.finish()
    read = list(store.scan(block=100_000))
    assert sum(map(len, read)) == count
    rows = [int(each) for block in read for each in block.ids]
    np.testing.assert_array_equal(np.concatenate([block.vectors for block in read]), vectors[rows])
    assert sum(map(len, store.ids(block=100_000))) == count == store.describe().count


@SERVER
def test_items_that_are_too_large_together_are_read_and_written_in_parts(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="FLAT", fields=[("text", "VARCHAR", {"max_length": 65_535})])
    count = 300
    for start in range(0, count, 60):
        rows = range(start, start + 60)
        engine.client.insert(name, [{"pk": at, "embedding": [1.0] * 8, "text": f"{at} " + "x" * 60_000} for at in rows])
    store = opened(engine.url(name))
    whole = Block([], np.empty((0, 8), np.float32), [])
    for block in store.scan():
        whole = Block(
            whole.ids + block.ids, np.concatenate([whole.vectors, block.vectors]), [*whole.payload, *block.payload]
        )
    assert sorted(map(int, whole.ids)) == list(range(count))
    assert [row["text"][:4].split()[0] for row in whole.payload] == whole.ids
    new = opened(store.sibling(f"{name}_new"))
    new.create(store, 8, "ip")
    new.upsert(whole)
    new.finish()
    assert new.describe().count == count


@BOTH
def test_a_filter_is_an_expression_or_one_with_values(engine, name, opened):
    engine.make(
        name, dim=8, metric="ip", index="FLAT", fields=[("colour", "VARCHAR", {"max_length": 99}), ("n", "INT64", {})]
    )
    colours = ["red", 'b"lue', "green"]
    vectors = some_vectors(9)
    engine.client.insert(
        name, [{"pk": at, "embedding": row, "colour": colours[at % 3], "n": at} for at, row in enumerate(vectors)]
    )
    store = opened(engine.url(name))

    def within(filter):
        return sorted(each for each in store.search(vectors[:1], 9, filter=filter).ids[0] if each is not None)

    assert within("n < 2") == [0, 1]
    assert within(("colour == {it}", {"it": 'b"lue'})) == [1, 4, 7]
    assert within(("colour in {some} and n > {least}", {"some": {"red", "green"}, "least": 4})) == [5, 6, 8]
    assert within(("n in {some}", {"some": np.array([3, 4])})) == [3, 4]
    assert within(("colour == {it}", {"it": '" or n > 0 or colour == "'})) == []
    for wrong in ({"n": 2}, ("n < {most}", {}), ("n < {most}", {"most": object()})):
        with pytest.raises(InputError):
            store.search(vectors[:1], 1, filter=wrong)
    with pytest.raises(StoreError) as caught:
        store.search(vectors[:1], 1, filter="n <<< 2")
    assert "\n" not in str(caught.value)


@LITE
def test_what_the_address_says_of_searches_reaches_them_here_and_in_what_is_made(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="IVF_FLAT")
    vectors = some_vectors(300)
    engine.client.insert(name, [{"pk": at, "embedding": row} for at, row in enumerate(vectors)])
    few, all_of_them = opened(engine.url(name, "nprobe=1")), open_store(engine.url(name, "nprobe=8"))
    few.finish()
    new = opened(copied(few))
    for each in (name, new.name):  # loading builds at once what is else built in the background
        engine.client.release_collection(each)
        engine.client.load_collection(each)
    assert None not in all_of_them.search(vectors[:3], 300).ids.tolist()[0]
    assert None in few.search(vectors[:3], 300).ids.tolist()[0]
    assert None in new.search(np.pad(vectors[:3], ((0, 0), (0, 8))), 300).ids.tolist()[0]


@SERVER
def test_a_search_of_a_graph_looks_at_no_fewer_than_it_shall_find(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="HNSW")
    vectors = some_vectors(300)
    engine.client.insert(name, [{"pk": at, "embedding": row} for at, row in enumerate(vectors)])
    store = opened(engine.url(name, "ef=5"))
    store.finish()
    engine.client.release_collection(name)
    engine.client.load_collection(name)
    with pytest.raises(Exception, match="ef"):
        engine.client.search(name, list(vectors[:1]), limit=50, search_params={"params": {"ef": 5}})
    assert None not in store.search(vectors[:1], 50).ids.tolist()[0]
