"""The strength has one range, at every door, told in one sentence."""

import dataclasses
import hashlib
import json

import numpy as np
import pytest
from safetensors.numpy import load, save_file

import unhub
from unhub.cli import main
from unhub.core.parameters import MOST_STRENGTH
from unhub.methods import ADDITIVE, IS, Method, method

SENTENCE = "strength is {}; give 'auto' or a number from 0 (no correction) to 4 (1 is the bias as it is)."
WRONG = [-0.1, 4.1, 1e30, float("nan"), float("inf"), "1", None, True]


@pytest.fixture
def vectors(unit_rows):
    return {"targets": unit_rows(20, 6), "query_bank": unit_rows(30, 6), "tau": 0.2}


def refused(value, call):
    with pytest.raises(unhub.InputError) as told:
        call()
    assert str(told.value) == SENTENCE.format(repr(value))


@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize("name", ADDITIVE)
def test_methods(name, value):
    refused(value, lambda: dataclasses.replace(method(name), strength=value))


@pytest.mark.parametrize("value", [each for each in WRONG if each is not None])
def test_fit_and_evaluate(value, vectors):
    refused(value, lambda: unhub.fit("sn", **vectors, strength=value))
    scores = vectors["query_bank"] @ vectors["targets"].T
    refused(value, lambda: unhub.evaluate(scores=scores, relevant=np.zeros(30, int), methods=["is"], strength=value))


def test_the_estimator(vectors):
    estimator = pytest.importorskip("unhub.estimator")
    corrector = estimator.HubnessCorrector(query_bank=vectors["query_bank"], strength=9.0)
    refused(9.0, lambda: corrector.fit(vectors["targets"]))


def test_the_command(vectors, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("targets", "query_bank"):
        np.save(f"{name}.npy", vectors[name])
    words = ["fit", "--targets", "targets.npy", "--query-bank", "query_bank.npy", "-o", "x.unhub", "--strength", "9"]
    assert main(words) == 2
    assert capsys.readouterr().err == f"unhub: --{SENTENCE.format(9.0)}\n"


@dataclasses.dataclass(frozen=True)
class Careless(Method):
    name = "careless"
    title = "careless"
    description = "IS without a look at its strength."
    strength: float = 1.0

    def estimate(self, banks):
        return IS.paper().estimate(banks)

    def bias_of(self, banks, potentials):
        return IS.paper().bias_of(banks, potentials)


def test_a_method_that_does_not_look(vectors):
    given = {key: value for key, value in vectors.items() if key != "tau"}
    refused(1e40, lambda: unhub.fit(Careless(strength=1e40), **given))


def test_a_file(vectors, tmp_path):
    """Sealed as it should be, with a strength that nothing of ours writes."""
    path = tmp_path / "x.unhub"
    unhub.fit("sn", **vectors).save(path)
    whole = path.read_bytes()
    noted = json.loads(json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])["__metadata__"]["unhub"])
    noted["settings"]["strength"] = 1e30
    text = json.dumps(noted)
    save_file(load(whole), path, {"unhub": text, "unhub_sha256": hashlib.sha256(text.encode()).hexdigest()})
    with pytest.raises(unhub.InputError, match=r"x\.unhub has strength 1e\+30; unhub takes 0 to 4 now; fit again"):
        unhub.load(path)


@pytest.mark.parametrize("value", [0, 1.25, MOST_STRENGTH, np.float32(0.5)])
def test_what_is_in_range(value, vectors):
    found = unhub.fit("sn", **vectors, strength=value)
    np.testing.assert_allclose(found.served_bias, float(value) * unhub.fit("sn", **vectors).bias, atol=1e-7)
