"""Counts the files that six flows go through: those with at least one function called, the command line included.

python scripts/flows.py            the counts
python scripts/flows.py report     the files of one flow, with the functions called in each
"""

from __future__ import annotations

import collections
import contextlib
import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

import unhub
from unhub.cli import main

SOURCE = Path(unhub.__file__).parent
EXPERIMENT = """
[dataset]
name = "flows"
model = "random"
[test]
queries = "queries.npy"
targets = "targets.npy"
relevant = "relevant.npy"
[banks.val]
queries = "bank.npy"
targets = "others.npy"
"""
SIZES = {"targets": 60, "queries": 90, "bank": 150, "others": 40}


def files_of(flow: Callable[[], object]) -> dict[str, set[str]]:
    """The functions that a flow calls, by file."""
    called: dict[str, set[str]] = collections.defaultdict(set)

    def watch(frame, event, _):  # type: ignore[no-untyped-def]
        name, file = frame.f_code.co_name, frame.f_code.co_filename
        if event == "call" and name != "<module>" and file.startswith(str(SOURCE)) and file.endswith(".py"):
            called[str(Path(file).relative_to(SOURCE))].add(name)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        flow()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return called


def command(*words: str) -> Callable[[], None]:
    """A command of unhub, its output hidden."""

    def run() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(list(words)) == 0, words

    return run


def write_data() -> None:
    """A small experiment, an index and a correction in the current folder."""
    import faiss

    rng = np.random.default_rng(0)
    for name, size in SIZES.items():
        rows = rng.normal(size=(size, 16)) + 0.3
        np.save(f"{name}.npy", (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))
    np.save("relevant.npy", np.arange(SIZES["queries"]) % SIZES["targets"])
    Path("e.toml").write_text(EXPERIMENT)
    index = faiss.IndexFlatIP(16)
    index.add(np.load("targets.npy"))
    faiss.write_index(index, "gallery.faiss")
    command("fit", "--targets", "faiss://gallery.faiss", "--query-bank", "bank.npy", "-o", "exported.unhub")()


def page_change() -> Callable[[], None]:
    """One request of an open page."""
    from fastapi.testclient import TestClient

    from unhub.analysis.session import Session
    from unhub.webapp.app import make_app
    from unhub.webapp.security import AccessPolicy

    app = make_app(Session.open("e.toml"), AccessPolicy.of("127.0.0.1", None), maps=Path.cwd())
    client = TestClient(app, base_url="http://127.0.0.1:8765")
    client.get("/api/view").raise_for_status()
    return lambda: client.get("/api/view", params={"tau": "0.2"}).raise_for_status() and None


def flows() -> dict[str, dict[str, set[str]]]:
    """Every flow with its files."""
    vectors = ("--targets", "targets.npy", "--query-bank", "bank.npy")
    commands = {
        "fit": command("fit", *vectors, "-o", "c.unhub"),
        "evaluate": command("evaluate", "--queries", "queries.npy", *vectors, "--relevant", "relevant.npy"),
        "export": command("export", "exported.unhub", "--to", "faiss://gallery.faiss"),
        "page": page_change(),
        "reproduce": command("reproduce", "e.toml", "--table", "banks", "-o", "out"),
        "report": command("report", "e.toml", "-o", "r.html"),
    }
    return {name: files_of(flow) for name, flow in commands.items()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_data()
        found = flows()
        os.chdir("/")
    for name in sys.argv[1:]:
        for file, functions in sorted(found[name].items()):
            print(f"{file}: {', '.join(sorted(functions))}")
    if len(sys.argv) == 1:
        for name, files in found.items():
            print(f"{name:10} {len(files)}")
