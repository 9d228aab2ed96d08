"""Corners of a dataset: names that meet, copies that share, weights of parts, banks of targets alone."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import unhub
from unhub.analysis.hubs import hub_card
from unhub.analysis.session import Session, ViewSettings
from unhub.dataset import Bank, Dataset
from unhub.foundation.errors import InputError
from unhub.metrics import Relevance
from unhub.scores import whole_matrix


def unit(rng, rows, dim=8):
    vectors = rng.normal(size=(rows, dim)) + 0.4
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(8)
    sides = {"queries": unit(rng, 60), "targets": unit(rng, 40), "query_bank": unit(rng, 80)}
    return sides | {"target_bank": unit(rng, 50), "relevant": np.arange(60) % 40}


@pytest.mark.parametrize("name", ["", "test queries"])
def test_a_bank_cannot_have_a_name_that_is_taken(name):
    with pytest.raises(InputError, match=r"banks has the name .*, which is taken"):
        Dataset(banks={name: Bank(np.eye(3))})


@pytest.mark.parametrize("names", [("reverse", "forward"), ("backward", "forward")])
def test_a_direction_cannot_be_called_like_the_other_one(names):
    with pytest.raises(InputError, match="forward can only be the first one and reverse the second"):
        Dataset(directions=names)


@pytest.mark.parametrize("name", ["queries", "items", "relevance", "bank"])
def test_a_bank_may_be_called_like_a_part(arrays, name):
    bank = Bank(arrays["query_bank"], arrays["target_bank"])
    test = {part: arrays[part] for part in ("queries", "targets", "relevant")}
    data = Dataset(**test, banks={name: bank}, captions=[f"text {row}" for row in range(60)])
    assert data.items()[0].names[7] == "text 7"
    assert data.with_bank(name, bank).items()[0].names[7] == "text 7"
    ours = unhub.evaluate(data, bank=name, methods=["none", "dbsn"])
    assert ours["dbsn"]["R@1"] == unhub.evaluate(**arrays, methods=["none", "dbsn"])["dbsn"]["R@1"]


def test_copies_with_other_relevance_keep_their_own(arrays):
    data = Dataset(**arrays)
    first, second = (Relevance.from_index(np.full(60, target), 40) for target in (1, 2))
    copies = [data.with_relevance(each) for each in (first, second)]
    assert [set(each.relevance().targets.tolist()) for each in copies] == [{1}, {2}]
    assert set(copies[1].lenient().relevance().targets.tolist()) == {2}
    assert data.lenient().relevance().targets.tolist() == arrays["relevant"].tolist()


def test_a_correction_is_judged_without_self_pairs_and_by_groups(arrays):
    targets = arrays["targets"]
    correction = unhub.fit("sn", targets=targets, query_bank=targets, ignore_self=True)
    labels = [set(np.flatnonzero(np.arange(40) % 5 == row % 5)) for row in range(40)]
    given = {"queries": targets, "targets": targets, "relevant": labels, "ignore_self": True}
    alone = unhub.evaluate(**given, methods=["none"])
    judged = unhub.evaluate(correction=correction, **given)
    assert judged["none"]["R@1"] == alone["none"]["R@1"] < 100
    by_dataset = unhub.evaluate(Dataset(**given), correction=correction)
    assert by_dataset["sn"]["R@1"] == judged["sn"]["R@1"]
    with pytest.raises(InputError, match="target_prior belongs to a fit; a correction has its own"):
        unhub.evaluate(correction=correction, **given, target_prior=np.ones(40))


def test_weights_and_priors_leave_one_direction(arrays):
    data = Dataset(**arrays, query_weight=np.linspace(1, 2, 80))
    assert list(data.directions_of("bank").values()) == ["forward"]
    session = Session(data)
    assert session.sample("forward").banks["bank"].size == 80
    result = unhub.evaluate(data, methods=["none", "sn"])
    ranked = session.before_after(ViewSettings("forward", "bank", "sn", k=1))
    assert ranked.after.values["R@1"] == pytest.approx(result["sn"]["R@1"])


def test_shards_have_their_weights_and_mask_their_own_items(arrays):
    weights = np.linspace(1, 2, 80)
    data = Dataset(targets=arrays["targets"], query_bank=arrays["query_bank"], query_weight=weights)
    parts = [data.shard(i, 3).task(bank="bank", fit=True).banks for i in range(3)]
    np.testing.assert_array_equal(np.concatenate([each.query_weight for each in parts]), weights)
    items = Dataset(targets=arrays["targets"], relevant="aligned", task_type="self-retrieval")
    whole = whole_matrix(items.task().banks.queries)
    shards = [whole_matrix(items.shard(i, 3).task().banks.queries) for i in range(3)]
    np.testing.assert_allclose(np.concatenate(shards), whole, atol=3e-7)  # fewer rows may sum in another order
    assert np.isneginf(np.diag(whole)).all()


def test_a_bank_of_targets_alone_takes_the_test_queries(arrays):
    test = {part: arrays[part] for part in ("queries", "targets", "relevant", "target_bank")}
    data = Dataset(**test)
    session = replace(Session(data), cells=(400, 400))
    settings = ViewSettings("forward", "bank", "dbsn", k=1)
    ranked = session.before_after(settings)
    assert ranked.transductive
    assert hub_card(ranked, 3).contributions[0].name
    scores = {
        name: arrays["queries"] @ arrays[part].T
        for name, part in (("scores", "targets"), ("cross_bank_scores", "target_bank"))
    }
    scores["target_bank_scores"] = arrays["target_bank"] @ arrays["targets"].T
    matrices = Session(Dataset(**scores, relevant=arrays["relevant"]))
    assert matrices.before_after(settings).after.values["R@1"] == pytest.approx(
        unhub.evaluate(data, bank="bank", methods=["dbsn"])["dbsn"]["R@1"]
    )


def test_fewer_queries_than_items_can_ignore_themselves(arrays):
    data = Dataset(queries=arrays["targets"][:25], targets=arrays["targets"], relevant=np.arange(25), ignore_self=True)
    assert data.sample(6_000_000).shape == (25, 40)
    assert data.sample(100).shape == (10, 10)


def test_the_overlap_of_matrices_is_of_rows_as_they_are(arrays):
    scores = arrays["queries"] @ arrays["targets"].T
    data = Dataset(scores=scores, query_bank_scores=2 * scores[:20], relevant=arrays["relevant"], normalize=True)
    assert data.overlap("bank") == data.task(bank="bank").shared == 0


def test_captions_travel(arrays, tmp_path):
    np.save(tmp_path / "captions.npy", np.array([f"text {row}" for row in range(60)]))
    texts = np.load(tmp_path / "captions.npy", mmap_mode="r")
    data = Dataset(**arrays, captions=texts)
    again = pickle.loads(pickle.dumps(data))
    assert again.items()[0].names[9] == "text 9"
    sample = data.sample(2000, seed=1)
    assert pickle.loads(pickle.dumps(sample)).items()[0].names == sample.items()[0].names


def test_points_of_a_sweep_are_of_these_labels(arrays, tmp_path, monkeypatch):
    for name, count in (("q", 60), ("t", 40)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{row % 7}\n" for row in range(count)))
    test = {part: arrays[part] for part in ("queries", "targets")}
    data = Dataset(**test, relevant=f"labels:{tmp_path / 'q.txt'},{tmp_path / 't.txt'}")
    unhub.sweep(data, "iterations", folder=tmp_path)
    (tmp_path / "q.txt").write_text("".join(f"{row % 5}\n" for row in range(60)))
    with pytest.raises(InputError, match="a sweep of other files or settings"):
        unhub.sweep(data, "iterations", folder=tmp_path)


def test_a_part_of_a_bank_has_its_weights(arrays):
    data = Dataset(**arrays, query_weight=np.linspace(0.1, 3, 80), settings={"tau": 0.1, "strength": 1.0})
    whole = {point.method: point.values["R@1"] for point in unhub.sweep(data, "strength", bank="bank") if point.at == 1}
    from unhub.experiments.protocols import preset
    from unhub.experiments.run import Run
    from unhub.experiments.sweep_jobs import SweepSettings, _part, _whole_bank

    sweep = SweepSettings(Run(data, preset()), "bank", 1, 0, False)
    part = _part(_whole_bank(sweep), np.arange(80), np.arange(50))
    points = sweep.points(1.0, sweep.methods("sn"), part=part)
    assert points[0].values["R@1"] == whole["sn"]
