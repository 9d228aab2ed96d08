"""Every kind of file that is read: how a good one is written, how it is changed, and how it is read."""

from __future__ import annotations

import importlib.util
import json
import pickle
import random
import sys
import tomllib
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from attack import numbers, structures
from attack.commands import run_command

Change = Callable[[bytes, random.Random], tuple[str, bytes]]
SMALL = 64 << 20
"""a matrix of as many bytes is read whole; of a larger one, its first and its last rows"""

PROBE = "probing.py"
"""the file that asks a child with limits; a MemoryError that it passes on has cost this process nothing"""

TOML = """[dataset]
name = "Small"
model = "made"
directions = ["t2i", "i2t"]
metrics = ["R@1"]
[test]
queries = "queries.npy"
targets = "targets.npy"
relevant = "relevant.tsv"
target_ids = "ids.txt"
[settings]
tau = 0.1
iterations = 5
memory = "64MB"
seed = 0
"""


def io_writers() -> ModuleType:
    """``tests/io/conftest.py``, whose folder has the name of a module of Python's own."""
    spec = importlib.util.spec_from_file_location("io_writers", Path(__file__).parents[1] / "io" / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_matrix(path: Path, part: str) -> None:
    """Opens a matrix as every command does, with its ids, and reads it."""
    from unhub.io import open_rows

    rows = open_rows(f"{path}{part}", name="targets")
    if rows.shape[0] * rows.shape[1] * 8 <= SMALL:
        block = rows[:]
        assert isinstance(block, np.ndarray)
        assert block.ndim == 2
    else:
        rows[:10], rows[rows.shape[0] - 10 : rows.shape[0]]


def read_id_list(path: Path, part: str) -> None:
    """Reads ids, and the same file as judgements."""
    from unhub.io import read_ids

    read_ids(path)


def read_judgements(path: Path, part: str) -> None:
    """Reads judgements of 40 queries over 40 targets."""
    from unhub.io import read_relevance

    read_relevance(path, queries=40, targets=40)


def read_correction(path: Path, part: str) -> None:
    """Loads a correction file."""
    import unhub

    unhub.load(path)


def command(words: str) -> Callable[[Path, str], int]:
    """Reads by a command, since nothing smaller reads such a file."""
    return lambda path, part: run_command(words.format(path=path).split())


def raw(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Numbers of a binary file changed, or the file cut."""
    return numbers.changed(data, rng) if rng.random() < 0.85 else numbers.cut(data, rng)


def header(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Numbers of a short header changed: the rest of the file is vectors, of which any are good."""
    return numbers.changed(data, rng, ends=96)


def either(first: Change) -> Change:
    """Mostly a change that knows the structure, now and then one that does not."""
    return lambda data, rng: first(data, rng) if rng.random() < 0.75 else raw(data, rng)


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    file: str
    write: Callable[[Path], None]
    change: Change
    read: Callable[[Path, str], int | None] = read_matrix
    part: str = ""


def write_text(text: str) -> Callable[[Path], None]:
    """A writer of a text."""

    def write(path: Path) -> None:
        path.write_text(text)

    return write


def write_faiss(path: Path) -> None:
    """A flat index."""
    from cli.conftest import write_index

    write_index(path, np.load(path.with_name("targets.npy")))


def write_pickle(path: Path) -> None:
    """A matrix as authors publish it."""
    path.write_bytes(pickle.dumps({"scores": np.load(path.with_name("scores.npy"))}))


def write_correction(path: Path) -> None:
    """A small correction."""
    import unhub

    unhub.fit("sn", targets=path.with_name("targets.npy"), query_bank=path.with_name("bank.npy"), tau=0.1).save(path)


def write_zarr_2(path: Path) -> None:
    """A zarr folder of format 2."""
    import zarr

    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    array = group.create_array("vectors", shape=(60, 4), dtype="float32", chunks=(16, 4))
    array[:] = np.ones((60, 4), np.float32)


def toml(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """An experiment with one value replaced."""
    return structures.toml_text(tomllib.loads(data.decode()), rng)


def kinds() -> dict[str, Kind]:
    """Every kind by name."""
    change: dict[str, Change] = {
        "npy": structures.npy,
        "npz": structures.npz,
        "npz compressed": structures.npz,
        "safetensors": structures.safetensors,
        "zarr": structures.zarr_metadata,
    }
    made = {
        name: Kind(file, write, either(change[name]) if name in change else raw, part=part)
        for name, (file, part, write) in io_writers().WRITERS.items()
    }
    names = "\n".join(f"item-{row}" for row in range(40))
    pairs = "\n".join(f"{row}\t{row}\t1" for row in range(40))
    relevant = json.dumps({str(row): [row, (row + 1) % 40] for row in range(40)})
    asked = "check --queries queries.npy --targets targets.npy"
    return made | {
        "zarr 2": Kind("x.zarr", write_zarr_2, either(structures.zarr_metadata), part="::vectors"),
        "unhub": Kind("x.unhub", write_correction, either(structures.safetensors), read_correction),
        "ids txt": Kind("x.txt", write_text(names), structures.lines, read_id_list),
        "ids csv": Kind("x.csv", write_text(names.replace("-", ",")), structures.lines, read_id_list),
        "ids json": Kind("x.json", write_text(json.dumps(names.split())), structures.json_text, read_id_list),
        "relevance tsv": Kind("x.tsv", write_text(pairs), structures.lines, read_judgements),
        "relevance csv": Kind("x.csv", write_text(pairs.replace("\t", ",")), structures.lines, read_judgements),
        "relevance qrels": Kind("x.qrels", write_text(pairs), structures.lines, read_judgements),
        "relevance json": Kind("x.json", write_text(relevant), structures.json_text, read_judgements),
        "experiment toml": Kind("x.toml", write_text(TOML), toml, command("check {path}")),
        "experiment yaml": Kind(
            "x.yaml", write_text(json.dumps(tomllib.loads(TOML))), structures.json_text, command("check {path}")
        ),
        "ids in a command": Kind(
            "x.txt", write_text(names), structures.lines, command(f"{asked} --target-ids {{path}}")
        ),
        "pickle with --trust": Kind("x.pkl", write_pickle, raw, command("import --scores {path} -o made --trust")),
        "faiss": Kind(
            "x.faiss", write_faiss, header, command("fit --targets faiss://{path} --query-bank bank.npy -o made.unhub")
        ),
    }


def told(read: Callable[[Path, str], int | None], path: Path, part: str) -> int:
    """Reads in this process; a sentence goes to stderr with exit code 2, as from a command."""
    from unhub.foundation.errors import UnhubError

    try:
        return read(path, part) or 0
    except UnhubError as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, MemoryError) and PROBE not in traceback.extract_tb(cause.__traceback__)[-1].filename:
                sys.stderr.write("asked for more memory than there is\n")
                return 4
            cause = cause.__cause__ or cause.__context__
        sys.stderr.write(f"unhub: {error}\n")
        return 2


def files_of(path: Path) -> list[Path]:
    """The file, or every file of a folder."""
    return [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())


def change_one(kind: Kind, path: Path, rng: random.Random) -> tuple[str, Any]:
    """Changes one file of what was written: what was done, and how to undo it."""
    file = rng.choice(files_of(path))
    whole = file.read_bytes()
    binary = path.is_dir() and not file.name.endswith((".json", ".zarray", ".zgroup", ".zattrs"))
    try:
        what, data = (raw if binary else kind.change)(whole, rng)
    except (ValueError, KeyError, IndexError, TypeError):  # a file without anything to replace
        what, data = raw(whole, rng)
    file.write_bytes(data)
    return f"{file.name}: {what}", lambda: file.write_bytes(whole)
