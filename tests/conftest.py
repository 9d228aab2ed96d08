"""What every test may ask for: where the real data stands and how hypothesis looks for faults."""

import os
import signal
from collections import Counter

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy is imported: scikit-learn skips a check without it

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from unhub import methods, metrics

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started with an & by a script: programs under test hear Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "unhub",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("unhub")


@pytest.fixture(scope="session")
def shared_data():
    """A function from a name to its path in the shared data; the test is skipped, aloud, where the file is not.

    The data stands beside the project, in ../shared/data, or in $UNHUB_SHARED/data.
    """
    beside = Path(__file__).parents[2] / "shared"
    folder = Path(os.environ.get("UNHUB_SHARED", beside)) / "data"

    def find(name):
        path = folder / name
        if not path.exists():
            pytest.skip(f"real data not found: {path} (set UNHUB_SHARED to the folder that holds data/)")
        return path

    return find


@pytest.fixture
def own_registries(monkeypatch):
    """Methods and metrics that a test registers are forgotten after it."""
    for registry in (methods.registry, metrics.registry):
        monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))


@pytest.fixture
def rng():
    """A generator that gives the same numbers every time."""
    return np.random.default_rng(20251027)


@pytest.fixture
def unit_rows(rng):
    """A function from a number of rows and a dimension to random vectors of unit length."""

    def make(rows, dim):
        x = rng.standard_normal((rows, dim)).astype(np.float32)
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    return make


CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    """Debian's browser, without a window; for one module at a time, since its driver keeps an event loop running."""
    if not CHROMIUM.exists():
        pytest.skip("no browser: Debian's chromium is not installed (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def counted(monkeypatch):
    """How often arrays are opened and checked, by the name of the argument."""
    from unhub.dataset import galleries, reader

    opened, checked = Counter(), Counter()
    open_rows, check_vectors, check_scores = galleries.open_rows, reader.check_vectors, reader.check_scores

    def counting_open(source, *, name):
        opened[name] += 1
        return open_rows(source, name=name)

    def counting_check(rows, name, **how):
        checked[name] += 1
        check_vectors(rows, name, **how)

    def counting_scores(rows, name):
        checked[name] += 1
        check_scores(rows, name)

    for module in (galleries, reader):
        monkeypatch.setattr(module, "open_rows", counting_open)
    monkeypatch.setattr(reader, "check_vectors", counting_check)
    monkeypatch.setattr(reader, "check_scores", counting_scores)
    return opened, checked
