"""Relevance, in every form it is written down in."""

from __future__ import annotations

import json

import numpy as np
import pytest

from unhub.io import read_relevance
from unhub.metrics.relevance import Relevance

QUERY_IDS, TARGET_IDS = ("q0", "q1", "q2"), ("t0", "t1", "t2", "t3")


def read(source, **options):
    return read_relevance(source, queries=3, targets=4, **options)


def read_named(source, **options):
    return read(source, query_ids=QUERY_IDS, target_ids=TARGET_IDS, **options)


def lists(relevance):
    return [
        relevance.targets[low:high].tolist()
        for low, high in zip(relevance.indptr[:-1], relevance.indptr[1:], strict=True)
    ]


@pytest.mark.parametrize("source", [[2, 0, 3], np.array([2, 0, 3], np.int16), [{2}, {0}, {3}], [[2], [0], [3]]])
def test_one_target_each_in_memory(source):
    assert lists(read(source)) == lists(read_named(source)) == [[2], [0], [3]]


def test_several_targets_each_in_memory():
    expected = [[0, 2], [1], [3]]
    assert lists(read([{2, 0}, {1}, {3}])) == expected
    assert lists(read([[2, 0], [1], [3]])) == expected
    assert lists(read([(0, 2), (0, 0), (1, 1), (2, 3)])) == expected
    assert lists(read(np.array([(0, 2), (0, 0), (1, 1), (2, 3)]))) == expected
    assert lists(read({0: [0, 2], 1: 1, 2: {3: 1.0}})) == expected
    assert lists(read(np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], bool))) == expected
    assert lists(read(read([{2, 0}, {1}, {3}]))) == expected


def test_ids_in_memory():
    expected = [[0, 2], [1], [3]]
    assert lists(read_named([("q0", "t2"), ("q0", "t0"), ("q1", "t1"), ("q2", "t3")])) == expected
    assert lists(read_named([["t0", "t2"], ["t1"], ["t3"]])) == expected
    assert lists(read_named({"q0": ["t0", "t2"], "q1": "t1", "q2": {"t3": 2}})) == expected
    assert lists(read_named(["t2", "t0", "t3"])) == lists(read_named(np.array(["t2", "t0", "t3"]))) == [[2], [0], [3]]


def test_numbers_in_memory_are_rows_even_if_ids_are_numbers():
    ids = {"query_ids": ("2", "1", "0"), "target_ids": ("3", "2", "1", "0")}
    assert lists(read([0, 1, 2], **ids)) == [[0], [1], [2]]
    assert lists(read([(0, 0), (1, 1), (2, 2)], **ids)) == [[0], [1], [2]]


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    assert lists(read(torch.tensor([2, 0, 3]))) == [[2], [0], [3]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.tsv", "q0\tt2\nq0\tt0\nq1\tt1\nq2\tt3\n"),
        ("x.tsv", "query-id\tcorpus-id\tscore\nq0\tt2\t1\nq0\tt0\t1\nq1\tt1\t1\nq1\tt3\t0\nq2\tt3\t1\n"),
        ("x.csv", "query,target\nq0,t2\nq0,t0\nq1,t1\nq2,t3\n"),
        ("x.csv", "caption_id,image_id\r\nq0,t2\r\nq0,t0\r\n\r\nq1,t1\r\nq2,t3\r\n"),
        ("x.csv", "0,2\n0,0\n1,1\n2,3\n"),
        ("x.csv", "q0,2\nq0,0\nq1,1\nq2,3\n"),
        ("x.qrels", "q0 0 t2 1\nq0 0 t0 1\nq1 0 t1 1\nq1 0 t0 0\nq1 0 t2 -1\nq2 0 t3 1\n"),
        ("x.txt", "q0 Q0 t2 1\nq0 Q0 t0 1\nq1 Q0 t1 1\nq2 Q0 t3 1\n"),
        ("x.txt", "q0 t2\nq0   t0\nq1 t1\nq2 t3\n"),
        ("x.json", '{"q0": ["t2", "t0"], "q1": ["t1"], "q2": "t3"}'),
        ("x.json", '{"0": [2, 0], "1": [1], "2": 3}'),
        ("x.json", '{"q0": {"t2": 1, "t0": 1}, "q1": {"t1": 1, "t2": 0}, "q2": {"t3": 1}}'),
        ("x.json", '[["q0", "t2"], ["q0", "t0"], ["q1", "t1"], ["q2", "t3"]]'),
        ("x.json", '[["q0", "t2", 1], ["q0", "t0", 1], ["q1", "t1", 1], ["q2", "t3", 1]]'),
        ("x.json", '[[0, 2], [0, 0], [1, 1], [2, 3]]'),
        ("x.json", '[["t0", "t2"], ["t1"], ["t3"]]'),
        ("x.json", '[{"query": "q0", "target": "t2"}, {"query": "q0", "target": "t0"}, '
                   '{"query": "q1", "target": "t1", "gain": 1}, {"query": "q2", "target": "t3"}]'),
    ],
)  # fmt: skip
def test_text_files(tmp_path, name, text):
    (tmp_path / name).write_text(text, newline="")
    relevance = read_named(tmp_path / name)
    assert lists(relevance) == [[0, 2], [1], [3]]
    assert relevance.gains.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(("name", "text"), [("x.txt", "t2\nt0\nt3\n"), ("x.json", "[2, 0, 3]"), ("x.csv", "2\n0\n3\n")])
