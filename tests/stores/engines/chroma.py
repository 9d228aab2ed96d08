"""Chroma as its own server on loopback, and as a folder that the tests' own process opens."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from stores.engines.engine import Variant

# Without much of a buffer a few hundred items are saved and taken up again as many would be.
INDICES = {
    "hnsw": {},
    "hnsw-small": {"max_neighbors": 32, "ef_construction": 200, "ef_search": 200, "sync_threshold": 100},
}
STARTED_WITHIN = 120.0


def settings():
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


class Filled:
    """What both have in common: collections are made with Chroma's own client."""

    def fill(self, name, ids, vectors, groups, *, metric, index):
        configuration = {"hnsw": {"space": metric, **INDICES[index]}}
        made = self.client.create_collection(name, configuration=configuration, embedding_function=None)
        made.add(ids=list(ids), embeddings=vectors, metadatas=[{"group": int(each)} for each in groups])
        return self.url(name)

    def filter(self, group):
        return {"group": int(group)}


class Server(Filled):
    """``chroma run`` on a free port of loopback; ended by its own pid."""

    def __init__(self, folder, *, payload=None):
        import chromadb

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = Path(folder)
        self.asked = ["--path", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)]
        if payload is not None:
            settled = {"persist_path": self.folder, "listen_address": "127.0.0.1", "port": self.port}
            lines = {**settled, "max_payload_size_bytes": payload}
            (self.folder / "server.yaml").write_text("".join(f"{name}: {value}\n" for name, value in lines.items()))
            self.asked = [str(self.folder / "server.yaml")]
        self.process = self.run()
        self.client = chromadb.HttpClient(host="127.0.0.1", port=self.port, settings=settings())

    def run(self):
        """The process, once it answers."""
        import httpx

        program = Path(sys.executable).with_name("chroma")
        with open(self.folder / "server.log", "ab") as log:
            quiet = {**os.environ, "ANONYMIZED_TELEMETRY": "False"}
            process = subprocess.Popen(
                [program, "run", *self.asked], stdout=log, stderr=log, cwd=self.folder, env=quiet
            )
        until = time.monotonic() + STARTED_WITHIN
        while time.monotonic() < until and process.poll() is None:
            try:
                httpx.get(f"http://127.0.0.1:{self.port}/api/v2/heartbeat").raise_for_status()
                return process
            except httpx.HTTPError:
                time.sleep(0.1)
        process.kill()
        raise RuntimeError(f"chroma did not start; see {self.folder / 'server.log'}")

    def url(self, name):
        return f"chroma://127.0.0.1:{self.port}/{name}"

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)


class Folder(Filled):
    """A PersistentClient, open in this process with settings of its own, as in a user's notebook."""

    def __init__(self, folder):
        import chromadb

        self.folder = Path(folder)
        self.client = chromadb.PersistentClient(path=folder)

    def url(self, name):
        return f"chroma://{self.folder}/{name}"

    def stop(self):
        self.client.close()


ENGINES = {"chroma": Server, "chroma-folder": Folder}
BOTH = ("augment", "constant_norm")
VARIANTS = [
    Variant("chroma", "hnsw", exact=False, strategies=BOTH),
    Variant("chroma", "hnsw-small", exact=False, metrics=("cosine",), strategies=BOTH),
    Variant("chroma-folder", "hnsw", exact=False, strategies=BOTH),
    Variant("chroma-folder", "hnsw-small", exact=False, metrics=("l2",)),
]
