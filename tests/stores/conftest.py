"""Real stores, each started once for a worker when a test first asks for it."""

import pytest

from stores.engines import ENGINES


@pytest.fixture(scope="session")
def engines(tmp_path_factory):
    """A function from a store's name to the running engine."""
    running = {}

    def start(name):
        if name not in running:
            running[name] = ENGINES[name](tmp_path_factory.mktemp(name))
        return running[name]

    yield start
    for engine in running.values():
        engine.stop()
