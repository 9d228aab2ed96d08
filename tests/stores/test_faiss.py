"""What is special to faiss: index files of every kind, their ids, their codes, and the spool beside them."""

import os

import faiss
import numpy as np
import pytest

import unhub
from stores.problem import Problem, best, identical, overlap
from unhub.foundation import probing
from unhub.foundation.errors import InputError, StoreError
from unhub.stores import Block, open_store
from unhub.stores.faiss import collection
from unhub.stores.faiss.index import facts_of, spec_of


@pytest.fixture(scope="module")
def problem():
    return Problem.make(count=1200, dim=24, queries=40)


@pytest.fixture
def written(problem, tmp_path):
    """A function that writes an index of the problem and gives back its address."""

    def write(factory, *, ids=True, nprobe=None):
        index = faiss.index_factory(24, factory, faiss.METRIC_INNER_PRODUCT)
        index.train(problem.vectors)
        if nprobe is not None:
            index.nprobe = nprobe
        if ids:
            index.add_with_ids(problem.vectors, np.array(problem.ids, dtype=np.int64))
        else:
            index.add(problem.vectors)
        faiss.write_index(index, str(tmp_path / "photos.faiss"))
        return f"faiss://{tmp_path}/photos.faiss"

    return write


def _exported(problem, url, folder, **options):
    file = folder / "photos.unhub"
    unhub.fit("sn", targets=url, query_bank=problem.queries, tau=0.05, strength=1).save(file)
    return unhub.export(file, url, **options), file


def test_an_index_without_ids_goes_by_its_rows(problem, written, tmp_path):
    url = written("Flat", ids=False)
    done, file = _exported(problem, url, tmp_path)
    assert done.self_test.identical == done.self_test.probes
    with unhub.connect(url, file) as retriever:
        found = retriever.search(problem.queries, 5)
    exact = problem.inner() + unhub.load(file).bias
    identical(found.ids, [str(row) for row in range(1200)], exact, 5, 1e-5)
    store = open_store(url)
    store.delete(["3"])
    with pytest.raises(InputError, match="row numbers"):
        store.finish()


def test_lists_that_miss_more_when_corrected_are_told_to_look_at_more(problem, written, tmp_path):
    url = written("IVF32,Flat", nprobe=6)
    done, file = _exported(problem, url, tmp_path)
    assert done.plan.strategy == "constant_norm"
    assert done.self_test.effort > 1
    assert done.self_test.recall >= done.self_test.raw_recall - 0.005
    new = faiss.read_index(str(tmp_path / done.record.destination))
    assert new.nprobe > 6
    assert faiss.read_index(str(tmp_path / "photos.faiss")).nprobe == 6
    with unhub.connect(url, file) as retriever:
        found = retriever.search(problem.queries, 10)
    rows = np.vectorize(lambda each: problem.row[str(each)])(found.ids)
    known = unhub.load(file)
    bias = dict(zip(known.ids, known.bias.tolist(), strict=True))
    exact = problem.inner() + np.array([bias[each] for each in problem.ids])
    assert overlap(rows, best(exact, 10)) >= done.self_test.raw_recall - 0.02


def test_codes_of_a_scalar_quantiser_stay_what_they_were(problem, written, tmp_path):
    url = written("IDMap2,SQ8")
    done, _ = _exported(problem, url, tmp_path)
    old, new = (faiss.read_index(str(tmp_path / name)) for name in ("photos.faiss", done.record.destination))
    np.testing.assert_allclose(new.index.reconstruct_n(0, 1200)[:, :24], old.index.reconstruct_n(0, 1200), atol=1e-6)
    assert "as its SQ8 codes have kept them" in done.plan.notes[0]


def test_product_quantisers_keep_the_length_of_their_parts(problem, written, tmp_path):
    url = written("IVF4,PQ12x4", nprobe=4)
    plan = unhub.plan_export(unhub.fit("sn", targets=url, query_bank=problem.queries, tau=0.05, strength=1), url)
    assert (plan.encoding.width, plan.origin.index) == (32, "IVF4,PQ12x4")
    store = open_store(url)
    new = store.sibling("new.faiss")
    new.create(store, 32, "ip")
    assert new._spool.spec().factory == "IVF4,PQ16x4"
    new.drop()


def test_an_index_that_faiss_cannot_name_is_made_as_the_address_says(problem, written, tmp_path):
    url = written("NSG16,Flat", ids=False)
    assert open_store(url).describe().index == "IndexNSGFlat"
    with pytest.raises(InputError, match=r"add \?index=FACTORY"):
        _exported(problem, url, tmp_path)
    done, _ = _exported(problem, f"{url}?index=HNSW16", tmp_path)
    assert spec_of(faiss.read_index(str(tmp_path / done.record.destination))).factory == "IDMap2,HNSW16"


def test_a_rare_filter_finds_its_best_in_a_graph(problem, written, tmp_path):
    url = written("IDMap2,HNSW8")
    done, file = _exported(problem, url, tmp_path)
    few = [int(each) for each in problem.ids[::100]]
    rows = [problem.row[str(each)] for each in few]
    known = unhub.load(file)
    bias = dict(zip(known.ids, known.bias.tolist(), strict=True))
    exact = problem.inner()[:, rows] + np.array([bias[str(each)] for each in few])
    assert done.record.state == "serving"
    with unhub.connect(url, file) as retriever:
        found = retriever.search(problem.queries, 5, filter=few)
        selected = retriever.search(problem.queries, 5, filter=faiss.IDSelectorBatch(np.array(few)))
        nothing = retriever.search(problem.queries[:1], 5, filter=[])
    identical(found.ids, [str(each) for each in few], exact, 5, 1e-5)
    assert set(selected.ids.ravel().tolist()) <= {*few, None}
    assert nothing.ids.tolist() == [[None] * 5]


