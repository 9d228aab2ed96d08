"""Relevance from labels."""

from __future__ import annotations

import numpy as np
import pytest

from unhub.io import relevance_from_labels


def test_arrays_and_lists():
    for own, others in [
        (["cat", "dog"], ["dog", "cat", "cat"]),
        (np.array([1, 0]), np.array([0, 1, 1])),
        (np.array(["cat", "dog"], dtype=object), ["dog", "cat", "cat"]),
    ]:
        relevance = relevance_from_labels(own, others)
        assert relevance.indptr.tolist() == [0, 2, 3]
        assert relevance.targets.tolist() == [1, 2, 0]


@pytest.mark.parametrize("query_file", ["q.txt", "q.npy", "both.npz::query_labels"])
@pytest.mark.parametrize("target_file", ["t.txt", "t.npy", "both.npz::target_labels"])
def test_files(tmp_path, query_file, target_file):
    """Numbers in a text file are equal to the same numbers in an array."""
    own, others = np.array([1, 0]), np.array([0, 1, 1])
    (tmp_path / "q.txt").write_text("1\n0\n")
    (tmp_path / "t.txt").write_text("0\n1\n1\n")
    np.save(tmp_path / "q.npy", own)
    np.save(tmp_path / "t.npy", others)
    np.savez(tmp_path / "both.npz", query_labels=own, target_labels=others)
    relevance = relevance_from_labels(f"{tmp_path}/{query_file}", f"{tmp_path}/{target_file}")
    assert relevance.targets.tolist() == [1, 2, 0]


def test_one_file_with_both(tmp_path):
    np.savez(tmp_path / "x.npz", query_labels=["cat", "dog"], target_labels=["dog", "cat", "cat"])
    assert relevance_from_labels(tmp_path / "x.npz").targets.tolist() == [1, 2, 0]


def test_matlab_rows_are_columns_of_labels(tmp_path):
    import scipy.io

    scipy.io.savemat(tmp_path / "x.mat", {"query_labels": [1, 0], "target_labels": [0, 1, 1]})
    assert relevance_from_labels(tmp_path / "x.mat").targets.tolist() == [1, 2, 0]


def test_unusable_labels(sentence, tmp_path):
    np.savez(tmp_path / "x.npz", query_labels=[0, 1])
    assert sentence(relevance_from_labels, tmp_path / "x.npz") == (
        "labels: x.npz has no part 'target_labels'; it has: query_labels (2,); did you mean x.npz::query_labels?"
    )
    assert sentence(relevance_from_labels, [0, 1]) == (
        "target_labels is missing; give the labels of the queries and of the targets."
    )
    assert sentence(relevance_from_labels, np.eye(2), [0, 1]) == (
        "query labels has shape (2, 2); give one label for each row."
    )
    np.save(tmp_path / "x.npy", np.zeros(0))
    assert sentence(relevance_from_labels, [0], tmp_path / "x.npy") == (
        "target labels: x.npy has shape (0,): there are no values; give at least one."
    )
    (tmp_path / "x.doc").write_text("0")
    assert sentence(relevance_from_labels, tmp_path / "x.doc", [0]).startswith(
        "query labels: x.doc has the unknown extension '.doc'; known are .txt, .npy, .npz"
    )
