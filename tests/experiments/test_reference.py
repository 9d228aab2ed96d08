"""The paper's values as data, and ours beside them."""

from collections import Counter

import numpy as np
import pytest

from unhub import InputError
from unhub.dataset import Dataset
from unhub.experiments import reproduce
from unhub.experiments.paper_tables import TABLES
from unhub.experiments.reference import compare, printed, refuse_unknown


def value(table, dataset, model, direction, method, metric, bank=""):
    found = [
        each for each in printed()
        if (each.table, each.dataset, each.model, each.direction, each.method, each.metric, each.bank)
        == (table, dataset, model, direction, method, metric, bank)
    ]  # fmt: skip
    assert len(found) == 1
    return found[0]


def test_every_table_of_the_paper_is_there():
    tables = {each.table for each in printed()}
    assert tables == {"1", "2", "3", "4", "5", "6", *(f"A{number}" for number in range(1, 11))}
    assert {number for each in TABLES.values() for number in each.numbers} == tables
    keys = Counter(
        (each.table, each.dataset, each.model, each.direction, each.bank, each.method, each.metric)
        for each in printed()
    )
    assert max(keys.values()) == 1


@pytest.mark.parametrize(
    ("key", "number"),
    [
        (("1", "MSR-VTT", "CLIP4Clip", "t2v", "none", "R@1"), 43.9),
        (("1", "MSR-VTT", "CLIP4Clip", "t2v", "is", "R@1"), 48.1),
        (("1", "MSR-VTT", "CLIP4Clip", "t2v", "sn", "R@1"), 49.6),
    ],
)
def test_values_read_by_hand(key, number):
    assert value(*key).value == number


def test_known_errata_are_flagged():
    assert value("1", "MSR-VTT", "CLIP4Clip", "t2v", "sn", "R@1").flag == "conflict"
    assert {each.flag for each in printed()} == {"", "misprint", "conflict", "prior_work", "commented"}
    dis = [each for each in printed() if each.table == "1" and each.method == "dis" and each.metric in ("R@5", "R@10")]
    assert dis
    assert all(each.flag == "misprint" for each in dis)


def test_ours_stand_beside_theirs(written, tmp_path):
    np.save(tmp_path / "S.npy", np.random.default_rng(0).standard_normal((50, 50)).astype(np.float32))
    path = written(test='scores = "S.npy"', banks=(), dataset='directions = ["t2v", "v2t"]', settings="tau = 1.0")
    path.write_text(path.read_text().replace('"Small"', '"msrvtt"').replace('"made"', '"clip4clip"'))
    table = reproduce(Dataset.open(path), ["1"]).tables[0]
    found = compare(table, ("1",))
    assert {each.method for each in found} == {"none", "is", "dis", "sn"}
    assert {each.direction for each in found} == {"t2v", "v2t"}
    sn = next(each for each in found if (each.method, each.direction, each.metric) == ("sn", "t2v", "R@1"))
    assert (sn.theirs.value, sn.theirs.flag) == (49.6, "conflict")
    assert sn.difference == pytest.approx(sn.ours - 49.6), "another table prints another value; both are told"
    dis = next(each for each in found if (each.method, each.direction, each.metric) == ("dis", "t2v", "R@5"))
    assert (dis.theirs.flag, dis.difference) == ("misprint", None)


def test_every_kind_of_table_stands_beside_the_papers(written, tmp_path):
    """Other names for directions, accuracies instead of R@k, a share instead of a percentage."""
    labels = np.arange(60) % 20
    np.save(tmp_path / "labels.npy", labels)
    np.save(tmp_path / "classes.npy", np.arange(20))
    np.save(tmp_path / "few.npy", np.load(written().parent / "test_targets.npy")[:20])
    cases = [
        ("6", "CLIP4Clip", "MSR-VTT", 'directions = ["t2v"]', None, "t2v"),
        ("A5", "DINO", "CUB-200-2011", 'task = "self-retrieval"',
         'targets = "test_targets.npy"\nlabels = "labels.npy"', "i2i"),
        ("A6", "CLIP ViT-B/32 (zs)", "ImageNet", 'task = "classification"\ndirections = ["image"]',
         'queries = "test_queries.npy"\ntargets = "few.npy"\nlabels = "labels.npy"\ntarget_labels = "classes.npy"',
         "cls"),
    ]  # fmt: skip
    for number, model, dataset, about, test, way in cases:
        path = written(dataset=about, test=test, banks=())
        path.write_text(path.read_text().replace('"Small"', f'"{dataset}"').replace('"made"', f'"{model}"'))
        found = compare(reproduce(Dataset.open(path), [number]).tables[0], (number,))
        assert {each.theirs.direction for each in found} == {way}
        assert {"none", "is", "sn"} <= {each.method for each in found} or number == "6"
        for each in found:
            assert each.metric.removeprefix("R@") == each.theirs.metric.removeprefix("R@").removeprefix("acc@")
            assert each.metric != "sparsity" or 0 <= each.ours <= 1
        assert number != "6" or any(each.metric == "sparsity" for each in found)


def test_a_dataset_that_the_paper_does_not_have_is_said():
    with pytest.raises(InputError, match=r"have no Small with made; they have .*MSR-VTT with CLIP4Clip"):
        refuse_unknown("Small", "made", ("1", "2"))
    refuse_unknown("msr vtt", "CLIP4Clip", ("1", "2"))