def test_what_a_kill_left_half_written_in_the_spool_is_cut_off(problem, written, tmp_path):
    store = open_store(written("IDMap2,Flat"))
    new = store.sibling("new.faiss")
    new.create(store, 24, "ip")
    new.upsert(Block(problem.ids[:10], problem.vectors[:10]))
    with open(tmp_path / "new.faiss.part" / "vectors", "ab") as file:
        file.write(b"half of a vector")
    again = store.sibling("new.faiss")
    with pytest.raises(StoreError, match="still being written"):
        again.describe()
    assert [each for some in again.ids() for each in some] == sorted(problem.ids[:10], key=int)
    again.upsert(Block(problem.ids[10:12], problem.vectors[10:12]))
    again.finish()
    vectors = {each: row for block in again.scan() for each, row in zip(block.ids, block.vectors, strict=True)}
    for row in range(12):
        np.testing.assert_array_equal(vectors[problem.ids[row]], problem.vectors[row])
    assert not (tmp_path / "new.faiss.part").exists()


def test_a_file_that_is_replaced_is_read_again(problem, written):
    url = written("IDMap2,Flat")
    store = open_store(url)
    assert store.describe().index == "Flat"
    written("IDMap2,HNSW8")
    assert store.describe().index == "HNSW8"


def test_a_metric_that_no_bias_can_be_added_to_is_refused(problem, tmp_path):
    index = faiss.IndexFlat(24, faiss.METRIC_L1)
    index.add(problem.vectors)
    faiss.write_index(index, str(tmp_path / "l1.faiss"))
    with pytest.raises(InputError, match="neither by inner product nor by L2"):
        open_store(f"faiss://{tmp_path}/l1.faiss").describe()


def test_a_damaged_file_that_asks_for_gigabytes(tmp_path):
    """One number in a kilobyte: faiss makes room for four thousand million lists, and Ctrl-C is not heard."""
    path = tmp_path / "lists.faiss"
    vectors = np.random.default_rng(0).standard_normal((100, 4)).astype(np.float32)
    index = faiss.index_factory(4, "IVF2,Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    faiss.write_index(index, str(path))
    data = bytearray(path.read_bytes())
    place = data.index(b"ilar") + 4
    data[place : place + 8] = (1 << 32).to_bytes(8, "little")
    path.write_bytes(data)
    with pytest.raises(StoreError) as caught:
        open_store(f"faiss://{path}").describe()
    assert str(caught.value).startswith(
        f"faiss://{path} cannot be read as a faiss index: it is cut short or damaged ({len(data):,} bytes); write or "
        "copy it again (reason: "
    )


def test_a_file_that_crashes_or_never_ends(tmp_path, monkeypatch):
    path = tmp_path / "flat.faiss"
    index = faiss.IndexFlatIP(4)
    index.add(np.eye(4, dtype=np.float32))
    faiss.write_index(index, str(path))
    for body, reason in {
        "import os, signal; os.kill(os.getpid(), signal.SIGABRT)": "the reader crashed: SIGABRT",
        "while True: pass": "reading it did not end within 1 s of processor time",
    }.items():
        (tmp_path / "probe.py").write_text(f"def probe(path):\n    {body}\n")
        monkeypatch.setattr(collection, "_PROBE", tmp_path / "probe.py")
        monkeypatch.setattr(probing, "SECONDS", 1.0)
        with pytest.raises(StoreError, match=reason):
            open_store(f"faiss://{path}").describe()
    monkeypatch.undo()
    assert open_store(f"faiss://{path}").describe().count == 4


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_only_a_regular_file_is_opened(tmp_path, kind):
    place = tmp_path / "photos.faiss"
    {"pipe": lambda: os.mkfifo(place), "device": lambda: place.symlink_to("/dev/zero"), "folder": place.mkdir}[kind]()
    collection = open_store(f"faiss://{place}")
    with pytest.raises(StoreError, match="is a folder, not a file" if kind == "folder" else "is not a regular file"):
        collection.describe()
    assert not collection.made_by_unhub()


@pytest.mark.parametrize(
    ("factory", "graph", "quantiser"),
    [
        ("Flat", False, None),
        ("IDMap2,HNSW16", True, None),
        ("IVF4,Flat", False, None),
        ("IDMap2,SQ8", False, "own_ranges"),
        ("IVF4,SQ8", False, "own_ranges"),
        ("SQfp16", False, "codes"),
        ("PQ4x4", False, "codes"),
        ("OPQ4,PQ4x4", False, "rotated"),
        ("IVF4,RaBitQ", False, "rotated"),
        ("HNSW16,SQ8", True, "own_ranges"),
    ],
)
def test_the_adapter_declares_how_an_index_shortens_vectors(factory, graph, quantiser):
    facts = facts_of(faiss.index_factory(16, factory))
    assert (facts.graph, facts.quantiser) == (graph, quantiser)


@pytest.mark.parametrize(
    ("factory", "dtype"),
    [("Flat", "float32"), ("IVF4,Flat", "float32"), ("SQfp16", "float16"), ("OPQ4,PQ4x4", "PQ"), ("IVF4,PQ4x4", "PQ")],
)
def test_the_adapter_declares_what_vectors_are_stored_in(factory, dtype):
    assert facts_of(faiss.index_factory(16, factory)).dtype == dtype
