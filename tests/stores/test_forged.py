"""A sealed correction file from somebody else, whose notes of exports name what unhub never made: nothing is removed."""

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
from unhub.foundation.errors import InputError
from unhub.serving.journal import Journal
from unhub.serving.places import bias_name
from unhub.stores import Export, layout, open_store, parse

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


def _forge(trip, place, form, **more):
    """A file with valid checksums that says it has exported to that place."""
    fitted = unhub.load(trip.file)
    with closing(open_store(trip.url)) as store:
        url, seen = store.url, store.describe()
    made = layout(form, seen.metric, 24, fitted.bias, pad_to=1)
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
    for form in {"augment", FORMS.get(trip.variant.store, "augment")}:
        for place in (*outside, *tricks):
            _forge(trip, place, form)
            _refused(unhub.rollback, trip, NOT_OURS)
        _forge(trip, raw, form)
        for act in (unhub.export, unhub.connect, unhub.refresh):
            _refused(act, trip, NOT_OURS)
    _forge(trip, derived, "augment")
    if trip.variant.store == "pgvector":  # a column is ours or not; a table never is
        with trip.engine.connect() as live:
            live.execute(f'ALTER TABLE "{raw}" ADD COLUMN "{derived}" real')
        _forge(trip, derived, "column")
    for act in (unhub.rollback, unhub.export, unhub.refresh):
        assert derived in _refused(act, trip, NO_MARK)
    assert len(unhub.load(trip.file).exports) == 1
    assert _held(trip, every) == before
    assert all(each.read_text() == "three years of work" for each in files)


def _refused(act, trip, sentence):
    """The sentence with which one of unhub's functions refuses the file, with the store that the user has named."""
    given = {unhub.rollback: {"to": trip.url}, unhub.export: {"to": trip.url}, unhub.refresh: {"store": trip.url}}
    with pytest.raises(InputError, match=sentence) as caught:
        act(trip.url, trip.file) if act is unhub.connect else act(trip.file, **given[act])
    assert "\n" not in str(caught.value)
    return str(caught.value)
