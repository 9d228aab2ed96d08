"""Damaged files: cut at many lengths, bytes flipped. The answer is a sentence or a matrix, never another error."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import numpy as np
import pytest

from unhub.foundation import probing
from unhub.foundation.errors import InputError
from unhub.io import open_rows, read_ids, read_relevance

CUTS = 25
FLIPS = 40
IN_A_CHILD = {"hdf5", "hdf5 group", "matlab hdf5"}  # each try starts a process, so there are fewer
HEADER = 512
ENDINGS = ["npy", "npz", "safetensors", "pt", "parquet", "arrow", "h5", "mat"]
NEEDED = {"pt": "torch", "parquet": "pyarrow", "arrow": "pyarrow", "h5": "h5py"}


def outcome(path: Path) -> str:
    """What became of the file; anything but these two is an exception and fails the test."""
    try:
        block = open_rows(path, name="targets")[:]
    except InputError as error:
        told = str(error)
        assert told.startswith("targets")
        assert "\n" not in told
        return "refused"
    assert type(block) is np.ndarray
    assert block.ndim == 2
    return "read"


def files_of(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())


def test_cut_files_are_refused(stored):
    """A cut zarr array may miss nothing but a chunk's checksum or its fill values, so it may also be read."""
    for part in files_of(stored.path):
        whole = part.read_bytes()
        cuts = CUTS // 5 if stored.kind in IN_A_CHILD else CUTS
        lengths = sorted({0, 1, 7, 8, 100, len(whole) - 1, *np.linspace(0, len(whole) - 1, cuts, dtype=int).tolist()})
        for length in lengths:
            if length < len(whole):
                part.write_bytes(whole[:length])
                assert outcome(stored.path) == "refused" or stored.kind in ("zarr", "matlab 4"), length
        part.write_bytes(whole)
    assert outcome(stored.path) == "read"


@pytest.mark.parametrize("seed", range(2))
def test_flipped_bytes(stored, seed, monkeypatch):
    """At the beginning and the end, where headers and footers are."""
    monkeypatch.setattr(probing, "SECONDS", 2.0)  # the HDF5 library can loop for ever in a damaged heap of text
    flip = random.Random(seed)
    for part in files_of(stored.path):
        whole = part.read_bytes()
        for _ in range(FLIPS // 5 if stored.kind in IN_A_CHILD else FLIPS):
            data = bytearray(whole)
            places = [flip.randrange(min(HEADER, len(data))), len(data) - 1 - flip.randrange(min(HEADER, len(data)))]
            for place in flip.choice([places[:1], places[1:], places]):
                data[place] = flip.choice([0, 255, data[place] ^ (1 << flip.randrange(8)), flip.randrange(256)])
            part.write_bytes(data)
            outcome(stored.path)
        part.write_bytes(whole)
    assert outcome(stored.path) == "read"


@pytest.mark.parametrize("ending", ENDINGS)
def test_noise(tmp_path, ending):
    pytest.importorskip(NEEDED.get(ending, "numpy"))
    path = tmp_path / f"x.{ending}"
    for seed in range(5):
        path.write_bytes(np.random.default_rng(seed).bytes(10 ** (seed % 5)))
        assert outcome(path) == "refused"


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_a_file_of_another_format(store, ending):
    """The wrong extension is the commonest damage."""
    pytest.importorskip(NEEDED.get(ending, "numpy"))
    original = store("npy")
    path = original.with_name(f"y.{ending}")
    path.write_bytes(original.read_bytes())
    assert outcome(path) == "refused"


@pytest.mark.parametrize("ending", ["tsv", "csv", "txt", "json", "qrels"])
def test_text_files_of_noise(tmp_path, ending):
    whole = b'{"query": ["target", 1], "b": {"c": 2}}' if ending == "json" else b"query,target\n0,1\n1\t0\t2\n"
    flip, path = random.Random(0), tmp_path / f"x.{ending}"
    for _ in range(100):
        data = bytearray(whole)
        for _ in range(flip.randrange(1, 6)):
            data[flip.randrange(len(data))] = flip.randrange(256)
        path.write_bytes(data[: flip.randrange(len(data)) + 1])
        for read in (read_ids, lambda source: read_relevance(source, queries=2, targets=2)):
            with contextlib.suppress(InputError):
                read(path)
