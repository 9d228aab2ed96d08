"""What goes wrong while an export runs: kills, full disks, stores that go away, collections that change."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import unhub
from stores.journeys import Journey, every_store
from stores.problem import Problem, identical
from unhub.foundation.errors import StoreError, UnhubError
from unhub.stores import open_store

KILLS = {"faiss": 50, "pgvector": 50, "qdrant_edge": 50, "lancedb": 12}
"""how often an export is killed; six times in stores that take long to start or to open"""

STORES = [each for each in every_store((True, False)) if each.values[0].store != "qdrant"]
"""every store but Qdrant's local mode, which is a toy of its client and keeps no promise when it is killed"""


def _one_each(parameters):
    seen = set()
    return [each for each in parameters if not (each.values[0].store in seen or seen.add(each.values[0].store))]


@pytest.fixture
def journey(engines, tmp_path):
    made = []

    def make(variant, *, count=3000, folder=tmp_path):
        problem = Problem.make(count=count, dim=24, queries=40)
        made.append(Journey(engines(variant.store), variant, problem, folder))
        return made[-1]

    yield make
    for each in made:
        if each.file.exists():
            unhub.rollback(each.file, to=each.url)
        with closing(open_store(each.url)) as store:
            store.drop()


@pytest.mark.parametrize("variant", _one_each(STORES))
def test_an_export_that_is_killed_again_and_again_loses_nothing_and_writes_nothing_twice(journey, variant):
    trip = journey(variant)
    trip.fit()
    script = Path(__file__).with_name("killing.py")
    kills = KILLS.get(variant.store, 6)
    ran = subprocess.run(
        [sys.executable, str(script), str(trip.file), trip.url, str(kills), "7"],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert json.loads(ran.stdout.splitlines()[-1])["killed"] == kills
    known = unhub.load(trip.file)
    (record,) = known.exports
    assert record.state == "serving"
    again = unhub.export(trip.file, trip.url)
    assert (again.written, again.already_written) == (0, 3000)
    with closing(open_store(trip.url)) as store:
        if record.encoding.strategy in ("augment", "constant_norm"):
            held = [each for some in store.sibling(record.destination).ids() for each in some]
            assert len(held) == len(set(held))
            assert sorted(held) == sorted(trip.problem.ids)
        assert store.describe().count == 3000
    if variant.exact:
        with unhub.connect(trip.url, trip.file) as retriever:
            found = retriever.search(trip.problem.queries, 10)
        identical(found.ids, trip.problem.ids, trip.exact(), 10, 20 * variant.tolerance)


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of a few megabytes; only root can make one."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", folder]).returncode != 0:
        pytest.skip("only root can mount a small disk to fill")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("store", ["faiss", "lancedb"])
def test_a_full_disk_gets_a_sentence_and_the_old_collection_goes_on(small_disk, store, tmp_path):
    from stores.engines import ENGINES, VARIANTS

    variant = next(each for each in VARIANTS if each.store == store and each.exact)
    problem = Problem.make(count=8000, dim=24, queries=40)
    trip = Journey(ENGINES[store](small_disk), variant, problem, tmp_path)
    trip.fit()
    filler = small_disk / "filler"
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    filler.write_bytes(bytes(max(0, free - 300_000)))
    with pytest.raises(UnhubError) as caught:
        unhub.export(trip.file, trip.url)
    assert "disk is full" in str(caught.value)
    assert "\n" not in str(caught.value)
    with closing(open_store(trip.url)) as raw:
        assert raw.describe().count == 8000
    filler.unlink()
    done = unhub.export(trip.file, trip.url)
    assert (done.record.state, done.written + done.already_written) == ("serving", 8000)
    identical(unhub.connect(trip.url, trip.file).search(problem.queries, 10).ids, problem.ids, trip.exact(), 10, 2e-4)


class _Stop:
    """A progress callback that ends a server when so many items have been written."""

    def __init__(self, stop, work, after):
        self.stop, self.work, self.after, self.done = stop, work, after, False

    def __call__(self, work, items, total):
        if not self.done and work == self.work and items >= self.after:
            self.done = True
            self.stop()


@pytest.mark.xdist_group("chroma")
def test_a_server_that_ends_in_the_middle_gets_a_sentence_and_the_export_goes_on_later(tmp_path):
    from stores.engines.chroma import Server

    server = Server(tmp_path)
    try:
        trip = Journey(server, _variant("chroma"), Problem.make(count=1500, dim=24, queries=40), tmp_path)
        trip.fit()

        def end():
            server.process.kill()
            server.process.wait()

        with pytest.raises(StoreError, match="check that the store runs and can be reached") as caught:
            unhub.export(trip.file, trip.url, batch=250, progress=_Stop(end, "writing", 500))
        assert "\n" not in str(caught.value)
        assert Path(f"{trip.file}.exporting").exists()
        server.process = server.run()
        with unhub.connect(trip.url, trip.file) as retriever:
            assert retriever.strategy == "rerank"
            assert len(retriever.search(trip.problem.queries, 10)) == 40
        done = unhub.export(trip.file, trip.url)
        assert done.record.state == "serving"
        assert done.already_written >= 250
        assert done.written + done.already_written == 1500
        assert not Path(f"{trip.file}.exporting").exists()
    finally:
        server.stop()


