"""What cannot be imported is one sentence that says what came and what to do, and nothing is left behind."""

import json
import os
import pickle
import resource
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unhub import InputError
from unhub.experiments.importing import Dump, import_published
from unhub.foundation.wording import on_command_line

RNG = np.random.default_rng(2)
SCORES = RNG.uniform(-1, 1, size=(24, 8)).astype(np.float32)
VECTORS = RNG.normal(size=(24, 5)).astype(np.float32)
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)


def changed(array, where, value):
    made = array.copy()
    made[where] = value
    return made


def padded(rows, value=-np.inf):
    """An array of three dimensions in which these rows are padding."""
    return changed(SCORES[:24].reshape(8, 3, 8), tuple(np.divmod(rows, 3)), value)


FILES: dict[str, Any] = {
    "S.npy": SCORES,
    "square.npy": SCORES[:8],
    "odd.npy": SCORES[:21],
    "turned.npy": SCORES.T,
    "nan.npy": changed(SCORES, ([3, 9], 2), np.nan),
    "inf.npy": changed(SCORES, (4, 2), np.inf),
    "minus_inf.npy": changed(SCORES, (5, 2), -np.inf),
    "all_inf.npy": np.full((8, 8), -np.inf, dtype=np.float32),
    "padded.npy": padded([5, 7]),
    "deep_nan.npy": padded([5, 7], np.nan),
    "deep_wrong.npy": np.zeros((4, 6, 8)),
    "flat.npy": SCORES[0],
    "none.npy": np.empty((0, 8), dtype=np.float32),
    "text.npy": np.array([["a", "b"], ["c", "d"]]),
    "bank.npy": SCORES[:5],
    "narrow.npy": SCORES[:, :7],
    "nan_bank.npy": changed(SCORES, (1, 1), np.nan),
    "cross.npy": SCORES[:5, :6],
    "between.npy": SCORES[:6],
    "q.npy": VECTORS,
    "t.npy": VECTORS[:8],
    "other_dim.npy": VECTORS[:, :4],
    "zero.npy": changed(VECTORS, 6, 0.0),
    "nan_vectors.npy": changed(VECTORS, (2, 0), np.nan),
    "masks.npy": np.ones((7, 3)),
    "grey_masks.npy": np.full(24, 0.5),
    "black_masks.npy": np.zeros(24),
    "gt.npy": np.repeat(np.arange(8), 3),
    "gt_far.npy": np.repeat(np.arange(8), 3) + 2,
    "gt_both.npy": np.minimum(np.arange(24), 8),
    "gt_negative.npy": np.repeat(np.arange(8), 3) - 1,
    "gt_half.npy": np.arange(24) / 4,
    "gt_short.npy": np.arange(7),
    "gt_wide.npy": np.zeros((24, 2)),
    "gt.txt": [f"video{at // 3}" for at in range(24)],
    "ids.txt": [f"v{at}" for at in range(8)],
    "ids_short.txt": [f"v{at}" for at in range(7)],
    "ids_twice.txt": ["v1"] * 8,
    "c.txt": ["a caption"] * 23,
    "c.json": {f"v{at}": ["a"] * (2 if at == 5 else 3) for at in range(8)},
    "c_less.json": {f"v{at}": ["a"] * 3 for at in range(7)},
    "c_numbers.json": [1] * 24,
    "c_odd.json": 5,
    "two.pkl": {"a": SCORES, "b": SCORES},
}


@dataclass(frozen=True)
class Case:
    """What is given, by files of these names, and the words that must come."""

    said: tuple[str, ...]
    given: dict[str, Any] = field(default_factory=dict)


def case(*said, **given):
    return Case(said, given)


