"""Figures of an experiment: the data on them are the experiment's, and what cannot be drawn is said."""

import json

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from experiments.recording import RecordedDataset
from PIL import Image

from unhub import InputError
from unhub.dataset import Dataset
from unhub.experiments import preset, reproduce
from unhub.experiments.figures import FIGURES, FigureSettings, figure_data, radar
from unhub.experiments.reproduction import Plan
from unhub.experiments.run import Run
from unhub.metrics import k_occurrence
from unhub.reports import figures
from unhub.reports.drawing import draw
from unhub.reports.result_files import FolderWriter, write_reproduction

PAPER = preset("paper")


@pytest.fixture
def shown(written, tmp_path):
    def make(bank=None, *, map_points=800, score_rows=200, **more):
        run = Run(Dataset.open(written(**more)), PAPER)
        folder = tmp_path / "figures"
        return FigureSettings(run, bank, folder=folder, rounds=1, map_points=map_points, score_rows=score_rows)

    return make


def drawn(name, settings, folder=None):
    """The values of a figure, drawn; with a folder, into it."""
    if folder is None:
        return [draw(each) for each in figure_data(name, settings)]
    writer = FolderWriter(folder)
    for each in figure_data(name, settings):
        writer.figure(Plan(settings.run, settings.bank, (), (name,)), each)
    return writer.paths[""]


def reproduced(files, folder, progress=None, **more):
    """What the command does: results are written as they come."""
    writer = None if folder is None else FolderWriter(folder)
    done = reproduce([str(each) for each in files], folder=folder, progress=progress, observer=writer, **more)
    if writer is not None:
        writer.finish(done)
    return done, writer


@pytest.fixture
def caught(calls_of):
    """What a drawing function is given, by its name."""
    functions = (figures.radar, figures.similarity, figures.hub_map, figures.top5, figures.hub_queries)
    with calls_of(*functions) as calls:
        yield lambda name: [call for call in calls if call["def"] == name]


@pytest.mark.parametrize("name", list(FIGURES))
def test_every_figure_is_drawn_as_pdf_and_png(shown, tmp_path, name):
    paths = drawn(name, shown(banks=("val", "train", "other")), tmp_path)
    assert {path.suffix for path in paths} == {".pdf", ".png"}
    assert all(path.stat().st_size > 1000 for path in paths)
    assert all(path.parent == tmp_path / "figures" for path in paths)


def test_the_counts_are_those_of_the_scores(shown, arrays, caught):
    drawn("similarity", shown())
    given = caught("similarity")[0]
    before, after = given["before"], given["after"]
    queries, targets = arrays["test"]
    scores = queries @ targets.T
    np.testing.assert_allclose(before, scores, atol=1e-6)
    added = after - before
    np.testing.assert_allclose(added, np.tile(added[0], (60, 1)), atol=1e-6)
    for counts, matrix in ((given["counts_before"], before), (given["counts_after"], after)):
        np.testing.assert_array_equal(counts, k_occurrence(np.argsort(-matrix, axis=1)[:, :10], 60))
    assert given["names"] == ("no correction", "SN (transductive)")
    np.testing.assert_allclose(caught("similarity")[1]["before"], scores.T, atol=1e-6)


@pytest.mark.parametrize("count", [5, 7])
def test_some_scores_are_evenly_spaced_rows(shown, arrays, count):
    scores = arrays["test"][0] @ arrays["test"][1].T
    rows = np.linspace(0, 59, count).round().astype(int)
    forward, reverse = figure_data("similarity", shown(score_rows=count))
    np.testing.assert_allclose(forward.scores[0], scores[rows], atol=1e-6)
    np.testing.assert_allclose(reverse.scores[0], scores.T[rows], atol=1e-6)


