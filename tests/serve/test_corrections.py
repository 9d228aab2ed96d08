"""A correction on the page: with queries of one's own, with those of its bank, with scores alone."""

import json
import shlex

import numpy as np
import pytest

import unhub
from unhub.cli import main
from unhub.explore.comparing import comparison
from unhub.explore.correction_subject import BANK, FORWARD, Beside
from unhub.explore.hubs import hub_card
from unhub.explore.material import SAVED, TEST
from unhub.explore.opening import open_subject
from unhub.explore.stage import Setting, Stage, methods_of
from unhub.explore.view import view
from unhub.foundation.errors import InputError
from unhub.serve.answers import about


@pytest.fixture
def saved(experiment, tmp_path):
    here = experiment.parent
    correction = unhub.fit(
        "dbsn", targets=here / "targets.npy", query_bank=here / "bank_queries.npy",
        target_bank=here / "bank_targets.npy", tau=0.1, strength=0.8, target_ids=here / "ids.txt",
    )  # fmt: skip
    correction.save(tmp_path / "shop.unhub")
    return correction, tmp_path / "shop.unhub"


def played(subject, **values):
    stage = Stage(subject)
    setting = Setting(**({"direction": FORWARD, "bank": BANK, "method": SAVED, "k": 5} | values))
    return stage, stage.scene(setting)


def test_what_is_shown_is_what_is_searched(saved, experiment):
    correction, path = saved
    queries = str(experiment.parent / "queries.npy")
    subject = open_subject(str(path), Beside(queries=queries, relevant=np.load(experiment.parent / "relevant.npy")))
    _, scene = played(subject, strength=0.8)
    assert (scene.after.top[:, :10] == correction.search(queries, k=10).rows).all()
    assert (scene.before.top[:, :10] == correction.search(queries, k=10, corrected=False).rows).all()
    assert scene.after.bias == pytest.approx(correction.bias, abs=1e-6)
    shown = view(subject, scene)
    assert shown.headline.sentence.startswith("1 of 120 targets takes ")
    assert "after DBSN " in shown.headline.sentence
    assert shown.lines[1].name == "DBSN as saved"
    assert shown.verdict.kind != "unknown"


def test_it_opens_as_saved_with_its_own_strength(saved, experiment):
    _, path = saved
    described = about(open_subject(str(path), Beside(queries=str(experiment.parent / "queries.npy"))), encoder=True)
    assert described.opening.method == SAVED
    _, scene = played(open_subject(str(path), Beside(queries=str(experiment.parent / "queries.npy"))))
    assert scene.setting.strength == 0.8
    assert described.encoder
    assert described.directions[0].judged is False


def test_a_target_bank_lets_it_be_fitted_anew(saved, experiment):
    _, path = saved
    here = experiment.parent
    alone = open_subject(str(path), Beside(queries=str(here / "queries.npy")))
    assert "dbsn" not in methods_of(alone.material(FORWARD), BANK)
    beside = Beside(queries=str(here / "queries.npy"), target_bank=str(here / "bank_targets.npy"))
    subject = open_subject(str(path), beside)
    stage, scene = played(subject, strength=0.8)
    again = stage.scene(Setting(FORWARD, BANK, "dbsn", 0.1, 0.8, 5))
    assert again.after.bias == pytest.approx(scene.after.bias, abs=1e-5)
    columns = [each.name for each in comparison(stage, scene.setting, 3).columns]
    assert columns == ["no correction", "IS", "SN", "DBSN as saved"]


def test_shares_come_from_the_saved_potentials(saved, experiment):
    correction, path = saved
    here = experiment.parent
    names = str(here / "bank.txt")
    _, scene = played(open_subject(str(path), Beside(queries=str(here / "queries.npy"), bank_captions=names)))
    card = hub_card(scene, 7)
    scores = np.load(here / "bank_queries.npy").astype(float) @ np.load(here / "targets.npy")[7].astype(float)
    weights = np.exp((scores + correction.potentials) / 0.1)
    assert card.contributions[0].share == pytest.approx((weights / weights.sum()).max(), rel=1e-3)
    assert card.contributions[0].row == int(weights.argmax())
    assert card.id == "item007"


def test_it_was_fitted_on_its_own_bank_whatever_is_chosen(saved, experiment):
    here = experiment.parent
    beside = Beside(queries=str(here / "queries.npy"), relevant=np.load(here / "relevant.npy"))
    subject = open_subject(str(saved[1]), beside)
    shown = [view(subject, played(subject, bank=bank)[1]) for bank in (BANK, TEST)]
    assert shown[0].lines[1].values == shown[1].lines[1].values
    assert not shown[1].lines[1].transductive
    assert [each.share for each in hub_card(played(subject, bank=TEST)[1], 7).contributions] == [
        each.share for each in hub_card(played(subject, bank=BANK)[1], 7).contributions
    ]
    _, anew = played(subject, bank=TEST, method="sn")
    assert view(subject, anew).lines[1].transductive


def test_weights_of_bank_queries_count(experiment, tmp_path):
    here = experiment.parent
    bank, targets = (np.load(here / f"{each}.npy") for each in ("bank_queries", "targets"))
    weight = np.linspace(0.1, 3, len(bank))
    unhub.fit("is", targets=targets, query_bank=bank, tau=0.1, query_weight=weight).save(tmp_path / "weighed.unhub")
    beside = Beside(queries=str(here / "queries.npy"), targets=str(here / "targets.npy"))
    subject = open_subject(str(tmp_path / "weighed.unhub"), beside)
    stage, scene = played(subject)
    terms = weight * np.exp((bank.astype(float) @ targets[7].astype(float)) / 0.1)
    assert hub_card(scene, 7).contributions[0].share == pytest.approx((terms / terms.sum()).max(), rel=1e-3)
    again = stage.scene(Setting(FORWARD, BANK, "is", 0.1, 1.0, 5))
    assert again.after.bias == pytest.approx(scene.after.bias, abs=1e-5)


