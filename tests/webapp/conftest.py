"""An experiment with pictures, sounds and hostile captions, the real server over it, and a real browser."""

import contextlib
import os
import signal
import subprocess
import sys
import wave

import numpy as np
import pytest
from PIL import Image

HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
COUNT, BANK = 120, 90
UNHUB = (sys.executable, "-m", "unhub")


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def world(folder, *, targets=COUNT, queries=2 * COUNT, bank=BANK, media=True):
    """Writes an experiment with hubs into a folder and gives back the path of its file."""
    rng = np.random.default_rng(5)
    common = rng.standard_normal(24)
    gallery = rng.standard_normal((targets, 24)) + rng.gamma(1, 0.6, (targets, 1)) * common
    relevant = rng.integers(0, targets, queries)
    asked = gallery[relevant] + 0.9 * rng.standard_normal((queries, 24)) + 0.4 * common
    others = rng.standard_normal((bank, 24)) + rng.gamma(1, 0.6, (bank, 1)) * common
    banked = others + 0.9 * rng.standard_normal((bank, 24)) + 0.4 * common
    arrays = {
        "targets": unit(gallery),
        "queries": unit(asked),
        "bank_queries": unit(banked),
        "bank_targets": unit(others),
    }
    for name, rows in arrays.items():
        np.save(folder / f"{name}.npy", rows)
    np.save(folder / "relevant.npy", relevant)
    write = lambda name, lines: (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")  # noqa: E731
    write("ids.txt", [f"item{row:03d}" for row in range(targets)])
    write("captions.txt", [HOSTILE, *(f"query {row} of somebody" for row in range(1, queries))])
    write("titles.txt", [HOSTILE, *(f"target {row}" for row in range(1, targets))])
    write("bank.txt", [HOSTILE, *(f"earlier query {row}" for row in range(1, bank))])
    lines = ['[dataset]\nname = "Made up"\nmodel = "model"\ndirections = ["t2i", "i2t"]\nmodality = "image"\n[test]']
    lines += [f'{part} = "{part}.npy"' for part in ("queries", "targets", "relevant")]
    lines += ['target_ids = "ids.txt"\ncaptions = "captions.txt"\ntarget_captions = "titles.txt"']
    if media:
        write_media(folder)
        lines += ['media = "media"']
    lines += ['[banks.val]\nqueries = "bank_queries.npy"\ntargets = "bank_targets.npy"\ncaptions = "bank.txt"']
    lines += ["[settings]\ntau = 0.1"]
    path = folder / "experiment.toml"
    path.write_text("\n".join(lines))
    return path


def write_media(folder):
    """A picture for most targets, a sound for one, a link out of the folder, and a file that is no picture."""
    media = folder / "media"
    media.mkdir()
    rng = np.random.default_rng(1)
    for row in range(10, COUNT):
        Image.fromarray(rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)).resize((240, 160)).save(
            media / f"item{row:03d}.png"
        )
    with wave.open(str(media / "item001.wav"), "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(16000))
    Image.new("RGB", (8, 8), "red").save(folder / "secret.png")
    (media / "item002.png").symlink_to(folder / "secret.png")
    (folder / "outside").mkdir()
    Image.new("RGB", (8, 8), "red").save(folder / "outside" / "item004.png")
    (media / "linked").symlink_to(folder / "outside")
    (media / "item005.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")


@contextlib.contextmanager
def serving(*words, cwd, cache):
    """The address of ``unhub serve`` with these words, run as a program and ended by its own process id."""
    environment = os.environ | {"XDG_CACHE_HOME": str(cache), "PYTHONUNBUFFERED": "1"}
    started = subprocess.Popen(
        [*UNHUB, "serve", *map(str, words)], cwd=cwd, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        line = started.stdout.readline()
        if "http://" not in line:
            started.wait(20)
            raise AssertionError(f"{line}{started.stderr.read()}")
        yield "http://" + line.split("http://")[1].split()[0]
    finally:
        started.send_signal(signal.SIGINT)
        try:
            code = started.wait(20)
        except subprocess.TimeoutExpired:
            started.kill()
            raise
        said = started.stderr.read()
        started.stdout.close(), started.stderr.close()
        assert "Traceback" not in said, said
        assert (code, said) == (0, "")


@pytest.fixture(scope="session")
def experiment(tmp_path_factory):
    return world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def server(experiment, cache):
    with serving(experiment, "--port", 0, cwd=experiment.parent, cache=cache) as address:
        yield address.rstrip("/")


class Watched:
    """A page whose console errors and requests to elsewhere are noted."""

    def __init__(self, context, address):
        self.errors, self.elsewhere, self.address = [], [], address
        self.page = context.new_page()
        self.page.on(
            "console", lambda said: self.errors.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._noted)

    def _noted(self, request):
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.elsewhere.append(request.url)

    def open(self, path="/"):
        self.page.goto(self.address + path)
        self.drawn()
        return self.page

    def drawn(self):
        """Waits until everything that was asked for is drawn."""
        self.page.wait_for_selector("body[data-drawn]")
        self.page.wait_for_load_state("networkidle")
        return self.page


@pytest.fixture
def visit(browser, server):
    """A function that opens the page with a size and colours; at the end no error and no request elsewhere."""
    opened = []

    def open_page(path="/", *, width=1280, height=900, scheme="light", **more):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **more)
        watched = Watched(context, server)
        opened.append((context, watched))
        watched.open(path)
        return watched

    yield open_page
    for context, watched in opened:
        context.close()
        assert watched.errors == []
        assert watched.elsewhere == []