def test_a_bank_with_targets_is_shown_with_dbsn(shown, caught):
    drawn("similarity", shown(bank="train"))
    assert caught("similarity")[0]["names"] == ("no correction", "DBSN")
    drawn("radar", shown(bank="train"))
    axes, series = caught("radar")[0]["axes"], caught("radar")[0]["series"]
    assert [axis.label for axis in axes][:2] == ["forward R@1", "forward R@5"]
    assert [axis.larger_is_better for axis in axes] == [True, True, True, False, False] * 2
    run = shown(bank="train").run
    assert series["DBSN"][0] == run.evaluation("forward", "train")["dbsn"]["R@1"]
    assert series["SN"][5] == run.evaluation("reverse", "train")["sn"]["R@1"]


def test_the_hub_is_the_one_that_is_first_most_often(shown, arrays, caught, tmp_path):
    (tmp_path / "captions.txt").write_text("".join(f"caption {row}\n" for row in range(60)))
    parts = 'queries = "test_queries.npy"\ntargets = "test_targets.npy"\ncaptions = "captions.txt"'
    drawn("hub-queries", shown(test=parts))
    scores = arrays["test"][0] @ arrays["test"][1].T
    first = scores.argmax(axis=1)
    hub = np.bincount(first).argmax()
    item, queries = caught("hub_queries")[0]["hub"], caught("hub_queries")[0]["queries"]
    assert item.caption == str(hub)
    assert [each.caption for each in queries] == [f"caption {row}" for row in np.flatnonzero(first == hub)]
    assert [each.right for each in queries] == [row == hub for row in np.flatnonzero(first == hub)]


def test_five_best_show_wins_and_losses_with_pictures(shown, caught, tmp_path):
    folder = tmp_path / "media"
    (folder / "7").mkdir(parents=True)
    for name in [f"{row}.png" for row in range(60) if row != 7] + ["7/0002.png", "7/0001.png"]:
        Image.new("RGB", (8, 8), "red").save(folder / name)
    parts = 'queries = "test_queries.npy"\ntargets = "test_targets.npy"\nmedia = "media"'
    given = shown(test=parts)
    drawn("top5", given)
    items = caught("top5")[0]["items"]
    view, back = given.run.pairs().values()
    for item in items:
        query = int(item.query)
        for row, found in zip((view.before, view.after), item.results.values(), strict=True):
            best = row.top[query, :5].tolist()
            assert [each.caption for each in found] == [str(target) for target in best]
            assert [each.right for each in found] == [target == query for target in best]
            assert [each.image.stem for each in found] == ["0001" if target == 7 else str(target) for target in best]
    hits = [[bool(found[0].right) for found in item.results.values()] for item in items]
    assert hits.count([False, True]) == 2
    assert hits.count([True, False]) == int((view.before.per_query["R@1"] > view.after.per_query["R@1"]).any())
    assert back.queries.pictures[3].name == "3.png"
    assert view.queries.pictures[3] is None


def test_a_map_has_every_kind_and_the_hubs(shown, caught):
    given = shown(map_points=20)
    drawn("hub-map", given)
    (shown_map,) = caught("hub_map")
    kinds, often = shown_map["kinds"], shown_map["counts"]
    assert len(shown_map["points"]) == 60
    assert {kind: kinds.count(kind) for kind in kinds} == {"query": 20, "target": 20, "query of val": 20}
    pair = given.run.pairs()["forward"]
    counts = pair.counts(pair.before, 10)
    assert sorted(often)[-5:] == sorted(counts)[-5:]
    assert shown_map["names"][int(np.argmax(often))] == str(int(np.argmax(counts)))


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("rader", {}, "there is no figure 'rader'; did you mean radar? There are radar, similarity"),
        ("bank-source", {"banks": ("val",)}, "it needs embeddings and 3 banks, and there are 1"),
        ("hub-map", {"test": 'scores = "scores.npy"', "banks": ()}, "there is a matrix of scores; name test.queries"),
        ("top5", {"settings": 'group_targets = "max"\ntau = 0.1'}, "settings.group_targets merges targets"),
        ("bank-size", {"dataset": 'task = "self-retrieval"', "banks": ()}, "items are their own bank"),
    ],
)
def test_what_a_figure_lacks_is_said(shown, name, more, said):
    with pytest.raises(InputError, match=r"there is no figure|cannot be drawn") as error:
        drawn(name, shown(**more))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("part", "text", "said"),
    [
        ("captions", "one\ntwo\n", "test.captions has 2 lines but there are 60"),
        ("target_captions", "one\ntwo\n", "test.target_captions has 2 lines but there are 60"),
        ("media", "no folder", "which is no folder"),
    ],
)
def test_captions_and_media_that_do_not_fit_are_said(shown, tmp_path, part, text, said):
    (tmp_path / "part.txt").write_text(text)
    parts = f'queries = "test_queries.npy"\ntargets = "test_targets.npy"\n{part} = "part.txt"'
    with pytest.raises(InputError, match=said):
        drawn("top5", shown(test=parts))


