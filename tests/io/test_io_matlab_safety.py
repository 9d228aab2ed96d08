"""A MATLAB file from someone else: SciPy is shown only what it reads as it was looked at."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from unhub.io import limits, open_rows

scipy_io = pytest.importorskip("scipy.io")


@pytest.fixture
def refused(sentence, tmp_path):
    def told(data: bytes, place: str = "") -> str:
        (tmp_path / "x.mat").write_bytes(data)
        return sentence(open_rows, f"{tmp_path}/x.mat{place}", name="targets")

    return told


def element(kind: int, data: bytes) -> bytes:
    return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 8)


def matrix(kind: int, shape: tuple[int, int], data: bytes) -> bytes:
    """A matrix called X, written by a machine of the other order of bytes."""
    flags, name = element(6, struct.pack(">II", kind, 0)), element(1, b"X")
    return element(14, flags + element(5, struct.pack(">ii", *shape)) + name + data)


def version_5(*matrices: bytes, mark: bytes = b"MI") -> bytes:
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00" + mark + b"".join(matrices)


@pytest.mark.parametrize("data", [struct.pack(">II", 77, 8) + bytes(8), element(9, bytes(48))])
def test_a_mark_of_neither_order_of_bytes(refused, data):
    """SciPy takes any other mark for the one of big numbers first, and crashes on the first of the two."""
    assert refused(version_5(matrix(6, (3, 2), data), mark=b"ZZ")) == (
        "targets: x.mat cannot be read as a MATLAB file: it is cut short or damaged (232 bytes); write or copy it "
        "again (reason: its byte order mark is b'ZZ', and not b'IM' or b'MI')."
    ).replace("232", str(128 + len(matrix(6, (3, 2), data))))


def test_the_other_order_of_bytes_is_read(tmp_path):
    numbers = np.arange(6, dtype=">f8")
    (tmp_path / "x.mat").write_bytes(version_5(matrix(6, (3, 2), element(9, numbers.tobytes()))))
    np.testing.assert_array_equal(open_rows(tmp_path / "x.mat", name="targets")[:], numbers.reshape(2, 3).T)


def test_two_variables_of_one_name(refused):
    """The first is a cell, which is never read; SciPy lists the second and loads the first."""
    cell, numbers = matrix(1, (1, 1), element(14, b"")), matrix(6, (3, 2), element(9, bytes(48)))
    assert "reason: it has two variables of one name" in refused(version_5(cell, numbers))


def old(kind: int = 0, rows: int = 2, columns: int = 3, imaginary: int = 0, name: int = 2, order: str = "<") -> bytes:
    return struct.pack(f"{order}5i", kind, rows, columns, imaginary, name) + b"X\0" + bytes(48)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<iiiii", 50, -22, 1, 0, 2) + b"X\0" + bytes(8),  # SciPy goes back to the start, for ever
        old(rows=-2, columns=-3),
        old(kind=60),
        old(kind=3),
        old(kind=100),
        old(kind=4000),
        old(imaginary=2),
        old(name=-1),
        old(name=0),
        old(name=1_000_000),
        old(rows=1 << 16, columns=1 << 13),
        old(rows=2**31 - 1, columns=2**31 - 1),
    ],
)
def test_damaged_headers_of_version_4(refused, data):
    assert "reason: its tags are damaged" in refused(data)


def test_version_4_that_is_cut_short(refused):
    assert "reason: 822 bytes expected but 70 found" in refused(old(rows=10, columns=10))


def test_version_4_that_does_not_fit_into_memory(refused, monkeypatch):
    monkeypatch.setattr(limits, "default_memory", lambda: 1 << 19)
    told = refused(old(kind=50, rows=1000, columns=200) + bytes(200_000 - 48))
    assert told.startswith("targets: x.mat would take 2 MB of memory, from a file of 200 kB")


def test_honest_files_of_version_4(refused, tmp_path):
    held = {"v": np.arange(6.0).reshape(2, 3), "z": np.ones((2, 2)) * 1j, "words": np.array(["a", "b"])}
    scipy_io.savemat(tmp_path / "y.mat", held, format="4")
    np.testing.assert_array_equal(open_rows(f"{tmp_path}/y.mat::v", name="targets")[:], held["v"])
    assert "holds complex numbers" in refused((tmp_path / "y.mat").read_bytes(), "::z")
    (tmp_path / "x.mat").write_bytes(old(kind=1000, order=">"))
    np.testing.assert_array_equal(open_rows(tmp_path / "x.mat", name="targets")[:], np.zeros((2, 3)))
