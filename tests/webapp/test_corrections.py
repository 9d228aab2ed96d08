"""A correction on the page: with queries of one's own, with those of its bank, with scores alone."""

import json
import shlex
from dataclasses import replace

import numpy as np
import pytest

import unhub
from unhub.analysis.comparison import comparison, typed_comparison
from unhub.analysis.hubs import hub_card
from unhub.analysis.model import Estimate
from unhub.analysis.session import SAVED, Session, ViewSettings
from unhub.analysis.verdict import measured_effect
from unhub.analysis.view import view
from unhub.cli import main
from unhub.dataset import TEST_QUERIES, Dataset
from unhub.dataset.dataset import FITTED_BANK
from unhub.foundation.errors import InputError
from unhub.scores import whole_matrix
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
    stage = subject
    setting = ViewSettings(**({"direction": "search", "bank": FITTED_BANK, "method": SAVED, "k": 5} | values))
    return stage, stage.before_after(setting)


def test_what_is_shown_is_what_is_searched(saved, experiment):
    correction, path = saved
    queries = str(experiment.parent / "queries.npy")
    subject = Session.open(path, queries=queries, relevant=np.load(experiment.parent / "relevant.npy"))
    _, scene = played(subject, strength=0.8)
    assert (scene.after.top[:, :10] == correction.search(queries, k=10).rows).all()
    assert (scene.before.top[:, :10] == correction.search(queries, k=10, corrected=False).rows).all()
    assert scene.after.bias == pytest.approx(correction.served_bias, abs=1e-6)
    shown = view(subject, scene)
    assert shown.headline.sentence.startswith("1 of 120 targets takes ")
    assert " with DBSN. Fair would be " in shown.headline.sentence
    assert shown.lines[1].name == "DBSN as saved"
    assert shown.verdict.kind != "unknown"


def test_it_opens_as_saved_with_its_own_strength(saved, experiment):
    _, path = saved
    described = about(Session.open(path, queries=str(experiment.parent / "queries.npy")), encoder=True)
    assert described.opening.method == SAVED
    _, scene = played(Session.open(path, queries=str(experiment.parent / "queries.npy")))
    assert (scene.settings.strength, scene.strength) == (None, 0.8)
    assert described.encoder
    assert described.directions[0].judged is False


def test_a_target_bank_lets_it_be_fitted_anew(saved, experiment):
    _, path = saved
    here = experiment.parent
    alone = Session.open(path, queries=str(here / "queries.npy"))
    assert "dbsn" not in alone.methods_of("search", FITTED_BANK)
    beside = {"queries": str(here / "queries.npy"), "target_bank": str(here / "bank_targets.npy")}
    subject = Session.open(path, **beside)
    stage, scene = played(subject, strength=0.8)
    again = stage.before_after(ViewSettings("search", FITTED_BANK, "dbsn", 0.1, 0.8, 5))
    assert again.after.bias == pytest.approx(scene.after.bias, abs=1e-5)
    columns = [each.name for each in comparison(stage, scene.settings, 3).columns]
    assert columns == ["no correction", "IS", "SN", "DBSN as saved"]


def test_shares_come_from_the_saved_potentials(saved, experiment):
    correction, path = saved
    here = experiment.parent
    names = str(here / "bank.txt")
    _, scene = played(Session.open(path, queries=str(here / "queries.npy"), bank_captions=names))
    card = hub_card(scene, 7)
    scores = np.load(here / "bank_queries.npy").astype(float) @ np.load(here / "targets.npy")[7].astype(float)
    weights = np.exp((scores + correction._potentials) / 0.1)
    assert card.contributions[0].share == pytest.approx((weights / weights.sum()).max(), rel=1e-3)
    assert card.contributions[0].row == int(weights.argmax())
    assert card.id == "item007"