def test_one_target_in_each_line(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert lists(read_named(tmp_path / name)) == [[2], [0], [3]]


def test_arrays_in_files(tmp_path):
    np.save(tmp_path / "x.npy", np.array([2, 0, 3]))
    np.savez(tmp_path / "x.npz", gt=np.array([2, 0, 3]), other=np.zeros(4))
    np.save(tmp_path / "ids.npy", np.array(["t2", "t0", "t3"]))
    for name in ("x.npy", "x.npz::gt", "ids.npy"):
        assert lists(read_named(f"{tmp_path}/{name}")) == [[2], [0], [3]]


def test_gains(tmp_path):
    (tmp_path / "x.tsv").write_text("q0\tt0\t2\nq1\tt1\t0.5\nq2\tt2\t1\n")
    assert read_named(tmp_path / "x.tsv").gains.tolist() == [2, 0.5, 1]


def test_numbers_in_files_are_ids_if_ids_are_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("100,7\n200,8\n300,9\n")
    (tmp_path / "x.json").write_text('{"100": [7], "200": [8], "300": [9]}')
    for name in ("x.csv", "x.json"):
        found = read(tmp_path / name, query_ids=("300", "200", "100"), target_ids=("9", "8", "7", "6"))
        assert lists(found) == [[0], [1], [2]]


def test_queries_without_a_target_are_for_the_relevance_to_judge(sentence):
    assert lists(read([{0}, set(), {1}], allow_empty=True)) == [[0], [], [1]]
    assert sentence(read, [{0}, set(), {1}]).startswith("1 of 3 queries have no relevant target (query 1)")


def test_unknown_ids(sentence, tmp_path):
    (tmp_path / "x.tsv").write_text("q0\tt0\nq1\tt1\nq2\tu0\n" + "".join(f"q2\tu{row}\n" for row in range(7)))
    assert sentence(read_named, tmp_path / "x.tsv") == (
        "relevant: x.tsv names 7 target ids that are not among those of the 4 targets: 'u0', 'u1', 'u2', 'u3', 'u4', "
        "...; leave these pairs out or give the matching target ids."
    )
    assert sentence(read_named, [("q0", "t0"), ("q9", "t0")]) == (
        "relevant names 1 query ids that are not among those of the 3 queries: 'q9'; "
        "leave these pairs out or give the matching query ids."
    )
    assert sentence(read, [("q0", "t0")]) == (
        "relevant names the query 'q0', but the queries have no ids; give query ids, or row numbers counted from 0."
    )


def test_rows_out_of_range(sentence, tmp_path):
    (tmp_path / "x.csv").write_text("0,1\n1,2\n2,4\n")
    assert sentence(read, tmp_path / "x.csv") == (
        "relevant names target 4 for query 2, but the gallery has 4 targets, numbered 0 to 3; this looks 1-based: "
        "subtract 1."
    )


@pytest.mark.parametrize("name", ["judged", "clicks"])
def test_the_argument_is_named(sentence, name):
    wrong = {
        "names target 9 for query 1, but the gallery has 4 targets, numbered 0 to 3.": (
            [0, 9, 1],
            [{0}, {9}, {1}],
            [(1, 9)],
            {1: [9]},
        ),
        "names query 7, but there are 3 queries, counted from 0.": ([(7, 1)],),
        "is of type bool, not an array; give an array, a tensor, lists of numbers or a path.": (True,),
    }
    for words, sources in wrong.items():
        for source in sources:
            assert sentence(read, source, name=name, partial=name == "judged", allow_empty=True) == f"{name} {words}"


NOBODY = [
    (["t0", None, "t1"], "None for query 1"),
    ([None, "t0", "t1"], "None for query 0"),
    ([0, 1, None], "None for query 2"),
    ([0.0, float("nan"), 1.0], "nan for query 1"),
    (np.array([0.0, np.nan, 1.0], np.float32), "nan for query 1"),
    (np.array(["t0", None, "t1"], object), "None for query 1"),
    ([{0}, None, {1}], "None for query 1"),
]


@pytest.mark.parametrize(("source", "came"), NOBODY)
def test_none_is_not_how_to_say_that_nobody_has_judged(sentence, source, came):
    empty = "an empty set in a list of sets, as in [{'cat'}, set()]"
    for advice, more in (
        (f"for a query that nobody has judged write -1 among row numbers, and with ids {empty}", {"partial": True}),
        (f"for a query without a target write {empty}", {}),
    ):
        said = sentence(read_named, source, name="judged", allow_empty=True, **more)
        assert said == f"judged has {came}; {advice}."
    assert sentence(read_named, source) == (
        f"relevant has {came}; give each query a target, or {empty}, with allow_empty=True."
    )


def test_the_ways_that_the_advice_names_work():
    for source in ([0, -1, 1], [{"t0"}, set(), {"t1"}]):
        assert lists(read_named(source, name="judged", allow_empty=True, partial=True)) == [[0], [], [1]]


def test_unreadable_pairs(sentence, tmp_path):
    def refused(name, text):
        (tmp_path / name).write_text(text)
        return sentence(read_named, tmp_path / name)

    line = "each line holds query and target, perhaps a gain, or the four columns of TREC qrels."
    assert refused("x.csv", "q0,t0\nq1\n") == f"relevant: x.csv has 1 values in line 2; {line}"
    assert refused("x.csv", "q0,t0\nq1,\n") == f"relevant: x.csv has 1 values in line 2; {line}"
    assert refused("x.txt", "1 2 3 4 5\n") == f"relevant: x.txt has 5 values in line 1; {line}"
    assert refused("x.csv", "q0,t0,1\nq1,t1,high\n") == (
        "relevant: x.csv entry 1 has the gain 'high', which is not a finite number; write a number."
    )
    assert refused("x.csv", "q0,t0,nan\n") == (
        "relevant: x.csv entry 0 has the gain 'nan', which is not a finite number; write a number."
    )
    assert refused("x.csv", "q0,t0,0\n") == (
        "relevant: x.csv holds no relevant pair; give at least one with a positive gain."
    )
    assert refused("x.csv", "query,target\n") == (
        "relevant: x.csv holds a heading and no pairs; write one pair of query and target in each line."
    )
    assert refused("x.csv", "\n\n") == "relevant: x.csv holds no lines; write one pair of query and target in each."
    assert refused("x.csv", "") == "relevant: x.csv is empty (0 bytes); write or copy it again."
    assert refused("x.csv", "a\0b,c") == (
        "relevant: x.csv holds zero bytes and is not a text table; write or copy it again."
    )
    assert refused("x.json", '{"q0": ["t0"], "q0": ["t1"]}') == (
        "relevant: x.json has the key 'q0' twice; join the two."
    )
    assert refused("x.json", "[]") == (
        'relevant: x.json holds no pairs; write {"query": ["target", ...], ...} or [["query", "target"], ...].'
    )
    assert refused("x.json", '[{"query": "q0", "doc": "t0"}]') == (
        "relevant: x.json has the fields query, doc in entry 0 (counted from 0); "
        "wanted are query, target and perhaps gain."
    )
    assert refused("x.docx", "q0 t0").startswith(
        "relevant: x.docx has the unknown extension '.docx'; known are .tsv, .csv, .txt, .qrels, .qrel, .trec, .json"
    )


def test_deep_json_is_refused(sentence, tmp_path):
    (tmp_path / "x.json").write_text("[" * 100_000)
    assert "x.json is nested too deeply; write a plain list or object." in sentence(read_named, tmp_path / "x.json")


def test_ambiguous_numbers(sentence, tmp_path):
    told = (
        "3 rows of 2 numbers for 3 queries, which may be pairs or the targets of each query; "
        "give a dictionary {query: [targets]} instead."
    )
    assert sentence(read, np.array([[0, 1], [1, 2], [2, 3]])) == f"relevant has {told}"
    (tmp_path / "x.json").write_text(json.dumps([[0, 1], [1, 2], [2, 3]]))
    assert sentence(read, tmp_path / "x.json") == f"relevant: x.json has {told}"


def test_wrong_lengths_and_shapes(sentence):
    assert sentence(read, [0, 1]) == "relevant has 2 entries but there are 3 queries; give one for each query."
    assert sentence(read, [{0}, {1}]) == (
        "relevant has 2 entries but there are 3 queries; give one for each query, or pairs as tuples."
    )
    assert sentence(read, []) == "relevant is empty; give the relevant targets of 3 queries."
    assert sentence(read, np.zeros((3, 3), int)) == (
        "relevant has shape (3, 3); give one target per query (a flat array), pairs as tuples, or a list of sets."
    )
    assert sentence(read, np.zeros((2, 4), bool)) == (
        "relevant has shape (2, 4), but there are 3 queries and 4 targets."
    )
    assert sentence(read, [(0, 1, 2, 3)]) == (
        "relevant has 4 values in entry 0 (counted from 0); a pair is (query, target) or (query, target, gain)."
    )
    assert sentence(read, Relevance.from_sets([{0}], 4)) == (
        "relevant is for 1 queries and 4 targets, but there are 3 queries and 4 targets."
    )
