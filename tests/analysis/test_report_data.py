"""The data of a report: recomputed independently, in agreement with the commands, the same number of both kinds."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import unhub
from unhub.analysis.convergence import errors_of
from unhub.analysis.model import MeasuredEffect
from unhub.analysis.report_data import report_data
from unhub.analysis.session import Session
from unhub.cli import main
from unhub.dataset import Dataset
from unhub.experiments import preset, sweep
from unhub.foundation.errors import InputError
from unhub.methods import method

from .small_experiment import OTHERS, QUERIES, TARGETS, TAU, write_experiment, write_pictures


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("story")
    write_experiment(made)
    return made


@pytest.fixture(scope="module")
def told(folder):
    return report_data(Session.open(folder / "experiment.toml"), command="unhub report experiment.toml")


def scores_of(folder):
    return np.load(folder / "queries.npy").astype(np.float64) @ np.load(folder / "targets.npy").astype(np.float64).T


def dbsn_bias(folder):
    parts = {"targets": "targets", "query_bank": "bank", "target_bank": "others"}
    return unhub.fit(
        "dbsn", **{name: np.load(folder / f"{file}.npy") for name, file in parts.items()}, tau=TAU
    ).served_bias


def test_the_headline_is_the_share_of_the_most_frequent_targets(folder, told):
    scores = scores_of(folder)
    shares = []
    for each in (scores, scores + dbsn_bias(folder)):
        counts = np.bincount(each.argmax(axis=1), minlength=TARGETS)
        shares.append(np.sort(counts)[::-1][: told.headline.heads].sum() / QUERIES)
    assert told.headline.heads == 1
    assert (told.headline.share_before, told.headline.share_after) == pytest.approx(shares)
    first = f"1 of {TARGETS} images takes {100 * shares[0]:.0f}% of the first places; "
    assert told.headline.sentence.startswith(first)
    assert shares[0] > 2 * shares[1]
    assert told.name == "DBSN"


def test_counts_and_lorenz_curve_come_from_all_queries(folder, told):
    scores = scores_of(folder)
    for found in told.occurrences:
        top = np.argsort(-scores, axis=1, kind="stable")[:, : found.k]
        counts = np.bincount(top.ravel(), minlength=TARGETS)
        assert dict(found.before.bars) == {int(n): int((counts == n).sum()) for n in np.unique(counts)}
        assert sum(n for _, n in found.after.bars) == TARGETS
        assert sum(count * n for count, n in found.after.bars) == QUERIES * found.k
    assert [found.k for found in told.occurrences] == [1, 10]
    ordered = np.sort(counts)
    assert told.lorenz.k == 10
    for share, places in zip(told.lorenz.targets, told.lorenz.before, strict=True):
        assert places == pytest.approx(ordered[: round(share * TARGETS)].sum() / ordered.sum())
    assert (told.lorenz.before[0], told.lorenz.before[-1], told.lorenz.after[-1]) == (0.0, 1.0, 1.0)


def test_the_table_agrees_with_evaluate(folder, told, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    words = (
        "evaluate --queries queries.npy --targets targets.npy --relevant relevant.npy --query-bank bank.npy "
        f"--target-bank others.npy --methods none,is,sn,dbsn --tau {TAU} --json --compare"
    )
    assert main(words.split()) == 0
    shown = json.loads(capsys.readouterr().out)
    lines = {line.label: line for line in told.table.lines if line.bank in ("", "val")}
    assert list(lines) == ["none", "is", "dis", "sn", "dualis", "dualdis", "dbsn"]
    for name in ("none", "is", "sn", "dbsn"):
        for metric in ("R@1", "R@5", "R@10", "MnR"):
            assert lines[name].values[metric] == pytest.approx(shown["methods"][name][metric])
            assert lines[name].intervals[metric] == pytest.approx(shown["intervals"][name][metric])
    assert lines["none"].gain is None
    gain = lines["dbsn"].gain
    assert gain.low <= gain.value <= gain.high
    assert gain.value == pytest.approx(lines["dbsn"].values["R@1"] - lines["none"].values["R@1"])
    assert lines["dbsn"].better + lines["dbsn"].same + lines["dbsn"].worse == QUERIES


def test_who_had_the_test_queries_is_marked_and_competes_for_nothing(told):
    flags = {(line.bank, line.label): line.transductive for line in told.table.lines}
    assert not any(flag for (bank, _), flag in flags.items() if bank != "test queries")
    assert all(flag for (bank, _), flag in flags.items() if bank == "test queries")
    assert ("test queries", "sn") in flags
    for metric, best in told.table.best.items():
        values = [line.values[metric] for line in told.table.lines if line.bank != "test queries"]
        if metric == "R@1":
            assert [told.table.lines[at].values[metric] for at in best] == [max(values)] * len(best)


def test_the_best_value_is_none_where_all_are_equal(told):
    for metric, best in told.table.best.items():
        own = [line.values[metric] for line in told.table.lines if line.bank != "test queries"]
        assert len(best) < len(own)


def test_as_many_examples_got_worse_as_better(folder, told):
    found = told.examples
    assert len(found.better) == len(found.worse) <= 6
    assert found.better_total + found.same_total + found.worse_total == QUERIES
    scores, relevant = scores_of(folder), np.load(folder / "relevant.npy")
    fixed = scores + dbsn_bias(folder)
    rows = np.arange(QUERIES)
    before, after = (1 + (each > each[rows, relevant][:, None]).sum(axis=1) for each in (scores, fixed))
    assert found.better_total == (after < before).sum()
    for change in found.better:
        assert change.rank_after < change.rank_before == before[change.query]
        assert change.targets[2] == relevant[change.query]
        assert change.first_before.endswith(f" thing {scores[change.query].argmax()}")
    assert all(change.rank_after > change.rank_before for change in found.worse)


def test_hubs_are_the_most_frequent_and_their_queries_are_marked(folder, told):
    first = scores_of(folder).argmax(axis=1)
    counts, relevant = np.bincount(first, minlength=TARGETS), np.load(folder / "relevant.npy")
    assert [hub.count_before for hub in told.hubs] == np.sort(counts)[::-1][: len(told.hubs)].tolist()
    for hub in told.hubs:
        assert hub.right_before == (relevant[first == hub.target] == hub.target).sum()
        assert len(hub.reached) == min(8, hub.count_before)
        for reach in hub.reached:
            assert first[reach.query] == hub.target
            assert reach.right == (relevant[reach.query] == hub.target)


def test_the_heat_map_is_the_scores_and_the_scores_with_the_bias(folder, told):
    scores, bias = scores_of(folder), dbsn_bias(folder)
    part = scores[np.ix_(told.heat.rows, told.heat.columns)]
    assert np.allclose(told.heat.before, part, atol=1e-4)
    assert np.allclose(told.heat.after, part + bias[told.heat.columns], atol=1e-4)


@pytest.mark.parametrize("name", ["sn", "dbsn"])
def test_the_error_of_each_round_is_that_of_a_fit_of_so_many_rounds(folder, name):
    banks = Dataset.open(folder / "experiment.toml").task("forward", "val").banks
    errors, _ = errors_of(method(name, {"tau": TAU, "iterations": 7}), banks)
    alone = [method(name, {"tau": TAU, "iterations": n}).estimate(banks).marginal_error for n in range(1, 8)]
    assert errors == pytest.approx(alone, rel=1e-3, abs=1e-6)
    assert errors[0] > errors[-1]


def test_rounds_are_shown_for_the_sinkhorn_methods(told):
    assert [each.label for each in told.convergence] == ["sn", "dbsn"]
    assert all(len(each.errors) == 10 for each in told.convergence)


def test_the_bank_is_described_and_proposition_2_checked(told):
    facts = told.bank_facts
    assert (facts.queries, facts.targets, facts.overlap, facts.transductive) == (150, OTHERS, 0, False)
    near, far = facts.distances["its queries to its own targets"], facts.distances["its queries to the targets"]
    assert facts.nearer == (near.value < far.value)
    assert "Proposition 2" in facts.notes[-1]


def test_distances_are_left_out_where_the_solver_is_not_installed(folder, monkeypatch):
    monkeypatch.setattr("unhub.analysis.bank_facts.installed", lambda name: False)
    facts = report_data(Session.open(folder / "experiment.toml")).bank_facts
    assert facts.distances == {}
    assert facts.notes == ["Distances need the package POT; install it with: pip install 'unhub[ot]'"]


def test_the_card_has_settings_hashes_and_the_command(folder, told):
    digest = hashlib.sha256((folder / "queries.npy").read_bytes()).hexdigest()
    assert told.card.files["test.queries"] == digest
    assert told.card.files["experiment file"] == hashlib.sha256((folder / "experiment.toml").read_bytes()).hexdigest()
    assert told.card.settings["tau"] == TAU
    assert told.card.settings["bank"] == "val"
    assert set(told.card.versions) == {"unhub", "numpy", "python"}
    assert told.card.command == "unhub report experiment.toml"


def test_it_is_plain_data(told):
    again = json.loads(json.dumps(told.to_dict(), allow_nan=False))
    assert again["headline"]["sentence"] == told.headline.sentence
    assert again["schema_version"] == 1


def test_sweeps_that_were_kept_are_found_and_others_are_left_out(folder, tmp_path):
    experiment = Dataset.open(folder / "experiment.toml")
    points = sweep(experiment, "tau", preset("paper"), bank="val", folder=tmp_path / "figures")
    sweep(experiment, "iterations", preset("paper"), direction="i2t", folder=tmp_path)
    (tmp_path / "broken.jsonl").write_text("{\n")
    other = json.loads((tmp_path / "figures" / "tau.t2i.val.jsonl").read_text().splitlines()[0])
    other["sweep"]["files"]["test.queries"] = "0" * 64
    (tmp_path / "other.jsonl").write_text(json.dumps(other) + "\n")
    told = report_data(Session.open(folder / "experiment.toml"), sweeps=(tmp_path,))
    assert [(each.over, each.bank, each.transductive) for each in told.sweeps] == [("tau", "val", False)]
    line = next(each for each in told.sweeps[0].lines if each.name == "SN")
    assert line.values == [point.values["R@1"] for point in points if point.method == "sn"]
    assert told.sweeps[0].base == points[0].values["R@1"]
    assert any("broken.jsonl is left out: it is damaged" in note for note in told.notes)
    assert any("other.jsonl is left out: it is a sweep of other files" in note for note in told.notes)


def test_a_folder_of_results_is_reported_as_its_tables_have_it(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["reproduce", "experiment.toml", "--table", "banks", "-o", str(tmp_path / "out")]) == 0
    noted = json.loads((tmp_path / "out" / "run.json").read_text())
    assert noted["command"] == f"unhub reproduce experiment.toml --table banks -o {tmp_path / 'out'}"
    assert (noted["protocol"], noted["unhub"]) == ("auto", unhub.__version__)
    capsys.readouterr()
    assert main(["report", str(tmp_path / "out"), "--json"]) == 0
    shown = {line["label"]: line for line in json.loads(capsys.readouterr().out)["table"]["lines"] if line["bank"]}
    written = json.loads((tmp_path / "out" / "banks" / "table.json").read_text())
    for row in written["rows"]:
        if row["bank"] == "val & val" and row["method"] == "dbsn":
            values = row["directions"]["t2i"]
            assert shown["dbsn"]["values"]["R@1"] == values["values"]["R@1"]
            assert shown["dbsn"]["gain"]["low"] == values["gain"]["low"]
            assert [shown["dbsn"][name] for name in ("better", "same", "worse")] == values["better_same_worse"]


@pytest.fixture(scope="module")
def correction(folder):
    made = unhub.fit(
        "sn", targets=str(folder / "targets.npy"), query_bank=str(folder / "bank.npy"), tau=TAU, strength=0.8
    )
    made.save(folder / "saved.unhub")
    return folder / "saved.unhub"


def test_a_correction_is_judged_with_the_bias_in_its_file(folder, correction):
    parts = {"queries": folder / "queries.npy", "relevant": np.load(folder / "relevant.npy")}
    told = report_data(Session.open(correction, **parts))
    assert told.table.lines[1].name == "SN as saved"
    fixed = scores_of(folder) + unhub.load(correction).served_bias
    right = fixed.argmax(axis=1) == np.load(folder / "relevant.npy")
    assert told.table.lines[1].values["R@1"] == pytest.approx(100 * right.mean())
    assert told.card.files["correction"] == hashlib.sha256(correction.read_bytes()).hexdigest()
    assert len(told.convergence) == 1
    assert told.verdict.kind in ("use", "unclear", "do not use")


def test_without_answers_only_what_needs_none_is_shown(folder, correction):
    told = report_data(Session.open(correction, queries=str(folder / "queries.npy")))
    assert (told.judged, told.examples, told.verdict.kind) == (False, None, "unknown")
    assert "Can't judge accuracy: there are no relevance labels" in told.verdict.sentence
    assert not any(name.startswith("R@") for name in told.table.metrics)
    alone = report_data(Session.open(correction))
    assert alone.queries == 150
    assert "those of the bank are asked" in alone.notes[0]


def test_a_dbsn_correction_needs_no_target_bank_to_be_reported(folder, tmp_path):
    arrays = {name: str(folder / f"{name}.npy") for name in ("targets", "bank", "others")}
    made = unhub.fit(
        "dbsn", targets=arrays["targets"], query_bank=arrays["bank"], target_bank=arrays["others"], tau=TAU
    )
    made.save(tmp_path / "dbsn.unhub")
    told = report_data(Session.open(tmp_path / "dbsn.unhub", queries=str(folder / "queries.npy")))
    assert told.table.lines[1].name == "DBSN as saved"
    assert any("its target bank is not in the file of the correction" in note for note in told.notes)


def test_a_verdict_from_outside_goes_first(folder):
    given = MeasuredEffect("do not use", "It lost on dev.")
    assert report_data(Session.open(folder / "experiment.toml"), judgement=given).verdict is given


def test_pictures_stay_inside_their_folder(tmp_path):
    write_experiment(tmp_path, more='media = "media"\n')
    media = write_pictures(tmp_path)
    outside = tmp_path / "secret.png"
    (media / "0.png").rename(outside)
    (media / "0.png").symlink_to(outside)
    told = report_data(Session.open(tmp_path / "experiment.toml"))
    assert "t0" not in told.pictures
    assert any(hub.target == 0 for hub in told.hubs)
    assert told.pictures
    assert all(Path(path).parent == media for path in told.pictures.values())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"direction": "x2y"}, "direction is 'x2y'; use t2i or i2t"),
        ({"bank": "vall"}, "bank is 'vall'; there are val, test queries"),
        ({"method": "snn"}, "there is no method 'snn'; there are"),
    ],
)
def test_what_is_not_there_is_a_sentence(folder, asked, said):
    with pytest.raises(InputError, match=said):
        report_data(Session.open(folder / "experiment.toml"), **asked)