@pytest.mark.xdist_group("pgvector")
def test_a_database_that_ends_in_the_middle_gets_a_sentence_and_the_export_goes_on_later(tmp_path):
    import psycopg
    from pgvector.psycopg import register_vector

    from stores.engines.pgvector import Guarded

    problem = Problem.make(count=1500, dim=24, queries=40)
    server = Guarded(password="a secret: % @ /")
    url = server.url("a secret: % @ /").replace("table=items", "table=photos")
    file = tmp_path / "photos.unhub"
    try:
        with psycopg.connect(host=str(server._data), port=server.port, user="postgres", autocommit=True) as live:
            register_vector(live)
            live.execute("CREATE TABLE photos (id bigint PRIMARY KEY, embedding vector(24))")
            live.execute("ALTER TABLE photos OWNER TO shop")
            rows = [(int(each), row) for each, row in zip(problem.ids, problem.vectors, strict=True)]
            with live.cursor() as cursor:
                cursor.executemany("INSERT INTO photos VALUES (%s, %s)", rows)
        unhub.fit("sn", targets=url, query_bank=problem.queries, tau=0.05, strength=1).save(file)
        with pytest.raises(StoreError) as caught:
            unhub.export(file, url, batch=250, progress=_Stop(server.stop, "writing", 500))
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)
        server.start()
        done = unhub.export(file, url)
        assert (done.record.state, done.written + done.already_written) == ("serving", 1500)
        assert b"secret" not in file.read_bytes()
        with unhub.connect(url, file) as retriever:
            exact = problem.inner() + _bias_of(file, problem)
            identical(retriever.search(problem.queries, 10).ids, problem.ids, exact, 10, 2e-4)
        unhub.rollback(file, to=url)
        with closing(open_store(url)) as store:
            assert store.describe().count == 1500
    finally:
        server.end()


def _bias_of(file, problem):
    known = unhub.load(file)
    bias = dict(zip(known.ids, known.bias.tolist(), strict=True))
    return np.array([bias[each] for each in problem.ids])


def _variant(store):
    return next(each.values[0] for each in STORES if each.values[0].store == store)


@pytest.mark.parametrize(
    "variant", [each for each in _one_each(STORES) if each.values[0].store in ("chroma", "qdrant_edge")]
)
def test_a_collection_that_changes_while_it_is_read_is_noticed(journey, variant):
    trip = journey(variant, count=5000)
    gone = iter(sorted(trip.problem.ids)[-200:])

    def interfere(work, items, total):
        if work == "reading the store":
            trip.change(gone=[next(gone)])

    with pytest.raises(StoreError, match="changed while it was read"):
        unhub.fit("sn", targets=trip.url, query_bank=trip.problem.queries, tau=0.05, strength=1, progress=interfere)


@pytest.mark.parametrize(
    "variant", [each for each in _one_each(STORES) if each.values[0].store in ("pgvector", "lancedb")]
)
def test_where_a_scan_is_of_one_moment_writers_need_not_stop(journey, variant):
    trip = journey(variant, count=5000)
    gone = iter(trip.problem.ids[:200])

    def interfere(work, items, total):
        if work == "reading the store":
            trip.change(gone=[next(gone)])

    fitted = unhub.fit(
        "sn", targets=trip.url, query_bank=trip.problem.queries, tau=0.05, strength=1, progress=interfere
    )
    assert fitted.bias.size == 5000
    fitted.save(trip.file)
    with pytest.raises(UnhubError, match=r"of the correction's 5,000 are no longer there"):
        unhub.export(trip.file, trip.url)


def test_an_id_that_is_there_twice_is_refused(tmp_path):
    import faiss

    index = faiss.index_factory(4, "IDMap2,Flat", faiss.METRIC_INNER_PRODUCT)
    index.add_with_ids(np.eye(4, dtype=np.float32), np.array([1, 2, 2, 3]))
    faiss.write_index(index, str(tmp_path / "twice.faiss"))
    with pytest.raises(StoreError, match=r"1 ids are in it more than once \(first: 2\)"):
        unhub.fit("sn", targets=f"faiss://{tmp_path}/twice.faiss", query_bank=np.eye(4, dtype=np.float32)[:2])
