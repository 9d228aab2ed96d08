"""Published layouts become experiments: what goes in is known, so is what must come out."""

import itertools
import json
import pickle
import tomllib
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import unhub
from unhub.dataset import Dataset
from unhub.experiments import reproduce
from unhub.experiments.importing import Dump, import_published
from unhub.experiments.importing.matrices import BLOCK

VIDEOS, EACH, BANK, DIM = 12, 3, 20, 8


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def world(rng):
    """Videos, the captions of each in order, a bank of captions and of videos; no two scores are the same."""
    videos, bank_videos = unit(rng.normal(size=(VIDEOS, DIM))), unit(rng.normal(size=(BANK // 2, DIM)))
    texts = unit(np.repeat(videos, EACH, axis=0) + 0.3 * rng.normal(size=(VIDEOS * EACH, DIM)))
    bank = unit(rng.normal(size=(BANK, DIM)))
    return {"videos": videos, "texts": texts, "bank": bank, "bank_videos": bank_videos, "scores": texts @ videos.T}


@pytest.fixture
def put(tmp_path):
    """A function that writes an array, or anything else, as a file and gives its path back."""

    def write(name, value):
        path = tmp_path / name
        if path.suffix == ".npy":
            np.save(path, value)
        elif path.suffix == ".txt":
            path.write_text("".join(f"{line}\n" for line in value))
        elif path.suffix == ".json":
            path.write_text(json.dumps(value))
        else:
            path.write_bytes(pickle.dumps(value))
        return str(path)

    return write


@pytest.fixture
def brought(tmp_path):
    """A function that imports and gives back what was made, the experiment as it reads, and its arrays by place."""

    folders = (tmp_path / f"out{at}" for at in itertools.count())

    def run(name=None, model="model", modality=None, **given):
        made = import_published(next(folders), Dump(**given), name=name, model=model, modality=modality)
        experiment = Dataset.open(made.experiment)
        arrays = {where: np.load(path) for where, path in experiment.files().items() if path.endswith(".npy")}
        return made, experiment, arrays

    return run


OWNERS = np.repeat(np.arange(VIDEOS), EACH)


def test_querybank_pickles(world, put, brought):
    """A matrix, a bank and masks in a pickle each, as many captions for each video, some of them missing."""
    masks = np.ones((VIDEOS, EACH))
    masks[2, 1] = masks[5, 2] = masks[11, 0] = 0
    scores = world["scores"].copy()
    scores[~masks.ravel().astype(bool)] = np.nan  # whatever stands there, it is no query
    made, experiment, arrays = brought(
        name="MSR-VTT", model="TT-CE", modality="video", trust=True,
        scores=put("tt-ce-test-captions-test-videos-seed0.pkl", scores),
        banks={"train": [put("tt-ce-train-captions-test-videos-seed0.pkl", world["bank"] @ world["videos"].T)]},
        masks=put("tt-ce-test-query_masks.pkl", masks),
    )  # fmt: skip
    kept = masks.ravel() == 1
    np.testing.assert_array_equal(arrays["test.scores"], world["scores"][kept])
    np.testing.assert_array_equal(arrays["test.relevant"], OWNERS[kept])
    np.testing.assert_array_equal(arrays["banks.train.scores"], world["bank"] @ world["videos"].T)
    assert (experiment.name, experiment.model, experiment.directions) == ("MSR-VTT", "TT-CE", ("t2v", "v2t"))
    assert (experiment.modality, experiment.settings) == ("video", {})
    assert (made.queries, made.targets, made.left_out, made.divisor) == (33, 12, 3, 1.0)
    assert made.notes == ("masked queries, left out: 3", "3 queries for each target, in order")
    assert all(each.dtype == np.float32 for where, each in arrays.items() if where != "test.relevant")


def test_padded_arrays_of_three_dimensions(world, put, brought):
    """CLIP4Clip's logits: (video, most captions of any, video), where captions are missing -inf."""
    logits = (100 * world["scores"]).reshape(VIDEOS, EACH, VIDEOS)
    logits[0, 2] = logits[7, 1] = logits[7, 2] = -np.inf
    kept = np.isfinite(logits).all(axis=2).ravel()
    counts = np.bincount(OWNERS[kept])
    words = {f"vid{at}": [["a", "man", f"{at}-{one}"] for one in range(count)] for at, count in enumerate(counts)}
    shuffled = dict(sorted(words.items())) | {"of another split": [["a", "dog"]]}
    made, experiment, arrays = brought(
        scores=put("sim_matrix.npy", logits),
        captions=put("raw-captions.pkl", shuffled),
        target_ids=put("test_list.txt", [f"vid{at}" for at in range(VIDEOS)]),
        trust=True,
    )
    np.testing.assert_allclose(arrays["test.scores"], world["scores"][kept], rtol=1e-6)
    np.testing.assert_array_equal(arrays["test.relevant"], OWNERS[kept])
    texts = Path(experiment.files()["test.captions"]).read_text().splitlines()
    assert texts == [" ".join(each) for at in range(VIDEOS) for each in words[f"vid{at}"]]
    assert Path(experiment.files()["test.target_ids"]).read_text().split() == [f"vid{at}" for at in range(VIDEOS)]
    assert made.divisor == 100
    assert experiment.settings == {}
    assert made.notes[0] == "rows of -inf (padding), left out: 3"
    low, high = (100 * world["scores"][kept]).min(), (100 * world["scores"][kept]).max()
    before, after = f"from {low:.3g} to {high:.3g}", f"from {low / 100:.3g} to {high / 100:.3g}"
    assert made.notes[1] == f"scores ran {before} and were divided by 100 (CLIP's scale): they run {after}"


def test_images_repeated_for_each_caption(world, put, brought):
    """Embeddings where row i of the images belongs to row i of the texts, so that images come several times."""
    repeated = np.repeat(world["videos"], EACH, axis=0)
    bank_repeated = np.repeat(world["bank_videos"], 2, axis=0)
    made, experiment, arrays = brought(
        queries=put("f30k_test_txts.npy", world["texts"]),
        targets=put("f30k_test_imgs.npy", repeated),
        banks={"train": [put("train_txts.npy", world["bank"]), put("train_imgs.npy", bank_repeated)]},
        modality="image",
    )
    np.testing.assert_array_equal(arrays["test.queries"], world["texts"])
    np.testing.assert_array_equal(arrays["test.targets"], world["videos"])
    np.testing.assert_array_equal(arrays["test.relevant"], OWNERS)
    np.testing.assert_array_equal(arrays["banks.train.targets"], world["bank_videos"])
    assert experiment.directions == ("t2i", "i2t")
    assert made.notes[:2] == (
        "12 different of 36 rows of targets; each was taken once",
        "10 different of 20 rows of bank train, targets; each was taken once",
    )


def test_as_many_different_images_as_there_are(world, put, brought):
    _, _, arrays = brought(queries=put("q.npy", world["texts"]), targets=put("t.npy", world["videos"]))
    np.testing.assert_array_equal(arrays["test.relevant"], OWNERS)


def test_images_that_come_as_often_as_they_have_captions(world, put, brought):
    often = np.arange(VIDEOS) % 4 + 1
    owners = np.repeat(np.arange(VIDEOS), often)
    texts = unit(world["videos"][owners] + 0.1)
    _, _, arrays = brought(queries=put("q.npy", texts), targets=put("t.npy", world["videos"][owners]))
    np.testing.assert_array_equal(arrays["test.relevant"], owners)
    assert arrays["test.targets"].shape == (VIDEOS, DIM)


def test_a_few_look_alikes_stay(world, put, brought):
    """Two videos that happen to be the same are two targets: published figures count them so."""
    videos = world["videos"].copy()
    videos[4] = videos[3]
    made, experiment, arrays = brought(queries=put("q.npy", videos), targets=put("t.npy", videos))
    assert arrays["test.targets"].shape == (VIDEOS, DIM)
    assert "test.relevant" not in experiment.parts()
    assert made.notes[0] == "rows of targets that are the same as the one before, kept: 1 of 12"


def test_repeated_columns_of_a_matrix(world, put, brought):
    """A matrix of texts with images, each image once for each of its captions; a bank may have them once."""
    wide = np.repeat(world["scores"], EACH, axis=1)
    bank = world["bank"] @ world["videos"].T
    made, _, arrays = brought(
        scores=put("wide.npy", wide),
        banks={"wide": [put("wide_bank.npy", np.repeat(bank, EACH, axis=1))], "once": [put("bank.npy", bank)]},
    )
    np.testing.assert_array_equal(arrays["test.scores"], world["scores"])
    np.testing.assert_array_equal(arrays["test.relevant"], OWNERS)
    np.testing.assert_array_equal(arrays["banks.wide.scores"], bank)
    np.testing.assert_array_equal(arrays["banks.once.scores"], bank)
    assert made.notes[0] == "12 different of 36 columns of scores; each was taken once"


@pytest.mark.parametrize("name", ["sims.npy", "sims.pkl"])
def test_images_by_texts_in_a_dictionary(world, put, brought, name):
    """The authors' own dumps: the transpose of ours, beside other things, in a pickle that may be called .npy."""
    bank = world["bank"] @ world["videos"].T
    _, _, arrays = brought(
        scores=put(name, {"npts": VIDEOS, "sims": world["scores"].T}),
        banks={"train": [put(f"bank_{name}", {"sims": bank.T})]},
        transpose=True,
        trust=True,
    )
    np.testing.assert_array_equal(arrays["test.scores"], world["scores"])
    np.testing.assert_array_equal(arrays["banks.train.scores"], bank)


def test_three_matrices_of_a_bank(world, put, brought):
    """q_t, gq_t, gq_gt and gt_t: what DBSN and DualIS need where there are no embeddings."""
    s_bt, s_tt = world["bank"] @ world["videos"].T, world["bank_videos"] @ world["videos"].T
    s_bb = world["bank"] @ world["bank_videos"].T
    files = [
        put("gq_t.npy", 100 * s_bt),
        put("gq_gt.npy", 100 * np.repeat(s_bb, 2, axis=1)),
        put("gt_t.npy", 100 * np.repeat(s_tt, 2, axis=0)),
    ]
    _, experiment, arrays = brought(scores=put("q_t.npy", 100 * world["scores"]), banks={"train": files})
    np.testing.assert_allclose(arrays["banks.train.scores"], s_bt, rtol=1e-6)
    np.testing.assert_allclose(arrays["banks.train.cross"], s_bb, rtol=1e-6)
    np.testing.assert_allclose(arrays["banks.train.target_scores"], s_tt, rtol=1e-6)
    table = reproduce(experiment, ["banks"]).tables[0]
    assert {row.method for row in table.rows} == {"none", "is", "dis", "sn", "dualis", "dualdis", "dbsn"}


def test_masks_and_padding_together(world, put, brought):
    padded = world["scores"].copy()
    padded[[1, 20]] = -np.inf
    masks = np.ones(VIDEOS * EACH)
    masks[[0, 1, 8]] = 0
    made, _, arrays = brought(
        scores=put("S.npy", padded), masks=put("m.npy", masks), captions=put("c.txt", np.arange(VIDEOS * EACH))
    )
    kept = np.setdiff1d(np.arange(VIDEOS * EACH), [0, 1, 8, 20])
    np.testing.assert_array_equal(arrays["test.scores"], world["scores"][kept])
    np.testing.assert_array_equal(arrays["test.relevant"], OWNERS[kept])
    assert made.experiment.with_name("captions.txt").read_text().split() == [str(each) for each in kept]
    assert made.notes[:2] == ("masked queries, left out: 3", "rows of -inf (padding), left out: 1")


def test_a_padded_bank(world, put, brought):
    s_bt, s_tt = world["bank"] @ world["videos"].T, world["bank_videos"] @ world["videos"].T
    s_bb = world["bank"] @ world["bank_videos"].T
    empty = np.arange(BANK) % 4 == 3
    s_bt[empty] = s_bb[empty] = -np.inf
    made, _, arrays = brought(
        scores=put("q_t.npy", world["scores"]),
        banks={
            "three": [put("gq_t.npy", s_bt), put("gq_gt.npy", s_bb), put("gt_t.npy", s_tt)],
            "deep": [put("deep.npy", s_bt.reshape(5, 4, VIDEOS))],
        },
    )
    np.testing.assert_array_equal(arrays["banks.three.scores"], s_bt[~empty])
    np.testing.assert_array_equal(arrays["banks.three.cross"], s_bb[~empty])
    np.testing.assert_array_equal(arrays["banks.three.target_scores"], s_tt)
    np.testing.assert_array_equal(arrays["banks.deep.scores"], s_bt[~empty])
    assert "rows of -inf (padding) in bank deep, left out: 5" in made.notes


def test_scores_that_are_the_same_now_and_then_are_not_repeats(put, brought):
    coarse = np.zeros((9, 9), dtype=np.float32)
    coarse[np.arange(9), np.arange(9)] = 1
    coarse[:, 0] = 0.5
    _, _, arrays = brought(scores=put("S.npy", coarse))
    np.testing.assert_array_equal(arrays["test.scores"], coarse)


def test_repeats_across_the_blocks_that_are_read(put, brought, rng):
    images = unit(rng.normal(size=(1500, 512)))
    assert 3 * BLOCK < 7500 * 512
    made, _, arrays = brought(queries=put("q.npy", images), targets=put("t.npy", np.repeat(images, 5, axis=0)))
    np.testing.assert_array_equal(arrays["test.targets"], images)
    assert made.targets == 1500


@pytest.mark.parametrize(
    ("times", "scale", "divisor", "settings", "said"),
    [
        (1, "auto", 1, {}, None),
        (100, "auto", 100, {}, "divided by 100 (CLIP's scale)"),
        (100, 1, 1, {"tau": "auto"}, 'left as they are, and tau = "auto" follows them'),
        (100, "50", 50, {"tau": "auto"}, "divided by 50 (as asked)"),
        (2, "auto", 1, {"tau": "auto"}, "are no cosines"),
        (14, "auto", 1, {"tau": "auto"}, "are no cosines"),
        (1000, "auto", 1, {"tau": "auto"}, "are no cosines"),
        (-100, "auto", 1, {"tau": "auto"}, "are no cosines"),
    ],
)
def test_logits(world, put, brought, times, scale, divisor, settings, said):
    own = np.abs(world["scores"]) if times < 0 else world["scores"]  # distances with their sign turned have no scale
    made, experiment, arrays = brought(
        scores=put("S.npy", times * own / np.abs(own).max()), scale=scale,
        banks={"b": [put("b.npy", times * own[::2] / np.abs(own).max())]},
    )  # fmt: skip
    assert (made.divisor, dict(experiment.settings)) == (divisor, settings)
    np.testing.assert_allclose(arrays["test.scores"], times / divisor * own / np.abs(own).max(), rtol=1e-5)
    np.testing.assert_array_equal(arrays["banks.b.scores"], arrays["test.scores"][::2])
    found = [each for each in made.notes if "scores r" in each]
    assert [said in each for each in found] == ([] if said is None else [True])
    reproduce(experiment, ["query-aware"])


def test_a_bank_of_another_scale_is_told(world, put, brought):
    bank = world["bank"] @ world["videos"].T
    made, _, _ = brought(scores=put("S.npy", 100 * world["scores"]), banks={"b": [put("b.npy", bank)]})
    assert any("scores of the bank b go up to" in each and "of one scale" in each for each in made.notes)


def test_half_precision_is_divided_in_float32(world, put, brought):
    half = (100 * world["scores"]).astype(np.float16)
    _, _, arrays = brought(scores=put("S.npy", half))
    np.testing.assert_array_equal(arrays["test.scores"], half.astype(np.float32) / 100)


@pytest.mark.parametrize("kind", ["npy", "txt", "mat"])
def test_numbers_that_start_at_1(world, put, brought, tmp_path, kind):
    order = np.random.default_rng(3).permutation(VIDEOS * EACH)
    if kind == "mat":
        import scipy.io

        source = str(tmp_path / "gt.mat")
        scipy.io.savemat(source, {"gt": OWNERS[order][:, None] + 1.0})
    else:
        source = put(f"gt.{kind}", OWNERS[order] + 1)
    made, _, arrays = brought(scores=put("S.npy", world["scores"][order]), relevant=source)
    np.testing.assert_array_equal(arrays["test.relevant"], OWNERS[order])
    assert made.notes == ("targets of queries are counted from 1 in the file, and from 0 here",)


def test_numbers_that_start_at_0(world, put, brought):
    made, _, arrays = brought(scores=put("S.npy", world["scores"]), relevant=put("gt.npy", OWNERS))
    np.testing.assert_array_equal(arrays["test.relevant"], OWNERS)
    assert made.notes == ("targets of queries are counted from 0",)


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_that_do_not_tell_are_asked_for(world, put, brought, first):
    middle = (OWNERS > 0) & (OWNERS < VIDEOS - 1)
    given = {"scores": put("S.npy", world["scores"][middle]), "relevant": put("gt.npy", OWNERS[middle])}
    with pytest.raises(unhub.InputError, match=r"from 1 to 10 for 12 targets, .* first=0 or first=1\."):
        brought(**given)
    _, _, arrays = brought(**given, first=first)
    np.testing.assert_array_equal(arrays["test.relevant"], OWNERS[middle] - first)


def test_numbers_of_repeated_or_of_different_targets(world, put, brought):
    wide, rows = put("wide.npy", np.repeat(world["scores"], EACH, axis=1)), np.arange(VIDEOS * EACH)
    for name, numbers in {"rows": rows, "rows_from_1": rows + 1, "different": OWNERS}.items():
        _, _, arrays = brought(scores=wide, relevant=put(f"{name}.npy", numbers))
        np.testing.assert_array_equal(arrays["test.relevant"], OWNERS)


def test_answers_by_id(world, put, brought):
    ids = [f"video{at + 7010}" for at in range(VIDEOS)]
    order = np.random.default_rng(5).permutation(VIDEOS * EACH)
    made, experiment, arrays = brought(
        scores=put("S.npy", world["scores"][order]),
        relevant=put("gt.txt", [ids[at] for at in OWNERS[order]]),
        target_ids=put("ids.txt", ids),
    )
    np.testing.assert_array_equal(arrays["test.relevant"], OWNERS[order])
    assert made.notes == ("targets of queries by their ids",)
    assert Path(experiment.files()["test.target_ids"]).read_text().split() == ids


def test_masks_of_a_flat_array_of_truths(world, put, brought):
    kept = np.arange(VIDEOS * EACH) % 5 > 0
    _, _, arrays = brought(queries=put("q.npy", world["texts"]), targets=put("t.npy", world["videos"]),
                           masks=put("m.npy", kept))  # fmt: skip
    np.testing.assert_array_equal(arrays["test.queries"], world["texts"][kept])
    np.testing.assert_array_equal(arrays["test.relevant"], OWNERS[kept])


TEXTS = [f"caption {at}" for at in range(VIDEOS * EACH)]


@pytest.mark.parametrize("form", ["txt", "json", "pickle", "npy", "by id", "by id, those that are left"])
def test_captions_lose_what_is_masked(world, put, brought, form):
    kept = np.arange(VIDEOS * EACH) % 7 > 0
    by_id = {f"v{at}": [TEXTS[row] for row in np.flatnonzero(at == OWNERS)] for at in range(VIDEOS)}
    left = {name: [text for text in texts if kept[TEXTS.index(text)]] for name, texts in by_id.items()}
    source = {
        "txt": lambda: put("c.txt", TEXTS),
        "json": lambda: put("c.json", TEXTS),
        "pickle": lambda: put("c.pkl", [text.split() for text in TEXTS]),
        "npy": lambda: put("c.npy", np.array(TEXTS)),
        "by id": lambda: put("c.json", dict(reversed(by_id.items()))),
        "by id, those that are left": lambda: put("c.pkl", left),
    }[form]()
    _, experiment, _ = brought(
        scores=put("S.npy", world["scores"]), captions=source, masks=put("m.npy", kept.astype(int)), trust=True,
        target_ids=put("ids.txt", [f"v{at}" for at in range(VIDEOS)]),
    )  # fmt: skip
    assert Path(experiment.files()["test.captions"]).read_text().splitlines() == [
        text for text, stays in zip(TEXTS, kept, strict=True) if stays
    ]


def test_captions_by_id_follow_the_queries(world, put, brought):
    """Queries need not stand by target: those of one target get its captions in their order."""
    order = np.arange(VIDEOS * EACH).reshape(VIDEOS, EACH).T.ravel()
    by_id = {f"v{at}": [f"{at}, number {one}" for one in range(EACH)] for at in range(VIDEOS)}
    _, experiment, _ = brought(
        scores=put("S.npy", world["scores"][order]), relevant=put("gt.npy", OWNERS[order]),
        captions=put("c.json", by_id), target_ids=put("ids.txt", list(by_id)),
    )  # fmt: skip
    assert Path(experiment.files()["test.captions"]).read_text().splitlines() == [
        f"{at}, number {one}" for one in range(EACH) for at in range(VIDEOS)
    ]


def test_ids_of_repeated_targets(world, put, brought):
    ids = [f"img{at}" for at in range(VIDEOS)]
    given = {"queries": put("q.npy", world["texts"]), "targets": put("t.npy", np.repeat(world["videos"], EACH, 0))}
    for source in (put("once.txt", ids), put("often.txt", np.repeat(ids, EACH))):
        _, experiment, _ = brought(**given, target_ids=source)
        assert Path(experiment.files()["test.target_ids"]).read_text().split() == ids


def test_aligned_rows_need_no_file(world, put, brought):
    made, experiment, _ = brought(scores=put("S.npy", world["scores"][::EACH]))
    assert "test.relevant" not in experiment.parts()
    assert made.notes == ("query i belongs to target i",)
    table = reproduce(experiment, ["query-aware"]).tables[0]
    known = unhub.evaluate(scores=world["scores"][::EACH], relevant=np.arange(VIDEOS), methods=["none"])
    assert table.rows[0].values["forward"]["R@1"] == known["none"]["R@1"]


def test_embeddings_of_other_lengths_are_normalised(world, put, brought):
    made, experiment, arrays = brought(queries=put("q.npy", 3 * world["texts"]), targets=put("t.npy", world["videos"]))
    np.testing.assert_array_equal(arrays["test.queries"], 3 * world["texts"])
    assert dict(experiment.settings) == {"normalize": True}
    assert made.notes[0] == "embeddings have lengths from 1 to 3; normalize = true scales them"
    table = reproduce(experiment, ["query-aware"]).tables[0]
    known = unhub.evaluate(scores=world["scores"], relevant=OWNERS, methods=["none"], ties="optimistic")
    assert table.rows[0].values["forward"]["R@1"] == pytest.approx(known["none"]["R@1"])


def test_odd_names_are_written_as_toml_wants_them(world, put, brought):
    odd = 'a "b" \\ \n\t\x7f\udcff é #'
    made, experiment, _ = brought(scores=put('odd "name" #\n[x].npy', world["scores"]), name=odd, model="é" + "'" * 3)
    text = made.experiment.read_text(encoding="utf-8")
    assert tomllib.loads(text)["dataset"]["name"] == odd.replace("\udcff", "?")
    assert experiment.model == "é" + "'" * 3
    assert "# from /" in text
    assert set(experiment.parts()) == {"test.scores", "test.relevant"}


def test_a_large_matrix_is_never_whole_in_memory(put, tmp_path, rng):
    large = rng.normal(size=(20_000, 500)).astype(np.float64) / 10
    given = {"scores": put("large.npy", large.T.copy()), "transpose": True}
    given["masks"] = put("masks.npy", np.arange(len(large)) % 3 > 0)
    tracemalloc.start()
    made = import_published(tmp_path / "large", Dump(**given))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < large.nbytes / 2
    kept = np.arange(len(large)) % 3 > 0
    np.testing.assert_array_equal(
        np.load(made.experiment.with_name("test_scores.npy"), mmap_mode="r"), large[kept].astype(np.float32)
    )


def test_an_order_that_the_scores_contradict_is_doubted(put, brought):
    """Twenty-five targets with four queries each, of which the queries come in another order."""
    rng = np.random.default_rng(3)
    own = np.arange(100) // 4
    scores = rng.normal(size=(100, 25)) * 0.05
    scores[np.arange(100), own] += 0.5
    made, *_ = brought(scores=put("S.npy", scores))
    assert not any("by chance" in each for each in made.notes)
    turned = np.roll(scores, 1, axis=1)
    made, *_ = brought(scores=put("T.npy", turned))
    assert made.notes[-1].startswith("only 0.0% of the queries have this target first, no more than by chance")


def test_rows_of_numbers_are_a_matrix(put, brought, world):
    _, _, arrays = brought(scores=put("rows.pkl", world["scores"].tolist()), trust=True)
    np.testing.assert_allclose(arrays["test.scores"], world["scores"], rtol=1e-6)
