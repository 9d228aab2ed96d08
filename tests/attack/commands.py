"""Every command that writes, as it is run on a small problem in a folder of its own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FIT = "fit --targets targets.npy --query-bank bank.npy --target-ids ids.txt -o gallery.unhub"
STORE_FIT = "fit --targets faiss://photos.faiss --query-bank bank.npy -o photos.unhub"
EXPORT = "export photos.unhub --to faiss://photos.faiss"


def nothing(folder: Path) -> None:
    """No further files."""


def grow_the_store(folder: Path) -> None:
    """Six more vectors in the store, which the correction has not seen."""
    import faiss
    import numpy as np

    index = faiss.read_index(str(folder / "photos.faiss"))
    index.add_with_ids(np.load(folder / "new_targets.npy"), np.arange(6) + 500)
    faiss.write_index(index, str(folder / "photos.faiss"))


def write_published(folder: Path) -> None:
    """A matrix and a bank in pickles, as authors publish them."""
    from cli.test_examples import write_published as write

    write(folder)


def write_texts_and_model(folder: Path) -> None:
    """Ten texts and a tiny CLIP with random weights."""
    from encode.tiny_models import make_clip

    make_clip(folder / "clip", seed=1)
    (folder / "texts.txt").write_text("".join(f"a red dog runs {at}\n" for at in range(10)))


def write_recent(folder: Path) -> None:
    """Sixty recent queries."""
    import numpy as np

    bank = np.load(folder / "bank.npy")
    moved = np.resize(bank, (60, bank.shape[1])) + np.random.default_rng(7).normal(0, 0.1, (60, bank.shape[1]))
    np.save(folder / "recent.npy", (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32))


def write_lines(folder: Path) -> None:
    """Thirty typed queries."""
    (folder / "typed.txt").write_text("".join(f"a dog that runs {at} miles\n" for at in range(30)))


@dataclass(frozen=True)
class Command:
    """A command that writes: the words, what is run before it, and what else it needs."""

    words: str
    before: tuple[str, ...] = ()
    files: Callable[[Path], None] = nothing
    heavy: bool = False
    """takes seconds: the quick attack kills it at fewer points"""
    ends: tuple[int, ...] = (0,)
    """exit codes of a run that nobody kills"""
    checkpoints: bool = False
    """keeps every round or batch, which otherwise only runs of more than a second do"""


COMMANDS: dict[str, Command] = {
    "fit": Command(FIT, before=(FIT + " --method is",)),
    "fit, checkpoints": Command(FIT + " --iterations 6 --tol 1e-12 --resume", checkpoints=True),
    "evaluate": Command("evaluate --scores scores.npy --relevant relevant.tsv --tau 0.1 -o results.json"),
    "guard in place": Command(
        "guard gallery.unhub --recent recent.npy -o gallery.unhub", before=(FIT,), files=write_recent, ends=(0, 3, 4)
    ),
    "bank": Command("bank typed.txt --encoder unhub.demo.emoji:encode -o typed.npy", files=write_lines, heavy=True),
    "search": Command("search gallery.unhub --queries queries.npy --k 5 -o hits.csv", before=(FIT,)),
    "extend": Command("extend gallery.unhub --targets new_targets.npy -o longer.unhub", before=(FIT,)),
    "extend to a table": Command("extend gallery.unhub --targets new_targets.npy -o bias.csv", before=(FIT,)),
    "extend in place": Command("extend gallery.unhub --targets new_targets.npy -o gallery.unhub", before=(FIT,)),
    "extend without ids": Command(
        "extend gallery.unhub --targets new_targets.npy -o gallery.unhub",
        before=(FIT.replace("--target-ids ids.txt ", ""),),
    ),
    "export": Command(EXPORT, before=(STORE_FIT,)),
    "export again": Command(EXPORT, before=(STORE_FIT, EXPORT)),
    "extend from a store": Command(
        "extend photos.unhub --store faiss://photos.faiss", before=(STORE_FIT, EXPORT), files=grow_the_store
    ),
    "rollback": Command("rollback photos.unhub --to faiss://photos.faiss", before=(STORE_FIT, EXPORT)),
    "import": Command(
        "import --scores test.pkl --bank train=train.pkl --masks masks.pkl -o msrvtt --modality video --trust",
        files=write_published,
    ),
    "sweep": Command("sweep experiment.toml --over iterations --bank val -o sweeps", heavy=True),
    "reproduce": Command("reproduce experiment.toml --table query-aware -o results", heavy=True),
    "report": Command("report experiment.toml -o report.html", heavy=True),
    "encode": Command(
        "encode texts.txt --model ./clip -o vectors.npy --batch 3 --device cpu",
        files=write_texts_and_model,
        heavy=True,
        checkpoints=True,
    ),
}


def enter(folder: Path, home: Path) -> None:
    """Makes this process one that was started in a folder, with a home of its own, which may be shared."""
    os.chdir(folder)
    for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR", "MPLCONFIGDIR", "TORCHINDUCTOR_CACHE_DIR"):
        os.environ[name] = str(home)
    tempfile.tempdir = None


def run_command(words: str | list[str]) -> int:
    """The exit code of a command in this process."""
    from unhub.__main__ import main

    sys.argv = ["unhub", *(words.split() if isinstance(words, str) else words)]
    return main()
