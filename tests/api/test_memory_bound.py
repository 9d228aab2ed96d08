"""A fit stays within the memory it was given, but for a few numbers for each row and each target."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from reference.problems import unit_vectors

import unhub
from unhub.core.execution import Execution

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

MEMORY = 64_000_000

FOR_EACH_ITEM = 64
"""bytes for each bank row and each target: potentials, marginals, digests and the answer, some of them twice"""

SHAPES = {
    "compiled": [(30_000, 500), (500, 60_000), (8000, 4000)],
    "plain": [(30_000, 500), (200, 60_000), (4000, 5000)],
}
"""many rows, many targets, and scores of more than the memory"""

WAYS = [("compiled", "float32"), ("compiled", "float16"), ("plain", "float16")]
CASES = [(who, kind, *shape) for who, kind in WAYS for shape in SHAPES[who]]


def given(name, rows, columns, kind):
    rng = np.random.default_rng(0)
    sizes = {"targets": columns, "query_bank": rows} | ({"target_bank": 300} if name in ("dbsn", "dualis") else {})
    vectors = {side: unit_vectors(rng, size, 16).astype(kind) for side, size in sizes.items()}
    return vectors | ({"iterations": 2} if name in ("sn", "dbsn") else {})


def peak(name, arguments, memory=MEMORY, executor=None):
    """The most that was allocated at once while the fit ran."""
    tracemalloc.start()
    try:
        unhub.fit(name, **arguments, memory=memory, executor=executor)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("who", "kind", "rows", "columns"), CASES)
@pytest.mark.parametrize("name", ["is", "nnn", "sn", "dbsn", "dualis"])
def test_a_fit_stays_within_its_memory(name, who, kind, rows, columns):
    executor = Execution(compiled=who == "compiled")
    for memory in (None, *(each * 30 * 340 for each in (4, 2, 1))):
        unhub.fit(
            name, **given(name, 30, 40, kind), memory=memory, executor=executor
        )  # compiles and imports what is needed
    allowed = MEMORY + FOR_EACH_ITEM * (rows + columns)
    found = peak(name, given(name, rows, columns, kind), executor=executor)
    assert found <= allowed, f"{found / 1e6:.1f} MB of {allowed / 1e6:.1f} MB"


def halves(rng, rows, columns):
    return (rng.normal(size=(rows, columns)) / 8).astype(np.float16)


def of_itself(rng):
    items = unit_vectors(rng, 5000, 16)
    return {"targets": items, "query_bank": items, "ignore_self": True}


ORDINARY = {
    "a gallery that is its own bank": of_itself,
    "few targets, float16": lambda rng: {
        "targets": unit_vectors(rng, 60, 256), "query_bank": halves(rng, 60_000, 256), "metric": "ip"
    },
    "few targets, lengths to divide by": lambda rng: {
        "targets": 3 * unit_vectors(rng, 60, 256), "query_bank": 2 * unit_vectors(rng, 60_000, 256), "normalize": True
    },
    "a matrix in float16": lambda rng: {"scores": halves(rng, 6000, 5000)},
}  # fmt: skip


@pytest.mark.parametrize("case", ORDINARY)
@pytest.mark.parametrize("name", ["is", "nnn", "sn"])
def test_other_sources_stay_within_it_too(name, case):
    executor = Execution(compiled=True)
    arguments = ORDINARY[case](np.random.default_rng(0)) | ({} if name == "nnn" else {"tau": "auto"})
    unhub.fit(name, **given(name, 30, 40, "float32"), executor=executor)
    rows = len(arguments.get("query_bank", arguments.get("scores")))
    columns = len(arguments["targets"]) if "targets" in arguments else arguments["scores"].shape[1]
    found = peak(name, arguments | ({"iterations": 2} if name == "sn" else {}), executor=executor)
    allowed = MEMORY + FOR_EACH_ITEM * (rows + columns)
    assert found <= allowed, f"{found / 1e6:.1f} MB of {allowed / 1e6:.1f} MB"


SEARCH = """
import re, torch, unhub
def used():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) << 10
vectors = torch.nn.functional.normalize(torch.randn(8000, 16))
correction = unhub.fit("dn", targets=vectors[:5000], query_bank=vectors[5000:5200], memory="64MB")
correction.search(vectors[:500])
before = used()
correction.search(vectors)
print(used() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_a_search_on_tensors_lets_go_of_its_blocks():
    """The order of all scores would be 320 MB."""
    done = subprocess.run([sys.executable, "-c", SEARCH], capture_output=True, text=True, check=True, timeout=300)
    assert int(done.stdout) < 120_000_000


def test_the_measure_sees_a_matrix_of_scores():
    """With memory for everything, everything is kept: the bound above can be broken."""
    assert peak("sn", given("sn", 2000, 4000, "float32"), memory=1 << 30) > 2000 * 4000 * 4
