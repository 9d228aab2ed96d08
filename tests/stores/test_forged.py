"""A sealed correction file from somebody else, whose notes of exports name what unhub never made: all of it stays."""

import socket
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import faiss
import numpy as np
import pytest

import unhub
from stores.engines.milvus import Milvus
from stores.engines.qdrant import local
from stores.journeys import Journey, every_store
from stores.problem import Problem
from unhub.deploy.destinations import bias_name
from unhub.deploy.journal import Journal
from unhub.foundation.errors import InputError, StoreError, UnhubWarning
from unhub.stores import Export, make_encoding, open_store, parse
from unhub.stores.qdrant.client import _ClientEngine

TAG = "1f3c9a2b"
STORES = [each for each in every_store((True, False)) if each.values[0].store not in ("chroma", "milvus_server")]
STORES = list({each.values[0].store: each for each in reversed(STORES)}.values())
"""one variant of each store that runs in this process, and PostgreSQL"""
FORMS = {"qdrant": "payload", "qdrant_edge": "payload", "pgvector": "column"}
NOT_OURS = "is not a name that unhub gives"
NO_MARK = "does not carry unhub's mark"


@pytest.fixture(scope="module")
def problem():
    return Problem.make(count=60, dim=24, queries=20)


@pytest.fixture
def trip(request, engines, problem, tmp_path):
    variant = request.param
    made = Journey(engines(variant.store), variant, problem, tmp_path)
    made.fit()
    yield made
    with closing(open_store(made.url)) as store:
        store.drop()


def _beside(trip, name):
    """A collection of that name in the same store, which the store's own client makes; its ids are counted below."""
    store, problem = trip.variant.store, trip.problem
    vectors, ids = problem.vectors[:20], problem.ids[:20]
    metric = "ip" if "ip" in trip.variant.metrics else "cosine"
    given = (name, ids, vectors, problem.groups[:20])
    if store == "qdrant":
        local(trip.engine.root / f"{trip.name}_home", vectors, name=name, ids=[int(each) for each in ids])
    elif store == "milvus":
        from milvus_lite.server_manager import server_manager_instance

        file = trip.engine.folder / f"{trip.name}.db"
        one = Milvus(str(file), file)
        one.fill(*given, metric=metric, index=trip.variant.index)
        one.stop()
        server_manager_instance.release_server(str(file))
    else:
        trip.engine.fill(*given, metric=metric, index=trip.variant.index)


def _held(trip, names):
    """How many items each of these collections has."""
    with closing(open_store(trip.url)) as store:
        return {name: sum(map(len, store.sibling(name).ids())) for name in names}


def _forge(trip, place, strategy, **more):
    """A file with valid checksums that says it has exported to that place."""
    fitted = unhub.load(trip.file)
    with closing(open_store(trip.url)) as store:
        url, seen = store.url, store.describe()
    made = make_encoding(strategy, seen.metric, 24, fitted.bias, pad_to=1)
    tag = more.pop("tag", TAG)
    note = Export(url, place, made, tag=tag, bias=bias_name(fitted), state="serving", items=60, **more)
    replace(fitted, exports=(note,)).save(trip.file)
    return note


