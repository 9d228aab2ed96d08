"""A zarr folder from someone else: codecs that run code, arrays that fill the memory, links that lead outside."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from unhub.io import limits as limits_module
from unhub.io import open_rows, zarr_folder

pytest.importorskip("zarr")
MATRIX = np.arange(8, dtype="<f4").reshape(4, 2)


def version_2(folder: Path, data: bytes = MATRIX.tobytes(), **changes) -> Path:
    folder.mkdir(parents=True)
    described = {
        "zarr_format": 2, "shape": [4, 2], "chunks": [4, 2], "dtype": "<f4", "compressor": None, "filters": None,
        "fill_value": 0, "order": "C", **changes,
    }  # fmt: skip
    (folder / ".zarray").write_text(json.dumps(described))
    (folder / ".".join("0" for _ in described["shape"])).write_bytes(data)
    return folder


def version_3(folder: Path, codecs: list, data: bytes = MATRIX.tobytes(), **changes) -> Path:
    (folder / "c" / "0").mkdir(parents=True)
    described = {
        "zarr_format": 3, "node_type": "array", "shape": [4, 2], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": codecs, "attributes": {}, **changes,
    }  # fmt: skip
    (folder / "zarr.json").write_text(json.dumps(described))
    (folder / "c" / "0" / "0").write_bytes(data)
    return folder


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self):
        return open, (self.mark, "w")


BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
SHARDS = {
    "name": "sharding_indexed",
    "configuration": {"chunk_shape": [4, 2], "codecs": [{"name": "numcodecs.pickle"}], "index_codecs": [BYTES]},
}


@pytest.mark.parametrize(
    "written",
    [
        lambda folder, trap: version_2(folder, trap, filters=[{"id": "pickle"}]),
        lambda folder, trap: version_2(folder, trap, compressor={"id": "pickle"}),
        lambda folder, trap: version_2(folder, trap, dtype="|O", filters=[{"id": "vlen-utf8"}, {"id": "pickle"}]),
        lambda folder, trap: version_3(folder, [BYTES, {"name": "numcodecs.pickle"}], trap),
        lambda folder, trap: version_3(folder, ["numcodecs.pickle"], trap),
        lambda folder, trap: version_3(folder, [SHARDS], trap),
    ],
)
def test_a_codec_that_runs_code_is_named_and_never_run(tmp_path, sentence, monkeypatch, written):
    """numcodecs itself would run it here: it is told to, as its older versions always did."""
    pickles = pytest.importorskip("numcodecs.pickles")
    monkeypatch.setattr(pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    path = written(tmp_path / "x.zarr", pickle.dumps(Trap(tmp_path / "ran")))
    assert sentence(open_rows, path, name="targets").startswith(
        "targets: x.zarr has an array that is written with the codec 'pickle', which is never read, since a codec can "
        "run code; write it again with one of these: adler32, astype, "
    )
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("summary", [False, True])
def test_ids_of_a_group_are_looked_at_too(tmp_path, sentence, monkeypatch, summary):
    """And a summary that calls them harmless, or not, is not read."""
    pickles = pytest.importorskip("numcodecs.pickles")
    monkeypatch.setattr(pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    group = tmp_path / "x.zarr"
    version_2(group / "vectors")
    trap = {"shape": [4], "chunks": [4], "dtype": "|O", "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}]}
    version_2(group / "ids", pickle.dumps(Trap(tmp_path / "ran")), **trap)
    (group / ".zgroup").write_text('{"zarr_format": 2}')
    if summary:
        harmless = {**json.loads((group / "ids" / ".zarray").read_text()), "filters": [{"id": "vlen-utf8"}]}
        metadata = {".zgroup": {"zarr_format": 2}, "ids/.zarray": harmless}
        (group / ".zmetadata").write_text(json.dumps({"zarr_consolidated_format": 1, "metadata": metadata}))
    assert "has an array 'ids' that is written with the codec 'pickle'" in sentence(open_rows, group, name="targets")
    assert not (tmp_path / "ran").exists()


def test_an_array_that_is_not_read_leaves_the_others_alone(tmp_path):
    group = tmp_path / "x.zarr"
    version_2(group / "vectors")
    version_2(group / "notes", dtype="|O", filters=[{"id": "json2"}])
    version_2(group / "table", dtype=[["a", "<f4"]])
    (group / ".zgroup").write_text('{"zarr_format": 2}')
    np.testing.assert_array_equal(open_rows(group, name="targets")[:], MATRIX)


@pytest.mark.parametrize(
    "compressor",
    [None, {"id": "zlib", "level": 1}, {"id": "gzip", "level": 1}, {"id": "bz2", "level": 1}, {"id": "lzma"},
     {"id": "zstd", "level": 1}, {"id": "lz4"}, {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}],
)  # fmt: skip
@pytest.mark.parametrize("scarce", [False, True])
def test_honest_codecs_are_read(tmp_path, monkeypatch, compressor, scarce):
    """Even where so little memory is left that every chunk is looked at first."""
    numcodecs = pytest.importorskip("numcodecs")
    if scarce:
        little_memory(monkeypatch, 100)
    data = MATRIX.tobytes()
    if compressor is not None:
        data = bytes(numcodecs.get_codec(dict(compressor)).encode(np.frombuffer(data, np.uint8)))
    path = version_2(tmp_path / "x.zarr", data, compressor=compressor)
    np.testing.assert_array_equal(open_rows(path, name="targets")[:], MATRIX)


@pytest.mark.parametrize("codec", ["gzip", "zstd", "blosc"])
def test_honest_shards_are_read(tmp_path, monkeypatch, codec):
    zarr = pytest.importorskip("zarr", minversion="3")
    codecs = {"gzip": zarr.codecs.GzipCodec(), "zstd": zarr.codecs.ZstdCodec(), "blosc": zarr.codecs.BloscCodec()}
    whole = np.random.default_rng(0).standard_normal((64, 4)).astype(np.float32)
    array = zarr.create_array(
        str(tmp_path / "x.zarr"), shape=(64, 4), chunks=(8, 4), shards=(32, 4), dtype="f4", compressors=codecs[codec]
    )
    array[:] = whole
    little_memory(monkeypatch, 2000)
    np.testing.assert_array_equal(open_rows(tmp_path / "x.zarr", name="targets")[:], whole)


def little_memory(monkeypatch, size: int) -> None:
    for module in (limits_module, zarr_folder):
        monkeypatch.setattr(module, "default_memory", lambda: size)


def test_a_few_bytes_do_not_declare_gigabytes(tmp_path, sentence):
    path = version_2(tmp_path / "x.zarr", b"", shape=[10**6, 10**6], chunks=[10, 10**6])
    (path / "0.0").unlink()
    assert sentence(open_rows, path, name="targets") == (
        f"targets: x.zarr declares 4.0 TB but holds {(path / '.zarray').stat().st_size} bytes: it was never filled, or "
        "is damaged; write it again."
    )


def test_missing_chunks_that_fit_in_memory_are_what_they_stand_for(tmp_path):
    path = version_2(tmp_path / "x.zarr", b"", shape=[1000, 50], chunks=[10, 50], fill_value=7)
    (path / "0.0").unlink()
    assert (open_rows(path, name="targets")[5:8] == 7).all()


def test_a_chunk_that_unpacks_to_too_much(tmp_path, sentence, monkeypatch):
    little_memory(monkeypatch, 10**6)
    bomb = gzip.compress(bytes(50_000_000))
    path = version_2(tmp_path / "x.zarr", bomb, compressor={"id": "gzip", "level": 1})
    told = sentence(open_rows, path, name="targets")
    assert told.startswith("targets: x.zarr holds 0.0, which unpacks to 1 MB or more where a chunk takes 32 bytes;")


def test_chunks_larger_than_memory(tmp_path, sentence, monkeypatch):
    little_memory(monkeypatch, 10**6)
    big = os.urandom(2_000_000)
    path = version_2(tmp_path / "x.zarr", big, shape=[1000, 500], chunks=[1000, 500])
    assert sentence(open_rows, path, name="targets") == (
        "targets: x.zarr cannot be read: a single chunk of it takes 2 MB of memory, and unhub uses at most 1 MB here; "
        "write it in smaller pieces."
    )


def test_links_and_names_that_lead_outside(tmp_path, sentence):
    path = version_2(tmp_path / "x.zarr")
    (tmp_path / "secret").write_bytes(MATRIX.tobytes())
    (path / "0.0").unlink()
    (path / "0.0").symlink_to(tmp_path / "secret")
    assert sentence(open_rows, path, name="targets") == (
        "targets: x.zarr holds 0.0, a link or no regular file; put the file itself there."
    )
    other = version_2(tmp_path / "y.zarr", dimension_separator="/../../")
    assert "the names of its chunks are not plain" in sentence(open_rows, other, name="targets")


def test_metadata_that_say_a_thing_twice(tmp_path, sentence):
    path = version_2(tmp_path / "x.zarr")
    text = (path / ".zarray").read_text()
    (path / ".zarray").write_text(text[:-1] + ', "filters": [{"id": "pickle"}]}')
    assert "its metadata have a key twice" in sentence(open_rows, path, name="targets")


WIDE = {
    "astype": {"encode_dtype": "<u1", "decode_dtype": "<U1999999"},
    "delta": {"dtype": "<f4", "astype": "<S1999999"},
    "fixedscaleoffset": {"offset": 0, "scale": 1, "dtype": "<m8[ns]", "astype": "<u1"},
}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("codec", WIDE)
def test_a_filter_that_makes_text_of_numbers(tmp_path, sentence, codec, version):
    """Each number would become a text of eight megabytes."""
    if version == 2:
        path = version_2(tmp_path / "x.zarr", filters=[{"id": codec, **WIDE[codec]}])
    else:
        path = version_3(tmp_path / "x.zarr", [{"name": f"numcodecs.{codec}", "configuration": WIDE[codec]}, BYTES])
    assert f"{codec}' does not turn numbers into numbers)" in sentence(open_rows, path, name="targets")


def test_honest_filters_are_read(tmp_path):
    numbers = {"id": "astype", "encode_dtype": "<f8", "decode_dtype": "<f4"}
    path = version_2(tmp_path / "x.zarr", MATRIX.astype("<f8").tobytes(), filters=[numbers])
    np.testing.assert_array_equal(open_rows(path, name="targets")[:], MATRIX)


def test_honest_bzip2_is_unpacked_once(tmp_path, monkeypatch):
    """The number of its blocks says that it cannot become much."""
    little_memory(monkeypatch, 200_000_000)
    values = np.random.default_rng(0).standard_normal((1000, 50)).astype("<f4")
    unpacked = []
    monkeypatch.setattr(zarr_folder, "_unpacked", lambda *chunk: unpacked.append(chunk) or 0)
    path = version_2(
        tmp_path / "x.zarr", bz2.compress(values.tobytes()), shape=[1000, 50], chunks=[1000, 50],
        compressor={"id": "bz2", "level": 9},
    )  # fmt: skip
    np.testing.assert_array_equal(open_rows(path, name="targets")[:], values)
    assert not unpacked


def test_bzip2_that_unpacks_to_too_much(tmp_path, sentence, monkeypatch):
    little_memory(monkeypatch, 100_000_000)
    bomb = bz2.compress(bytes(150_000_000))
    assert zarr_folder._bz2_blocks(bomb) >= 4
    path = version_2(tmp_path / "x.zarr", bomb, compressor={"id": "bz2", "level": 9})
    assert "holds 0.0, which unpacks to 1 MB or more" in sentence(open_rows, path, name="targets")
