"""A correction on the page: with queries of one's own, with those of its bank, with scores alone."""

import json
import shlex

import numpy as np
import pytest
from unhub.analysis.assembling import assembled
from unhub.analysis.beside import Beside
from unhub.analysis.comparing import comparison, typed
from unhub.analysis.correction_subject import BANK, FORWARD
from unhub.analysis.given import Given, GivenBank
from unhub.analysis.material import SAVED, TEST
from unhub.analysis.opening import open_subject
from unhub.analysis.stage import Setting, Stage, methods_of
from unhub.analysis.telling import verdict

import unhub
from unhub.analysis.hubs import hub_card
from unhub.analysis.model import Range
from unhub.analysis.view import view
from unhub.cli import main
from unhub.dataset import Items
from unhub.foundation.errors import InputError
from unhub.metrics import Relevance
from unhub.webapp.schemas import about


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
    weights = np.exp((scores + correction._potentials) / 0.1)
    assert card.contributions[0].share == pytest.approx((weights / weights.sum()).max(), rel=1e-3)
    assert card.contributions[0].row == int(weights.argmax())
    assert card.id == "item007"


def test_it_is_shown_with_its_own_bank_alone(saved, experiment):
    here = experiment.parent
    subject = open_subject(str(saved[1]), Beside(queries=str(here / "queries.npy")))
    material = subject.material(FORWARD)
    assert SAVED in methods_of(material, BANK)
    assert SAVED not in methods_of(material, TEST)
    with pytest.raises(InputError, match="there is no method 'saved' with this bank"):
        played(subject, bank=TEST)
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
        ({"target_captions": "captions.txt"}, "target_captions has 240 lines but there are 120 targets"),
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
    """Fewer queries, each ranked among all targets: what they gain is what they gain in the whole."""
    assert open_subject(str(experiment)).material("t2i").notes == ()
    subject = open_subject(str(experiment), cells=(1, 15_000_000))
    part = subject.material("t2i")
    assert part.notes == ("This is a sample: 200 of 240 queries, drawn at random.",)
    here = experiment.parent
    for method in ("is", "sn", "dbsn"):
        scene = Stage(subject).scene(Setting("t2i", "val", method, None, None, 10))
        whole = unhub.evaluate(
            queries=here / "queries.npy", targets=here / "targets.npy", relevant=np.load(here / "relevant.npy"),
            query_bank=here / "bank_queries.npy", target_bank=here / "bank_targets.npy", methods=["none", method],
            tau=0.1, ties="optimistic",
        )  # fmt: skip
        rows = [int(each) for each in part.query_ids]
        for row, label in ((scene.before, "none"), (scene.after, method)):
            assert (row.per_query["MnR"] == whole[label].per_query["MnR"][rows]).all()


def test_a_part_of_a_bank_is_said_and_its_targets_are_bounded(experiment):
    subject = open_subject(str(experiment), cells=(6_000_000, 1))
    assert subject.material("t2i").banks["val"].notes == ()
    large = Given(
        "t2i", np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32), None, Relevance.from_index([0, 1, 2], 3), True,
        (Items("abc", "abc", [None] * 3), Items("abc", "abc", [None] * 3)), ("abc", "abc"),
        [GivenBank("big", np.ones((500, 3), np.float32), np.ones((700, 3), np.float32))], lambda name, banked: None,
        cells=(10, 10),
    )  # fmt: skip
    learnt = assembled(large).banks["big"]
    assert learnt.scores.shape == (200, 3)
    assert learnt.cross.shape == (200, 200)
    assert learnt.notes == (
        "Of the bank big, 200 of 500 queries and 200 of 700 bank targets, drawn at random are learnt from.",
    )


def test_more_targets_than_can_be_shown(experiment):
    rng = np.random.default_rng(0)
    queries, targets = (rng.standard_normal((size, 8)).astype(np.float32) for size in (5, 300))
    given = Given(
        "all", queries, targets, None, Relevance.from_index([9, 8, 7, 6, 299], 300), True,
        (Items("abcde", "abcde", [None] * 5), Items(*2 * ([str(row) for row in range(300)],), [None] * 300)),
        ("abcde", [str(row) for row in range(300)]), [GivenBank(TEST)], lambda name, banked: None, most_targets=50,
    )  # fmt: skip
    part = assembled(given)
    assert part.scores.shape == (5, 50)
    assert [part.target_ids[each] for each in part.relevance.targets] == ["9", "8", "7", "6", "299"]
    assert part.notes == (
        "This is a sample: 50 of 300 targets, the right ones and others drawn at random (ranks are among them).",
    )
    assert part.scores[2] == pytest.approx(queries[2] @ targets[[int(each) for each in part.target_ids]].T)