@pytest.mark.parametrize("trip", STORES, indirect=True)
def test_rollback_removes_nothing_that_unhub_did_not_make(trip):
    with closing(open_store(trip.url)) as store:
        derived, suffix = store.derived(TAG), Path(parse(trip.url).file).suffix
    other = f"other_of_{trip.name}"
    beside = [f"{each}" for each in (other, derived.removesuffix(suffix))]
    for each in beside:
        _beside(trip, each)
    raw, every = (trip.name + suffix), [trip.name + suffix, *(f"{each}{suffix}" for each in beside)]
    before = _held(trip, every)
    assert list(before.values()) == [60, 20, 20]
    folder = Path(parse(trip.url).file).parent
    files = [folder / "thesis.docx", folder.parent / "thesis.docx"] if folder.is_dir() else []
    for each in files:
        each.write_text("three years of work")
    outside = (raw, other + suffix, "thesis.docx", "../thesis.docx", str(folder / "thesis.docx"))
    tricks = (f"{raw}_unhub_", f"other_unhub_{TAG}", f"{derived}/../{raw}", f'x"; DROP TABLE "{raw}"; --')
    for strategy in {"augment", FORMS.get(trip.variant.store, "augment")}:
        for place in (*outside, *tricks):
            _forge(trip, place, strategy)
            _refused(unhub.rollback, trip, NOT_OURS)
        _forge(trip, raw, strategy)
        for act in (unhub.export, unhub.connect, unhub.refresh):
            _refused(act, trip, NOT_OURS)
        note = unhub.load(trip.file).exports[0]
        replace(unhub.load(trip.file), exports=()).save(trip.file)
        Journal(trip.file).note(note)  # the note of an export that was cut short is believed no more
        _refused(unhub.rollback, trip, NOT_OURS)
        Journal(trip.file).forget(note)
    _forge(trip, derived, "augment")
    if trip.variant.store == "pgvector":  # a column is ours or not; a table never is
        with trip.engine.connect() as live:
            live.execute(f'ALTER TABLE "{raw}" ADD COLUMN "{derived}" real')
        _forge(trip, derived, "column")
    assert derived in _refused(unhub.rollback, trip, NO_MARK)
    with pytest.warns(UnhubWarning, match=f"{derived} {NO_MARK}.* remove the old one by hand: {derived}"):
        exported = unhub.export(trip.file, trip.url)
    assert exported.record.destination != derived
    assert [each.destination for each in unhub.load(trip.file).exports] == [derived, exported.record.destination]
    _forge(trip, derived, "column" if trip.variant.store == "pgvector" else "augment")
    with pytest.warns(UnhubWarning, match=f"{derived} {NO_MARK}.*, so it stays as it is and is out of date now"):
        assert unhub.refresh(trip.file, trip.url).stale
    assert _held(trip, every) == before
    assert all(each.read_text() == "three years of work" for each in files)


def _refused(act, trip, sentence):
    """The sentence with which one of unhub's functions refuses the file, with the store that the user has named."""
    given = {unhub.rollback: {"to": trip.url}, unhub.export: {"to": trip.url}, unhub.refresh: {"store": trip.url}}
    with pytest.raises(InputError, match=sentence) as caught:
        act(trip.url, trip.file) if act is unhub.connect else act(trip.file, **given[act])
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- nobody is called because a file says so ------------------------------------------------------------------------


def test_rollback_without_an_address_connects_nowhere(tmp_path, problem):
    """Neither a sealed file nor the journal beside it makes unhub call the host that it names."""
    file = tmp_path / "photos.unhub"
    fitted = unhub.fit("sn", targets=problem.vectors, query_bank=problem.queries, tau=0.05, strength=1)
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.setblocking(False)
        host = f"127.0.0.1:{door.getsockname()[1]}"
        addresses = [
            f"qdrant://{host}/a",
            f"chroma://{host}/a",
            f"milvus://{host}/a",
            f"pgvector://me:pw@{host}/a?table=t",
        ]
        made = make_encoding("augment", "cosine", 24, fitted.bias)
        notes = [Export(each, f"a_unhub_{TAG}", made, TAG, "0" * 16) for each in addresses]
        replace(fitted, exports=tuple(notes[:2])).save(file)
        for each in notes[2:]:
            Journal(file).note(each)
        with pytest.raises(InputError, match="name the store to roll back with to='ADDRESS'") as caught:
            unhub.rollback(file)
        assert all(str(parse(each)) in str(caught.value) for each in addresses)
        assert "pw" not in str(caught.value)
        elsewhere = f"to is faiss://{tmp_path}/a.faiss, where nothing was exported to; this file knows of"
        with pytest.raises(InputError, match=elsewhere):
            unhub.rollback(file, to=f"faiss://{tmp_path}/a.faiss")
        with pytest.raises(BlockingIOError):
            door.accept()
    assert len(unhub.load(file).exports) == 2
    assert len(Journal(file).read()) == 2


# --- aliases --------------------------------------------------------------------------------------------------------


