"""Small files that promise very much, files that are no files, and files that hold code."""

from __future__ import annotations

import json
import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

HUGE = 10**11
"""rows of 16 numbers: 6.4 terabytes of float32"""

FIT = "fit --targets {path} --query-bank bank.npy -o made.unhub"
LOAD = "search {path} --queries queries.npy"
CHECK = "check {path}"
TRUST = "import --scores {path} -o made --trust"
IDS = "diagnose --scores scores.npy --target-ids {path}"
JUDGED = "evaluate --scores scores.npy --relevant {path} --tau 0.1"
ENDINGS = {
    ".unhub": LOAD, ".npy": FIT, ".npz": FIT, ".safetensors": FIT, ".pt": FIT, ".parquet": FIT, ".arrow": FIT,
    ".feather": FIT, ".h5": FIT, ".mat": FIT, ".zarr": FIT, ".txt": IDS, ".json": IDS, ".csv": IDS, ".tsv": JUDGED,
    ".qrels": JUDGED, ".toml": CHECK, ".yaml": CHECK, ".pkl": TRUST,
    ".faiss": "fit --targets faiss://{path} --query-bank bank.npy -o made.unhub",
}  # fmt: skip

Bomb = tuple[str, str, Callable[[Path], None], str]
"""what it is called, its file, how it is written, and the command that reads it"""


def bombs() -> Iterator[Bomb]:
    """All of them."""
    for ending, words in ENDINGS.items():
        yield f"{ending} that is a FIFO", f"x{ending}", lambda path: os.mkfifo(path), words
        yield f"{ending} that is /dev/zero", f"x{ending}", lambda path: path.symlink_to("/dev/zero"), words
    for name, file, write in PROMISES:
        yield name, file, write, ENDINGS[Path(file).suffix]
    for name, file, write in CODE:
        yield f"code in {name}", file, write, ENDINGS[Path(file).suffix]


def _npy_header(shape: str = f"({HUGE}, 16)", kind: str = "'<f4'") -> bytes:
    text = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def _zip(path: Path, parts: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def _npz_with_lies(path: Path) -> None:
    """An archive whose directory says that a short array is as long as its header says."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vectors.npy", _npy_header("(60_000_000, 16)"))
    whole = bytearray(made.getvalue())
    place = whole.rfind(b"PK\x01\x02") + 24
    whole[place : place + 4] = (3_900_000_000).to_bytes(4, "little")
    path.write_bytes(whole)


def _hdf5(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("vectors", shape=(HUGE, 16), chunks=(1024, 16), dtype="f4", compression="gzip")


def _hdf5_one_chunk(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("vectors", shape=(HUGE, 16), chunks=(60_000_000, 16), dtype="f4", compression="gzip")


def _hdf5_ids(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("vectors", shape=(40, 16), dtype="f4")
        file.create_dataset("ids", shape=(HUGE,), chunks=(1024,), dtype="i8")


def _hdf5_elsewhere(path: Path) -> None:
    """A dataset whose numbers are in another file."""
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("vectors", shape=(8, 16), dtype="u1", external=[("/etc/passwd", 0, 128)])


def _zarr(path: Path, *, chunk: int = 1024, codec: object = None, kind: str = "<f4") -> None:
    path.mkdir()
    (path / ".zarray").write_text(
        json.dumps(
            {
                "zarr_format": 2, "shape": [HUGE, 16], "chunks": [chunk, 16], "dtype": kind, "order": "C",
                "fill_value": 0, "compressor": codec, "filters": None,
            }
        )
    )  # fmt: skip


def _zarr_3(path: Path) -> None:
    path.mkdir()
    (path / "zarr.json").write_text(
        json.dumps(
            {
                "zarr_format": 3, "node_type": "array", "shape": [HUGE, 16], "data_type": "float32", "fill_value": 0,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10**10, 16]}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            }
        )
    )  # fmt: skip


def _long_ids(path: Path) -> None:
    """A parquet or an Arrow file whose ids are all the same long text, which a dictionary holds once: 160 GB."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 1_600_000
    text = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), pa.array(["x" * 100_000]))
    table = pa.table({"vectors": pa.FixedSizeListArray.from_arrays(np.ones(rows, np.float32), 1), "id": text})
    if path.suffix == ".parquet":
        pq.write_table(table, path, compression="zstd")
        return
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
        file.write_table(table)


