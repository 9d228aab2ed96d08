"""The commands that work on a store, on the simplest of them: an index file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import unhub

from .conftest import Run, write_index

URL = "faiss://photos.faiss"


@pytest.fixture
def fitted(run: Run, folder: Path) -> Path:
    ended = run("fit", "--targets", URL, "--query-bank", "bank.npy", "-o", "photos.unhub")
    assert ended.code == 0
    assert f"unhub export photos.unhub --to {shlex.quote(f'faiss://{folder}/photos.faiss')} --dry-run" in ended.out
    return folder / "photos.unhub"


def test_the_whole_way_and_back(run: Run, folder: Path, fitted: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    planned = run("export", "photos.unhub", "--to", URL, "--dry-run")
    assert planned.code == 0
    assert "nothing was written" in planned.out
    assert "40 of 16 numbers" in planned.out
    assert {path.name for path in folder.iterdir()} == before
    plan = json.loads(run("export", "photos.unhub", "--to", URL, "--dry-run", "--json").out)["plan"]
    assert (plan["strategy"], plan["items"], plan["width"]) == ("augment", 40, 17)

    done = json.loads(run("export", "photos.unhub", "--to", URL, "--json").out)
    assert (done["state"], done["written"], done["self_test"]["identical"]) == (
        "serving",
        40,
        done["self_test"]["probes"],
    )
    assert {path.name for path in folder.iterdir()} - before == {done["place"]}
    again = run("export", "photos.unhub", "--to", URL)
    assert "wrote 0 items" in again.out
    assert "40 were there already" in again.out
    assert f"unhub rollback photos.unhub --to faiss://{folder}/photos.faiss" in again.out

    found = run("search", "photos.unhub", "--queries", "queries.npy", "--store", URL, "--k", "3", "--json")
    exact = run("search", "photos.unhub", "--queries", "queries.npy", "--store", URL, "--k", "3", "--exact", "--json")
    hits = [[hit["id"] for hit in query["hits"]] for query in json.loads(found.out)["queries"]]
    assert hits == [[hit["id"] for hit in query["hits"]] for query in json.loads(exact.out)["queries"]]
    within = ("--store", URL, "--filter", "[100, 101]")
    narrow = run("search", "photos.unhub", "--queries", "queries.npy", "--k", "5", "--raw", *within)
    assert narrow.code == 0
    assert {line.split("\t")[2] for line in narrow.out.splitlines()[1:]} == {"100", "101"}

    unnamed = run("rollback", "photos.unhub")
    assert (unnamed.code, unnamed.out, unnamed.err.count("\n")) == (2, "", 1)
    assert f"was exported to faiss://{folder}/photos.faiss; name the store to roll back with --to" in unnamed.err
    assert (folder / done["place"]).exists()
    back = run("rollback", "photos.unhub", "--to", URL)
    assert f"removed {done['place']}" in back.out
    assert {path.name for path in folder.iterdir()} == before
    nothing = run("rollback", "photos.unhub")
    assert (nothing.code, nothing.out) == (0, "nothing to roll back\n")
    assert json.loads(run("rollback", "photos.unhub", "--json").out)["exports"] == []


def test_a_changed_gallery_is_refused_and_then_followed(run: Run, folder: Path, fitted: Path) -> None:
    targets = np.load("targets.npy")
    targets[3] = targets[4]
    write_index(folder / "photos.faiss", targets[:39])
    refused = run("export", "photos.unhub", "--to", URL)
    assert refused.code == 2
    assert "1 have another vector than was fitted (first: 103)" in refused.err
    assert "1 of the correction's 40 are no longer there" in refused.err
    assert not list(folder.glob("*.exporting"))
    followed = run("extend", "photos.unhub", "--store", URL)
    assert "0 new, 1 changed, 1 deleted" in followed.out
    assert run("export", "photos.unhub", "--to", URL).code == 0
    assert "photos.unhub is up to date" in run("extend", "photos.unhub", "--store", URL).out
    plain = json.loads(run("extend", "photos.unhub", "--store", URL, "-o", "newer.unhub", "--json").out)
    assert (plain["new"], plain["output"]) == (0, "newer.unhub")
    assert unhub.load("newer.unhub").bias.size == 39


def test_a_new_fit_over_an_exported_file_keeps_the_way_back(run: Run, folder: Path, fitted: Path) -> None:
    first = json.loads(run("export", "photos.unhub", "--to", URL, "--json").out)["place"]
    run("fit", "--targets", URL, "--query-bank", "bank.npy", "--method", "is", "-o", "photos.unhub")
    with unhub.connect(URL, "photos.unhub") as retriever:
        assert retriever.strategy == "rerank"
    second = json.loads(run("export", "photos.unhub", "--to", URL, "--json").out)["place"]
    assert first != second
    assert len(json.loads(run("rollback", "photos.unhub", "--to", URL, "--json").out)["exports"]) == 2
    assert sorted(path.name for path in folder.glob("*.faiss")) == ["photos.faiss"]


def test_words_are_searched_with_an_encoder(
    run: Run, folder: Path, fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "my_encoder.py").write_text(
        "import numpy as np\n\ndef encode(texts):\n    return np.load('queries.npy')[: len(texts)]\n\n"
        "def wrong(texts):\n    return np.zeros(3)\n"
    )
    said = run("search", "photos.unhub", "a red bicycle", "--store", URL, "--encoder", "my_encoder:encode", "--k", "2")
    assert (said.code, said.out.splitlines()[1].split("\t")[0]) == (0, "a red bicycle")
    monkeypatch.setenv("UNHUB_ENCODER", "my_encoder:encode")
    assert run("search", "photos.unhub", "a red bicycle", "--store", URL, "--k", "2").out == said.out
    for encoder, words in (
        ("my_encoder:wrong", "it must return one row for each"),
        ("my_encoder:nothing", "cannot be imported"),
        ("no_such_module:encode", "cannot be imported"),
    ):
        ended = run("search", "photos.unhub", "a red bicycle", "--store", URL, "--encoder", encoder)
        assert ended.code == 2
        assert words in ended.err
    monkeypatch.delenv("UNHUB_ENCODER")
    told = run("search", "photos.unhub", "a red bicycle", "--store", URL).err
    assert "needs the encoder" in told
    assert told.endswith("or set UNHUB_ENCODER; or pass vectors: --queries.\n")
    assert "either vectors (--queries) or text" in run("search", "photos.unhub", "--store", URL).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "fais://photos.faiss"], "did you mean faiss://?"),
        (["--to", "photos.faiss"], "write it as faiss://photos.faiss"),
        (["--to", "faiss://nothing.faiss"], "there is no index"),
        (["--to", "faiss://targets.npy"], "cannot be read as a faiss index"),
        (["--to", f"{URL}?tabel=x"], "there is no option 'tabel'"),
        (["--to", "faiss://photos.faiss#x"], "write %23"),
        (["--to", URL, "--form", "expression"], "--strategy is 'expression', which faiss cannot serve"),
        (["--to", URL, "--strategy", "nonsense"], "--strategy is 'nonsense', which does not exist"),
        (["--to", URL, "--pad-to", "0"], "--pad-to is 0"),
        (["--to", URL, "--scale", "-1"], "scale is -1"),
        (["--to", URL, "--batch", "0"], "batch"),
    ],
)
def test_what_cannot_be_done_gets_one_sentence(run: Run, fitted: Path, words: list[str], said: str) -> None:
    ended = run("export", "photos.unhub", *words)
    assert ended.code == 2
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert ended.out == ""


def test_other_misuse_gets_one_sentence(run: Run, folder: Path, fitted: Path) -> None:
    run("fit", "--targets", "targets.npy", "--query-bank", "bank.npy", "-o", "gallery.unhub")
    for words, said in (
        (["extend", "gallery.unhub", "--from-store"], "--store is not given; pass the address"),
        (["extend", "photos.unhub", "--from-store", "--targets", "new_targets.npy"], "leave out --targets"),
        (
            ["search", "gallery.unhub", "--queries", "queries.npy", "--filter", "x"],
            "--filter works in a vector store only",
        ),
        (["search", "photos.unhub", "--queries", "queries.npy", "--store", URL, "--filter", "[1,"], "not valid JSON"),
        (
            ["search", "photos.unhub", "--queries", "queries.npy", "--store", URL, "--filter", "red"],
            "faiss ids are whole numbers",
        ),
        (
            ["search", "photos.unhub", "--queries", "queries.npy"],
            f"photos.unhub says that its gallery is in faiss://{folder}/photos.faiss; a file cannot make unhub connect "
            f"anywhere. If that is your store, add --store faiss://{folder}/photos.faiss.",
        ),
        (
            ["extend", "photos.unhub", "--from-store"],
            f"If that is your store, pass --store faiss://{folder}/photos.faiss.",
        ),
        (["rollback", "nothing.unhub"], "there is no file"),
        (
            ["fit", "--targets", "mongodb://localhost/x", "--query-bank", "bank.npy", "-o", "x.unhub"],
            "there is no store",
        ),
    ):
        ended = run(*words)
        assert (ended.code, ended.err.count("\n")) == (2, 1), ended
        assert said in ended.err, ended.err


def test_a_gallery_fitted_from_files_can_be_exported_to_an_index_of_the_same_ids(run: Run, folder: Path) -> None:
    (folder / "hundreds.txt").write_text("".join(f"{row + 100}\n" for row in range(40)))
    fit = ["fit", "--targets", "targets.npy", "--query-bank", "bank.npy", "--target-ids", "hundreds.txt"]
    assert run(*fit, "-o", "gallery.unhub").code == 0
    done = json.loads(run("export", "gallery.unhub", "--to", URL, "--json").out)
    assert (done["state"], done["written"]) == ("serving", 40)
    words = ("search", "gallery.unhub", "--queries", "queries.npy", "--k", "3")
    from_file, through_store = run(*words), run(*words, "--store", URL)
    assert from_file.out.splitlines()[0] == through_store.out.splitlines()[0]
    assert [line.split("\t")[2] for line in from_file.out.splitlines()] == [
        line.split("\t")[2] for line in through_store.out.splitlines()
    ]
    assert f"to search the export in faiss://{folder}/photos.faiss, name it with --store" in (from_file.err)
    assert through_store.err == ""
    assert run("rollback", "gallery.unhub", "--to", URL).code == 0


def test_a_search_in_another_collection_is_refused(run: Run, folder: Path, fitted: Path) -> None:
    faiss = pytest.importorskip("faiss")
    targets = np.load(folder / "targets.npy")
    index = faiss.index_factory(targets.shape[1], "IDMap2,Flat", faiss.METRIC_INNER_PRODUCT)
    index.add_with_ids(targets, np.arange(len(targets)) + 5_000_000)
    faiss.write_index(index, str(folder / "other.faiss"))
    words = ("search", "photos.unhub", "--queries", "queries.npy", "--store", "faiss://./other.faiss")
    ended = run(*words)
    assert ended.code == 2
    assert "hits is in the correction, so it was probably fitted on another collection" in ended.err
    assert run(*words, "--filter", "[5000001, 5000002]").code == 0
