"""An interrupted run goes on where it was, with the same result to the bit, and refuses what does not belong to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unhub.encoders import encode, encoder, parts
from unhub.foundation.errors import InputError

from .conftest import TEXTS


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of every batch that a model gets."""
    seen: list[int] = []
    whole = encoder._rows

    def counting(model: Any, values: list[Any]) -> Any:
        seen.append(len(values))
        return whole(model, values)

    monkeypatch.setattr(encoder, "_rows", counting)
    return seen


def stop_after(items: int) -> Any:
    def progress(what: str, done: int, total: int) -> None:
        if done >= items:
            raise KeyboardInterrupt

    return progress


def run(source: Path, model: Path, out: Path, **how: Any) -> Any:
    return encode(source, model=str(model), output=out, device="cpu", **({"batch": 2} | how))


@pytest.mark.parametrize("every", [0.0, 1000.0], ids=["each batch written", "written at the end"])
def test_the_same_again_goes_on(
    every: float, tmp_path: Path, photos: Path, clip: Path, batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "EVERY", every)
    whole = run(photos, clip, tmp_path / "whole.npy")
    assert (whole.resumed, batches) == (0, [2, 2, 2, 1])
    batches.clear()
    out = tmp_path / "out.npy"
    with pytest.raises(KeyboardInterrupt):
        run(photos, clip, out, progress=stop_after(4))
    assert batches == [2, 2]
    assert not out.exists()
    assert (tmp_path / "out.npy.part" / "run.json").is_file()
    batches.clear()
    told: list[tuple[int, int]] = []
    done = run(photos, clip, out, progress=lambda what, at, total: told.append((at, total)))
    assert batches == [2, 1]  # finished batches are not encoded again
    assert told == [(4, 7), (6, 7), (7, 7)]
    assert (done.resumed, done.rows) == (4, 7)
    assert out.read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert (tmp_path / "out.ids.txt").read_text() == (tmp_path / "whole.ids.txt").read_text()
    assert not (tmp_path / "out.npy.part").exists()


def test_another_model_or_setting_is_refused(tmp_path: Path, photos: Path, clip: Path, other_clip: Path) -> None:
    out = tmp_path / "out.npy"
    with pytest.raises(KeyboardInterrupt):
        run(photos, clip, out, progress=stop_after(2))
    kept = sorted(path.name for path in (tmp_path / "out.npy.part").iterdir())
    with pytest.raises(InputError, match=r"another run \(model was '.*clip', now '.*other'\); .*remove it"):
        run(photos, other_clip, out)
    with pytest.raises(InputError, match=r"another run \(unit was True, now False\)"):
        run(photos, clip, out, unit=False)
    with pytest.raises(InputError, match=r"another run \(precision was 'float32', now 'float16'\)"):
        run(photos, clip, out, precision="float16")
    assert sorted(path.name for path in (tmp_path / "out.npy.part").iterdir()) == kept
    assert run(photos, clip, out).resumed == 2


def test_a_model_whose_files_changed_is_refused(tmp_path: Path, photos: Path, clip: Path) -> None:
    import shutil

    copy, out = tmp_path / "copy", tmp_path / "out.npy"
    shutil.copytree(clip, copy)
    with pytest.raises(KeyboardInterrupt):
        run(photos, copy, out, progress=stop_after(2))
    os.utime(copy / "model.safetensors", ns=(1, 1))
    with pytest.raises(InputError, match="revision was"):
        run(photos, copy, out)


def test_other_inputs_are_refused(tmp_path: Path, photos: Path, clip: Path) -> None:
    out = tmp_path / "out.npy"
    with pytest.raises(KeyboardInterrupt):
        run(photos, clip, out, progress=stop_after(4))
    (photos / "p6.png").unlink()  # behind what is finished: nothing is wrong with that
    (photos / "p0.png").write_bytes((photos / "p1.png").read_bytes())
    with pytest.raises(InputError, match="holds rows of other inputs"):
        run(photos, clip, out)