def _mat(path: Path) -> None:
    """A compressed MATLAB matrix of 10^11 rows with no numbers in it."""

    def element(kind: int, data: bytes) -> bytes:
        return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)

    inner = element(6, struct.pack("<II", 7, 0)) + element(5, struct.pack("<ii", 2**31 - 1, 16))
    inner += element(1, b"vectors") + struct.pack("<II", 7, 2**32 - 16)
    packed = zlib.compress(struct.pack("<II", 14, 2**32 - 8) + inner)
    head = b"MATLAB 5.0 MAT-file".ljust(116) + bytes(8) + struct.pack("<H", 0x0100) + b"IM"
    path.write_bytes(head + struct.pack("<II", 15, len(packed)) + packed)


def _torch(path: Path) -> None:
    """A tensor that says its storage has 10^11 times 16 numbers."""
    import torch

    made = BytesIO()
    torch.save({"vectors": torch.zeros(8, 16)}, made)
    with zipfile.ZipFile(made) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name, data in parts.items():
        if name.endswith("data.pkl"):
            parts[name] = data.replace(b"K\x80", b"\x8a\x06" + (16 * HUGE).to_bytes(6, "little"))
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def _faiss(path: Path) -> None:
    data = bytearray(path.with_name("photos.faiss").read_bytes())
    place = data.find((40).to_bytes(8, "little"))
    data[place : place + 8] = (2**40).to_bytes(8, "little")
    path.write_bytes(data)


def _faiss_codes(path: Path) -> None:
    """The length of the list of codes, which faiss allocates before it reads."""
    data = bytearray(path.with_name("photos.faiss").read_bytes())
    place = data.find((640).to_bytes(8, "little"))
    data[place : place + 8] = (2**38).to_bytes(8, "little")
    path.write_bytes(data)


def _mat_with_another_mark(path: Path) -> None:
    """A matrix whose data are of no known type, under a mark that SciPy takes for big numbers first."""

    def element(kind: int, data: bytes) -> bytes:
        return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 8)

    inner = element(6, struct.pack(">II", 6, 0)) + element(5, struct.pack(">ii", 1000, 2)) + element(1, b"X")
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00ZZ"
    path.write_bytes(head + element(14, inner + struct.pack(">II", 77, 8) + bytes(8)))


def _hdf5_lists(path: Path) -> None:
    """Ids that are lists, in a heap in which HDF5 loops for ever: its second entry is said to be of no length."""
    import h5py
    import numpy as np

    with h5py.File(path, "w") as file:
        file["vectors"] = np.ones((20, 8), "f4")
        file.create_dataset("ids", (20,), dtype=h5py.vlen_dtype("i4"))[0] = [1, 2]
    data = bytearray(path.read_bytes())
    place = data.index(b"GCOL") + 16 + 24 + 8
    data[place : place + 8] = bytes(8)
    path.write_bytes(data)


def _hdf5_elsewhere_by_name(path: Path) -> None:
    """A hard link whose name leads through an external link, to a file whose opening never ends."""
    import h5py
    import numpy as np

    if not path.with_name("other.h5").exists():
        os.mkfifo(path.with_name("other.h5"))
    with h5py.File(path, "w", libver="earliest") as file:
        file["eXd"] = np.zeros((3, 16), "f4")
        file["e"] = h5py.ExternalLink("other.h5", "/")
    path.write_bytes(path.read_bytes().replace(b"eXd", b"e/d"))


def _torch_with_an_archive_behind(path: Path) -> None:
    """A file of the old format that asks for 3 GB; its end is that of an empty zip archive."""
    before = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}]
    value = b"\x80\x02cbuiltins\nbytearray\n\x8a\x05" + (3 * 10**9).to_bytes(5, "little") + b"\x85R."
    path.write_bytes(b"".join(pickle.dumps(each, 2) for each in before) + value + pickle.dumps([], 2))
    with zipfile.ZipFile(path, "a"):
        pass


