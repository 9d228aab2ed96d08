"""The tables of an experiment: the numbers are those of unhub.evaluate, arranged as the paper does."""

from dataclasses import replace

import numpy as np
import pytest

import unhub
from unhub import InputError
from unhub.dataset import Dataset
from unhub.experiments import paper_tables, preset, reproduce
from unhub.experiments.result import pairwise_tests
from unhub.experiments.run import Run
from unhub.foundation.tables import text
from unhub.reports.latex_tables import latex
from unhub.reports.result_tables import result_table

PAPER = preset("paper")


def made(path, table, protocol=PAPER):
    return reproduce(Dataset.open(path), [table], protocol=protocol).tables[0]


def values(table, label, way, bank=None):
    return next(row.values[way] for row in table.rows if row.label == label and bank in (None, row.bank))


def test_query_aware_is_evaluate_both_ways(written, arrays):
    table = made(written(dataset='directions = ["t2i", "i2t"]'), "1")
    queries, targets = arrays["test"]
    result = unhub.evaluate(
        queries=queries, targets=targets, relevant=np.arange(60), methods=["none", "is", "dis", "sn"],
        metrics=table.metrics, direction="both", ties="optimistic", tau=0.1,
    )  # fmt: skip
    for label in ("none", "is", "dis", "sn"):
        assert values(table, label, "t2i") == pytest.approx(dict(result[label].values))
        assert values(table, label, "i2t") == pytest.approx(dict(result.reverse[label].values))
    assert [row.transductive for row in table.rows] == [False, True, True, True]


def test_banks_have_a_block_for_queries_alone_and_one_for_both(written, arrays):
    table = made(written(), "banks")
    assert [block.bank for block in table.blocks] == ["val & -", "val & val", "train & -", "train & train"]
    assert [row.label for row in table.blocks[1].rows] == ["dualis", "dualdis", "dbsn"]
    assert not any(row.transductive for row in table.rows)
    queries, targets = arrays["test"]
    result = unhub.evaluate(
        queries=queries, targets=targets, relevant=np.arange(60), query_bank=arrays["val"][0],
        target_bank=arrays["val"][1], methods=["sn", "dbsn"], metrics=table.metrics, ties="optimistic", tau=0.1,
        strength=1,
    )  # fmt: skip
    assert values(table, "dbsn", "forward", "val & val") == pytest.approx(dict(result["dbsn"].values))
    assert values(table, "sn", "forward", "val & -") == pytest.approx(dict(result["sn"].values))
    assert set(table.rows[1].values) == {"forward", "reverse"}


def test_matrices_give_the_same_as_the_embeddings_they_come_from(written, arrays, tmp_path):
    by_vectors = made(written(), "banks")
    (queries, targets), (bank, others) = arrays["test"], arrays["val"]
    np.save(tmp_path / "S.npy", queries @ targets.T)
    np.save(tmp_path / "S_bt.npy", bank @ targets.T)
    np.save(tmp_path / "S_bb.npy", bank @ others.T)
    np.save(tmp_path / "S_tt.npy", others @ targets.T)
    path = written(test='scores = "S.npy"', banks=(), name="matrix.toml")
    said = '\n[banks.val]\nscores = "S_bt.npy"\ncross = "S_bb.npy"\ntarget_scores = "S_tt.npy"\n'
    path.write_text(path.read_text() + said)
    by_matrices = made(path, "banks")
    for row in by_matrices.rows:
        same = values(by_vectors, row.label, "forward", row.bank)
        assert row.values["forward"] == pytest.approx(same, abs=1e-6)


def test_self_retrieval_masks_the_pair_before_fitting(written, arrays, tmp_path):
    targets = arrays["test"][1]
    labels = np.arange(60) % 12
    np.save(tmp_path / "labels.npy", labels)
    path = written(
        dataset='task = "self-retrieval"', test='targets = "test_targets.npy"\nlabels = "labels.npy"', banks=()
    )
    table = made(path, "A5")
    assert table.metrics == ("R@1", "R@2", "R@4", "R@8")
    scores = targets.astype(np.float64) @ targets.T
    np.fill_diagonal(scores, -np.inf)
    first = scores.argmax(axis=1)
    assert values(table, "none", "forward")["R@1"] == pytest.approx(100 * np.mean(labels[first] == labels))
    bias = -0.1 * np.log(np.exp(scores / 0.1).sum(axis=0))  # IS, whose sum leaves an item itself out
    corrected = (scores + bias).argmax(axis=1)
    (block,) = table.blocks
    np.testing.assert_array_equal(block.evaluations["forward"]["is"].top[:, 0], corrected)
    unmasked = -0.1 * np.log(np.exp(targets.astype(np.float64) @ targets.T / 0.1).sum(axis=0))
    assert ((scores + unmasked).argmax(axis=1) != corrected).any()


