"""Only regular files are opened: a pipe, a device, a socket or a link to one is refused at once, never waited for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

CHILD = """
import sys
import unhub
from unhub.dataset.experiment_file import read_experiment
from unhub.experiments.importing.reading import Opener
from unhub.io import open_rows, read_ids, read_numbers, read_relevance, relevance_from_labels
import numpy as np

eye = np.eye(3, dtype=np.float32)
readers = {
    "rows": lambda path: open_rows(path, name="targets"),
    "ids": lambda path: read_ids(path),
    "numbers": lambda path: read_numbers(path, name="weight"),
    "relevance": lambda path: read_relevance(path, queries=2, targets=2),
    "labels": lambda path: relevance_from_labels(path, path),
    "experiment": read_experiment,
    "import": lambda path: Opener(trust=True).array(path, "scores"),
    "import texts": lambda path: Opener(trust=True).texts(path, "captions"),
    "checkpoint": lambda path: unhub.fit("sn", targets=eye, query_bank=eye[::-1], checkpoint=path),
}
for line in sys.stdin:
    reader, path = line.rstrip("\\n").split("\\t")
    try:
        readers[reader](path)
        print(reader, path, "was read")
    except unhub.InputError as error:
        told = str(error)
        if "is not a regular file; give a file on disk." not in told and "has the unknown extension" not in told:
            print(reader, path, told)
print("done")
"""

ENDINGS = ["npy", "npz", "safetensors", "unhub", "pt", "parquet", "arrow", "h5", "mat", "txt", "json", "csv", "qrels"]
CASES = [(reader, ending) for reader in ("rows", "ids", "numbers", "relevance", "labels") for ending in ENDINGS]
CASES += [("experiment", "toml"), ("experiment", "yaml"), ("import", "npy"), ("import", "pkl"), ("import", "npz")]
CASES += [("import texts", "txt"), ("import texts", "json"), ("checkpoint", "part")]


def make(kind, path):
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    else:
        path.symlink_to({"link to a pipe": path.with_name("pipe"), "endless": "/dev/zero"}[kind])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    """All in one process, which the time limit would end if one of them were waited for."""
    asked = []
    for kind in ("pipe", "socket", "link to a pipe", "endless"):
        folder = tmp_path / kind.replace(" ", "_")
        folder.mkdir()
        os.mkfifo(folder / "pipe")
        for reader, ending in CASES:
            path = folder / f"x.{ending}"
            if not os.path.lexists(path):
                make(kind, path)
            asked.append(f"{reader}\t{path}\n")
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input="".join(asked), capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "done\n", done


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_ids_beside_a_file_are_not_read_from_a_pipe(store):
    from unhub.io import open_rows

    path = store("npy")
    for ending in (".ids.txt", ".ids.json", ".ids.npy"):
        path.with_suffix(ending).unlink(missing_ok=True)
        os.mkfifo(path.with_suffix(ending))
    assert open_rows(path, name="targets").ids is None


def test_a_folder_that_becomes_a_pipe_after_it_was_looked_at(tmp_path, monkeypatch):
    """What was opened is looked at again."""
    from unhub.foundation import regular_files
    from unhub.foundation.errors import InputError

    plain, pipe = tmp_path / "x.txt", tmp_path / "pipe"
    plain.write_text("a")
    os.mkfifo(pipe)
    seen = os.stat(plain)
    monkeypatch.setattr(regular_files.os, "stat", lambda path: seen)
    with pytest.raises(InputError, match=r"^ids: .*pipe is not a regular file; give a file on disk\.$"):
        regular_files.open_regular(pipe, name="ids")
