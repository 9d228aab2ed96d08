"""What is written for a vector and its bias, and what is asked for: the sums that come out, in every strategy."""

from dataclasses import replace

import numpy as np
import pytest

from unhub import InputError
from unhub.stores.vector_encoding import VectorEncoding, make_encoding

rng = np.random.default_rng(5)
VECTORS = rng.standard_normal((400, 24)).astype(np.float32)
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
QUERIES = VECTORS[:30] + 0.3 * rng.standard_normal((30, 24)).astype(np.float32)
BIAS = rng.gamma(2.0, 0.05, 400).astype(np.float32)
SUMS = QUERIES.astype(np.float64) @ VECTORS.T + BIAS


def eight_bits(rows: np.ndarray) -> np.ndarray:
    """Rows as a scalar quantiser gives them back that has a range of its own for each number."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    step = np.where(high > low, (high - low) / 255, 1)
    return low + np.round((rows - low) / step) * step


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("pad_to", [1, 8])
@pytest.mark.parametrize("strategy", ["augment", "constant_norm"])
def test_the_inner_product_is_score_plus_bias(strategy, pad_to, coded, scale):
    made = make_encoding(strategy, "ip", 24, BIAS, pad_to=pad_to, scale=scale, coded=coded)
    targets, asked = made.targets(VECTORS, BIAS), made.queries(QUERIES)
    assert targets.shape == (400, made.width)
    assert made.width % pad_to == 0
    np.testing.assert_allclose(made.scores(asked @ targets.T, asked), SUMS, atol=3e-6)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("metric", ["cosine", "l2"])
def test_equally_long_vectors_rank_by_the_sum_under_every_metric(metric, coded):
    made = make_encoding("constant_norm", metric, 24, BIAS, pad_to=8, scale=2.0, coded=coded)
    targets, asked = made.targets(VECTORS, BIAS), made.queries(QUERIES)
    lengths = np.linalg.norm(targets, axis=1)
    np.testing.assert_allclose(lengths, made.radius, rtol=1e-6)
    if metric == "cosine":
        similar = (asked @ targets.T) / np.linalg.norm(asked, axis=1, keepdims=True) / lengths
    else:
        similar = -np.square(asked[:, None] - targets[None]).sum(axis=2)
    np.testing.assert_allclose(made.scores(similar, asked), SUMS, atol=2e-5)


def test_copies_of_a_bias_are_finer_than_one_code():
    one = make_encoding("augment", "ip", 24, BIAS, pad_to=8)
    many = make_encoding("augment", "ip", 24, BIAS, pad_to=8, coded=True)
    assert (one.copies, many.copies) == (1, 8)

    def error(made: VectorEncoding) -> float:
        kept = eight_bits(made.targets(VECTORS, BIAS).astype(np.float64))[:, 24:]
        return float(np.std(kept @ made.queries(QUERIES)[0, 24:] - (BIAS - made.middle)))

    assert error(many) < error(one) / 4


def test_the_same_bias_is_always_written_the_same():
    made = make_encoding("augment", "ip", 24, BIAS, pad_to=8, coded=True)
    together = made.targets(VECTORS, BIAS)
    alone = np.vstack([made.targets(VECTORS[at : at + 1], BIAS[at : at + 1]) for at in range(400)])
    np.testing.assert_array_equal(alone, together)


def test_biases_that_are_all_alike_need_no_copies():
    made = make_encoding("augment", "ip", 24, np.full(9, 0.25), pad_to=8, coded=True)
    assert made.copies == 1
    assert not made.targets(VECTORS[:9], np.full(9, 0.25))[:, 24:].any()


def test_what_is_too_long_for_the_constant_length_is_known_and_refused():
    made = make_encoding("constant_norm", "ip", 24, BIAS)
    assert made.has_room(VECTORS, BIAS)
    assert not made.has_room(VECTORS[:1], np.array([5.0]))
    with pytest.raises(InputError, match="1 vectors are longer"):
        made.targets(VECTORS[:1], np.array([5.0]))
    assert replace(made, strategy="augment").has_room(VECTORS[:1], np.array([5.0]))