def test_classification_asks_for_classes(written, arrays, tmp_path):
    labels = np.arange(60) % 5
    np.save(tmp_path / "class_of.npy", labels)
    np.save(tmp_path / "classes.npy", arrays["val"][1][:5])
    said = 'queries = "test_queries.npy"\ntargets = "classes.npy"\nrelevant = "class_of.npy"'
    table = made(written(dataset='task = "classification"\nmetrics = ["R@1"]', test=said, banks=()), "classification")
    right = (arrays["test"][0] @ arrays["val"][1][:5].T).argmax(axis=1) == labels
    assert values(table, "none", "forward")["R@1"] == pytest.approx(100 * right.mean())
    assert table.directions == ("forward",)


def test_plans_do_not_count_ties_as_hits(written, tmp_path):
    scores = np.random.default_rng(4).standard_normal((60, 60)) + 1.5 * np.eye(60)
    np.save(tmp_path / "S.npy", scores.astype(np.float32))
    table = made(written(test='scores = "S.npy"', banks=(), settings="tau = 0.5"), "variants")
    for label in ("otn", "hn", "sparse_k(k=1)"):
        found = values(table, label, "forward")
        assert found["R@10"] == pytest.approx(found["R@1"], abs=10)
        assert found["R@10"] < values(table, "sn", "forward")["R@10"]
        assert 0.9 < found["sparsity"] < 1
    assert values(table, "sn", "forward")["sparsity"] == 0
    assert any("ties: average" in note for note in table.notes)


def test_a_part_that_is_missing_is_named_with_what_would_provide_it(written):
    with pytest.raises(InputError, match=r"the table banks cannot be made: there is no bank; name banks.val.queries"):
        made(written(banks=()), "A7")
    with pytest.raises(
        InputError, match=r"there is no table 'bank'; did you mean banks\? There are query-aware \(1, 2"
    ):
        made(written(), "bank")


def test_letters_say_which_rows_are_beaten_and_counts_add_up(arrays):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((400, 400)) + 3 * np.eye(400) + 2 * (rng.random(400) < 0.02)
    result = unhub.evaluate(scores=scores, relevant=np.arange(400), methods=["none", "is", "sn"], tau=0.5)
    found = pairwise_tests(result)
    assert [each.letter for each in found.values()] == ["a", "b", "c"]
    assert found["none"].beats == ""
    assert "a" in found["sn"].beats
    assert all(each.wins + each.ties + each.losses == 400 for each in found.values())
    assert found["none"].ties == 400
    ranks = {label: result[label].per_query["MnR"] for label in result}
    assert found["sn"].wins == int((ranks["sn"] < ranks["none"]).sum())
    (_, paired) = result.compare(on="R@1")
    assert found["none"].gain is None
    assert found["sn"].gain.value == paired.interval.value == pytest.approx(result["sn"]["R@1"] - result["none"]["R@1"])
    assert found["sn"].gain == paired.interval
    assert 0 < found["sn"].gain.low < found["sn"].gain.value < found["sn"].gain.high


