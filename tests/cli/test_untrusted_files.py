"""A file from somebody else cannot make unhub connect: whatever address it holds, nobody is called."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unhub
from unhub.analysis.session import Session
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
    return {
        "origin": origin,
        "place": "photos_unhub_0",
        "layout": layout,
        "tag": "0" * 8,
        "bias": "0" * 16,
        "state": "serving",
    }


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
        if name not in REFUSED and store != "qdrant":
            continue  # what does not look for the gallery does not look at its address either
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


DOORS: dict[str, Callable[[Path], object]] = {
    "search": lambda file: unhub.load(file).search(np.load("queries.npy")),
    "augment": lambda file: unhub.load(file).augment(),
    "connect": lambda file: unhub.connect(None, file),
    "connect a loaded one": lambda file: unhub.connect(None, unhub.load(file)),
    "refresh": lambda file: unhub.refresh(file),
    "refresh a loaded one": lambda file: unhub.refresh(unhub.load(file)),
    "the page": lambda file: Session.open(file).sample("search"),
}


@pytest.mark.parametrize("store", ADDRESSES)
def test_no_function_follows_an_address_of_a_file(genuine: Path, listener: Listener, store: str) -> None:
    for exported in (False, True):
        file = pointing(genuine, ADDRESSES[store].format(port=listener.port), exported=exported)
        for name, call in DOORS.items():
            with pytest.raises(InputError, match="a file cannot make unhub connect anywhere"):
                call(file)
            assert listener.visits == 0, name
        loaded = unhub.load(file)
        assert loaded.extend(np.load("new_targets.npy")).shape == (6,)
        assert loaded.apply(np.load("scores.npy")).shape == (40, 40)
        loaded.save("again.unhub")
        assert listener.visits == 0


# --- paths that a file names ---------------------------------------------------------------------------------------


def noting(genuine: Path, source: str) -> Path:
    return forge(genuine, genuine.with_name("f.unhub"), lambda metadata: metadata.update(targets_source=source))


def test_a_path_is_followed_to_a_file_of_this_machine_and_no_further(run: Run, genuine: Path, folder: Path) -> None:
    words = ("search", "f.unhub", *QUERIES, "--k", "1")
    noting(genuine, str(folder / "targets.npy"))
    assert run(*words).code == 0
    os.mkfifo(folder / "pipe.npy")
    for source, said in (
        (str(folder / "gone.npy"), "the gallery is not where it was when this was fitted"),
        (str(folder / "queries.npy"), "this correction was fitted on another gallery"),
        (str(folder / "pipe.npy"), "is not a regular file"),
        ("/dev/zero", "is not a regular file"),
        ("//127.0.0.1/share/targets.npy", "is on another machine, and a file cannot make unhub go there"),
        ("\\\\127.0.0.1\\share\\targets.npy", "is on another machine, and a file cannot make unhub go there"),
    ):
        noting(genuine, source)
        ended = run(*words)
        assert ended.code == 2
        assert said in ended.err, ended.err
        assert "--targets" in ended.err or "fit again" in ended.err


def test_an_experiment_file_names_files_only(run: Run, folder: Path, listener: Listener) -> None:
    written = (folder / "experiment.toml").read_text()
    url = ADDRESSES["qdrant"].format(port=listener.port)
    for value, said in (
        (url, f"test.targets is the address of a store, {url}; an experiment file names files only"),
        ("//127.0.0.1/share/t.npy", "test.targets is //127.0.0.1/share/t.npy, on another machine"),
    ):
        (folder / "f.toml").write_text(written.replace('targets = "targets.npy"', f'targets = "{value}"'))
        for words in (
            ("check", "f.toml"),
            ("report", "f.toml"),
            ("serve", "f.toml"),
            ("sweep", "f.toml", "--over", "tau"),
        ):
            ended = run(*words)
            assert ended.code == 2
            assert said in ended.err + ended.out, ended
    assert listener.visits == 0


def test_the_note_of_a_run_leads_to_an_experiment_file_only(run: Run, genuine: Path, folder: Path) -> None:
    (folder / "results").mkdir()
    for place in (str(genuine), "//127.0.0.1/share/experiment.toml"):
        (folder / "results" / "run.json").write_text(json.dumps({"experiment": place, "protocol": "paper"}))
        ended = run("report", "results", "-o", "r.html")
        assert ended.code == 2
        assert f"names {place}, which is no experiment file of this machine" in ended.err


def test_what_is_shown_from_outside_of_an_experiment_is_said(folder: Path) -> None:
    (folder / "mine").mkdir()
    written = (folder / "experiment.toml").read_text().replace('"queries.npy"', '"../queries.npy"')
    for name in ("targets", "bank", "other_targets"):
        written = written.replace(f'"{name}.npy"', f'"../{name}.npy"')
    private = folder / "private.txt"
    private.write_text("".join(f"line {row}\n" for row in range(40)))
    (folder / "mine" / "link.txt").symlink_to(private)
    for caption in ("../private.txt", "link.txt"):
        file = folder / "mine" / "e.toml"
        file.write_text(written.replace("[banks.val]", f'captions = "{caption}"\n[banks.val]'))
        with pytest.warns(unhub.UnhubWarning, match="check before sharing") as warned:
            unhub.report(file, None)
        assert f"shows texts or media from outside its folder: test.captions ({private})" in str(warned[0].message)
    file.write_text(written)
    assert Session.open(file).notes == ()


# --- control characters --------------------------------------------------------------------------------------------

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b1m\u202egnp\u2066\u200b\nunhub: all is well\r"
"""a terminal's title, a cleared screen, a C1 sequence, a text turned round, one of no width, and a line of its own"""


