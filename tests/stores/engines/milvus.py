"""Milvus Lite in this process, and the Milvus server 2.3.5 that the package ``milvus`` brings, on loopback."""

import os
import shutil
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from stores.engines.engine import Variant

METRICS = {"ip": "IP", "cosine": "COSINE", "l2": "L2"}
PARAMS = {
    "HNSW": {"M": 8, "efConstruction": 64},
    "IVF_FLAT": {"nlist": 8},
    "IVF_SQ8": {"nlist": 8},
    "HNSW_SQ": {"M": 8},
}
SEARCHED = {"HNSW": "ef=700", "HNSW_SQ": "ef=700", "IVF_FLAT": "nprobe=6", "IVF_SQ8": "nprobe=6"}
"""Milvus Lite finds too few within a filter unless a search of a graph may look at all there is"""
TOKEN = "root:Milvus"
"""what every new server has"""
STARTED_WITHIN = 120


class Milvus:
    """Collections that the client itself makes, at one place."""

    def __init__(self, uri, begin):
        from pymilvus import MilvusClient

        self.uri, self.begin = uri, begin
        self.client = MilvusClient(uri, token=TOKEN, timeout=30)

    def url(self, name, *options):
        """The address of a collection."""
        return f"milvus://{self.begin}/{name}" + (f"?{'&'.join(options)}" if options else "")

    def make(self, name, *, dim, metric, index, key="INT64", vector="FLOAT_VECTOR", fields=(), **settings):
        """An empty collection with a key ``pk`` and vectors ``embedding``, made by the client itself."""
        from pymilvus import DataType

        schema = self.client.create_schema(enable_dynamic_field=True, **settings)
        schema.add_field("pk", DataType[key], is_primary=True, **({"max_length": 200} if key == "VARCHAR" else {}))
        schema.add_field("embedding", DataType[vector], dim=dim)
        for field, kind, more in fields:
            schema.add_field(field, DataType[kind], **more)
        made = self.client.prepare_index_params()
        # Twice in params: the client unpacks them once, and Milvus Lite reads them only where they are packed.
        made.add_index(
            "embedding", index_type=index, metric_type=METRICS[metric], params={"params": PARAMS.get(index, {})}
        )
        self.client.create_collection(name, schema=schema, consistency_level="Strong")
        self.client.create_index(name, made, sync=False)
        self.client.load_collection(name)

    def fill(self, name, ids, vectors, groups, *, metric, index):
        kind, _, key = index.partition("+")
        self.make(
            name,
            dim=vectors.shape[1],
            metric=metric,
            index=kind.upper(),
            key=key or "INT64",
            fields=[("group", "INT64", {})],
        )
        own = ids if key else [int(each) for each in ids]
        rows = [
            {"pk": each, "embedding": row, "group": int(group), "also": f"item {each}"}
            for each, row, group in zip(own, vectors, groups, strict=True)
        ]
        self.client.insert(name, rows)
        self.client.flush(name)
        return self.url(name, *filter(None, [SEARCHED.get(kind.upper())]))

    def filter(self, group):
        return ("group == {group} and also != {nothing}", {"group": int(group), "nothing": ""})

    def stop(self):
        self.client.close()


class Lite(Milvus):
    """A file for each collection that is filled, let go of at once: only one process can have it open."""

    def __init__(self, folder):
        self.folder = Path(folder)
        super().__init__(str(self.folder / "shared.db"), self.folder / "shared.db")

    def fill(self, name, ids, vectors, groups, *, metric, index):
        from milvus_lite.server_manager import server_manager_instance

        file = self.folder / f"{name}.db"
        one = Milvus(str(file), file)
        url = one.fill(name, ids, vectors, groups, metric=metric, index=index)
        one.stop()
        server_manager_instance.release_server(str(file))
        return url


class Server(Milvus):
    """A server of its own, in a network of its own, in this folder."""

    def __init__(self, folder):
        rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        apart = ["unshare", *rights, "--net"]
        if find_spec("milvus") is None:
            pytest.skip("the Milvus server is not here: pip install --no-deps milvus==2.3.5")
        if shutil.which("unshare") is None or subprocess.run([*apart, "true"], capture_output=True).returncode:
            pytest.skip("no network namespace can be made here, so the Milvus server would listen everywhere")
        self.folder = Path(folder)
        inside = Path(__file__).with_name("milvus_inside.py")
        with socket.create_server(("127.0.0.1", 0)) as door, (self.folder / "inside.log").open("wb") as log:
            self.port = door.getsockname()[1]
            # -P: a folder of this script has a module of the package's name
            command = [*apart, sys.executable, "-P", str(inside), str(door.fileno()), str(self.folder)]
            self._process = subprocess.Popen(
                command, pass_fds=[door.fileno()], stdin=subprocess.PIPE, stdout=log, stderr=log
            )
        self._token_before = os.environ.get("MILVUS_TOKEN")
        os.environ["MILVUS_TOKEN"] = TOKEN  # an address that was given back has none, and must open again
        super().__init__(self._started(), f"127.0.0.1:{self.port}")

    def _started(self):
        """Where it answers, as soon as it does."""
        from pymilvus import MilvusClient, MilvusException

        uri = f"http://127.0.0.1:{self.port}"
        until = time.monotonic() + STARTED_WITHIN
        while True:
            try:
                MilvusClient(uri, token=TOKEN, timeout=2, dedicated=True).close()
                return uri
            except MilvusException:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError((self.folder / "inside.log").read_text()) from None

    def stop(self):
        super().stop()
        self._process.stdin.close()
        self._process.wait()
        shutil.rmtree(self.folder)
        if self._token_before is None:
            del os.environ["MILVUS_TOKEN"]
        else:
            os.environ["MILVUS_TOKEN"] = self._token_before


ENGINES = {"milvus": Lite, "milvus_server": Server}
FORMS = ("augment", "constant_norm")
VARIANTS = [
    Variant("milvus", "flat", exact=True, strategies=FORMS),
    Variant("milvus", "flat+VARCHAR", exact=True, metrics=("ip",), strategies=("augment",)),
    Variant("milvus", "hnsw", exact=False, strategies=FORMS),
    Variant("milvus", "hnsw_sq", exact=False, metrics=("ip",), strategies=FORMS, tolerance=1e-2),
    Variant("milvus", "ivf_flat", exact=False, metrics=("cosine",), strategies=FORMS),
    Variant("milvus", "ivf_sq8", exact=False, metrics=("l2",), strategies=FORMS, tolerance=1e-2),
    Variant("milvus_server", "flat", exact=True, metrics=("cosine", "l2"), strategies=FORMS),
    Variant("milvus_server", "hnsw", exact=False, metrics=("ip",), strategies=FORMS),
    Variant("milvus_server", "ivf_sq8", exact=False, metrics=("l2",), strategies=("augment",), tolerance=1e-2),
]