def _zarr_filter(path: Path) -> None:
    """A filter that makes a text of 2 MB of each of 640 numbers."""
    _zarr(path)
    plain = json.loads((path / ".zarray").read_text()) | {"shape": [40, 16], "chunks": [40, 16]}
    plain["filters"] = [{"id": "astype", "encode_dtype": "<u1", "decode_dtype": "<U499999"}]
    (path / ".zarray").write_text(json.dumps(plain))
    (path / "0.0").write_bytes(bytes(40 * 16))


MAT_4_LOOP = struct.pack("<iiiii", 50, -22, 1, 0, 2) + b"X\0" + bytes(8)
"""a matrix of minus 22 bytes: the next one begins where it began"""
DOUBLING = b"\x80\x04)" + b"2\x86" * 40 + b"."
"""a pair of a pair of a pair: a few bytes that name 2^40 values"""
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{at}: &a{at} [*a{at - 1}, *a{at - 1}]\n" for at in range(1, 40))

PROMISES: tuple[tuple[str, str, Callable[[Path], None]], ...] = (
    ("npy of 10^11 rows", "x.npy", lambda path: _bytes(path, _npy_header())),
    ("npy of text of 4 GB", "x.npy", lambda path: _bytes(path, _npy_header("(1,)", "'<U1000000000'"))),
    ("npz of 10^11 rows", "x.npz", lambda path: _zip(path, {"vectors.npy": _npy_header()})),
    ("npz whose directory lies", "x.npz", _npz_with_lies),
    ("npz of a gigabyte of zeros", "x.npz", lambda path: _zip(path, {"vectors.npy": _npy_header("(2**24, 16)")})),
    ("hdf5 of 10^11 rows", "x.h5", _hdf5),
    ("hdf5 with a chunk of 4 GB", "x.h5", _hdf5_one_chunk),
    ("hdf5 with 10^11 ids", "x.h5", _hdf5_ids),
    ("hdf5 with numbers from /etc/passwd", "x.h5", _hdf5_elsewhere),
    ("zarr of 10^11 rows", "x.zarr", _zarr),
    ("zarr with a chunk of terabytes", "x.zarr", lambda path: _zarr(path, chunk=10**10)),
    ("zarr 3 with a chunk of terabytes", "x.zarr", _zarr_3),
    ("parquet with 160 GB of ids", "x.parquet", _long_ids),
    ("arrow with 160 GB of ids", "x.arrow", _long_ids),
    ("mat of 2^31 rows", "x.mat", _mat),
    ("torch storage of 6 TB", "x.pt", _torch),
    ("faiss of 2^40 vectors", "x.faiss", _faiss),
    ("faiss with 2^38 codes", "x.faiss", _faiss_codes),
    ("pickle of 9 bytes", "x.pkl", lambda path: _bytes(path, b"\x96" + (2**40).to_bytes(8, "little"))),
    ("pickle of 8 GB of bytes", "x.pkl", lambda path: _bytes(path, b"\x80\x04\x8e" + (2**33).to_bytes(8, "little"))),
    ("pickle with a memo of 2^31", "x.pkl", lambda path: _bytes(path, b"\x80\x02]r\xff\xff\xff\x7f.")),
    ("pickle that doubles", "x.pkl", lambda path: _bytes(path, DOUBLING)),
    ("pickle nested 10^6 deep", "x.pkl", lambda path: _bytes(path, b"\x80\x02" + b"](" * 10**6 + b".")),
    ("ids nested 10^5 deep", "x.json", lambda path: _bytes(path, b"[" * 10**5 + b"]" * 10**5)),
    ("yaml that doubles", "x.yaml", lambda path: _bytes(path, f"{LAUGHS}test: *a39\n".encode())),
    ("yaml nested 10^5 deep", "x.yaml", lambda path: _bytes(path, b"[" * 10**5)),
    ("toml nested 10^5 deep", "x.toml", lambda path: _bytes(path, b"x = " + b"[" * 10**5)),
    ("correction of 2^63 bytes of header", "x.unhub", lambda path: _bytes(path, (2**63).to_bytes(8, "little") + b"{")),
    ("safetensors nested 10^5 deep", "x.safetensors", lambda path: _deep_header(path)),
    ("mat with another mark", "x.mat", _mat_with_another_mark),
    ("mat 4 of minus 22 bytes", "x.mat", lambda path: _bytes(path, MAT_4_LOOP)),
    ("hdf5 with ids that are lists", "x.h5", _hdf5_lists),
    ("hdf5 with a name that leads elsewhere", "x.h5", _hdf5_elsewhere_by_name),
    ("torch with an archive behind it", "x.pt", _torch_with_an_archive_behind),
    ("zarr with a filter of text", "x.zarr", _zarr_filter),
)