def harmless(text: str) -> bool:
    """Whether every character but the line ends is seen as itself, and no line begins with another's words."""
    return all(each.isprintable() or each == "\n" for each in text) and "\nunhub: all is well" not in text


def test_no_sentence_repaints_a_terminal(run: Run, genuine: Path, folder: Path) -> None:
    np.savez(folder / "many.npz", **{f"a{HOSTILE}": np.eye(3), "b": np.eye(3)})
    (folder / "ids.json").write_text(json.dumps([HOSTILE] * 40))
    (folder / "e.toml").write_text(f'[dataset]\nname = "x"\n[test]\n{json.dumps(HOSTILE)} = "targets.npy"\n')
    forge(genuine, folder / "f.unhub", lambda its: its.update(targets_source=f"qdrant://h/{HOSTILE}"))
    forge(genuine, folder / "g.unhub", lambda its: its.update(method=HOSTILE))
    fit = ("fit", "--query-bank", "bank.npy", "-o", "x.unhub")
    for words in (
        ("search", "f.unhub", *QUERIES),
        ("search", "g.unhub", *QUERIES),
        ("search", f"{HOSTILE}.unhub", *QUERIES),
        ("search", "genuine.unhub", "--queries", "many.npz"),
        ("search", "genuine.unhub", "--queries", f"many.npz::{HOSTILE}"),
        (*fit, "--targets", "targets.npy", "--target-ids", "ids.json"),
        (*fit, "--targets", f"qdrant://127.0.0.1:9/{HOSTILE}?timeout=1"),
        (*fit, "--targets", "targets.npy", f"--{HOSTILE}"),
        ("check", "e.toml"),
        ("--debug", "check", "e.toml"),
        ("check", "--targets", "many.npz"),
    ):
        ended = run(*words)
        assert ended.code == 2, (words, ended)
        whole = ended.out + ended.err
        if words[0] == "--debug":  # a traceback has lines of its own
            whole = whole.replace("\nunhub: all is well", "")
        assert harmless(whole), (words, ended)


def test_tables_are_escaped_and_json_is_the_same_data(run: Run, folder: Path) -> None:
    ids = [f"{row}{HOSTILE}" for row in range(40)]
    (folder / "ids.json").write_text(json.dumps(ids))
    words = ("--queries", "queries.npy", "--targets", "targets.npy", "--target-ids", "ids.json")
    shown = run("diagnose", *words)
    assert shown.code == 0
    assert harmless(shown.out)
    assert "\\x1b[2J" in shown.out
    told = run("diagnose", *words, "--json")
    assert harmless(told.out)
    assert all(hub["id"] == f"{hub['row']}{HOSTILE}" for hub in json.loads(told.out)["hubs"])


def test_sentences_in_python_are_escaped_too(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        unhub.load(tmp_path / "photos\x1b[2J\u202e.unhub")
    assert "photos\\x1b[2J\\u202e.unhub" in str(caught.value)