def test_all_writes_tables_and_every_figure_that_can_be_drawn(written, tmp_path):
    done, writer = reproduced([written()], tmp_path / "out", tables="all", figures="all")
    (one,) = done.experiments
    assert [table.name for table in one.tables] == ["query-aware", "banks", "skewness", "variants"]
    stems = {path.stem for path in writer.paths[""]}
    assert stems == {figure.stem for figure in one.figures}
    assert stems == {
        "radar", "similarity.forward", "similarity.reverse", "tau.forward", "tau.reverse",
        "bank-size.forward.train", "bank-size.reverse.train",
        "hub-map", "top5.forward", "top5.reverse", "hub-queries.forward", "hub-queries.reverse",
    }  # fmt: skip
    assert any(note.startswith("no figure bank-source") for note in done.notes)
    assert (tmp_path / "out" / "figures" / "tau.reverse.csv").exists()
    assert json.loads((tmp_path / "out" / "query-aware" / "table.json").read_text())["dataset"] == "Small"


def test_several_files_have_one_radar_and_one_table(written, tmp_path, caught):
    first = written()
    second = tmp_path / "second.toml"
    second.write_text(first.read_text().replace('"Small"', '"Large"'))
    wanted = {"tables": ["query-aware"], "figures": ["radar"]}
    reproduced([first, second], tmp_path / "out", **wanted)
    axes = caught("radar")[-1]["axes"]
    assert [axis.label for axis in axes] == ["Small forward", "Small reverse", "Large forward", "Large reverse"]
    text = (tmp_path / "out" / "query-aware.tex").read_text()
    assert "Small" in text
    assert "Large" in text
    assert (tmp_path / "out" / "Small-made" / "query-aware" / "table.json").exists()
    assert (tmp_path / "out" / "radar.pdf").exists()
    with pytest.raises(InputError, match="two of the datasets are called Small-made"):
        reproduced([first, first], tmp_path / "again", **wanted)
    assert not (tmp_path / "again").exists()


def test_a_banks_scores_are_evaluated_once_for_tables_and_figures(written):
    data = RecordedDataset.open(written())
    figures = ["radar", "similarity", "top5", "hub-queries"]
    reproduce(data, tables=["query-aware", "banks", "skewness"], figures=figures)
    assert len(data.tasks) == len(set(data.tasks)) == 6


def test_another_bank_and_other_settings_can_be_drawn_into_the_same_folder(written, tmp_path):
    for settings in ("tau = 0.1", "tau = 0.2"):
        path = str(written(dataset='directions = ["t2v"]', settings=settings))
        for bank in ("val", "train"):
            reproduced([path], tmp_path / "out", figures=["tau", "top5"], bank=bank)
    home = tmp_path / "out" / "figures"
    for bank in ("val", "train"):
        lines = (home / f"tau.t2v.{bank}.csv").read_text().splitlines()
        assert {line.split(",")[4] for line in lines[1:]} == {bank}
        assert (home / f"top5.t2v.{bank}.png").exists()


def test_a_bank_that_cannot_be_used_costs_the_others_nothing(written, arrays, tmp_path):
    path = written()
    np.save(tmp_path / "val_queries.npy", arrays["test"][0])
    done, _ = reproduced([path], tmp_path / "out", tables="all", figures="all")
    assert [table.name for table in done.experiments[0].tables] == ["query-aware", "skewness", "variants"]
    (said,) = [note for note in done.notes if note.startswith("no table banks")]
    assert "the bank val, forward: 60 of 60 test queries are also in banks.val.queries" in said
    assert "allow_overlap = true in the section [settings]" in said
    with pytest.raises(InputError, match=r"also in banks\.val\.queries"):
        reproduced([path], None, tables=["banks"])