def test_inputs_that_differ_behind_the_finished_ones_go_on(tmp_path: Path, photos: Path, clip: Path) -> None:
    out = tmp_path / "out.npy"
    with pytest.raises(KeyboardInterrupt):
        run(photos, clip, out, progress=stop_after(4))
    (photos / "p6.png").unlink()
    done = run(photos, clip, out)
    assert (done.resumed, done.rows) == (4, 6)


def test_a_damaged_part_is_told(tmp_path: Path, photos: Path, clip: Path) -> None:
    out = tmp_path / "out.npy"
    with pytest.raises(KeyboardInterrupt):
        run(photos, clip, out, progress=stop_after(4))
    part = next((tmp_path / "out.npy.part").glob("*.npz"))
    part.write_bytes(part.read_bytes()[:50])
    with pytest.raises(InputError, match=r"\.npz is damaged; remove .*out\.npy\.part to begin again"):
        run(photos, clip, out)


def test_a_folder_that_is_something_else_is_left_alone(tmp_path: Path, texts: Path, clip: Path) -> None:
    (tmp_path / "out.npy.part").mkdir()
    (tmp_path / "out.npy.part" / "diary.txt").write_text("mine")
    with pytest.raises(InputError, match="is in the way"):
        run(texts, clip, tmp_path / "out.npy")
    assert (tmp_path / "out.npy.part" / "diary.txt").read_text() == "mine"


def test_an_earlier_output_stays_until_the_new_one_is_complete(tmp_path: Path, texts: Path, clip: Path) -> None:
    out = tmp_path / "out.npy"
    np.save(out, np.zeros((1, 2)))
    before = out.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        run(texts, clip, out, progress=stop_after(2))
    assert out.read_bytes() == before
    run(texts, clip, out)
    assert np.load(out).shape == (len(TEXTS), 12)


KILLED = """
import sys, time
from unhub.encoders import encode, encoder, parts
parts.EVERY = 0
whole = encoder._rows
def slow(model, values):
    time.sleep(0.3)
    return whole(model, values)
encoder._rows = slow
encode(sys.argv[1], model=sys.argv[2], output=sys.argv[3], device="cpu", batch=2)
"""


def test_a_kill_loses_nothing_that_was_written(tmp_path: Path, photos: Path, clip: Path, batches: list[int]) -> None:
    out, folder = tmp_path / "out.npy", tmp_path / "out.npy.part"
    words = [sys.executable, "-c", KILLED, str(photos), str(clip), str(out)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(list(folder.glob("[0-9]*.npz"))) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not out.exists()
    done = run(photos, clip, out)
    assert done.resumed >= 4
    assert sum(batches) == 7 - done.resumed
    run(photos, clip, tmp_path / "whole.npy")
    assert np.abs(np.load(out) - np.load(tmp_path / "whole.npy")).max() < 1e-6  # another process, other threads
    assert done.rows == 7


def test_what_a_kill_leaves_of_a_file_is_passed_over(tmp_path: Path, photos: Path, clip: Path) -> None:
    run(photos, clip, tmp_path / "whole.npy")
    out = tmp_path / "out.npy"
    with pytest.raises(KeyboardInterrupt):
        run(photos, clip, out, progress=stop_after(4))
    (tmp_path / "out.npy.part" / ".000000000004-000000000006-3f2a.npz").write_bytes(b"half of")
    done = run(photos, clip, out)
    assert done.resumed == 4
    np.testing.assert_array_equal(np.load(out), np.load(tmp_path / "whole.npy"))


def test_what_was_left_out_is_not_forgotten(tmp_path: Path, photos: Path, clip: Path) -> None:
    broken = sorted(photos.rglob("*.png"))[0]
    broken.write_bytes(b"no picture")
    out = tmp_path / "out.npy"
    with pytest.raises(KeyboardInterrupt):
        run(photos, clip, out, skip_broken=True, progress=stop_after(4))
    with pytest.raises(InputError, match=r"begun with skip_broken=True and skipped 1 of 4 inputs; pass that again"):
        run(photos, clip, out)
    assert len(run(photos, clip, out, skip_broken=True).skipped) == 1
