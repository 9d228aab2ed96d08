"""A folder of Qdrant's local mode from somebody else: nothing in it is run, and nothing outside of it is written."""

import json
import os
import pickle
import shutil
import sqlite3
import uuid
from contextlib import closing

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from stores.engines.qdrant import local
from unhub.foundation.errors import StoreError
from unhub.stores import open_store
from unhub.stores.qdrant.local_folder import check_folder


class Evil:
    def __init__(self, call, *given):
        self.order = call, given

    def __reduce__(self):
        return self.order


@pytest.fixture
def folder(tmp_path):
    vectors = np.eye(4, dtype=np.float32)
    local(tmp_path, vectors, name="photos", ids=[1, 2, 3, 4])
    return tmp_path / "store"


def _change(folder, order, *given):
    with closing(sqlite3.connect(folder / "collection" / "photos" / "storage.sqlite")) as base, base:
        base.execute(order, given)


def _opened(folder):
    with closing(open_store(f"qdrant://{folder}/photos")) as store:
        return store.describe()


def test_what_a_point_asks_for_is_not_run(folder, tmp_path):
    pwned = tmp_path / "pwned"
    evil = pickle.dumps(Evil(os.mkdir, str(pwned)))
    _change(folder, "UPDATE points SET point = ? WHERE rowid = 2", evil)
    with pytest.raises(StoreError, match=r"storage.sqlite asks for posix.mkdir, which is no point of a Qdrant client"):
        _opened(folder)
    assert not pwned.exists()


def test_a_name_inside_a_point_class_is_not_taken(folder):
    _change(
        folder,
        "UPDATE points SET point = ?",
        b"\x80\x04\x8c\x20qdrant_client.http.models.models\x8c\x14PointStruct.__init__\x93.",
    )
    with pytest.raises(StoreError, match=r"asks for qdrant_client.http.models.models.PointStruct.__init__"):
        _opened(folder)


def test_a_point_that_is_called_is_refused(folder):
    _change(
        folder,
        "UPDATE points SET point = ?",
        b"\x80\x04\x8c\x20qdrant_client.http.models.models\x8c\x0bPointStruct\x93)R.",
    )
    with pytest.raises(StoreError, match="holds what no Qdrant client writes"):
        _opened(folder)


def test_a_collection_that_is_not_listed_is_looked_at_too(folder, tmp_path):
    other = folder / "collection" / "a" / "b"
    shutil.copytree(folder / "collection" / "photos", other)
    with closing(sqlite3.connect(other / "storage.sqlite")) as base, base:
        base.execute("UPDATE points SET point = ?", (pickle.dumps(Evil(os.mkdir, str(tmp_path / "pwned"))),))
    with pytest.raises(StoreError, match=r"a/b/storage.sqlite asks for posix.mkdir"):
        _opened(folder)


def test_a_view_in_the_place_of_the_points_is_refused(folder):
    _change(folder, "ALTER TABLE points RENAME TO real")
    _change(folder, "CREATE VIEW points AS SELECT rowid, id, point FROM real WHERE random() > 0")
    with pytest.raises(StoreError, match="its tables are not those of a Qdrant client"):
        _opened(folder)


@pytest.mark.parametrize("name", ["meta.json.tmp", ".lock", "collection/photos/storage.sqlite-journal"])
def test_a_link_is_not_written_through(folder, tmp_path, name):
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "thesis.docx")
    with pytest.raises(StoreError, match=f"{name} is a link, which no Qdrant client makes"):
        _opened(folder)
    assert not (tmp_path / "thesis.docx").exists()


@pytest.mark.parametrize("text", ["", "[1]", '{"collections": [1]}', "[" * 100_000])
def test_a_damaged_list_of_collections_is_one_sentence(folder, text):
    (folder / "meta.json").write_text(text)
    with pytest.raises(StoreError, match=r"meta.json is damaged; copy the folder again"):
        _opened(folder)


@pytest.mark.parametrize("name", ["../../else", "/etc/qdrant"])
def test_a_collection_elsewhere_is_refused(folder, name):
    meta = json.loads((folder / "meta.json").read_text())
    meta["collections"][name] = meta["collections"]["photos"]
    (folder / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(StoreError, match="which is outside of the folder"):
        _opened(folder)


def test_the_journal_of_a_killed_write_is_taken_back(folder):
    home = folder / "collection" / "photos"
    with closing(sqlite3.connect(home / "storage.sqlite", isolation_level=None)) as base:
        base.execute("PRAGMA cache_size = 1")
        base.execute("BEGIN")
        for _ in range(3):
            base.execute("INSERT INTO points SELECT hex(randomblob(9)), randomblob(9000) FROM points")
        for name in ("storage.sqlite", "storage.sqlite-journal"):
            shutil.copy(home / name, folder / name)
        base.execute("ROLLBACK")
    for name in ("storage.sqlite", "storage.sqlite-journal"):
        shutil.move(folder / name, home / name)
    assert _opened(folder).count == 4


def test_every_kind_of_point_that_the_client_writes_is_read(tmp_path):
    size = models.VectorParams(size=2, distance=models.Distance.COSINE)
    many = size.model_copy(update={"multivector_config": models.MultiVectorConfig(comparator="max_sim")})
    with closing(QdrantClient(path=str(tmp_path))) as client:
        client.create_collection("one", vectors_config=size)
        client.create_collection(
            "named",
            vectors_config={"x": size, "many": many},
            sparse_vectors_config={"sparse": models.SparseVectorParams()},
        )
        payload = {"text": "é", "number": 2**70, "id": uuid.uuid4(), "list": [{"a": None, "b": True, "c": 0.5}]}
        client.upsert("one", [models.PointStruct(id=uuid.uuid4(), vector=[1, 2], payload=payload)])
        client.upload_collection("one", vectors=np.ones((3, 2), np.float32), ids=[1, 2, 3])
        sparse = models.SparseVector(indices=[1, 5], values=[0.5, 2.0])
        vector = {"x": [1.0, 2.0], "many": [[1.0, 2.0], [3.0, 4.0]], "sparse": sparse}
        client.upsert("named", [models.PointStruct(id=7, vector=vector, payload=payload)])
    check_folder(str(tmp_path))