def test_tables_are_written_as_they_are_made(written, tmp_path):
    def stop(what, done, total):
        if what.startswith("plan"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduced([written()], tmp_path / "out", stop, tables="all", figures="all")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"query-aware", "banks", "skewness"}


def test_models_of_one_dataset_have_axes_of_their_own(written, caught):
    path = written(dataset='directions = ["t2v"]')
    first, other, third = (Dataset.open(path) for _ in range(3))
    other.model, third.name = "another", "Other"
    draw(radar([Run(each, preset("paper")) for each in (first, other, third)]))
    axes, series = caught("radar")[0]["axes"], caught("radar")[0]["series"]
    assert [axis.label for axis in axes] == ["Small, made t2v", "Small, another t2v", "Other t2v"]
    assert all(axis.most == 100 for axis in axes)
    draw(radar([Run(each, preset("paper")) for each in (first, third)]))
    labels = [axis.label for axis in caught("radar")[1]["axes"]]
    assert labels[:2] == ["Small t2v R@1", "Small t2v R@5"], "two would be too few, so there are metrics"
    assert len(set(labels)) == len(labels)
    assert "SN (transductive)" in series


def test_few_classes_are_counted_at_their_first_place(written, arrays, tmp_path, caught):
    np.save(tmp_path / "classes.npy", arrays["val"][1][:12])
    np.save(tmp_path / "class_of.npy", np.arange(60) % 12)
    said = 'queries = "test_queries.npy"\ntargets = "classes.npy"\nrelevant = "class_of.npy"'
    path = written(dataset='task = "classification"', test=said, banks=())
    reproduced([path], tmp_path / "out", figures=["similarity", "radar"])
    assert caught("similarity")[0]["k"] == 1
    assert caught("similarity")[0]["counts_before"].sum() == 60
    assert [axis.label for axis in caught("radar")[0]["axes"]] == ["forward acc@1", "forward acc@5", "forward acc@10"]


def test_a_radar_needs_axes(written, tmp_path):
    path = str(written(dataset='metrics = ["R@1"]'))
    done, _ = reproduced([path], tmp_path / "out", tables="all", figures="all")
    assert any(note.startswith("no figure radar: a radar of one dataset has an axis for") for note in done.notes)
    with pytest.raises(InputError, match=r"the figure radar cannot be drawn: .* 2 here; ask for more dataset\.metrics"):
        reproduced([path], tmp_path / "out", figures=["radar"])


def test_a_reproduction_is_a_value_that_can_be_written_later(written, tmp_path):
    wanted = {"tables": ["query-aware"], "figures": ["similarity", "tau"]}
    reproduced([written()], tmp_path / "as it comes", **wanted)
    done = reproduce(written(), **wanted)
    assert [figure.stem for figure in done.experiments[0].figures][:2] == ["similarity.forward", "similarity.reverse"]
    write_reproduction(done, tmp_path / "later")
    files = {
        folder: {path.relative_to(tmp_path / folder): path.read_bytes() for path in (tmp_path / folder).rglob("*.*")}
        for folder in ("as it comes", "later")
    }
    kept = {path for path in files["as it comes"] if path.suffix == ".jsonl"}
    assert kept
    assert files["later"] == {path: data for path, data in files["as it comes"].items() if path not in kept}


def test_running_does_not_draw_and_does_not_warn(written, recwarn):
    import subprocess
    import sys

    program = (
        "import sys; from unhub.experiments import reproduce; "
        "reproduce(sys.argv[1], figures=['similarity', 'radar', 'top5']); "
        "assert 'matplotlib' not in sys.modules; assert 'unhub.reports' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program, written(settings="tau = 0.0005")], check=True)
    done = reproduce(written(settings="tau = 0.0005"))
    assert any("is sharp" in note for note in done.tables[0].notes)
    assert not [each for each in recwarn if "sharp" in str(each.message)]