def test_it_is_shown_with_its_own_bank_alone(saved, experiment):
    here = experiment.parent
    subject = Session.open(saved[1], queries=str(here / "queries.npy"))
    assert SAVED in subject.methods_of("search", FITTED_BANK)
    assert SAVED not in subject.methods_of("search", TEST_QUERIES)
    with pytest.raises(InputError, match="method is 'saved'; with this bank there are"):
        played(subject, bank=TEST_QUERIES)
    _, anew = played(subject, bank=TEST_QUERIES, method="sn")
    assert view(subject, anew).lines[1].transductive


def test_weights_of_bank_queries_count(experiment, tmp_path):
    here = experiment.parent
    bank, targets = (np.load(here / f"{each}.npy") for each in ("bank_queries", "targets"))
    weight = np.linspace(0.1, 3, len(bank))
    unhub.fit("is", targets=targets, query_bank=bank, tau=0.1, query_weight=weight).save(tmp_path / "weighed.unhub")
    beside = {"queries": str(here / "queries.npy"), "targets": str(here / "targets.npy")}
    subject = Session.open(tmp_path / "weighed.unhub", **beside)
    stage, scene = played(subject, strength=1.0)
    terms = weight * np.exp((bank.astype(float) @ targets[7].astype(float)) / 0.1)
    assert hub_card(scene, 7).contributions[0].share == pytest.approx((terms / terms.sum()).max(), rel=1e-3)
    again = stage.before_after(ViewSettings("search", FITTED_BANK, "is", 0.1, 1.0, 5))
    assert again.after.bias == pytest.approx(scene.after.bias, abs=1e-5)


def test_without_queries_the_bank_is_asked(saved):
    _, path = saved
    subject = Session.open(path)
    _, scene = played(subject, bank=TEST_QUERIES)
    shown = view(subject, scene)
    assert scene.sample.relevance.queries == 90
    assert "No queries were given, so those of the bank are asked" in shown.notes[0]
    assert shown.verdict.kind == "unknown"
    assert "R@1" not in shown.lines[0].values


def test_a_correction_of_scores_needs_scores(experiment, tmp_path):
    here = experiment.parent
    bank, targets, queries = (np.load(here / f"{each}.npy") for each in ("bank_queries", "targets", "queries"))
    unhub.fit("sn", scores=bank @ targets.T, tau=0.1).save(tmp_path / "scores.unhub")
    with pytest.raises(
        InputError, match="scores is missing; this correction was fitted on scores; give those of test queries"
    ):
        Session.open(tmp_path / "scores.unhub").sample("search")
    np.save(tmp_path / "S.npy", queries @ targets.T)
    subject = Session.open(tmp_path / "scores.unhub", scores=str(tmp_path / "S.npy"))
    _, scene = played(subject, bank=TEST_QUERIES)
    assert scene.after.top.shape[0] == 240
    assert hub_card(scene, 3).contributions == [], "its bank is not here"
    assert not view(subject, scene).lines[1].transductive
    np.save(tmp_path / "narrow.npy", (queries @ targets.T)[:, 1:])
    with pytest.raises(InputError, match="scores has 119 columns but this correction is of 120 targets"):
        Session.open(tmp_path / "scores.unhub", scores=str(tmp_path / "narrow.npy")).sample("search")


@pytest.mark.parametrize(
    ("beside", "sentence"),
    [
        ({"queries": "nothing.npy"}, "nothing.npy"),
        ({"media": "nowhere"}, "media is nowhere, which is no folder"),
        ({"target_captions": "captions.txt"}, "target_captions has 240 lines but there are 120 targets"),
    ],
)
def test_mistakes_beside_a_correction(saved, experiment, monkeypatch, beside, sentence):
    monkeypatch.chdir(experiment.parent)
    with pytest.raises(InputError, match=sentence):
        Session.open(saved[1], **beside).sample("search")


def test_an_experiment_names_its_parts_itself(experiment):
    with pytest.raises(InputError, match="queries goes with a correction; an experiment names its own parts"):
        Session.open(experiment, queries="q.npy")
    with pytest.raises(InputError, match="relevant goes with a correction"):
        Session.open(experiment, relevant="diagonal")