VECTORS_GIVEN = {"queries": "q.npy", "targets": "t.npy"}
CASES = [
    case("scores: there is no file 'missing.npy'", scores="missing.npy"),
    case("scores: ", "odd.docx has the unknown extension '.docx'", scores="odd.docx"),
    case("nan.npy has NaN or infinite values in 2 rows (3, 9; rows count from 0)", scores="nan.npy"),
    case("NaN or infinite values in 1 row (4;", scores="inf.npy"),
    case("NaN or infinite values in 1 row (5;", scores="minus_inf.npy"),
    case("NaN or infinite values in 1 row (9;", scores="nan.npy", masks="mask_3.npy"),
    case("holds no scores: every row is -inf", scores="all_inf.npy"),
    case("NaN or infinite values in 2 rows (5, 7;", scores="deep_nan.npy"),
    case("shape (4, 6, 8)", "the first is as long as the last", scores="deep_wrong.npy"),
    case("three dimensions is not transposed", scores="padded.npy", transpose=True),
    case("has shape (8,); give an array of two or three dimensions", scores="flat.npy"),
    case("has shape (0, 8)", "not empty", scores="none.npy"),
    case("holds text", "not numbers", scores="text.npy"),
    case("is cut short", scores="cut.npy"),
    case("is empty (0 bytes)", scores="empty.npy"),
    case("is empty (0 bytes)", scores="empty.pkl", trust=True),
    case("is a folder", scores="folder.npy"),
    case("two.pkl holds several arrays of numbers: a (24, 8), b (24, 8)", scores="two.pkl", trust=True),
    case("two.pkl is a pickle", "--trust", scores="two.pkl"),
    case("c.pkl is a pickle", "--trust", scores="S.npy", captions="c.pkl"),
    case("21 queries do not divide evenly among 8 targets", "--relevant", scores="odd.npy"),
    case("8 queries do not divide evenly among 24 targets", "--transpose", "--relevant", scores="turned.npy"),
    case("bank train, scores: ", "has 7 columns but the test set has 8 targets", scores="S.npy", banks="narrow.npy"),
    case("bank train, scores: ", "NaN or infinite values in 1 row (1;", scores="S.npy", banks="nan_bank.npy"),
    case("bank train has 2 matrices; give one", "or three", scores="S.npy", banks="bank.npy,cross.npy"),
    case(
        "bank train, cross: ", "has 24 rows but bank train, scores has 5 bank queries",
        scores="S.npy", banks="bank.npy,S.npy,between.npy",
    ),
    case(
        "bank train, target_scores: ", "has 5 rows but bank train, cross has 6 bank targets",
        scores="S.npy", banks="bank.npy,cross.npy,bank.npy",
    ),
    case("bank a b", "is no name for a bank", scores="S.npy", banks={"bank a b": ["bank.npy"]}),
    case("a test set is missing", "--scores"),
    case("a test set is missing", queries="q.npy"),
    case("two test sets", scores="S.npy", queries="q.npy"),
    case("--transpose is for scores", **VECTORS_GIVEN, transpose=True),
    case("--scale is for scores", **VECTORS_GIVEN, scale="100"),
    case("scale is 'much'; give auto, or a positive number", scores="S.npy", scale="much"),
    case("scale is '-1'", scores="S.npy", scale="-1"),
    case("scale is 'nan'", scores="S.npy", scale="nan"),
    case("queries: ", "has dimension 4 but targets have 5", queries="other_dim.npy", targets="t.npy"),
    case("bank train, queries: ", "has dimension 4 but targets have 5", **VECTORS_GIVEN, banks="other_dim.npy"),
    case("bank train has 3 files", **VECTORS_GIVEN, banks="q.npy,t.npy,t.npy"),
    case("nothing but zeros in 1 row (6;", queries="zero.npy", targets="t.npy"),
    case("NaN or infinite values in 1 row (2;", queries="nan_vectors.npy", targets="t.npy"),
    case("padded.npy has shape (8, 3, 8); give an array of two dimensions", queries="padded.npy", targets="t.npy"),
    case("masks: ", "has 7 x 3 masks but there are 24 queries", scores="S.npy", masks="masks.npy"),
    case("other values than 0 (no such query) and 1", scores="S.npy", masks="grey_masks.npy"),
    case("masks every query", scores="S.npy", masks="black_masks.npy"),
    case("has numbers from 2 to 9, but there are 8 targets", scores="S.npy", relevant="gt_far.npy"),
    case("has numbers from 0 to 8, but there are 8 targets", scores="S.npy", relevant="gt_both.npy"),
    case("has numbers from -1 to 6, but there are 8 targets", scores="S.npy", relevant="gt_negative.npy"),
    case("has numbers from 0 to 7, but there are 8 targets", scores="S.npy", relevant="gt.npy", first=1),
    case("numbers that are not whole", scores="S.npy", relevant="gt_half.npy"),
    case("has 7 targets but there are 24 queries", scores="S.npy", relevant="gt_short.npy", first=0),
    case("has shape (24, 2); one value for each query", scores="S.npy", relevant="gt_wide.npy"),
    case("no number, such as 'video0'", "--target-ids", scores="S.npy", relevant="gt.txt"),
    case("no number, such as 'video0'", scores="S.npy", relevant="gt.txt", target_ids="ids.txt"),
    case("first is 2", scores="S.npy", relevant="gt.npy", first=2),
    case("--first says where the numbers in --relevant start", scores="S.npy", first=1),
    case("has 7 ids but there are 8 targets", scores="S.npy", target_ids="ids_short.txt"),
    case("has the id 'v1' twice", scores="S.npy", target_ids="ids_twice.txt"),
    case("has 23 captions but there are 24 queries", scores="S.npy", captions="c.txt"),
    case("has captions by id; give --target-ids", scores="S.npy", captions="c.json"),
    case(
        "has 2 captions of 'v5', a target with 3 queries", scores="S.npy", captions="c.json", target_ids="ids.txt"
    ),
    case("has no captions of 'v7'", scores="S.npy", captions="c_less.json", target_ids="ids.txt"),
    case("has 1 for a caption; give text", scores="S.npy", captions="c_numbers.json"),
    case("has 5 for a caption; give text", scores="S.npy", captions="c_odd.json"),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in (FILES | {"mask_3.npy": np.arange(24) != 3}).items():
        if name.endswith(".npy"):
            np.save(name, value)
        elif name.endswith(".txt"):
            Path(name).write_text("".join(f"{line}\n" for line in value))
        else:
            Path(name).write_bytes(json.dumps(value).encode() if name.endswith(".json") else pickle.dumps(value))
    Path("cut.npy").write_bytes(Path("S.npy").read_bytes()[:-40])
    Path("c.pkl").write_bytes(pickle.dumps(["a"] * 24))
    for name in ("empty.npy", "empty.pkl", "odd.docx"):
        Path(name).touch()
    Path("folder.npy").mkdir()
    return tmp_path


@pytest.mark.parametrize("wrong", CASES, ids=lambda each: each.said[-1][:40])
def test_a_mistake_is_one_sentence_and_leaves_nothing(folder, wrong):
    given = dict(wrong.given)
    if isinstance(given.get("banks"), str):
        given["banks"] = {"train": given["banks"].split(",")}
    before = sorted(os.listdir(folder))
    with pytest.raises(InputError) as caught:
        import_published("out", Dump(**given))
    on_terminal = caught.value.sentence(on_command_line)
    assert [each for each in wrong.said if each not in on_terminal] == [], on_terminal
    assert "--" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith((".", "?"))
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("folder_with_things", "is not empty; choose another"),
        ("S.npy", "there is a file of that name"),
        ("no/such/place", "there is no folder"),
        (".", "is not empty"),
    ],
)
def test_the_place_is_looked_at_first(folder, out, said):
    Path("folder_with_things").mkdir()
    Path("folder_with_things/notes.txt").write_text("mine")
    with pytest.raises(InputError, match=said):
        import_published(out, Dump(scores="missing.npy"))
    assert Path("folder_with_things/notes.txt").read_text() == "mine"


def test_the_folder_one_is_in_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="is the folder you are in"):
        import_published(".", Dump(scores="missing.npy"))


def test_an_empty_folder_is_filled(folder):
    Path("out").mkdir()
    assert import_published("out", Dump(scores="S.npy")).experiment.is_file()


def test_an_unknown_modality_has_a_hint(folder):
    with pytest.raises(InputError, match=r"modality is 'vido'; did you mean video\?"):
        import_published("out", Dump(scores="S.npy"), modality="vido")


def test_a_write_that_fails_leaves_nothing(folder):
    """The second matrix does not fit: the first, which did, is gone with it."""
    np.save("large.npy", np.tile(SCORES, (200, 1)))
    before = sorted(os.listdir(folder))
    code = (
        "import resource, sys; from unhub.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))\n"
        "sys.exit(main(['import', '--scores', 'S.npy', '--bank', 'train=large.npy', '-o', 'out']))"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("unhub: cannot use")
    assert sorted(os.listdir(folder)) == before
