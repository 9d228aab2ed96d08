"""Sweeps: the points are those of evaluate, drawn parts are seeded, and an interrupted sweep goes on."""

import json

import numpy as np
import pytest
from experiments.recording import RecordedDataset

import unhub
from unhub import InputError
from unhub.dataset import Dataset
from unhub.experiments import preset, sweep
from unhub.experiments.figure_data import SweepData
from unhub.experiments.sweep_jobs import RATIOS, RELATIVE, TAUS, TO_QUERIES
from unhub.metrics import emd
from unhub.reports.drawing import draw
from unhub.reports.result_tables import sweep_csv, sweep_table

PAPER = preset("paper")


def test_temperatures_are_the_papers_or_follow_the_scores(written, arrays):
    experiment = Dataset.open(written(settings=""))
    points = sweep(experiment, "tau", PAPER)
    assert sorted({point.at for point in points if point.method != "none"}) == list(TAUS)
    queries, targets = arrays["test"]
    wanted = unhub.evaluate(
        queries=queries, targets=targets, relevant=np.arange(60), methods=[unhub.methods.SN(tau=TAUS[3])],
        ties="optimistic",
    )  # fmt: skip
    found = next(point for point in points if (point.method, point.at) == ("sn", TAUS[3]))
    assert found.values["R@1"] == next(iter(wanted.rows.values()))["R@1"]
    spread = float((queries @ targets.T).std())
    follows = sweep(experiment, "tau", PAPER, relative=True)
    assert sorted({point.at for point in follows if point.method == "is"}) == pytest.approx(
        [spread * each for each in RELATIVE], rel=1e-3
    )