def test_a_large_set_is_a_stated_sample(experiment):
    """Fewer queries, each ranked among all targets: what they gain is what they gain in the whole."""
    assert Session.open(experiment).sample("t2i").data.notes == ()
    subject = replace(Session.open(experiment), cells=(1, 15_000_000))
    part = subject.sample("t2i")
    assert part.data.notes == ("This is a sample: 200 of 240 queries, drawn at random.",)
    here = experiment.parent
    for method in ("is", "sn", "dbsn"):
        scene = subject.before_after(ViewSettings("t2i", "val", method, None, None, 10))
        whole = unhub.evaluate(
            queries=here / "queries.npy", targets=here / "targets.npy", relevant=np.load(here / "relevant.npy"),
            query_bank=here / "bank_queries.npy", target_bank=here / "bank_targets.npy", methods=["none", method],
            tau=0.1,
        )  # fmt: skip
        rows = [int(each) for each in part.queries.ids]
        for row, label in ((scene.before, "none"), (scene.after, method)):
            assert (row.per_query["MnR"] == whole[label].per_query["MnR"][rows]).all()


def test_a_part_of_a_bank_is_said_and_its_targets_are_bounded(experiment):
    session = replace(Session.open(experiment), cells=(6_000_000, 1))
    assert session.sample("t2i").banks["val"].note is None
    rng = np.random.default_rng(0)
    bank = {"query_bank": rng.standard_normal((500, 3)), "target_bank": rng.standard_normal((700, 3))}
    data = Dataset(queries=np.eye(3), targets=np.eye(3), relevant=[0, 1, 2], normalize=True, **bank)
    session = Session(data, cells=(10, 10))
    big = session.sample("forward").banks["bank"]
    assert (big.size, len(big.rows)) == (500, 200)
    banks = session.task("forward", "bank").banks
    assert (banks.queries.shape, banks.cross.shape) == ((200, 3), (200, 200))
    assert big.note == (
        "This view uses part of the bank bank: 200 of 500 queries and 200 of 700 bank targets, drawn at random."
    )


def test_more_targets_than_can_be_shown():
    rng = np.random.default_rng(0)
    queries, targets = (rng.standard_normal((size, 8)).astype(np.float32) for size in (5, 300))
    data = Dataset(queries=queries, targets=targets, relevant=[9, 8, 7, 6, 299], metric="ip")
    part = data.sample(6_000_000, most_targets=50)
    ids, relevance = part.items()[1].ids, part.relevance()
    assert part.shape == (5, 50)
    assert [ids[each] for each in relevance.targets] == ["9", "8", "7", "6", "299"]
    assert part.notes == (
        "This is a sample: 50 of 300 targets, the right ones and others drawn at random (ranks are among them).",
    )
    scores = whole_matrix(part.test_scores())
    assert scores[2] == pytest.approx(queries[2] @ targets[[int(each) for each in ids]].T, rel=1e-5)


def test_an_item_does_not_speak_for_itself(experiment, tmp_path):
    """In self-retrieval the terms of a bias leave the item out, and Compare does too."""
    items = np.load(experiment.parent / "targets.npy")[:9]
    np.save(tmp_path / "items.npy", items)
    np.save(tmp_path / "labels.npy", np.arange(9) % 3)
    (tmp_path / "self.toml").write_text(
        '[dataset]\nname = "S"\nmodel = "m"\ntask = "self-retrieval"\ndirections = ["items"]\n[test]\n'
        'targets = "items.npy"\nlabels = "labels.npy"\n[settings]\ntau = 0.1\n'
    )
    subject = Session.open(tmp_path / "self.toml")
    stage = subject
    setting = ViewSettings("items", TEST_QUERIES, "is", None, None, 5)
    card = hub_card(stage.before_after(setting), 4)
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
    beside = {"scores": str(tmp_path / "rounded.npy"), "relevant": np.load(here / "relevant.npy")}
    subject = Session.open(saved[1], **beside)
    stage = subject
    for query in range(20):
        found = comparison(stage, ViewSettings("search", TEST_QUERIES, "dis", None, None, 5), query)
        assert [each.label for each in found.columns] == ["none", "is", "sn", SAVED, "dis"]
        for column in found.columns:
            scene = stage.before_after(ViewSettings("search", TEST_QUERIES, column.label, None, None, 5))
            assert column.rank == scene.after.per_query["MnR"][query]
            assert [each.target for each in column.answers] == scene.after.top[query, :10].tolist()
    assert all(each.score is None for each in found.columns[-1].answers)