@pytest.mark.xdist_group("qdrant")
@pytest.mark.parametrize("trip", [each for each in STORES if each.values[0].store == "qdrant"], indirect=True)
def test_an_alias_that_does_not_point_to_ours_stays_and_goes_to_no_invented_place(trip):
    done = unhub.export(trip.file, trip.url)
    own, place = done.record.alias, done.record.destination
    with closing(open_store(trip.url)) as store:
        store.set_alias("production", trip.name)
    known = unhub.load(trip.file)

    def aliases():
        with closing(open_store(trip.url)) as store:
            return store.alias("production"), store.alias(own)

    replace(known, exports=(replace(done.record, alias="production", alias_before="nowhere"),)).save(trip.file)
    again = unhub.export(trip.file, trip.url)  # which would have taken the alias
    assert (again.record.destination, again.record.alias, aliases()) == (place, None, (trip.name, place))
    replace(known, exports=(replace(done.record, alias="production", alias_before="nowhere"),)).save(trip.file)
    back = unhub.rollback(trip.file, to=trip.url).to_dict()[0]
    assert (back["removed"], back["alias_now"], aliases()) == (place, trip.name, (trip.name, None))
    done = unhub.export(trip.file, trip.url)
    replace(known, exports=(replace(done.record, alias_before="nowhere"),)).save(trip.file)
    back = unhub.rollback(trip.file, to=trip.url).to_dict()[0]
    assert (back["removed"], back["alias_now"], aliases()) == (place, None, (trip.name, None))


@pytest.mark.xdist_group("qdrant")
@pytest.mark.parametrize("trip", [each for each in STORES if each.values[0].store == "qdrant"], indirect=True)
def test_the_aliases_of_another_collection_stay_its_own(trip):
    _beside(trip, "payroll")
    url, file = trip.url.replace(trip.name, "payroll").replace("payroll_home", f"{trip.name}_home"), trip.file.parent
    unhub.fit("sn", targets=url, query_bank=trip.problem.queries, tau=0.05, strength=1).save(file / "payroll.unhub")
    other = unhub.export(file / "payroll.unhub", url).record
    done = unhub.export(trip.file, trip.url).record
    known = unhub.load(trip.file)

    def points_to(alias):
        with closing(open_store(trip.url)) as store:
            return store.alias(alias)

    for alias in ("payroll_corrected", "invented"):
        before = points_to(alias)
        assert before == {"payroll_corrected": other.destination, "invented": None}[alias]
        replace(known, exports=(replace(done, alias=alias),)).save(trip.file)
        assert unhub.export(trip.file, trip.url).record.alias is None
        assert points_to(alias) == before
    for place in ("payroll", other.destination):
        replace(known, exports=(replace(done, alias_before=place),)).save(trip.file)
        assert unhub.rollback(trip.file, to=trip.url).to_dict()[0]["alias_now"] is None
        assert points_to(done.alias) is None
        done = unhub.export(trip.file, trip.url).record
    unhub.rollback(trip.file, to=trip.url)
    with closing(open_store(trip.url)) as store:
        store.set_alias(done.alias, other.destination)  # the user has it elsewhere by now
    replace(known, exports=(done,)).save(trip.file)
    assert unhub.export(trip.file, trip.url).record.alias is None
    assert points_to(done.alias) == other.destination


# --- what is beside a place -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("trip", [each for each in STORES if each.values[0].store == "faiss"], indirect=True)
def test_links_and_folders_of_others_are_left_alone(trip):
    index = Path(parse(trip.url).file)
    with closing(open_store(trip.url)) as store:
        place = index.with_name(store.derived(TAG))
    thesis = trip.file.with_name("thesis.faiss")
    faiss.write_index(faiss.IndexFlatIP(24), str(thesis))
    for target in (thesis, trip.file.with_name("not there")):
        place.symlink_to(target)
        _forge(trip, place.name, "augment")
        _refused(unhub.rollback, trip, NO_MARK)
        assert (place.is_symlink(), thesis.exists()) == (True, True)
        place.unlink()
    spool = Path(f"{place}.part")
    spool.mkdir()
    for name in ("ids", "vectors", "notes.txt"):
        (spool / name).write_text("somebody else's")
    _forge(trip, place.name, "augment")
    assert unhub.rollback(trip.file, to=trip.url).to_dict()[0]["removed"] is None
    assert sorted(each.name for each in spool.iterdir()) == ["ids", "notes.txt", "vectors"]
    with closing(open_store(trip.url)) as store, pytest.raises(InputError, match="has other things in it"):
        store.sibling(place.name).create(store, 25, "ip")