def test_parts_of_a_bank_are_drawn_by_seed(written, arrays):
    experiment = Dataset.open(written())
    first, again, other = (
        sweep(experiment, "bank-size", PAPER, bank="train", rounds=2, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    sizes = {point.at for point in first if point.method == "dbsn"}
    assert sizes == set(RATIOS)
    drawn = [point.values[TO_QUERIES] for point in first if (point.method, point.at) == ("sn", RATIOS[0])]
    assert len(drawn) == 2
    assert drawn[0] != drawn[1]
    whole = emd(arrays["train"][0], arrays["test"][0]).value
    assert min(drawn) > whole


def test_strength_zero_is_no_correction_and_more_rounds_change_less(written):
    experiment = Dataset.open(written())
    points = sweep(experiment, "strength", PAPER, bank="val")
    none = next(point for point in points if point.method == "none")
    assert next(point for point in points if (point.method, point.at) == ("sn", 0.0)).values == none.values
    rounds = {point.at: point.settings["iterations"] for point in sweep(experiment, "iterations", PAPER) if point.at}
    assert rounds[1.0] == 1
    assert rounds[100.0] == 100


def test_an_interrupted_sweep_goes_on(written, tmp_path):
    experiment, folder = RecordedDataset.open(written()), tmp_path / "kept"
    whole = sweep(experiment, "bank-size", PAPER, bank="val", rounds=1)
    seen = []

    def stop(name, done, total):
        seen.append(name)
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(experiment, "bank-size", PAPER, bank="val", rounds=1, folder=folder, progress=stop)
    file = folder / "bank-size.forward.val.jsonl"
    assert len(file.read_text().splitlines()) == 1 + 4
    with file.open("a") as cut:
        cut.write('{"job": "0.001, rou')
    experiment.tasks.clear()
    assert sweep(experiment, "bank-size", PAPER, bank="val", rounds=1, folder=folder) == whole
    assert len(experiment.tasks) == len(RATIOS) + 1 - 4
    assert all(json.loads(line) for line in file.read_text().splitlines())
    with pytest.raises(InputError, match="holds a sweep of other files or settings"):
        sweep(experiment, "bank-size", PAPER, bank="val", rounds=2, folder=folder)


def test_sources_have_their_distance(written, arrays):
    points = sweep(Dataset.open(written()), "bank-source", PAPER)
    found = {point.label: point.at for point in points if point.method == "sn"}
    assert found["val"] == pytest.approx(emd(arrays["val"][0], arrays["test"][0]).value)
    assert set(found) == {"val", "train"}


@pytest.mark.parametrize(
    ("over", "bank", "said"),
    [
        ("taus", None, r"there is no sweep over 'taus'; did you mean tau\?"),
        ("tau", "vla", "bank is 'vla'; there are val, train, test queries"),
    ],
)
def test_what_is_not_there_is_said(written, over, bank, said):
    with pytest.raises(InputError, match=said):
        sweep(Dataset.open(written()), over, PAPER, bank=bank)
    with pytest.raises(InputError, match="at least two banks"):
        sweep(Dataset.open(written(banks=("val",))), "bank-source", PAPER)


@pytest.mark.parametrize("over", ["tau", "bank-size", "bank-source"])
def test_the_papers_figures_are_drawn_from_the_points(written, over):
    bank = "val" if over == "bank-size" else None
    points = sweep(Dataset.open(written(banks=("val", "train", "other"))), over, PAPER, bank=bank, rounds=2)
    drawn = draw(SweepData(over, over, points))
    assert len([axes for axes in drawn.axes if axes.get_visible()]) == (4 if over == "bank-size" else 1)
    if over == "bank-size":
        none = next(point.values["R@1"] for point in points if point.method == "none")
        assert any(np.array_equal(line.get_ydata(), np.full(len(RATIOS), none)) for line in drawn.axes[0].lines)
    lines = sweep_csv(over, points).splitlines()
    assert len(lines) == 1 + sum(len(point.values) for point in points)


def test_two_sources_are_too_few_for_a_figure(written):
    points = sweep(Dataset.open(written()), "bank-source", PAPER)
    assert draw(SweepData("bank-source", "bank-source", points)) is None
    table = sweep_table("bank-source", points)
    assert table.columns[:3] == ("bank-source", "method", "R@1")
    assert [[cell.text for cell in row[:2]] for row in table.rows] == [
        ["", "no correction"], ["val", "+IS"], ["val", "+SN"], ["val", "+DBSN"], ["train", "+IS"], ["train", "+SN"],
        ["train", "+DBSN"],
    ]  # fmt: skip


def test_a_sweep_goes_both_ways(written, arrays):
    experiment = Dataset.open(written(dataset='directions = ["t2v", "v2t"]'))
    points = sweep(experiment, "tau", PAPER, direction="v2t", bank="val", relative=True)
    queries, targets = arrays["test"]
    at = sorted({point.at for point in points})[5]
    wanted = unhub.evaluate(
        queries=targets, targets=queries, relevant=np.arange(60), query_bank=arrays["val"][1],
        target_bank=arrays["val"][0], methods=[unhub.methods.DBSN(tau=at, strength=1)], metrics=["R@1", "skew@1"],
        ties="optimistic",
    )  # fmt: skip
    (row,) = wanted.rows.values()
    found = next(point for point in points if (point.method, point.at) == ("dbsn", at))
    assert (found.values["R@1"], found.values["skew@1"]) == (row["R@1"], row["skew@1"])
    straight = sweep(experiment, "tau", PAPER, bank="val", relative=True)
    assert [point.values for point in straight] != [point.values for point in points]


@pytest.mark.parametrize("bank", ["val", None])
def test_parts_of_a_bank_ask_from_the_other_side(written, arrays, bank):
    experiment = Dataset.open(written())
    points = sweep(experiment, "bank-size", PAPER, bank=bank, rounds=1, direction="reverse")
    asking = arrays[bank or "test"][1]
    first = next(point for point in points if (point.method, point.at) == ("sn", RATIOS[0]))
    rng = np.random.default_rng([0, 0, 8])
    if bank is not None:
        rng.choice(len(asking), len(asking) // 8, replace=False)  # the other side of the bank is drawn first
    drawn = np.sort(rng.choice(len(asking), round(len(asking) / 8), replace=False))
    assert first.values[TO_QUERIES] == pytest.approx(emd(asking[drawn], arrays["test"][1]).value)
    sources = sweep(experiment, "bank-source", PAPER, direction="reverse")
    far = {point.label: point.at for point in sources if point.method == "sn"}
    assert far["train"] == pytest.approx(emd(arrays["train"][1], arrays["test"][1]).value)


def test_each_direction_has_files_of_its_own(written, tmp_path):
    experiment, folder = Dataset.open(written(dataset='directions = ["t2v", "v2t"]')), tmp_path / "kept"
    for direction in (None, "v2t"):
        sweep(experiment, "strength", PAPER, direction=direction, folder=folder)
    assert sorted(path.name for path in folder.iterdir()) == ["strength.t2v.jsonl", "strength.v2t.jsonl"]


def test_a_direction_that_cannot_be_gone_is_refused(written, arrays, tmp_path):
    with pytest.raises(InputError, match="direction is 'i2t'; use one of forward, reverse"):
        sweep(Dataset.open(written()), "tau", PAPER, direction="i2t")
    np.save(tmp_path / "S.npy", arrays["test"][0] @ arrays["test"][1].T)
    matrix = Dataset.open(written(test='scores = "S.npy"', banks=()))
    assert sweep(matrix, "tau", PAPER, direction="reverse")
    with pytest.raises(InputError, match="a sweep over bank-size cannot go reverse; that needs embeddings"):
        sweep(matrix, "bank-size", PAPER, direction="reverse")


def test_points_of_another_part_modality_or_file_are_not_taken(written, arrays, tmp_path):
    np.savez(tmp_path / "both.npz", a=arrays["test"][0], b=arrays["test"][0][::-1])
    folder = tmp_path / "kept"
    texts = [
        written(test='queries = "both.npz::a"\ntargets = "test_targets.npy"').read_text(),
        written(test='queries = "both.npz::b"\ntargets = "test_targets.npy"').read_text(),
    ]
    texts.append(texts[1].replace("[test]", 'modality = "image"\n[test]'))
    path = tmp_path / "one.toml"
    kept = []
    for text in texts:
        path.write_text(text)
        if kept:
            with pytest.raises(InputError, match="holds a sweep of other files or settings"):
                sweep(Dataset.open(path), "strength", PAPER, folder=folder)
        kept.append(sweep(Dataset.open(path), "strength", PAPER, folder=folder, anew=True))
        assert kept[-1] == sweep(Dataset.open(path), "strength", PAPER)
    assert kept[0] != kept[1]


@pytest.mark.parametrize("left", ["", '{"sweep": {"ov'])
def test_a_sweep_that_was_cut_in_its_first_line_begins_anew(written, tmp_path, left):
    experiment, folder = Dataset.open(written()), tmp_path / "kept"
    folder.mkdir()
    (folder / "strength.forward.jsonl").write_text(left)
    assert sweep(experiment, "strength", PAPER, folder=folder) == sweep(experiment, "strength", PAPER)


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("text", ["my notes", "my notes\n", '{"mine": 1}\n'])
def test_a_file_that_is_no_sweep_is_left_alone(written, tmp_path, text, anew):
    experiment, folder = Dataset.open(written()), tmp_path / "kept"
    folder.mkdir()
    file = folder / "strength.forward.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match=r"forward\.jsonl is in the way and holds no sweep; choose another folder"):
        sweep(experiment, "strength", PAPER, folder=folder, anew=anew)
    assert file.read_text() == text


def test_a_link_where_points_are_kept_is_refused(written, tmp_path):
    experiment, folder = Dataset.open(written()), tmp_path / "kept"
    folder.mkdir()
    (folder / "strength.forward.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"strength\.forward\.jsonl is a link"):
        sweep(experiment, "strength", PAPER, folder=folder)
    assert not (tmp_path / "elsewhere").exists()


WRONG_FIELDS = (
    {"values": {}}, {"values": []}, {"values": {"R@1": "high"}}, {"interval": [1]}, {"interval": [1, 2, 3]},
    {"interval": ["a", "b"]}, {"interval": 7}, {"at": None}, {"method": 7}, {"settings": None}, {"more": 1},
)  # fmt: skip


def test_a_damaged_line_is_said(written, tmp_path):
    experiment, folder = Dataset.open(written()), tmp_path / "kept"
    sweep(experiment, "strength", PAPER, folder=folder)
    file = folder / "strength.forward.jsonl"
    whole = file.read_text().splitlines(keepends=True)
    point = json.loads(whole[1])["points"][0]
    points = [{**point, **each} for each in WRONG_FIELDS]
    lines = [json.dumps({"job": "none", "points": each}) + "\n" for each in ([], *([one] for one in points))]
    for wrong in ("###\n", "[]\n", '{"job": "x", "points": [{}]}\n', '{"job": [], "points": 7}\n', *lines):
        file.write_text("".join([whole[0], wrong, *whole[2:]]))
        with pytest.raises(InputError, match=r"strength\.forward\.jsonl is damaged.*; remove it to begin the sweep"):
            sweep(experiment, "strength", PAPER, folder=folder)


def test_items_that_are_their_own_bank_have_no_parts(written, tmp_path):
    np.save(tmp_path / "labels.npy", np.arange(60) // 3)
    path = written(
        dataset='task = "self-retrieval"', test='targets = "test_targets.npy"\nlabels = "labels.npy"', banks=()
    )
    with pytest.raises(InputError, match="a sweep over bank-size is not possible for self-retrieval"):
        sweep(Dataset.open(path), "bank-size", PAPER)
    assert sweep(Dataset.open(path), "tau", PAPER, relative=True)
