"""Files that nobody named: what lies beside the output is never written, removed or believed through a link."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unhub.encoders.parts import Parts
from unhub.foundation.errors import InputError
from unhub.foundation.file_lock import locked

from .conftest import TEXTS, refused

SETTINGS = {"model": "m"}
MARKS = ["a", "b", "c", "d"]


def begun(folder: Path) -> Parts:
    """Two of four items finished."""
    parts = Parts(folder, SETTINGS, MARKS)
    parts.open()
    parts.add(np.ones((2, 3), np.float32), np.arange(2), 2)
    parts.write()
    return parts


@pytest.mark.parametrize("name", ["x.encoded.json", "x.ids.txt"])
def test_a_link_beside_the_output_is_refused(tmp_path: Path, texts: Path, clip: Path, run: Any, name: str) -> None:
    victim = tmp_path / "bashrc"
    victim.write_text("mine")
    (tmp_path / name).symlink_to(victim)
    refused(run(texts, "--model", clip, "-o", "x.npy"), f"{name} is a link")
    assert victim.read_text() == "mine"
    assert not (tmp_path / "x.npy").exists()


@pytest.mark.parametrize("name", ["x.encoded.json", "x.ids.txt"])
def test_a_link_that_comes_late_is_refused_too(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "bashrc"
    victim.write_text("mine")
    parts = begun(tmp_path / "x.npy.part")
    (tmp_path / name).symlink_to(victim)
    with pytest.raises(InputError, match=rf"{name}: it is a link"):
        parts.finish(tmp_path / "x.npy", MARKS)
    assert victim.read_text() == "mine"


def test_a_folder_of_rows_that_is_a_link_is_refused_and_nothing_is_removed_there(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    row = theirs / "000000000000-000000000002.npz"
    row.write_text("mine")
    (tmp_path / "x.npy.part").symlink_to(theirs)
    with pytest.raises(InputError, match=r"x\.npy\.part is a link"):
        Parts(tmp_path / "x.npy.part", SETTINGS, MARKS).open()
    assert row.read_text() == "mine"


@pytest.mark.parametrize("name", ["run.json", "000000000002-000000000004.npz", ".run.json"])
def test_links_among_the_rows_are_refused(tmp_path: Path, name: str) -> None:
    begun(tmp_path / "x.npy.part")
    path = tmp_path / "x.npy.part" / name
    path.unlink(missing_ok=True)
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link"):
        Parts(tmp_path / "x.npy.part", SETTINGS, MARKS).open()


@pytest.mark.parametrize("text", ["[]", "null", "7", "{", "[" * 100_000])
def test_settings_that_are_no_object_are_damaged(tmp_path: Path, text: str) -> None:
    begun(tmp_path / "x.npy.part")
    (tmp_path / "x.npy.part" / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run\.json is damaged; remove .*x\.npy\.part to begin again"):
        Parts(tmp_path / "x.npy.part", SETTINGS, MARKS).open()


def _rewritten(path: Path, change: Any) -> None:
    with np.load(path) as parts:
        told = dict(parts)
    change(path, told)


def _deflated(path: Path, told: dict[str, Any]) -> None:
    np.savez_compressed(path, **{**told, "inputs": np.zeros((1 << 20, 8))})


def _bad_deflate(path: Path, told: dict[str, Any]) -> None:
    np.savez_compressed(path, **told)
    whole = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        at = archive.getinfo("inputs.npy").header_offset
    whole[at + 50 : at + 90] = b"\xff" * 40
    path.write_bytes(whole)


def _method_99(path: Path, told: dict[str, Any]) -> None:
    np.savez(path, **told)
    whole = bytearray(path.read_bytes())
    at = -1
    while (at := whole.find(b"PK\x01\x02", at + 1)) >= 0:
        whole[at + 10] = 99
    path.write_bytes(whole)


def _other_rows(path: Path, told: dict[str, Any]) -> None:
    np.savez(path, **{**told, "kept": np.array([0, 7])})


def _same_row_twice(path: Path, told: dict[str, Any]) -> None:
    np.savez(path, **{**told, "kept": np.array([1, 1])})


def _words(path: Path, told: dict[str, Any]) -> None:
    np.savez(path, **{**told, "rows": np.array(["a", "b"])})


@pytest.mark.parametrize("change", [_deflated, _bad_deflate, _method_99, _other_rows, _same_row_twice, _words])
def test_rows_that_we_did_not_write_are_damaged(tmp_path: Path, change: Any) -> None:
    begun(tmp_path / "x.npy.part")
    _rewritten(tmp_path / "x.npy.part" / "000000000000-000000000002.npz", change)
    parts = Parts(tmp_path / "x.npy.part", SETTINGS, MARKS)
    with pytest.raises(InputError, match=r"\.npz is damaged; remove .*x\.npy\.part to begin again"):
        _ = parts.open(), parts.finish(tmp_path / "x.npy", MARKS)
    assert not (tmp_path / "x.npy").exists()


@pytest.mark.parametrize("span", [(1, 3), (3, 4)])
def test_rows_that_overlap_or_leave_a_gap_are_not_put_together(tmp_path: Path, span: tuple[int, int]) -> None:
    parts = begun(tmp_path / "x.npy.part")
    first, last = span
    np.savez(tmp_path / "x.npy.part" / f"{first:012d}-{last:012d}.npz", rows=np.ones((1, 3), np.float32), kept=[first])
    with pytest.raises(InputError, match=r"does not go on from item 2, where the rows before it end; remove"):
        parts.finish(tmp_path / "x.npy", MARKS)
    assert not (tmp_path / "x.npy").exists()


def test_a_second_run_on_one_output_is_refused(tmp_path: Path, texts: Path, clip: Path, run: Any) -> None:
    with locked(tmp_path / "x.npy.lock", "busy"):
        refused(run(texts, "--model", clip, "-o", "x.npy"), "another process is writing x.npy; wait for it")
    assert not (tmp_path / "x.npy.part").exists()
    assert run(texts, "--model", clip, "-o", "x.npy")[0] == 0
    assert np.load(tmp_path / "x.npy").shape == (len(TEXTS), 12)
    assert not (tmp_path / "x.npy.lock").exists()


FULL = """
import resource, sys
from pathlib import Path
import numpy as np
from unhub.encoders.parts import Parts
folder = Path(sys.argv[1])
parts = Parts(folder / "x.npy.part", {}, ["a"] * 4096)
parts.open()
for at in range(0, 4096, 512):
    parts.add(np.ones((512, 64), np.float32), np.arange(at, at + 512), at + 512)
    parts.write()
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))
try:
    parts.finish(folder / "x.npy", ["a"] * 4096)
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_disk_that_takes_no_more_is_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="this system has no limit on files")
    ended = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended
    assert ended.stdout.startswith(f"InputError cannot write {tmp_path / 'x.npy'}: the file is larger than"), ended
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy.part"]
    assert json.loads((tmp_path / "x.npy.part" / "run.json").read_text()) == {}
