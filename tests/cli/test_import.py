"""``unhub import``: what it prints and refuses, and that what it makes is ready for the next command."""

from __future__ import annotations

import json
import os
import pickle
import shlex
from pathlib import Path

import numpy as np
import pytest

from .conftest import QUERIES, TARGETS, Run, plain


@pytest.fixture
def dump(folder: Path) -> Path:
    """Logits in a pickle, on their side, and a bank like it."""
    for name in ("scores", "bank_scores"):
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(100 * np.load(folder / f"{name}.npy").T))
    return folder


WORDS = ["--scores", "scores.pkl", "--bank", "val=bank_scores.pkl", "--transpose", "--trust", "-o", "my set"]


def test_what_was_done_is_told_and_the_next_command_runs(run: Run, dump: Path) -> None:
    ended = run("import", *WORDS, "--name", "Small", "--model", "made")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[:2] == ["Small, made", f"{QUERIES} queries, {TARGETS} targets"]
    assert "were divided by 100 (CLIP's scale)" in lines[2]
    assert lines[3] == "query i belongs to target i"
    assert plain(ended.out)
    assert lines[-1] == "next: unhub check 'my set/experiment.toml'"
    checked = run(*shlex.split(lines[-1].removeprefix("next: "))[1:])
    assert checked.code == 0
    following = checked.out.splitlines()[-1]
    assert following.startswith("next: unhub reproduce ")
    assert run("reproduce", "my set/experiment.toml", "--table", "banks", "--table", "query-aware").code == 0
    first = []
    for scores in ("scores.npy", "my set/test_scores.npy"):
        words = ["--scores", scores, "--relevant", "diagonal", "--methods", "none,sn", "--tau", "0.1", "--json"]
        told = json.loads(run("evaluate", *words).out)["methods"]
        first.append([told[name]["R@1"] for name in ("none", "sn")])
    assert first[0] == first[1]


def test_json_says_the_same(run: Run, dump: Path) -> None:
    told = json.loads(run("import", *WORDS, "--json").out)
    assert told["schema_version"] == 1
    assert told["experiment"] == str(dump / "my set" / "experiment.toml")
    assert (told["queries"], told["targets"], told["left_out"], told["divided_by"]) == (QUERIES, TARGETS, 0, 100.0)
    assert told["parts"]["banks.val.scores"] == {
        "file": "bank_val_scores.npy",
        "shape": [300, TARGETS],
        "source": str(dump / "bank_scores.pkl"),
    }
    assert len(told["said"]) == 2
    assert told["settings"] == {}


def test_scores_that_are_no_cosines_get_a_temperature(run: Run, dump: Path) -> None:
    told = json.loads(run("import", *WORDS, "--scale", "1", "--json").out)
    assert (told["divided_by"], told["settings"]) == (1.0, {"tau": "auto"})
    assert run("reproduce", "my set/experiment.toml").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--scores scores.pkl -o out", "scores.pkl is a pickle"),
        (
            "--scores scores.npy --bank bank_scores.npy -o out",
            "--bank is 'bank_scores.npy'; write NAME=FILES",
        ),
        ("--scores scores.npy --bank val= -o out", "--bank is 'val='"),
        ("--scores scores.npy --bank v=scores.npy --bank v=scores.npy -o out", "--bank v appears twice"),
        ("--scores scores.npy --bank val=targets.npy -o out", "bank val, scores: "),
        ("--scores scores.npy --first 3 --relevant relevant.tsv -o out", "first is 3"),
        ("--scores scores.npy --scale many -o out", "scale is 'many'"),
        ("--scores scores.npy --modality smell -o out", "--modality is 'smell'; choose image, video, audio."),
        ("--scores scores.npy -o targets.npy", "there is a file of that name"),
        ("--scores scores.npy", "missing option"),
        ("-o out", "a test set is missing"),
    ],
)
def test_mistakes_are_one_sentence_and_nothing_is_written(run: Run, dump: Path, words: str, said: str) -> None:
    before = sorted(os.listdir(dump))
    ended = run("import", *words.split())
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.startswith("unhub: ")
    assert ended.err.count("\n") == 1
    assert sorted(os.listdir(dump)) == before


class Harm:
    """Pickles as a command that makes a file."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, ("echo done > harm.txt",)


@pytest.mark.parametrize("trust", [[], ["--trust"]])
def test_a_pickle_that_would_do_harm_does_none(shell: Run, folder: Path, trust: list[str]) -> None:
    value = {"sims": np.load(folder / "scores.npy"), "extra": Harm()}
    (folder / "bad.pkl").write_bytes(pickle.dumps(value))
    np.save(folder / "bad.npy", np.array(value), allow_pickle=True)
    for name in ("bad.pkl", "bad.npy"):
        ended = shell("import", "--scores", name, "-o", "out", *trust)
        assert (ended.code, ended.out) == (2, "")
        assert ("system, which is neither" if trust else "--trust") in ended.err
        assert ended.err.count("\n") == 1
    assert not (folder / "harm.txt").exists()
    assert not (folder / "out").exists()
    pickle.loads((folder / "bad.pkl").read_bytes())
    assert Path("harm.txt").exists(), "it does, where it is opened without care"
