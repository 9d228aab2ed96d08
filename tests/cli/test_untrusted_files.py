"""A file from somebody else cannot make unhub connect: whatever address it holds, nobody is called."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unhub
from unhub.foundation.errors import InputError

from .conftest import Run
from .forging import forge

SECRETS = {
    "QDRANT_API_KEY": "qdrant-secret",
    "CHROMA_TOKEN": "chroma-secret",
    "MILVUS_TOKEN": "milvus-secret",
    "PGPASSWORD": "pg-secret",
    "LANCEDB_API_KEY": "lance-secret",
    "AWS_ACCESS_KEY_ID": "aws-secret",
    "AWS_SECRET_ACCESS_KEY": "aws-secret",
}
ADDRESSES = {
    "qdrant": "qdrant://127.0.0.1:{port}/photos?timeout=2",
    "chroma": "chroma://127.0.0.1:{port}/photos?timeout=2",
    "pgvector": "pgvector://me@127.0.0.1:{port}/shop?table=items&timeout=2",
    "milvus": "milvus://127.0.0.1:{port}/photos?timeout=1",
    "lancedb": "lancedb:///photos?uri=db://shop&host=http://127.0.0.1:{port}",
}
QUERIES = ("--queries", "queries.npy")
COMMANDS = {
    "search": ("search", "f.unhub", *QUERIES),
    "search --exact": ("search", "f.unhub", *QUERIES, "--exact"),
    "search --raw": ("search", "f.unhub", *QUERIES, "--raw", "--json"),
    "report": ("report", "f.unhub", *QUERIES, "-o", "r.html"),
    "report of its bank": ("report", "f.unhub", "-o", "r.html"),
    "report --relevant": ("report", "f.unhub", *QUERIES, "--relevant", "relevant.tsv", "-o", "r.html"),
    "serve": ("serve", "f.unhub", "--port", "0"),
    "extend": ("extend", "f.unhub", "--targets", "new_targets.npy"),
    "extend -o": ("extend", "f.unhub", "--targets", "new_targets.npy", "-o", "longer.unhub"),
    "extend --from-store": ("extend", "f.unhub", "--from-store"),
    "export elsewhere": ("export", "f.unhub", "--to", "faiss://photos.faiss", "--dry-run"),
    "fit over it": ("fit", "--targets", "targets.npy", "--query-bank", "bank.npy", "-o", "f.unhub"),
    "evaluate its parts": (
        "evaluate", "--queries", "queries.npy", "--targets", "targets.npy", "--query-bank", "f.unhub::query_bank",
        "--relevant", "relevant.tsv", "--methods", "none,is",
    ),
    "diagnose its parts": ("diagnose", "--queries", "f.unhub::query_bank", "--targets", "targets.npy"),
    "check its parts": ("check", "--query-bank", "f.unhub::query_bank", "--targets", "targets.npy"),
}  # fmt: skip
REFUSED = {name for name in COMMANDS if name.startswith(("search", "report", "serve")) or "--from-store" in name}


class Listener:
    """A port of this machine that counts who comes, and hangs up."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.visits = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError:
                return
            self.visits += 1
            visitor.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    opened = Listener()
    yield opened
    opened.close()


def record(origin: str) -> dict[str, Any]:
    """An export that the file claims serves there."""
    layout = {"form": "augment", "metric": "ip", "dim": 16, "width": 17}
    return {"origin": origin, "place": "photos_unhub_0", "layout": layout, "tag": "0" * 8, "bias": "0" * 16, "state": "serving"}


@pytest.fixture
def genuine(run: Run, folder: Path) -> Path:
    ended = run("fit", "--targets", "targets.npy", "--query-bank", "bank.npy", "-o", "genuine.unhub")
    assert ended.code == 0
    return folder / "genuine.unhub"


def pointing(genuine: Path, address: str, *, exported: bool) -> Path:
    """The file with its gallery, and perhaps an export too, at an address that its author chose."""

    def change(metadata: dict[str, Any]) -> None:
        metadata["targets_source"] = address
        metadata["exports"] = [record(address)] if exported else []

    return forge(genuine, genuine.with_name("f.unhub"), change)


def test_the_listener_notices_whoever_comes(run: Run, genuine: Path, listener: Listener) -> None:
    """What the user names is connected to, so that the silence below means something."""
    file = pointing(genuine, "qdrant://elsewhere/photos", exported=False)
    url = ADDRESSES["qdrant"].format(port=listener.port)
    ended = run("search", file.name, *QUERIES, "--store", url)
    assert ended.code == 2
    assert listener.visits > 0


@pytest.mark.parametrize("exported", [False, True], ids=["gallery", "export"])
@pytest.mark.parametrize("store", ADDRESSES)
def test_no_command_follows_an_address_of_a_file(
    run: Run, genuine: Path, listener: Listener, store: str, exported: bool
) -> None:
    for name, words in COMMANDS.items():
        url = ADDRESSES[store].format(port=listener.port)
        file = pointing(genuine, url, exported=exported)
        noted = file.with_name("f.unhub.exporting")
        noted.write_text(json.dumps({"exports": [record(url)]}))
        ended = run(*words)
        noted.unlink(missing_ok=True)
        assert listener.visits == 0, f"{name} connected: {ended.err}"
        if name in REFUSED:
            assert ended.code == 2
            assert "a file cannot make unhub connect anywhere" in ended.err, name
            assert str(listener.port) in ended.err
            assert "--store " in ended.err or "--targets " in ended.err
        else:
            assert ended.code == 0, f"{name}: {ended.err}"


@pytest.mark.parametrize("store", ADDRESSES)
def test_no_function_follows_an_address_of_a_file(genuine: Path, listener: Listener, store: str) -> None:
    queries = np.load("queries.npy")
    for exported in (False, True):
        file = pointing(genuine, ADDRESSES[store].format(port=listener.port), exported=exported)
        loaded = unhub.load(file)
        calls = {
            "search": lambda: loaded.search(queries),
            "augment": lambda: loaded.augment(),
            "connect": lambda: unhub.connect(None, file),
            "connect a loaded one": lambda: unhub.connect(None, loaded),
            "refresh": lambda: unhub.refresh(file),
            "refresh a loaded one": lambda: unhub.refresh(loaded),
        }
        for name, call in calls.items():
            with pytest.raises(InputError, match="a file cannot make unhub connect anywhere"):
                call()
            assert listener.visits == 0, name
        assert loaded.extend(np.load("new_targets.npy")).shape == (6,)
        assert loaded.apply(np.load("scores.npy")).shape == (40, 40)
        loaded.save("again.unhub")
        assert listener.visits == 0