def test_an_item_does_not_speak_for_itself(experiment, tmp_path):
    """In self-retrieval the terms of a bias leave the item out, and Compare does too."""
    items = np.load(experiment.parent / "targets.npy")[:9]
    np.save(tmp_path / "items.npy", items)
    np.save(tmp_path / "labels.npy", np.arange(9) % 3)
    (tmp_path / "self.toml").write_text(
        '[dataset]\nname = "S"\nmodel = "m"\ntask = "self-retrieval"\ndirections = ["items"]\n[test]\n'
        'targets = "items.npy"\nlabels = "labels.npy"\n[settings]\ntau = 0.1\n'
    )
    subject = open_subject(str(tmp_path / "self.toml"))
    stage = Stage(subject)
    setting = Setting("items", TEST, "is", None, None, 5)
    card = hub_card(stage.scene(setting), 4)
    terms = np.exp(items.astype(float) @ items[4].astype(float) / 0.1)
    terms[4] = 0
    assert {each.row for each in card.contributions} == set(range(9)) - {4}
    assert card.contributions[0].share == pytest.approx((terms / terms.sum()).max(), rel=1e-4)
    found = comparison(stage, setting, 4)
    for column in found.columns:
        assert len(column.answers) == 8
        assert 4 not in [each.target for each in column.answers]


def test_compare_ranks_as_everything_else_does(saved, experiment, tmp_path):
    """With ties, by their average, and also for methods that are no bias."""
    here = experiment.parent
    np.save(tmp_path / "rounded.npy", np.round(np.load(here / "queries.npy") @ np.load(here / "targets.npy").T, 1))
    beside = Beside(scores=str(tmp_path / "rounded.npy"), relevant=np.load(here / "relevant.npy"))
    subject = open_subject(str(saved[1]), beside)
    stage = Stage(subject)
    for query in range(20):
        found = comparison(stage, Setting(FORWARD, TEST, "dis", None, None, 5), query)
        assert [each.label for each in found.columns] == ["none", "is", "sn", SAVED, "dis"]
        for column in found.columns:
            scene = stage.scene(Setting(FORWARD, TEST, column.label, None, None, 5))
            assert column.rank == scene.after.per_query["MnR"][query]
            assert [each.target for each in column.answers] == scene.after.top[query, :10].tolist()
    assert all(each.score is None for each in found.columns[-1].answers)


def test_shares_of_a_correction_are_over_all_of_its_bank(saved, experiment):
    _, path = saved
    beside = Beside(queries=str(experiment.parent / "queries.npy"))
    whole, part = (open_subject(str(path), beside, cells=(6_000_000, each)) for each in (15_000_000, 1))
    cards = [hub_card(played(each)[1], 7) for each in (whole, part)]
    assert cards[0].contributions == cards[1].contributions


def test_captions_of_a_bank_of_another_length(saved, experiment):
    here = experiment.parent
    for beside in (Beside(queries=str(here / "queries.npy"), bank_captions=str(here / "titles.txt")),
                   Beside(bank_captions=str(here / "titles.txt"))):  # fmt: skip
        with pytest.raises(InputError, match="bank_captions has 120 lines but there are 90 bank queries"):
            open_subject(str(saved[1]), beside).material(FORWARD)


def test_words_of_a_gallery_that_is_not_scaled(experiment, tmp_path):
    """By inner products a query's length counts; what is typed is not brought to length one."""
    rng = np.random.default_rng(3)
    targets, bank = (10 * rng.standard_normal((size, 6)).astype(np.float32) for size in (40, 50))
    np.save(tmp_path / "T.npy", targets)
    np.save(tmp_path / "Q.npy", bank[:8])
    unhub.fit("is", targets=tmp_path / "T.npy", query_bank=bank, tau=80.0, metric="ip").save(tmp_path / "ip.unhub")
    stage = Stage(open_subject(str(tmp_path / "ip.unhub"), Beside(queries=str(tmp_path / "Q.npy"))))
    setting = Setting(FORWARD, BANK, SAVED, None, None, 5)
    asked, own = comparison(stage, setting, 3), typed(stage, setting, "words", bank[3])
    for left, right in zip(asked.columns, own.columns, strict=True):
        assert [each.target for each in left.answers] == [each.target for each in right.answers]
    with pytest.raises(InputError, match=r"the encoder made an array of shape \(5,\)"):
        typed(stage, setting, "words", bank[3, :5])
    with pytest.raises(InputError, match="vector of NaN"):
        typed(stage, setting, "words", np.full(6, np.nan, np.float32))


def test_a_gain_on_queries_of_the_bank_is_no_advice():
    gain = Range(5.0, 3.0, 7.0)
    kinds = [verdict(gain, "SN", corrected=True, shared=each).kind for each in (0.0, 0.005, 0.2, None)]
    assert kinds == ["use", "use", "upper bound", "upper bound"]


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
