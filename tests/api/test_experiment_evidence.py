"""An experiment file names what chooses the strength, by the names of the arguments."""

import pickle

import numpy as np
import pytest

import unhub
from unhub import InputError

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

TARGETS, BANK, RECENT = 30, 100, 60


@pytest.fixture
def write(tmp_path):
    """A function that writes an experiment file with more in its sections, beside its arrays."""
    rng = np.random.default_rng(0)

    def unit(rows):
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    common = rng.normal(size=8)
    targets = rng.normal(size=(TARGETS, 8)) + rng.gamma(1.0, 0.6, size=(TARGETS, 1)) * common
    wanted = {name: rng.integers(0, TARGETS, size) for name, size in (("bank", BANK), ("recent", RECENT))}
    np.save(tmp_path / "targets.npy", unit(targets))
    np.save(tmp_path / "queries.npy", unit(targets + common + rng.normal(size=targets.shape)))
    for name, rows in wanted.items():
        np.save(tmp_path / f"{name}.npy", unit(targets[rows] + common + rng.normal(size=(len(rows), 8))))
        (tmp_path / f"{name}.tsv").write_text("".join(f"{at}\t{row}\n" for at, row in enumerate(rows)))

    def written(test="", settings=""):
        file = tmp_path / "experiment.toml"
        file.write_text(
            f'[test]\nqueries = "queries.npy"\ntargets = "targets.npy"\n{test}\n'
            f'[banks.log]\nqueries = "bank.npy"\n[settings]\n{settings}\n'
        )
        return file

    return written


EVIDENCE = 'recent = "recent.npy"\njudged = "recent.tsv"\n'


def test_a_fit_reads_the_evidence_of_the_file(write, tmp_path):
    data = unhub.Dataset.open(write(EVIDENCE + 'clicks = "bank.tsv"\ntarget_prior = "clicks"\n', "own_log = true"))
    found = unhub.fit("sn", data)
    paths = {"recent": "recent.npy", "judged": "recent.tsv", "clicks": "bank.tsv", "targets": "targets.npy"}
    given = {name: str(tmp_path / path) for name, path in paths.items()}
    expected = unhub.fit("sn", query_bank=str(tmp_path / "bank.npy"), target_prior="clicks", own_log=True, **given)
    np.testing.assert_array_equal(found.bias, expected.bias)
    assert found.verdict == expected.verdict
    assert found.method.name == "capped_sn"
    assert [each.source for each in found.verdict.evidence] == ["bank", "recent", "judged"]
    assert "test.target_prior" not in data.parts()
    assert unhub.fit("sn", pickle.loads(pickle.dumps(data))).verdict == expected.verdict


def test_settings_reach_fit_and_evaluate(write):
    plain = unhub.Dataset.open(write(EVIDENCE))
    judged, fitted = unhub.evaluate(plain, methods="sn")["sn"].verdict, unhub.fit("sn", plain).verdict
    assert (judged.decision, judged.strength, judged.tau) == (fitted.decision, fitted.strength, fitted.tau)
    for each, other in zip(judged.evidence, fitted.evidence, strict=True):
        assert (each.source, each.strength, each.queries) == (other.source, other.strength, other.queries)
        assert each.gain == pytest.approx(other.gain, abs=1e-4)
    half = unhub.Dataset.open(write(EVIDENCE, "strength = 0.5"))
    assert unhub.fit("sn", half).verdict.reason == "given"
    assert unhub.evaluate(half, methods="sn")["sn"].settings["strength"] == unhub.fit("sn", half).strength == 0.5
    auto = unhub.Dataset.open(write(EVIDENCE, 'strength = "auto"\nduplicates = "weigh"'))
    assert unhub.fit("sn", auto).verdict == unhub.fit("sn", plain).verdict
    assert auto.duplicates == "weigh"


@pytest.mark.parametrize(
    ("test", "settings", "sentence"),
    [
        ("", 'strength = "much"', "settings.strength is 'much'; give 'auto' or a number from 0"),
        ("", "strength = true", 'settings.strength is True; write a number, or "auto".'),
        ("", 'own_log = "yes"', "settings.own_log is 'yes'; write true or false."),
        ("", 'duplicates = "keep"', "settings.duplicates is 'keep'; use 'drop' or 'weigh'."),
        ('target_prior = "clicks"', "", "test.target_prior is 'clicks', but there are none; give test.clicks too."),
        ('judged = "recent.tsv"', "", "test.judged says which targets are right, but not for which queries; give "),
        ('recent = "queries.npy"', "", "test.recent holds 30 of the 30 test queries; take them out"),
        ('recnt = "recent.npy"', "", "there is no test.recnt; did you mean recent?"),
        ('recent = "qdrant://here/x"', "", "test.recent is the address of a store"),
    ],
)
def test_mistakes_are_in_the_words_of_the_file(test, settings, sentence, write):
    with pytest.raises(InputError) as refused:
        unhub.fit("sn", unhub.Dataset.open(write(test, settings)))
    assert sentence in str(refused.value)
    assert str(refused.value).count("\n") == 0