def test_sets_have_the_metrics_they_are_reported_with(written):
    alone = {"test": 'targets = "test_targets.npy"\nlabels = "labels.npy"', "banks": ()}
    np.save(written().parent / "labels.npy", np.arange(60) // 2)
    path = written(dataset='task = "self-retrieval"', **alone)
    assert made(path, "A5").metrics == ("R@1", "R@2", "R@4", "R@8")
    path.write_text(path.read_text().replace('"Small"', '"In-Shop"'))
    assert made(path, "A5").metrics == ("R@1", "R@10", "R@20", "R@30")
    path.write_text(path.read_text().replace('task = "self', 'metrics = ["R@3"]\ntask = "self'))
    assert made(path, "A5").metrics == ("R@3",)


def test_a_note_says_how_many_test_queries_a_bank_has(written, arrays, tmp_path):
    bank = np.concatenate([arrays["val"][0], arrays["test"][0][:8]])
    path = written(settings="tau = 0.1\nallow_overlap = true", banks=("val",))
    np.save(tmp_path / "val_queries.npy", bank)
    shown = text(result_table(made(path, "banks")))
    assert "transductive: test queries (val forward 8 of 60) are in the bank" in shown
    assert "+SN, val & -: forward" in shown


def test_notes_hold_each_warning_once(written):
    table = made(written(settings="tau = 0.0005"), "1")
    sharp = [note for note in table.notes if "is sharp" in note]
    assert sharp
    assert len(sharp) == len(set(sharp))


def test_hashes_name_the_files(written, tmp_path):
    import hashlib

    table = made(written(), "1")
    wanted = hashlib.sha256((tmp_path / "test_queries.npy").read_bytes()).hexdigest()
    assert table.facts["files"]["test.queries"] == wanted


def test_letters_point_the_right_way_where_some_queries_have_no_answer(arrays):
    """Only hits that both could have count, or the later row would always be ahead."""
    rows = arrays["test"][1]
    result = unhub.evaluate(
        queries=rows, targets=rows, relevant=[{row} for row in range(59)] + [set()], methods=["none", "is"],
        allow_empty=True, metrics=["R@1", "MnR"], tau=0.1,
    )  # fmt: skip
    hits, worse, nothing = np.ones(59), np.repeat([0.0, 1.0], [20, 39]), np.nan
    rows = {
        label: replace(row, per_query={"R@1": np.append(values, nothing), "MnR": row.per_query["MnR"]})
        for (label, row), values in zip(result.rows.items(), (hits, worse), strict=True)
    }
    found = pairwise_tests(replace(result, rows=rows))
    assert (found["none"].beats, found["is"].beats) == ("b", "")
    assert found["is"].gain.high < 0


def test_items_of_a_class_are_resampled_together(arrays):
    rows, labels = arrays["test"][1], np.arange(60) // 3
    relevant = [set(np.flatnonzero(labels == label).tolist()) for label in labels]
    result = unhub.evaluate(queries=rows, targets=rows, relevant=relevant, methods=["none"], ignore_self=True)
    assert len(set(zip(result.clusters.tolist(), labels.tolist(), strict=True))) == len(set(labels.tolist())) == 20


def test_every_direction_is_written_whatever_bank_comes_first(written, tmp_path):
    path = written(dataset='directions = ["t2v", "v2t"]')
    path.write_text(path.read_text().replace('targets = "val_targets.npy"\n', ""))
    table = made(path, "banks")
    assert [tuple(block.evaluations) for block in table.blocks] == [("t2v",), ("t2v", "v2t"), ("t2v", "v2t")]
    assert table.directions == ("t2v", "v2t")
    assert "v2t R@1" in text(result_table(table))


class NoMatrix(Dataset):
    def test_scores(self, **more):
        pytest.fail("the whole matrix was computed")


def test_plans_of_a_large_matrix_are_left_out_before_it_is_made(written):
    table = paper_tables.variants(Run(NoMatrix.open(written()), PAPER), largest_plan=100)
    assert "plans were left out: 3,600 entries are more than 100" in table.notes


def test_a_bank_with_test_targets_marks_the_way_back(written, arrays, tmp_path):
    """The targets of a bank are the bank of the second direction."""
    np.save(tmp_path / "val_targets.npy", np.concatenate([arrays["val"][1], arrays["test"][1][:5]]))
    path = written(dataset='directions = ["t2v", "v2t"]', settings="tau = 0.1\nallow_overlap = true", banks=("val",))
    table = made(path, "banks")
    assert all(row.transductive for row in table.rows if row.method != "none")
    assert "transductive: test queries (val v2t 5 of 60) are in the bank" in text(result_table(table))
    assert "test queries (val v2t 5 of 60) are in the bank" in latex([table])


def test_queries_are_compared_by_rank_in_every_table(written):
    counts = {}
    for name in ("query-aware", "skewness"):
        row = next(row for row in made(written(), name).rows if row.label == "sn")
        counts[name] = (row.tests["forward"].wins, row.tests["forward"].losses)
    assert counts["query-aware"] == counts["skewness"]


def test_a_table_says_how_ties_rank(written):
    assert "ties: optimistic (equal scores count for the query)" in text(result_table(made(written(), "query-aware")))