def test_without_queries_the_bank_is_asked(saved):
    _, path = saved
    subject = open_subject(str(path))
    _, scene = played(subject, bank=TEST)
    shown = view(subject, scene)
    assert scene.material.relevance.queries == 90
    assert "No queries were given, so those of the bank are asked" in shown.notes[0]
    assert shown.verdict.kind == "unknown"
    assert "R@1" not in shown.lines[0].values


def test_a_correction_of_scores_needs_scores(experiment, tmp_path):
    here = experiment.parent
    bank, targets, queries = (np.load(here / f"{each}.npy") for each in ("bank_queries", "targets", "queries"))
    unhub.fit("sn", scores=bank @ targets.T, tau=0.1).save(tmp_path / "scores.unhub")
    with pytest.raises(InputError, match="fitted on scores, so it has no vectors to show; pass --scores"):
        open_subject(str(tmp_path / "scores.unhub")).material(FORWARD)
    np.save(tmp_path / "S.npy", queries @ targets.T)
    subject = open_subject(str(tmp_path / "scores.unhub"), Beside(scores=str(tmp_path / "S.npy")))
    _, scene = played(subject, bank=TEST)
    assert scene.after.top.shape[0] == 240
    assert hub_card(scene, 3).contributions == [], "its bank is not here"
    assert not view(subject, scene).lines[1].transductive
    np.save(tmp_path / "narrow.npy", (queries @ targets.T)[:, 1:])
    with pytest.raises(InputError, match="scores has 119 columns but this correction is of 120 targets"):
        open_subject(str(tmp_path / "scores.unhub"), Beside(scores=str(tmp_path / "narrow.npy"))).material(FORWARD)


@pytest.mark.parametrize(
    ("beside", "sentence"),
    [
        ({"queries": "nothing.npy"}, "nothing.npy"),
        ({"media": "nowhere"}, "media, nowhere, is no folder"),
        ({"target_captions": "captions.txt"}, "target_captions has 240 lines but there are 120 rows"),
    ],
)
def test_mistakes_beside_a_correction(saved, experiment, monkeypatch, beside, sentence):
    monkeypatch.chdir(experiment.parent)
    with pytest.raises(InputError, match=sentence):
        open_subject(str(saved[1]), Beside(**beside)).material(FORWARD)


def test_an_experiment_names_its_parts_itself(experiment):
    with pytest.raises(InputError, match="--queries goes with a correction; an experiment file names its parts itself"):
        open_subject(str(experiment), Beside(queries="q.npy"))
    with pytest.raises(InputError, match="--relevant goes with a correction"):
        open_subject(str(experiment), Beside(relevant_flag="diagonal"))


def test_a_large_set_is_a_stated_sample(experiment):
    whole = open_subject(str(experiment)).material("t2i")
    assert whole.notes == ()
    part = open_subject(str(experiment), cells=(500 * 60, 120 * 60)).material("t2i")
    assert part.notes[0].startswith("This is a sample: ")
    assert "of 120 targets" in part.notes[0]
    assert part.scores.shape[1] == len(np.unique(np.load(experiment.parent / "relevant.npy"))) < 120
    assert part.relevance.queries == len(part.queries.names)
    first = [whole.target_ids.index(each) for each in part.target_ids]
    for row in range(20):
        asked = whole.query_ids.index(part.query_ids[row])
        assert [first[each] for each in part.right(row)] == whole.right(asked).tolist(), "what is right stays"
        assert part.scores[row] == pytest.approx(whole.scores[asked][first])


@pytest.mark.parametrize("method", ["sn", SAVED])
def test_the_command_gives_the_numbers_again(saved, experiment, capsys, method):
    here = experiment.parent
    flag = str(here / "relevant.npy")
    beside = Beside(
        queries=str(here / "queries.npy"), target_bank=str(here / "bank_targets.npy"), relevant=np.load(flag),
        relevant_flag=flag, targets=str(here / "targets.npy"),
    )  # fmt: skip
    subject = open_subject(str(saved[1]), beside)
    _, scene = played(subject, method=method)
    shown = view(subject, scene)
    words = shlex.split(shown.command)
    assert main([*words[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["methods"][scene.method.name]
    assert told["R@1"] == pytest.approx(shown.lines[1].values["R@1"])
    assert told["MnR"] == pytest.approx(shown.lines[1].values["MnR"], abs=1e-4)


def test_the_command_where_it_cannot_be_fitted_again(saved, experiment, capsys):
    here = experiment.parent
    flag = str(here / "relevant.npy")
    beside = Beside(queries=str(here / "queries.npy"), relevant=np.load(flag), relevant_flag=flag)
    subject = open_subject(str(saved[1]), beside)
    _, scene = played(subject)
    shown = view(subject, scene)
    assert main(shlex.split(shown.command)[1:]) == 0
    lines = json.loads(capsys.readouterr().out)["table"]["lines"]
    assert [each["values"]["R@1"] for each in lines if "saved" in each["name"]] == [shown.lines[1].values["R@1"]]
    unjudged = open_subject(str(saved[1]), Beside(queries=str(here / "queries.npy")))
    words = shlex.split(view(unjudged, played(unjudged)[1]).command)
    assert words[:2] == ["unhub", "diagnose"]
    assert main(words[1:]) == 0