def test_shares_of_a_correction_are_over_all_of_its_bank(saved, experiment):
    _, path = saved
    beside = {"queries": str(experiment.parent / "queries.npy")}
    whole, part = (replace(Session.open(path, **beside), cells=(6_000_000, each)) for each in (15_000_000, 1))
    cards = [hub_card(played(each)[1], 7) for each in (whole, part)]
    assert cards[0].contributions == cards[1].contributions


def test_captions_of_a_bank_of_another_length(saved, experiment):
    here = experiment.parent
    captions = {"bank_captions": here / "titles.txt"}
    for beside in ({"queries": here / "queries.npy", **captions}, captions):
        with pytest.raises(InputError, match="bank_captions has 120 lines but there are 90 bank queries"):
            Session.open(saved[1], **beside).sample("search")


def test_words_of_a_gallery_that_is_not_scaled(experiment, tmp_path):
    """By inner products a query's length counts; what is typed is not brought to length one."""
    rng = np.random.default_rng(3)
    targets, bank = (10 * rng.standard_normal((size, 6)).astype(np.float32) for size in (40, 50))
    np.save(tmp_path / "T.npy", targets)
    np.save(tmp_path / "Q.npy", bank[:8])
    unhub.fit("is", targets=tmp_path / "T.npy", query_bank=bank, tau=80.0, metric="ip").save(tmp_path / "ip.unhub")
    stage = Session.open(tmp_path / "ip.unhub", queries=str(tmp_path / "Q.npy"))
    setting = ViewSettings("search", FITTED_BANK, SAVED, None, None, 5)
    asked, own = comparison(stage, setting, 3), typed_comparison(stage, setting, "words", bank[3])
    for left, right in zip(asked.columns, own.columns, strict=True):
        assert [each.target for each in left.answers] == [each.target for each in right.answers]
    with pytest.raises(InputError, match=r"the encoder made an array of shape \(5,\)"):
        typed_comparison(stage, setting, "words", bank[3, :5])
    with pytest.raises(InputError, match="vector of NaN"):
        typed_comparison(stage, setting, "words", np.full(6, np.nan, np.float32))


def test_a_gain_on_queries_of_the_bank_is_no_advice():
    gain = Estimate(5.0, 3.0, 7.0)
    kinds = [measured_effect(gain, "SN", corrected=True, shared=each).kind for each in (0.0, 0.005, 0.2, None)]
    assert kinds == ["use", "use", "upper bound", "upper bound"]


@pytest.mark.parametrize("method", ["sn", SAVED])
def test_the_command_gives_the_numbers_again(saved, experiment, capsys, method):
    here = experiment.parent
    flag = str(here / "relevant.npy")
    beside = {
        "queries": str(here / "queries.npy"),
        "target_bank": str(here / "bank_targets.npy"),
        "relevant": flag,
        "targets": str(here / "targets.npy"),
    }
    subject = Session.open(saved[1], **beside)
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
    beside = {"queries": str(here / "queries.npy"), "relevant": flag}
    subject = Session.open(saved[1], **beside)
    _, scene = played(subject)
    shown = view(subject, scene)
    words = shlex.split(shown.command)
    assert words[:3] == ["unhub", "evaluate", "--correction"]
    assert main([*words[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["methods"]["dbsn"]["R@1"] == pytest.approx(shown.lines[1].values["R@1"])
    unjudged = Session.open(saved[1], queries=str(here / "queries.npy"))
    words = shlex.split(view(unjudged, played(unjudged)[1]).command)
    assert words[:2] == ["unhub", "diagnose"]
    assert main(words[1:]) == 0