def _bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _deep_header(path: Path) -> None:
    text = b'{"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}"
    path.write_bytes(len(text).to_bytes(8, "little") + text)


class Payload:
    """Unpickled, it makes a file called ``ran`` where the process is."""

    def __reduce__(self) -> tuple[object, tuple[str, int]]:
        return os.mkdir, ("ran", 0o777)


def _npy_object(path: Path) -> None:
    import numpy as np

    array = np.empty((4, 16), dtype=object)
    array[:] = 1.0
    array[0, 0] = Payload()
    np.save(path, array, allow_pickle=True)


def _npz_object(path: Path) -> None:
    import numpy as np

    made = path.with_name("made.npy")
    _npy_object(made)
    _zip(path, {"vectors.npy": made.read_bytes()})
    made.unlink()
    assert np


def _torch_code(path: Path) -> None:
    import torch

    torch.save({"vectors": torch.zeros(8, 16), "other": Payload()}, path)


def _zarr_code(path: Path) -> None:
    """A chunk that numcodecs' pickle codec would unpickle."""
    _zarr(path, codec=None, kind="|O")
    plain = json.loads((path / ".zarray").read_text()) | {"shape": [4, 16], "chunks": [4, 16]}
    plain["filters"] = [{"id": "pickle", "protocol": 5}]
    (path / ".zarray").write_text(json.dumps(plain))
    (path / "0.0").write_bytes(pickle.dumps(Payload()))


def _zarr_code_in_numbers(path: Path) -> None:
    """The same with a type of numbers, which a reader would ask for."""
    _zarr_code(path)
    plain = json.loads((path / ".zarray").read_text()) | {"dtype": "<f4"}
    (path / ".zarray").write_text(json.dumps(plain))


def _zarr_3_code(path: Path) -> None:
    _zarr_3(path)
    plain = json.loads((path / "zarr.json").read_text()) | {"shape": [4, 16]}
    plain["chunk_grid"]["configuration"]["chunk_shape"] = [4, 16]
    plain["codecs"] = [{"name": "numcodecs.pickle", "configuration": {"protocol": 5}}, *plain["codecs"]]
    (path / "zarr.json").write_text(json.dumps(plain))
    (path / "c" / "0").mkdir(parents=True)
    (path / "c" / "0" / "0").write_bytes(pickle.dumps(Payload()))


CODE: tuple[tuple[str, str, Callable[[Path], None]], ...] = (
    ("an npy of objects", "x.npy", _npy_object),
    ("an npz of objects", "x.npz", _npz_object),
    ("a torch file", "x.pt", _torch_code),
    ("a zarr codec", "x.zarr", _zarr_code),
    ("a zarr codec of numbers", "x.zarr", _zarr_code_in_numbers),
    ("a zarr 3 codec", "x.zarr", _zarr_3_code),
    ("a trusted pickle", "x.pkl", lambda path: _bytes(path, pickle.dumps(Payload()))),
    ("a yaml", "x.yaml", lambda path: _bytes(path, b"test: !!python/object/apply:os.mkdir [ran]\n")),
)
