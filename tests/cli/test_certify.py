"""``unhub search --certify`` adds one sentence to its output and one object to its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import split

import numpy as np
import pytest

import unhub

from .conftest import QUERIES, Run, write_index

SEARCH = split("search c.unhub --queries queries.npy --k 3")
URL = "faiss://photos.faiss"


@pytest.fixture(autouse=True)
def fitted(run: Run) -> None:
    run(*split("fit --targets targets.npy --query-bank bank.npy -o c.unhub"))


@pytest.mark.parametrize("error", ["float16", "int8", "0.01"])
def test_the_sentence_stays_out_of_a_table_in_a_pipe(error: str, run: Run) -> None:
    value = float(error) if error == "0.01" else error
    sentence = unhub.load("c.unhub").certify("queries.npy", 3, error=value).sentence
    plain, ended = run(*SEARCH), run(*SEARCH, "--certify", error)
    assert (ended.code, ended.out, ended.err) == (0, plain.out, f"unhub: {sentence}\n")
    written = run(*SEARCH, "--certify", error, "-o", "hits.csv")
    assert (written.out, written.err) == (f"wrote hits.csv: 120 hits of 40 queries\n{sentence}\n", "")


def test_json_has_the_certificate(run: Run) -> None:
    expected = unhub.load("c.unhub").certify("queries.npy", 3, error=0.01).to_dict()
    ended = run(*SEARCH, "--certify", "0.01", "-o", "hits.json", "--json")
    found = json.loads(ended.out)
    assert ended.err == ""
    assert found["certificate"] == expected == json.loads(Path("hits.json").read_text())["certificate"]
    assert len(found["certificate"]["set_certain"]) == QUERIES == len(found["queries"])
    assert "comparison" not in found
    assert "certificate" not in json.loads(run(*SEARCH, "--json").out)


def test_hits_of_a_store_are_compared_with_exact_search(run: Run) -> None:
    run(*split(f"fit --targets {URL} --query-bank bank.npy -o photos.unhub"))
    run("export", "photos.unhub", "--to", URL)
    words = split(f"search photos.unhub --queries queries.npy --k 3 --store {URL} --certify float16 --json")
    found = json.loads(run(*words).out)
    assert found["certificate"]["set_share"] > 0.9
    assert found["comparison"]["sentence"] == ("The index has the 3 best targets of exact search for 40 of 40 queries.")
    assert json.loads(run(*words, "--exact").out).keys() == {
        "schema_version", "correction", "decision", "strength", "queries", "certificate",
    }  # fmt: skip


def test_a_store_that_lost_an_item_is_noticed(run: Run) -> None:
    """The gallery is a file, as it was fitted; the index that is searched has other vectors under two of its ids."""
    Path("numbers.txt").write_text("".join(f"{row + 100}\n" for row in range(40)))
    run(*split("fit --targets targets.npy --target-ids numbers.txt --query-bank bank.npy -o c.unhub"))
    wrong = np.load("targets.npy")
    wrong[:2] *= -1
    write_index(Path("photos.faiss"), wrong)
    found = json.loads(run(*SEARCH, "--store", URL, "--certify", "1e-4", "--json").out)
    same, missed = (np.array(found["comparison"][name]) for name in ("same", "missed"))
    certain = np.array(found["certificate"]["set_certain"])
    assert 0 < missed.sum() <= (~same).sum()
    assert (missed == ~same & certain).all()
    ended = run(*SEARCH, "--store", URL, "--certify", "1e-4", "-o", "hits.csv")
    assert ended.out.endswith("where it missed targets or its scores are further off.\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--certify flaot16", "--certify is 'flaot16'; did you mean float16? Give a number of at least 0 in the unit "
         "of the scores, or one of float32, float16, int8."),
        ("--certify float8", "--certify is 'float8'; did you mean float32? Give a number of at least 0 in the unit "
         "of the scores, or one of float32, float16, int8."),
        ("--certify double", "--certify is 'double'; give a number of at least 0 in the unit of the scores, or one of "
         "float32, float16, int8."),
        ("--certify -1", "--certify is -1.0; give a number of at least 0 in the unit of the scores, or one of float32, "
         "float16, int8."),
        (f"--certify 0.1 --store {URL} --filter [100]", "--certify looks at the whole gallery; leave out --filter."),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(words: str, sentence: str, run: Run) -> None:
    ended = run(*SEARCH, *split(words))
    assert (ended.code, ended.out, ended.err) == (2, "", f"unhub: {sentence}\n")