@pytest.mark.parametrize("trip", [each for each in STORES if each.values[0].store == "faiss"], indirect=True)
def test_an_export_without_a_mark_is_served_and_said_how_to_remove(trip):
    """As release 0.1.0 has written them."""
    place = Path(parse(trip.url).file).with_name(unhub.export(trip.file, trip.url).record.destination)
    faiss.write_index(faiss.read_index(str(place)), str(place))
    with unhub.connect(trip.url, trip.file) as retriever:
        assert retriever.strategy == "augment"
        assert len(retriever.search(trip.problem.queries, 5)) == 20
    said = _refused(unhub.rollback, trip, NO_MARK)
    assert "remove this file yourself and run the same again" in said
    place.unlink()
    assert unhub.rollback(trip.file, to=trip.url).to_dict()[0]["removed"] is None
    assert unhub.load(trip.file).exports == ()


def _grown(trip):
    """One more item in the raw collection."""
    raw = Path(parse(trip.url).file)
    index = faiss.read_index(str(raw))
    index.add_with_ids(np.ascontiguousarray(trip.problem.vectors[:1, ::-1]), np.array([9_000]))
    faiss.write_index(index, str(raw))


def _stripped(trip):
    """An export as release 0.1.0 has written it; its place."""
    place = Path(parse(trip.url).file).with_name(unhub.export(trip.file, trip.url).record.destination)
    faiss.write_index(faiss.read_index(str(place)), str(place))
    return place


FAISS = pytest.mark.parametrize("trip", [each for each in STORES if each.values[0].store == "faiss"], indirect=True)


@FAISS
def test_what_is_said_of_an_export_without_a_mark_works_for_extend(trip):
    place = _stripped(trip)
    old = place.read_bytes()
    _grown(trip)
    wanted = rf"NO_MARK.*; export it again to {trip.url} and then remove the old one by hand: "
    with pytest.warns(UnhubWarning, match=wanted.replace("NO_MARK", NO_MARK) + place.name + "$"):
        done = unhub.refresh(trip.file, trip.url)
    assert (done.new, done.stale, place.read_bytes() == old) == (("9000",), True, True)
    again = unhub.export(trip.file, trip.url)
    assert (again.record.state, place.read_bytes() == old) == ("serving", True)
    place.unlink()
    assert not unhub.refresh(trip.file, trip.url).stale
    assert len(unhub.rollback(trip.file, to=trip.url).exports) == 2
    assert not Journal(trip.file).path.exists()


@FAISS
def test_an_export_beside_one_without_a_mark(trip):
    place = _stripped(trip)
    old = place.read_bytes()
    for found in (0, 60):  # the second goes on with what the first has written
        with pytest.warns(UnhubWarning, match=f"{NO_MARK}.* another one is written beside it.*: {place.name}$"):
            again = unhub.export(trip.file, trip.url)
        assert (again.already_written, again.record.state, place.read_bytes() == old) == (found, "serving", True)
        assert again.record.destination != place.name
        both = unhub.load(trip.file).exports
        replace(unhub.load(trip.file), exports=both[:1]).save(trip.file)
    replace(unhub.load(trip.file), exports=both).save(trip.file)
    with unhub.connect(trip.url, trip.file) as retriever:
        assert len(retriever.search(trip.problem.queries, 5)) == 20
    place.unlink()
    assert unhub.rollback(trip.file, to=trip.url).removed(again.record) == again.record.destination


@FAISS
@pytest.mark.parametrize("grown", [True, False])
def test_extend_says_that_what_was_exported_is_gone(trip, grown):
    place = Path(parse(trip.url).file).with_name(unhub.export(trip.file, trip.url).record.destination)
    place.unlink()
    if grown:
        _grown(trip)
    with pytest.warns(UnhubWarning, match=f"the exported file {place.name} no longer exists; export"):
        assert unhub.refresh(trip.file, trip.url).stale
    assert not Journal(trip.file).path.exists()
    assert unhub.export(trip.file, trip.url).record.state == "serving"
    assert not unhub.refresh(trip.file, trip.url).stale


