"""The public names of the design, one line after the other."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import unhub

ROOT = Path(__file__).parents[2]


def unit(rng, rows, dim=16):
    x = rng.standard_normal((rows, dim)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")
def test_the_lines_of_the_design_run(tmp_path, rng):
    T, Bq, Bt, Q = unit(rng, 30), unit(rng, 50), unit(rng, 20), unit(rng, 7)
    log, R, J = unit(rng, 50), unit(rng, 60), np.arange(60) % 30
    correction = unhub.fit("dbsn", targets=T, query_bank=Bq, target_bank=Bt)
    assert correction.bias.shape == correction.hubness.shape == (30,)
    assert correction.bias.dtype == np.float32
    assert abs(correction.bias.mean()) < 1e-6
    assert 0 <= correction.strength == correction.verdict.strength <= 1
    assert correction.status == "iterations reached"
    assert correction.marginal_error >= 0
    hits = correction.search(Q, k=10)
    assert hits.ids.shape == hits.scores.shape == (7, 10)
    assert correction.extend(unit(rng, 3)).shape == (3,)
    assert correction.augment(T).shape == (30, 17)
    assert correction.augment_queries(Q).shape == (7, 17)
    correction.save(tmp_path / "fashion.unhub")
    assert (unhub.load(tmp_path / "fashion.unhub").bias == correction.bias).all()

    correction = unhub.fit("sn", targets=T, query_bank=log, recent=R, judged=J)
    default = unhub.fit("sn", targets=T, query_bank=log, recent=R, judged=J, tau="auto", strength="auto")
    assert correction.verdict == default.verdict
    assert correction.verdict.decision in ("apply", "apply weaker", "refuse")
    assert [each.source for each in correction.verdict.evidence] == ["bank", "recent", "judged"]
    assert correction.verdict.decision.upper() in correction.verdict.sentence
    assert unhub.guard(correction, recent=R, judged=J) == correction.verdict
    assert isinstance(correction.verdict, unhub.Verdict)
    served = correction.search(Q, k=10)
    ranked = np.sort(Q @ T.T + correction.strength * correction.bias, axis=1)[:, ::-1][:, :10]
    np.testing.assert_allclose(served.scores, ranked, atol=1e-5)

    S_bt, S = Bq @ T.T, unit(rng, 30) @ T.T
    gt = np.arange(30)
    assert unhub.fit("sn", scores=S_bt).bias.shape == (30,)
    assert unhub.normalize("otn", scores=S).shape == S.shape
    result = unhub.evaluate(scores=S, relevant=gt, methods=["none", "is", "sn"])
    assert 0 <= result["sn"]["R@1"] <= 100
    for text in (result.table(), result.to_latex(), result.to_json()):
        assert "R@1" in text
    everything = unhub.evaluate(
        queries=unit(rng, 30), targets=T, relevant=gt, query_bank=Bq, target_bank=Bt, methods=unhub.METHODS
    )
    assert set(everything) == set(unhub.METHODS)
    fitted = unhub.fit("sn", targets=T, query_bank=Bq)
    assert everything["sn"].settings["tau"] == fitted.settings["tau"] != unhub.methods.SN.paper().tau == 0.01
    assert unhub.fit(unhub.methods.SN(tau=0.02), scores=S_bt).settings["tau"] == 0.02


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == unhub.__version__


def test_all_extras_are_in_all():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["all"] == [f"unhub[{','.join(name for name in extras if name != 'all')}]"]


def test_every_public_name_is_there_and_no_other():
    for name in unhub.__all__:
        assert getattr(unhub, name) is not None
    assert dir(unhub) == sorted(unhub.__all__)
    with pytest.raises(AttributeError, match="module 'unhub' has no attribute 'fitt'; it has ADDITIVE"):
        _ = unhub.fitt
