"""Files whose structure is text or plain data, with one value replaced: npy, npz, safetensors, zarr, JSON, TOML."""

from __future__ import annotations

import json
import random
import struct
import zipfile
from io import BytesIO
from typing import Any

from attack import hostile

SHAPES = ("(60, 4)", "()", "(60,)", "(2**62, 4)", "(-60, 4)", "(10**12, 10**12)", "(0, 4)", "(60, 0)", "(4, 60)",
          "(60, 4.0)", "('x', 4)", "(True, 240)", "(60, 4, 1)", "[60, 4]", "None", "(1e400, 1)")  # fmt: skip
TYPES = ("'<f4'", "'|O'", "'<f8'", "'>f4'", "'<U1000000000'", "'<c16'", "'V16'", "'<M8[ns]'", "'|b1'", "'nonsense'",
         "[('a', '<f4')]", "('<f4', (10**9,))", "None", "'<f2'", "'|i1'", "'<i8'", "'|S0'", "''")  # fmt: skip
NAMES = ("x.npy", "../../x.npy", "/etc/x.npy", "x" * 5000 + ".npy", "\x1b[31m.npy", "", ".npy", "x", "x.npy\x00y")


def npy(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A NumPy array with another shape or type promised, or a header of another length."""
    start = 10
    values = data[start + int.from_bytes(data[8:10], "little") :]
    shape, kind = (rng.choice(each) if rng.random() < 0.6 else each[0] for each in (SHAPES, TYPES))
    order = rng.choice(("False", "False", "True", "0", "None", "'C'"))
    header = f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}"
    if rng.random() < 0.15:
        header = rng.choice(
            ("{", "(" * 3000 + ")" * 3000, "__import__('os').system('true')", header + "\x00", "1" * 9000)
        )
    text = header.encode() + b"\n"
    length = rng.choice((len(text),) * 6 + (0, 65535, len(text) + 7))
    version = rng.choice((1, 1, 1, 2, 3, 9))
    size = struct.pack("<H", length % 65536) if version == 1 else struct.pack("<I", length)
    return f"npy {shape} {kind} {order}, header {length}", b"\x93NUMPY" + bytes((version, 0)) + size + text + values


def npz(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """An archive with a changed array in it, under a changed name, or with changed sizes in its directory."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    told, inner = npy(parts["vectors.npy"], rng)
    made = BytesIO()
    name = rng.choice(NAMES) if rng.random() < 0.2 else "vectors.npy"
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(made, "w", method) as archive:
        archive.writestr(name, inner)
        archive.writestr("ids.npy", parts["ids.npy"])
    whole = bytearray(made.getvalue())
    if rng.random() < 0.5:  # sizes in the central directory, which a reader believes
        place = whole.rfind(b"PK\x01\x02") + rng.choice((10, 16, 20, 24, 42))
        whole[place : place + 4] = rng.choice((0, 1, 2**31, 2**32 - 1, 2**32 - 2)).to_bytes(4, "little")
        told += f", directory changed at {place}"
    return f"{told}, as {name[:20]!r}", bytes(whole)


def safetensors(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A header with one value of it replaced, or of another length."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    put = (*hostile.values(), [0, 2**63], [2**62, 2**62 + 960], [960, 0], [-1, 4], "F64", "BF16", "F8_E4M3", [2**62, 4])
    path, value = rng.choice(list(hostile.places(header))), rng.choice(put)
    text = hostile.as_json(hostile.replaced(header, path, value)).encode("utf-8", "surrogatepass")
    length = rng.choice((len(text),) * 8 + (0, 2**63, 2**32, len(text) + 1))
    told = f"{'.'.join(map(str, path))} is {hostile.shown(value)}, header {length}"
    return told, length.to_bytes(8, "little") + text + data[8 + size :]


ZARR_VALUES = ([10**12, 4], [60, 10**12], [-1, 4], [0, 0], [2**63, 2**63], "|O", "<U1000000000", "nonsense", "float32",
               {"id": "pickle"}, [{"id": "pickle"}], {"id": "zlib", "level": 10**9}, {"name": "pickle"},
               {"name": "numcodecs.pickle"}, [{"name": "numcodecs.pickle", "configuration": {}}],
               [{"name": "bytes"}, {"name": "numcodecs.pickle"}], [{"name": "sharding_indexed"}],
               {"name": "regular", "configuration": {"chunk_shape": [10**9, 10**9]}})  # fmt: skip


def zarr_metadata(text: bytes, rng: random.Random) -> tuple[str, bytes]:
    """``.zarray`` or ``zarr.json`` with one value replaced, by another shape or by a codec that runs code too."""
    plain = json.loads(text)
    path, value = rng.choice(list(hostile.places(plain))), rng.choice((*ZARR_VALUES, *hostile.values()))
    told = f"{'.'.join(map(str, path))} is {hostile.shown(value)}"
    return told, hostile.as_json(hostile.replaced(plain, path, value)).encode("utf-8", "surrogatepass")


def json_text(text: bytes, rng: random.Random) -> tuple[str, bytes]:
    """JSON with one value replaced, or with its text damaged."""
    plain = json.loads(text)
    if rng.random() < 0.2:
        return lines(text, rng)
    path, value = rng.choice(list(hostile.places(plain))), rng.choice(hostile.values())
    told = f"{'.'.join(map(str, path))} is {hostile.shown(value)}"
    return told, hostile.as_json(hostile.replaced(plain, path, value)).encode("utf-8", "surrogatepass")


CELLS = (b"", b"-1", b"9" * 5000, b"1e999", b"nan", b"0x10", b"1_000", b"\x00", b"\x1b[31m", b"\xff\xfe",
         b"\xef\xbb\xbf", b'"', b"'", b"\t\t\t", b",,,,", b"\r", b"x" * 200_000, b"=1+1", b"[" * 50_000,
         "\u0661".encode())  # fmt: skip


def lines(text: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A text with cells and lines replaced, repeated or left out."""
    rows = text.split(b"\n")
    for _ in range(rng.choice((1, 2, 5))):
        row, cell = rng.randrange(len(rows)), rng.choice(CELLS)
        cells = rows[row].replace(b",", b"\t").split(b"\t")
        cells[rng.randrange(len(cells))] = cell
        joint = b"\t" if b"\t" in rows[row] else b","
        rows[row] = joint.join(cells)
        if rng.random() < 0.2:
            rows.insert(row, rng.choice((b"", rows[row] * 2, b"#")))
    joint = rng.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\x00"))
    return "cells replaced", joint.join(rows)


def toml_text(data: dict[str, Any], rng: random.Random) -> tuple[str, bytes]:
    """An experiment in TOML with one value replaced; what JSON writes is TOML for text, numbers and lists."""
    path = rng.choice([each for each in hostile.places(data) if len(each) > 1])
    value = rng.choice(hostile.values())
    made = hostile.replaced(data, path, value)
    text = []
    for section, fields in made.items():
        text.append(f"[{section}]")
        text += [f"{name} = {hostile.as_json(each)}" for name, each in fields.items()]
    told = f"{'.'.join(map(str, path))} is {hostile.shown(value)}"
    return told, "\n".join(text).encode("utf-8", "surrogatepass")
