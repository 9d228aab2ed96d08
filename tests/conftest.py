"""What every test may ask for: where the real data stands and how hypothesis looks for faults."""

import os
import signal
import sys
from collections import Counter
from contextlib import contextmanager

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
def own_registries():
    """Methods and metrics that a test registers are forgotten after it."""
    registries = methods.registry._REGISTERED, metrics.registry._REGISTERED
    before = [dict(each) for each in registries]
    yield
    for registry, names in zip(registries, before, strict=True):
        registry.clear()
        registry.update(names)


@pytest.fixture
def calls_of():
    """A context manager: the arguments of every call of some functions in this thread; none of them is replaced."""

    @contextmanager
    def watching(*functions):
        calls, codes = [], {each.__code__ for each in functions}

        def watch(frame, event, _):
            if event == "call" and frame.f_code in codes:
                calls.append({"def": frame.f_code.co_name, **frame.f_locals})

        sys.setprofile(watch)
        try:
            yield calls
        finally:
            sys.setprofile(None)

    return watching


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
def counted(calls_of):
    """A context manager: how often each array was opened, and how often it was checked."""
    from unhub.core.checks import check_scores, survey_vectors
    from unhub.io import open_rows

    @contextmanager
    def counting():
        opened, checked = Counter(), Counter()
        with calls_of(open_rows, survey_vectors, check_scores) as calls:
            yield opened, checked
        for call in calls:
            name = call["name"] if "name" in call else call["rows"].name
            (opened if call["def"] == "open_rows" else checked)[name] += 1

    return counting
