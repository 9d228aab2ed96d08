"""A method and a metric in a package of somebody else: installed, they work wherever unhub's own do."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import unhub

MODULE = '''
from dataclasses import dataclass

import numpy as np

from unhub.core.bias import Bias, closed_form
from unhub.methods import Method, OneTemperature
from unhub.metrics import Metric


@dataclass(frozen=True)
class Half(OneTemperature):
    """bias_j = -share * tau * log mean_u exp(s_uj / tau)"""

    name = "half"
    title = "Half"
    description = "A share of the inverted softmax."
    marginals = frozenset({"query_weight"})

    tau: float | str = "auto"
    share: float = 0.5
    strength: float = 1.0

    def __post_init__(self):
        if not 0 <= self.share <= 1:
            raise ValueError(f"share is {self.share}; give a number from 0 to 1.")

    def estimate(self, banks) -> Bias:
        return closed_form(self.bias_of(banks, None))

    def bias_of(self, banks, potentials):
        scores = np.concatenate([banks.queries.read(at, at + 1) for at in range(banks.queries.shape[0])])
        return -self.share * self.tau * np.log(np.exp(scores.astype(np.float64) / self.tau).mean(axis=0))


second = Metric(
    "second", per_query=lambda ranking: np.where(ranking.ranks == 2, 1.0, 0.0), percent=True, larger_is_better=False,
    title="second place", description="Share of queries whose target comes second.",
)
'''
ENTRIES = """[unhub.methods]
half = unhub_example:Half
broken = unhub_example:Nothing

[unhub.metrics]
second = unhub_example:second
"""


@pytest.fixture
def package(tmp_path):
    """The folder into which it is installed, as pip leaves it there."""
    folder = tmp_path / "site"
    info = folder / "unhub_example-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "unhub_example.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: unhub-example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    return folder


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(3)
    for name, rows in (("targets", 30), ("bank", 50), ("queries", 20), ("new", 4)):
        vectors = rng.normal(size=(rows, 8)).astype(np.float32)
        np.save(tmp_path / f"{name}.npy", vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    np.save(tmp_path / "relevant.npy", np.arange(20))
    return tmp_path


def importing_from(*installed):
    """The environment of a process that also imports from these folders."""
    home = str(Path(unhub.__file__).parents[1])
    return os.environ | {"PYTHONPATH": os.pathsep.join([home, *map(str, installed)]), "PYTHONUNBUFFERED": "1"}


def run(folder, code, *installed):
    """What a process of its own prints, with these folders to import from."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=importing_from(*installed), capture_output=True, text=True
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


FIT = """
import unhub
made = unhub.fit("half", targets="targets.npy", query_bank="bank.npy", share=0.25)
made.save("half.unhub")
result = unhub.evaluate(queries="queries.npy", targets="targets.npy", query_bank="bank.npy", relevant=list(range(20)),
                        methods=["none", "half", "is"], metrics=["R@1", "second"], share=0.25)
print(made.settings["share"], made.settings["tau"] == result["half"].settings["tau"], sorted(result["half"].values))
print(",".join(f"{x:.6f}" for x in made.extend("new.npy")))
"""
LOAD = """
import unhub, numpy as np
made = unhub.load("half.unhub")
print(made.method)
print(",".join(f"{x:.6f}" for x in made.extend("new.npy")))
"""


def test_it_goes_through_fit_save_load_extend_and_evaluate(data, package):
    code, first, errors = run(data, FIT, package)
    assert code == 0, errors
    facts, extended = first.splitlines()
    assert facts == "0.25 True ['R@1', 'second']"
    code, second, errors = run(data, LOAD, package)
    assert code == 0, errors
    assert second.splitlines() == [second.splitlines()[0], extended]
    assert second.startswith("Half(tau=0.")
    code, _, errors = run(data, LOAD)
    assert code == 1
    assert "half.unhub was fitted with the method 'half', which is not here; install the package" in errors


def test_the_command_line_has_it(data, package):
    words = ["evaluate", "--queries", "queries.npy", "--targets", "targets.npy", "--query-bank", "bank.npy"]
    words += ["--relevant", "relevant.npy", "--methods", "none,half", "--metrics", "R@1,second", "--json"]
    code, text, errors = run(data, f"import sys; from unhub.cli import main; sys.exit(main({words!r}))", package)
    assert code == 0, errors
    assert {"R@1", "second"} <= set(json.loads(text)["methods"]["half"])


