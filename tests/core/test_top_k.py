"""The k best columns: exact, best first, equal scores to the lower column."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unhub.core.topk import top_k


@given(
    scores=st.tuples(st.integers(1, 5), st.integers(1, 12)).flatmap(
        lambda shape: arrays(np.float32, shape, elements=st.sampled_from([0.0, 0.25, 0.5, 1.0, -1.0]))
    ),
    k=st.integers(1, 14),
)
def test_equals_a_stable_sort_of_every_row(scores, k):
    values, columns = top_k(scores, k)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert columns.tolist() == expected.tolist()
    assert values.tolist() == np.take_along_axis(scores, expected, axis=1).tolist()


@pytest.mark.parametrize("k", [1, 3, 10])
def test_the_argument_stays_as_it_is(k):
    scores = np.random.default_rng(1).standard_normal((4, 10)).astype(np.float32)
    before = scores.copy()
    top_k(scores, k)
    assert (scores == before).all()
