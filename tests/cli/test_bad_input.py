"""Bad input ends with exit code 2 and one sentence that says what came and what to do, never with a traceback."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import unhub

from .conftest import BANK, DIM, QUERIES, TARGETS, Run


@dataclass(frozen=True)
class Case:
    """A command that must fail, the words its sentence must have, and what to do to the files before."""

    command: str
    words: tuple[str, ...]
    before: Callable[[Path], None] = lambda folder: None


FIT = "fit --query-bank bank.npy -o out.unhub"
EVALUATE = "evaluate --queries queries.npy --targets targets.npy --relevant relevant.tsv"
MATRIX = "evaluate --scores scores.npy"


def changed(name: str, change: Callable[[np.ndarray], np.ndarray], *, ids: bool = False) -> Callable[[Path], None]:
    """Writes bad.npy: another file with something done to it, and ids beside it if wanted."""

    def write(folder: Path) -> None:
        np.save(folder / "bad.npy", change(np.load(folder / f"{name}.npy")))
        if ids:
            (folder / "bad.ids.txt").write_text("".join(f"item-{row}\n" for row in range(TARGETS)))

    return write


def with_rows(rows: list[int], value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array[rows] = value
        return array

    return change


def text(name: str, lines: list[str]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_text("".join(f"{line}\n" for line in lines))

    return write


def truncated(folder: Path) -> None:
    whole = (folder / "targets.npy").read_bytes()
    (folder / "bad.npy").write_bytes(whole[:-100])


def pickled(folder: Path) -> None:
    np.save(folder / "bad.npy", np.array([[{"a": 1}, None]], dtype=object), allow_pickle=True)


def pickle_file(folder: Path) -> None:
    (folder / "bad.pkl").write_bytes(pickle.dumps([[1.0]]))


def fitted(folder: Path) -> None:
    unhub.fit("sn", targets=folder / "targets.npy", query_bank=folder / "bank.npy", tau="auto").save(folder / "c.unhub")


def damaged(folder: Path) -> None:
    fitted(folder)
    whole = bytearray((folder / "c.unhub").read_bytes())
    whole[-5] ^= 0xFF
    (folder / "c.unhub").write_bytes(whole)


def cut(folder: Path) -> None:
    fitted(folder)
    whole = (folder / "c.unhub").read_bytes()
    (folder / "c.unhub").write_bytes(whole[: len(whole) // 2])


def fitted_on_another(folder: Path) -> None:
    fitted(folder)
    changed("targets", lambda array: array[[1, 0, *range(2, TARGETS)]])(folder)


def on_its_side(folder: Path) -> None:
    changed("scores", lambda array: array[:30])(folder)
    np.save(folder / "rows.npy", np.arange(TARGETS) % 30)


CASES = {
    "NaN rows": Case(
        f"{FIT} --targets bad.npy",
        ("targets has NaN or infinite values in 2 rows (rows 3, 5)", "embed them again"),
        changed("targets", with_rows([3, 5], np.nan)),
    ),
    "infinite rows": Case(
        f"{FIT} --targets bad.npy", ("NaN or infinite", "row 7"), changed("targets", with_rows([7], np.inf))
    ),
    "NaN scores": Case(
        "evaluate --scores bad.npy --relevant diagonal",
        ("scores has NaN", "row 2"),
        changed("scores", with_rows([2], np.nan)),
    ),
    "zero vectors": Case(
        f"{FIT} --targets bad.npy",
        ("1 zero vector", "'item-4'"),
        changed("targets", with_rows([4], 0.0), ids=True),
    ),
    "dimension": Case(
        "fit --targets targets.npy --query-bank bad.npy -o out.unhub",
        ("--query-bank has dimension 5 but --targets has 16", "same model"),
        changed("bank", lambda array: array[:, :5]),
    ),
    "empty bank": Case(
        "fit --targets targets.npy --query-bank bad.npy -o out.unhub",
        ("--query-bank", "(0, 16)"),
        changed("bank", lambda array: array[:0]),
    ),
    "tau of zero": Case(f"{FIT} --targets targets.npy --tau 0", ("tau is 0.0", "positive")),
    "tau below zero": Case(f"{EVALUATE} --tau=-0.1", ("tau is -0.1", "positive")),
    "tau is a word": Case(f"{EVALUATE} --tau warm", ("tau is 'warm'", "auto")),
    "tau below the precision": Case(
        f"{FIT} --targets targets.npy --tau 1e-9", ("--tau is 1e-09", "float32", "--tau auto")
    ),
    "not of unit length": Case(
        f"{FIT} --targets bad.npy",
        ("not of unit length", "from 3 to 3", "--normalize", "--metric ip"),
        changed("targets", lambda array: 3 * array),
    ),
    "number of ids": Case(
        f"{FIT} --targets targets.npy --target-ids few.txt",
        (f"targets has {TARGETS} rows but there are 2 ids",),
        text("few.txt", ["a", "b"]),
    ),
    "unknown ids": Case(
        f"{EVALUATE} --target-ids ids.txt --relevant pairs.tsv",
        ("names 1 target ids that are not among those", "'item-99'"),
        text("pairs.tsv", ["0\titem-0", "1\titem-99"]),
    ),
    "ids that repeat": Case(
        f"{FIT} --targets targets.npy --target-ids twice.txt",
        ("not unique", "'same'"),
        text("twice.txt", ["same"] * TARGETS),
    ),
    "relevance from one": Case(
        f"{MATRIX} --relevant bad.npy",
        (
            f"--relevant names target {TARGETS} for query {TARGETS - 1}, but the gallery has",
            "looks 1-based",
            "subtract 1.",
        ),
        lambda folder: np.save(folder / "bad.npy", np.arange(1, QUERIES + 1)),
    ),
    "relevance from one, text": Case(
        f"{MATRIX} --relevant rows.tsv",
        (
            f"--relevant names target {TARGETS} for query {TARGETS - 1}, but the gallery has",
            "looks 1-based",
            "subtract 1.",
        ),
        text("rows.tsv", [f"{row}\t{row + 1}" for row in range(QUERIES)]),
    ),
    "float16 infinities": Case(
        f"{FIT} --targets bad.npy",
        ("float16 ends at 65504", "rows 0, 1", "float32"),
        changed("targets", lambda array: with_rows([0, 1], np.inf)(array.astype(np.float16))),
    ),
    "unknown extension": Case(
        f"{FIT} --targets bad.xyz", ("unknown extension '.xyz'", ".npy"), text("bad.xyz", ["1 2 3"])
    ),
    "truncated": Case(f"{FIT} --targets bad.npy", ("cut short", "bytes expected but", "found"), truncated),
    "pickled objects": Case(f"{FIT} --targets bad.npy", ("bad.npy", "pickle"), pickled),
    "a pickle": Case(f"{FIT} --targets bad.pkl", ("is a pickle", "never read"), pickle_file),
    "logits": Case(
        "evaluate --scores bad.npy --relevant diagonal --tau 1e-6",
        ("--tau is 1e-06, but float32 scores up to", "cannot be told apart", "--tau auto"),
        changed("scores", lambda array: 100 * array),
    ),
    "transposed": Case(
        "evaluate --scores bad.npy --relevant rows.npy",
        (f"30 queries and {TARGETS} targets", f"has {TARGETS} entries, one for each target", "transposed"),
        on_its_side,
    ),
    "test queries in the bank": Case(
        f"{EVALUATE} --query-bank queries.npy", (f"{QUERIES} of {QUERIES} test queries are also in", "--allow-overlap")
    ),
    "no bias": Case(f"{FIT} --targets targets.npy --method otn", ("otn is not a bias", "evaluation", "sn")),
    "needs a target bank": Case(f"{FIT} --targets targets.npy --method dbsn", ("dbsn needs", "--target-bank")),
    "another gallery": Case(
        "search c.unhub --queries queries.npy --targets bad.npy",
        ("fitted on another gallery", f"2 of {TARGETS} vectors differ", "0, 1"),
        fitted_on_another,
    ),
    "a longer gallery": Case(
        "search c.unhub --queries queries.npy --targets bank.npy",
        (f"of {TARGETS} targets but --targets has {BANK}",),
        fitted,
    ),
    "unknown method": Case(f"{EVALUATE} --methods none,sm", ("no method 'sm'", "sn", "dbsn")),
    "unknown measure": Case(f"{EVALUATE} --metrics R@1,recal@5", ("no metric 'recal@5'", "recall@5")),
    "unknown similarity": Case(f"{EVALUATE} --metric l2", ("metric is 'l2'", "cosine", "ip")),
    "unknown direction": Case(f"{EVALUATE} --direction up", ("direction is 'up'", "forward")),
    "unknown ties": Case(f"{EVALUATE} --ties random", ("'random'", "average")),
    "unknown format": Case(f"{EVALUATE} --format pdf", ("format is 'pdf'", "latex")),
    "unknown hyper-parameter": Case(f"{FIT} --targets targets.npy --alpha 1", ("sn has no hyper-parameter --alpha",)),
    "memory": Case(f"{FIT} --targets targets.npy --memory much", ("memory is 'much'", "64MB")),
    "weights": Case(
        f"{FIT} --targets targets.npy --query-weight w.txt",
        (f"--query-weight has shape (2,) but there are {BANK} bank queries",),
        text("w.txt", ["1", "2"]),
    ),
    "weights that are words": Case(
        f"{FIT} --targets targets.npy --target-prior w.txt",
        ("--target-prior", "not a number"),
        text("w.txt", ["heavy"]),
    ),
    "scores and vectors": Case(f"{EVALUATE} --scores scores.npy", ("came together", "not both")),
    "nothing to evaluate": Case("evaluate --relevant diagonal", ("queries is missing", "--scores")),
    "no answers": Case("evaluate --scores scores.npy", ("relevant is missing", "--relevant")),
    "no diagonal": Case(
        "evaluate --queries queries.npy --targets bank.npy --relevant diagonal",
        ("diagonal", f"{QUERIES} queries and {BANK} targets"),
    ),
    "no labels": Case(f"{MATRIX} --relevant labels:a.txt,b.txt", ("query labels", "no file 'a.txt'")),
    "comparison without R@1": Case(f"{EVALUATE} --compare --metrics MnR", ("--compare", "R@1")),
    "no file": Case(f"{FIT} --targets target.npy", ("no file 'target.npy'", "did you mean", "targets.npy")),
    "a folder": Case(f"{FIT} --targets sub", ("is a folder",), lambda folder: (folder / "sub").mkdir()),
    "folder of the output": Case(
        "fit --targets targets.npy --query-bank bank.npy -o no/where/out.unhub", ("there is no folder no/where",)
    ),
    "output is a folder": Case(
        "fit --targets targets.npy --query-bank bank.npy -o sub.unhub",
        ("it is a folder",),
        lambda folder: (folder / "sub.unhub").mkdir(),
    ),
    "ending of the output": Case(f"{EVALUATE} -o results.docx", ("'.docx'", ".json", ".tex")),
    "ending of a correction": Case(
        "fit --targets targets.npy --query-bank bank.npy -o out.npy", ("'.npy'", "writes .unhub")
    ),
    "output is an input": Case(
        "extend c.unhub --targets new_targets.npy -o new_targets.npy", ("also an input", "overwritten"), fitted
    ),
    "no correction": Case("search c.unhub --queries queries.npy", ("no file c.unhub", "unhub fit")),
    "damaged correction": Case("search c.unhub --queries queries.npy", ("c.unhub", "damaged", "fit again"), damaged),
    "cut correction": Case("extend c.unhub --targets new_targets.npy", ("c.unhub", "not a whole", "fit again"), cut),
    "not a correction": Case("search targets.npy --queries queries.npy", ("targets.npy", "correction")),
    "no hits": Case("search c.unhub --queries queries.npy --k 0", ("k is 0", "at least 1"), fitted),
    "extend by nothing": Case("extend c.unhub", ("--targets", "--scores"), fitted),
    "check of nothing": Case("check", ("needs files",)),
    "no demo of that name": Case("demo weather", ("no demo 'weather'", "emoji")),
    "unknown command": Case("fti", ("no such command 'fti'", "unhub --help")),
    "unknown flag": Case(f"{FIT} --tua 1", ("no such option", "--tua", "--tau", "unhub fit --help")),
    "missing flag": Case("fit --targets targets.npy", ("missing option", "--output", "unhub fit --help")),
    "not a whole number": Case(f"{FIT} --targets targets.npy --iterations many", ("'--iterations'", "integer")),
}


AS_A_PROCESS = (
    "NaN rows", "zero vectors", "dimension", "tau below the precision", "not of unit length", "truncated", "a pickle",
    "logits", "transposed", "no bias", "another gallery", "damaged correction", "folder of the output",
    "unknown command", "unknown flag",
)  # fmt: skip
"""cases that are also tried as a user does, in a process of its own, which takes its time"""


@pytest.mark.parametrize("name", CASES)
def test_a_sentence_and_exit_code_2(name: str, run: Run, folder: Path) -> None:
    refused(CASES[name], run, folder)


@pytest.mark.parametrize("name", AS_A_PROCESS)
def test_a_sentence_and_exit_code_2_of_a_process(name: str, shell: Run, folder: Path) -> None:
    refused(CASES[name], shell, folder)


def refused(case: Case, run: Run, folder: Path) -> None:
    case.before(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    ended = run(*case.command.split())
    assert ended.code == 2, ended
    assert ended.err.startswith("unhub: ")
    assert ended.err.count("\n") == 1
    assert ended.err.endswith("\n")
    assert "Traceback" not in ended.err
    assert ended.out == ""
    assert [word for word in case.words if word not in ended.err] == [], ended.err
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_missing_package_is_named_with_its_pip_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad.h5").write_bytes(b"not empty")
    monkeypatch.setitem(sys.modules, "h5py", None)
    ended = run(*FIT.split(), "--targets", "bad.h5")
    assert ended.code == 2
    assert ended.err.startswith("unhub: ")
    assert "pip install 'unhub[files]'" in ended.err
    assert ended.err.count("\n") == 1


def test_numbers_of_the_sentences_are_those_of_the_files(run: Run) -> None:
    ended = run(*EVALUATE.split(), "--target-bank", "scores.npy")
    assert f"--target-bank has dimension {TARGETS} but --targets has {DIM}" in ended.err