@pytest.fixture
def experiment(data):
    lines = ['[dataset]\nname = "Made up"\n[test]\nqueries = "queries.npy"\ntargets = "targets.npy"']
    lines += ['relevant = "relevant.npy"\n[banks.val]\nqueries = "bank.npy"']
    (data / "experiment.toml").write_text("\n".join(lines))
    return data


EXPECTED = """
import unhub
result = unhub.evaluate(unhub.Dataset.open("experiment.toml"), bank="val", methods=["none", "half"], metrics=["R@1"])
print(result["half"]["R@1"], result["half"].settings["tau"])
"""


def test_a_report_shows_it(experiment, package):
    _, expected, _ = run(experiment, EXPECTED, package)
    fit = 'import unhub; unhub.fit("half", targets="targets.npy", query_bank="bank.npy").save("half.unhub"); '
    words = ["report", "half.unhub", "--queries", "queries.npy", "--relevant", "relevant.npy", "-o", "half.html"]
    command = f"import sys; from unhub.cli import main; sys.exit(main({words!r}))"
    code, _, errors = run(experiment, fit + command, package)
    assert code == 0, errors
    text = (experiment / "half.html").read_text()
    assert "Half" in text
    assert f"{float(expected.split()[0]):.1f}" in text
    code, _, errors = run(experiment, command)
    assert code == 2
    assert "the method 'half', which is not here" in errors


def test_the_page_has_it(experiment, package, tmp_path):
    httpx = pytest.importorskip("httpx")
    _, expected, _ = run(experiment, EXPECTED, package)
    environment = importing_from(package) | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = [sys.executable, "-m", "unhub", "serve", "experiment.toml", "--port", "0"]
    started = subprocess.Popen(words, cwd=experiment, env=environment, text=True, stdout=-1, stderr=-1)
    try:
        line = started.stdout.readline()
        assert "http://" in line, line
        address = "http://" + line.split("http://")[1].split()[0].rstrip("/")
        about = httpx.get(f"{address}/api/about").json()
        methods = {each["label"]: each for each in about["directions"][0]["banks"][0]["methods"]}
        assert methods["half"]["name"] == "Half"
        view = httpx.get(f"{address}/api/view", params={"method": "half"}).json()
        assert f'"R@1": {float(expected.split()[0])}' in json.dumps(view)
    finally:
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=20)
    assert (started.returncode, errors) == (0, "")


def test_names_are_listed_without_an_import_and_a_broken_package_is_named(data, package):
    code, text, _ = run(
        data, "import sys; from unhub.methods import method_names, METHODS; print(len(method_names()) - len(METHODS), "
        "'half' in method_names(), 'unhub_example' in sys.modules)", package,
    )  # fmt: skip
    assert (code, text) == (0, "2 True False")
    code, text, _ = run(data, "import unhub; print('half' in unhub.methods.method_names(additive=True))", package)
    assert (code, text) == (0, "True")
    code, _, errors = run(data, "import unhub; unhub.normalize('broken', scores=[[1.0]])", package)
    assert code == 1
    assert "the package unhub-example offers broken in unhub.methods, but unhub_example:Nothing cannot" in errors


def test_a_file_cannot_give_its_hyper_parameters_another_type_or_range(data, package):
    forge = """
import hashlib, json, sys
from safetensors import safe_open
from safetensors.numpy import save_file
import unhub
unhub.fit("half", targets="targets.npy", query_bank="bank.npy").save("half.unhub")
with safe_open("half.unhub", framework="numpy") as opened:
    metadata = json.loads(opened.metadata()["unhub"])
    parts = {name: opened.get_tensor(name) for name in opened.keys()}
WRONG = ({"share": "a"}, {"share": 7}, {"share": [1]}, {"share": True}, {"tau": "auto"}, {"new": 1}, {"strength": -1})
for values in WRONG:
    text = json.dumps(metadata | {"settings": metadata["settings"] | values})
    save_file(parts, "forged.unhub", {"unhub": text, "unhub_sha256": hashlib.sha256(text.encode()).hexdigest()})
    try:
        unhub.load("forged.unhub")
        print("loaded", values)
    except unhub.InputError as error:
        print("damaged or was not written by unhub" in str(error))
"""
    code, text, errors = run(data, forge, package)
    assert code == 0, errors
    assert text.splitlines() == ["True"] * 7