@pytest.mark.parametrize("trip", [each for each in STORES if each.values[0].store == "pgvector"], indirect=True)
def test_tables_and_indexes_beside_a_column_are_left_alone(trip):
    """The names in which an export keeps its waiting biases and its index, taken by somebody else."""
    place = unhub.export(trip.file, trip.url).record.destination
    with trip.engine.connect() as live:
        live.execute(f'CREATE TABLE "{place}_waiting" (n int)')
    with pytest.raises(InputError, match=f"public.{place}_waiting that unhub did not make; rename it"):
        unhub.rollback(trip.file, to=trip.url)
    with trip.engine.connect() as live:
        assert live.execute(f'SELECT count(*) FROM "{place}_waiting"').fetchone() == (0,)
        live.execute(f'DROP TABLE "{place}_waiting"')
        live.execute(f'CREATE INDEX ON "{trip.name}" USING hnsw (embedding vector_cosine_ops)')
        live.execute(f'CREATE INDEX "{place}_index" ON "{trip.name}" ("group")')
    with closing(open_store(trip.url)) as store:
        column = store.corrected_index(place, make_encoding("expression", "cosine", 24, trip.problem.bias))
        with pytest.raises(InputError, match=f"{place}_index that unhub did not make; rename it"):
            column.finish()
    assert unhub.rollback(trip.file, to=trip.url).to_dict()[0]["removed"] == place
    with trip.engine.connect() as live:
        assert live.execute("SELECT 1 FROM pg_class WHERE relname = %s", [f"{place}_index"]).fetchone() == (1,)


@pytest.mark.parametrize("strategy", ["payload", "vector"])
@pytest.mark.parametrize("trip", [each for each in STORES if each.values[0].store.startswith("qdrant")], indirect=True)
def test_a_payload_field_or_a_vector_of_others_is_left_alone(trip, strategy):
    url = trip.url.replace("?", "?into=vector&") if strategy == "vector" else trip.url
    with closing(open_store(url)) as store:
        name, made = store.derived(TAG), make_encoding("payload", "cosine", 24, trip.problem.bias)
        if strategy == "vector":
            store.engine.add_vector(name, 32)
        else:
            store.engine.set_field(store.corrected_index(name, made).field, [int(trip.problem.ids[0])], np.ones(1))
    trip.url = url
    _forge(trip, name, "payload")
    _refused(unhub.rollback, trip, NO_MARK)
    with pytest.warns(UnhubWarning, match=f"{name} {NO_MARK}"):
        beside = unhub.export(trip.file, url).record
    assert (beside.encoding.strategy, beside.destination != name) == ("payload", True)
    replace(unhub.load(trip.file), exports=(beside,)).save(trip.file)
    unhub.rollback(trip.file, to=url)
    with closing(open_store(url)) as store:
        assert store.corrected_index(name, made).exists()
        assert not store.corrected_index(name, made).made_by_unhub()
    replace(unhub.load(trip.file), exports=()).save(trip.file)
    done = unhub.export(trip.file, url, strategy="payload")
    assert unhub.rollback(trip.file, to=url).to_dict()[0]["removed"] == done.record.destination
    with closing(open_store(url)) as store:
        assert not store.corrected_index(done.record.destination, made).exists()
        assert store.engine.marks() == {}


@pytest.mark.parametrize("strategy", ["augment", "payload"])
@pytest.mark.parametrize("trip", [each for each in STORES if each.values[0].store == "qdrant"], indirect=True)
def test_a_store_that_keeps_no_mark_is_refused_before_anything_is_written(trip, strategy, monkeypatch):
    """As a Qdrant server before 1.16 does, which knows no metadata of a collection."""
    monkeypatch.setattr(_ClientEngine, "marks", lambda self: {})
    with pytest.raises(StoreError, match=r"1\.16 or newer"):
        unhub.export(trip.file, trip.url, strategy=strategy)
    with closing(open_store(trip.url)) as store:
        assert [each.name for each in store.engine.client.get_collections().collections] == [trip.name]
        assert next(store.scan()).payload[0][0].keys() == {"group"}
