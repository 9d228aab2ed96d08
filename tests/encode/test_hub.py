"""A model by its name: a hub out of reach is one sentence, and soon; what was downloaded before is used without it."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from huggingface_hub import constants

from .conftest import TEXTS, refused


@pytest.fixture
def unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No hub answers, and nothing is downloaded yet: the folder where downloads go."""
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return cache


def downloaded(cache: Path, name: str, folder: Path) -> None:
    """What a download leaves behind."""
    place = cache / f"models--{name.replace('/', '--')}"
    shutil.copytree(folder, place / "snapshots" / "0123abc")
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("0123abc")


@pytest.mark.parametrize("name", ["openai/clip-vit-base-patch32", "all-MiniLM-L6-v2", "hf-hub:laion/some-clip"])
def test_one_sentence_and_soon(name: str, run: Any, texts: Path, unreachable: Path) -> None:
    began = time.monotonic()
    refused(
        run("texts.txt", "--model", name, "-o", "o.npy"),
        f"model {name!r} is neither a folder nor downloaded before, and http://127.0.0.1:9 cannot be reached (",
        "check the connection, or give the folder of a model that is on this machine.",
    )
    assert time.monotonic() - began < 10  # the hub's own client would try for half a minute


def test_weights_of_open_clip_out_of_reach(run: Any, texts: Path, unreachable: Path, open_clip: Any) -> None:
    began = time.monotonic()
    refused(run("texts.txt", "--model", "ViT-B-32:laion2b_s34b_b79k", "-o", "o.npy"), "cannot be loaded", "ViT-B-32")
    assert time.monotonic() - began < 20


def test_told_to_stay_offline(run: Any, texts: Path, unreachable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    refused(run("texts.txt", "--model", "some/model", "-o", "o.npy"), "cannot be reached (HF_HUB_OFFLINE is set)")


@pytest.mark.parametrize(("name", "model"), [("org/tiny-clip", "clip"), ("tiny-sentences", "sentences")])
def test_what_was_downloaded_before_is_used(
    name: str, model: str, run: Any, texts: Path, unreachable: Path, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(model)
    downloaded(unreachable, name if "/" in name else f"sentence-transformers/{name}", folder)
    code, _, err = run("texts.txt", "--model", name, "-o", "by_name.npy")
    assert (code, err) == (0, "")
    run("texts.txt", "--model", folder, "-o", "by_folder.npy")
    np.testing.assert_array_equal(np.load("by_name.npy"), np.load("by_folder.npy"))
    assert len(np.load("by_name.npy")) == len(TEXTS)
