"""Media to encode, a way to run the command, and the tiny models of tiny_models.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers", reason="the encode extra is not installed")
pytest.importorskip("sentence_transformers", reason="the encode extra is not installed")

import torch
from PIL import Image

from .tiny_models import *  # noqa: F403  # fixtures
from .tiny_models import RATE

TEXTS = [
    "a red dog runs",
    "the cat sleeps in the house",
    "a big blue bicycle on the street",
    "piano",
    "a small green garden",
    "the dog sings in the garden on a big red house",
    "a cat",
]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Seven small pictures, one of them in a folder inside, and a file that is none."""
    folder = tmp_path / "photos"
    (folder / "inside").mkdir(parents=True)
    rng = np.random.default_rng(1)
    for at in range(7):
        picture = Image.fromarray(rng.integers(0, 256, size=(24 + at, 40, 3), dtype=np.uint8))
        picture.save(folder / ("inside" if at == 3 else ".") / f"p{at}.png")
    (folder / "notes.json").write_text("{}")
    return folder


@pytest.fixture
def sounds(tmp_path: Path) -> Path:
    """Four sounds: of another rate, in stereo, short, and longer than the model hears."""
    soundfile = pytest.importorskip("soundfile")
    folder = tmp_path / "sounds"
    folder.mkdir()
    rng = np.random.default_rng(2)
    soundfile.write(folder / "a.wav", 0.3 * rng.standard_normal(22_050).astype(np.float32), 22_050)
    soundfile.write(folder / "b.wav", 0.3 * rng.standard_normal((RATE, 2)).astype(np.float32), RATE)
    soundfile.write(folder / "c.flac", 0.3 * rng.standard_normal(RATE // 4).astype(np.float32), RATE)
    soundfile.write(folder / "d.wav", 0.3 * rng.standard_normal(3 * RATE).astype(np.float32), RATE)
    return folder


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """Two films of 20 and of 3 frames; frame i is of one grey, 10 i."""
    folder = tmp_path / "films"
    folder.mkdir()
    for name, count in (("long", 20), ("short", 3)):
        write_film(folder / f"{name}.mp4", count)
    return folder


def write_film(path: Path, count: int) -> None:
    av = pytest.importorskip("av")
    with av.open(str(path), "w") as film:
        stream = film.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 48, 32, "yuv420p"
        for at in range(count):
            frame = av.VideoFrame.from_image(Image.new("RGB", (48, 32), (10 * at,) * 3))
            film.mux(stream.encode(frame))
        film.mux(stream.encode())


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("".join(f"{text}\n" for text in TEXTS))
    return path


def unit(rows: Any) -> Any:
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Any:
    """Tiny models gain nothing from more, and a busy machine stays usable."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs ``unhub encode`` in this process, in the folder of the test: exit code, stdout, stderr."""
    from unhub.cli import COMMANDS, app, encode, main

    if "encode" not in COMMANDS:
        app.command("encode")(encode.command)
    monkeypatch.chdir(tmp_path)

    def call(*words: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["encode", *map(str, words)])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def refused(ended: tuple[int, str, str], *words: str) -> None:
    """Exit code 2, nothing on stdout, and one sentence on stderr that has these words."""
    code, out, err = ended
    assert code == 2, err
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("unhub: "), err
    assert "Traceback" not in err
    for word in words:
        assert word in err, err
