"""Experiment files: what they may say, and one sentence for every mistake."""

from pathlib import Path

import pytest

import unhub
from unhub import InputError
from unhub.dataset import Dataset
from unhub.experiments import possible, preset, reproduce

TEMPLATE = (Path(unhub.__file__).parent / "experiments" / "template.toml").read_text(encoding="utf-8")


def test_paths_are_relative_to_the_file(written, tmp_path, monkeypatch):
    path = written(test='queries = "test_queries.npy"\ntargets = "~/x.npz::a"')
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.chdir("/")
    data = Dataset.open(path)
    assert set(data.banks) == {"val", "train"}
    assert data.files() == {
        "test.queries": str(tmp_path / "test_queries.npy"),
        "test.targets": "/home/somebody/x.npz::a",
        **{
            f"banks.{bank}.{part}": str(tmp_path / f"{bank}_{part}.npy")
            for bank in ("val", "train")
            for part in ("queries", "targets")
        },
    }
    assert data.has_relevance, "query i means target i where nothing else is said"


def test_yaml_says_the_same_as_toml(written, tmp_path):
    toml = Dataset.open(written())
    other = tmp_path / "experiment.yaml"
    other.write_text(
        "dataset: {name: Small, model: made}\n"
        "test: {queries: test_queries.npy, targets: test_targets.npy}\n"
        "banks:\n"
        "  val: {queries: val_queries.npy, targets: val_targets.npy}\n"
        "  train: {queries: train_queries.npy, targets: train_targets.npy}\n"
        "settings: {tau: 0.1}\n"
    )
    yaml = Dataset.open(other)
    assert yaml.files() == toml.files()
    for name in ("name", "model", "task_type", "kind", "directions", "metrics", "settings"):
        assert getattr(yaml, name) == getattr(toml, name)


def test_the_template_is_an_experiment_as_it_stands(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text(TEMPLATE)
    found = Dataset.open(path)
    assert (found.name, found.model, found.directions) == ("MSR-VTT", "CLIP4Clip", ("t2v", "v2t"))
    uncommented = "\n".join(
        line.removeprefix("# ") if line.startswith(("# [", "# queries = ", "# targets = ")) else line
        for line in TEMPLATE.splitlines()
    )
    path.write_text(uncommented)
    assert set(Dataset.open(path).banks) == {"val", "train"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names nothing|test.queries is missing"),
        ("[setings]\ntau = 1", r"there is no section setings; did you mean settings\?"),
        ("[test]\nqueris = 'a.npy'", r"there is no test.queris; did you mean queries\?"),
        ("[test]\nqueries = 'a.npy'", "test.targets is missing"),
        ("[test]\nqueries = 1\ntargets = 'b.npy'", "test.queries is 1; write the path of a file"),
        ("[test]\nscores = 'S.npy'\nqueries = 'a.npy'", "embeddings and a matrix of scores"),
        ("[test]\nscores = 'S.npy'\n[dataset]\ntask = 'guessing'", "dataset.task is 'guessing'"),
        ("[test]\nscores = 'S.npy'\n[dataset]\ndirections = ['a', 'a']", "give one name or two different ones"),
        ("[test]\nscores = 'S.npy'\n[banks]\nval = 'x.npy'", r"banks.val is 'x.npy'; write it as a section"),
        ("[test\n", "is not valid TOML"),
        ("[test]\nscores = 'S.npy'\n[settings]\ntemperature = 1", "there is no settings.temperature"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, text, said):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        Dataset.open(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"there is no experiment file .* unhub reproduce init"):
        Dataset.open(tmp_path / "none.toml")


def test_what_can_be_made_follows_from_what_is_there(written):
    full = possible(Dataset.open(written()))
    assert [name for name, lacking in full.items() if lacking is None] == [
        "query-aware",
        "banks",
        "skewness",
        "variants",
    ]
    bare = possible(Dataset.open(written(banks=())))
    assert "name banks.val.queries, an embedding file" in bare["banks"]
    matrix = possible(Dataset.open(written(test='scores = "S.npy"', banks=())))
    assert "name banks.val.scores, a matrix" in matrix["banks"]
    classes = possible(Dataset.open(written(dataset='task = "classification"', banks=())))
    assert [name for name, lacking in classes.items() if lacking is None] == ["classification"]


MATRIX = 'scores = "S.npy"'


@pytest.mark.parametrize(
    ("given", "more", "said"),
    [
        ({"banks": ()}, '[banks.val]\ntargets = "val_targets.npy"', r"banks\.val\.queries is missing"),
        ({"banks": ()}, '[banks.val]\nscores = "S.npy"', r"val\.scores does not go with a test set of embeddings"),
        ({"banks": (), "test": MATRIX}, '[banks.val]\nqueries = "S.npy"', "does not go with a test set of a matrix"),
        ({"banks": (), "test": MATRIX}, '[banks.val]\nscores = "S.npy"\ncross = "S.npy"',
         "has cross but no target_scores"),
        ({"banks": (), "test": MATRIX}, '[banks.val]\nscores = "S.npy"\ntarget_scores = "S.npy"',
         "has target_scores but no cross"),
        ({"banks": ()}, '[banks."a b"]\nqueries = "q.npy"\n[banks.a_b]\nqueries = "q.npy"',
         "two banks would be called a_b"),
        ({"dataset": 'modality = "vidoe"'}, "", r"dataset\.modality is 'vidoe'; did you mean video\?"),
        ({"dataset": 'modality = "smell"'}, "", r"dataset\.modality is 'smell'; it can be image, video, audio\."),
        ({"settings": 'normalize = "false"'}, "", r"settings\.normalize is 'false'; write true or false"),
        ({"settings": "iterations = true"}, "", r"settings\.iterations is True; write a whole number"),
        ({"settings": "seed = 2026-01-01"}, "", r"settings\.seed is 2026-01-01; write a whole number"),
        ({"test": 'queries = "q.npy"\ntargets = "t.npy"\nlabels = "l.npy"\nrelevant = "r.npy"'}, "",
         "both say what is right"),
        ({"test": 'queries = "q.npy"\ntargets = "t.npy"\ntarget_labels = "l.npy"'}, "", r"without test\.labels"),
    ],
)  # fmt: skip
def test_parts_that_do_not_go_together(written, given, more, said):
    path = written(**given)
    path.write_text(path.read_text() + "\n" + more)
    with pytest.raises(InputError, match=said):
        Dataset.open(path)


def test_the_authors_scripts_need_a_modality(written):
    with pytest.raises(InputError, match=r"the protocol authors needs dataset\.modality"):
        reproduce(Dataset.open(written()), ["1"], protocol=preset("authors"))
