"""A certificate: what it promises holds for real float16 and int8 vectors, and for the worst errors of any size."""

import json

import numpy as np
import pytest
from reference import margins as literal
from reference.problems import unit_vectors

import unhub
from unhub import InputError
from unhub.scores.stored_vectors import STORAGES, Residuals, score_errors

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

TARGETS, QUERIES, DIM, K = 300, 120, 48, 5
ROUNDING = 5e-7
"""how far float32 scores of unit vectors are from float64 ones"""


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(4)
    return {name: unit_vectors(rng, size, DIM) for name, size in (("targets", TARGETS), ("bank", 400), ("q", QUERIES))}


@pytest.fixture(scope="module")
def correction(vectors):
    return unhub.fit("sn", targets=vectors["targets"], query_bank=vectors["bank"], strength=1)


def exact(correction, queries, targets):
    """Score + bias in float64: (query, gallery)."""
    return queries.astype(np.float64) @ targets.astype(np.float64).T + correction.served_bias.astype(np.float64)


def sets_of(corrected, k=K):
    return np.sort(np.argsort(-corrected, axis=1, kind="stable")[:, :k], axis=1)


@pytest.mark.parametrize("error", [0.0, 1e-4, 2e-3, 0.02])
def test_it_is_the_literal_margin_in_float64(error, correction, vectors):
    found = correction.certify(vectors["q"], K, error=error)
    corrected, reach = exact(correction, vectors["q"], vectors["targets"]), error + found.bias_error
    best = np.argsort(-corrected, axis=1, kind="stable")[:, :K]
    low, high = reach - ROUNDING, reach + ROUNDING
    for at, row in enumerate(corrected):
        for place, target in enumerate(best[at]):
            hit, stays = found.hits_certain[at, place], found.places_certain[at, place]
            assert literal.stays_among(row, target, high, K) <= hit <= literal.stays_among(row, target, low, K)
            assert literal.keeps_place(row, target, high) <= stays <= literal.keeps_place(row, target, low)
    assert found.rows.tolist() == best.tolist()
    assert found.set_share == found.set_certain.mean()
    assert found.first_share == found.first_certain.mean()
    assert found.hit_share == found.hits_certain.mean()
    assert found.bias_error == correction.strength * correction.error_bound


def test_the_worst_error_changes_only_what_is_not_certain(correction, vectors):
    """The k-th loses the error and the next one gains it; with the bias as it is, and with one that is off as well."""
    corrected = exact(correction, vectors["q"], vectors["targets"])
    order = np.argsort(-corrected, axis=1, kind="stable")
    found = correction.certify(vectors["q"], K, error=2e-3)
    rows, reach = np.arange(QUERIES), found.errors + found.bias_error
    corrected[rows, order[:, K - 1]] -= reach
    corrected[rows, order[:, K]] += reach
    same = (sets_of(corrected) == np.sort(order[:, :K], axis=1)).all(axis=1)
    assert same.tolist() == found.set_certain.tolist()
    assert 0.2 < found.set_share < 0.9  # both kinds are there


def rounded(name, targets, bias):
    """The vectors and the bias as an index keeps them, literally."""
    if name == "float32":
        return targets.astype(np.float64), bias.astype(np.float64)
    if name == "float16":
        return literal.float16(targets), literal.float16(bias)
    largest = max(np.abs(targets).max(), np.abs(bias).max())
    return literal.int8(targets, largest), literal.int8(bias, largest)


@pytest.mark.parametrize("name", STORAGES)
@pytest.mark.parametrize("kind", ["unit", "normalize", "ip"])
@pytest.mark.parametrize("method", ["none", "sn"])
def test_the_bound_holds_for_vectors_that_are_really_rounded(name, kind, method, vectors, rng):
    lengths = 1 if kind == "unit" else rng.uniform(0.2, 9, (TARGETS, 1)).astype(np.float32)
    targets, queries = (
        lengths * vectors["targets"],
        vectors["q"] * np.float32({"unit": 1, "normalize": 0.3, "ip": 3}[kind]),
    )
    how = {"normalize": {"normalize": True}, "ip": {"metric": "ip"}}.get(kind, {})
    correction = unhub.fit(method, targets=targets, query_bank=vectors["bank"], **how)
    found = correction.certify(queries, K, error=name)
    if kind == "normalize":
        targets, queries = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (targets, queries))
    kept, kept_bias = rounded(name, targets, correction.served_bias)
    here = np.full((QUERIES, TARGETS), np.nan)
    hits = correction.search(queries, k=TARGETS)
    np.put_along_axis(here, hits.rows, hits.scores.astype(np.float64), axis=1)
    there = queries.astype(np.float64) @ kept.T + kept_bias
    apart = queries.astype(np.float64) @ kept.T + correction.served_bias  # the bias in a field of its own
    for corrected in (there, apart):
        assert (np.abs(corrected - here) <= found.errors[:, None]).all()
        same = (sets_of(corrected) == np.sort(found.rows, axis=1)).all(axis=1)
        assert same[found.set_certain].all()
        assert (corrected.argmax(axis=1) == found.rows[:, 0])[found.first_certain].all()
    assert found.origin == name
    assert found.error == found.errors.max()


def test_float32_covers_sums_in_the_worst_order(vectors):
    correction = unhub.fit("none", targets=vectors["targets"], query_bank=vectors["bank"])
    found = correction.certify(vectors["q"], K, error="float32")
    products = vectors["q"][:, None, :] * vectors["targets"][None]
    forward = np.cumsum(products, axis=2, dtype=np.float32)[:, :, -1]
    backward = np.cumsum(products[:, :, ::-1], axis=2, dtype=np.float32)[:, :, -1]
    assert (np.abs(forward - backward) <= found.errors[:, None]).all()
    assert 0 < found.error < 1e-5


@pytest.mark.parametrize("name", ["float16", "int8"])
def test_the_bound_is_narrower_than_that_of_lengths(name, correction, vectors):
    residuals = Residuals(vectors["targets"], correction.served_bias, STORAGES[name])
    errors = score_errors(vectors["q"], residuals, 64)
    by_length = np.linalg.norm(residuals[0:TARGETS], axis=1).max() + residuals.of_bias
    assert (errors < by_length).all()
    assert np.allclose(errors, score_errors(vectors["q"], residuals, 7), rtol=1e-5)


def test_vectors_of_16_bits_lose_nothing_in_16_bits(vectors):
    targets = vectors["targets"].astype(np.float16)
    correction = unhub.fit("none", targets=targets, query_bank=vectors["bank"], metric="ip")
    as_16, as_32 = (correction.certify(vectors["q"], K, error=name) for name in ("float16", "float32"))
    assert as_16.error == pytest.approx(as_32.error, rel=0.01)


def test_values_that_float16_cannot_hold_are_refused(vectors):
    correction = unhub.fit("none", targets=1e6 * vectors["targets"], query_bank=vectors["bank"], metric="ip")
    with pytest.raises(InputError, match=r"^error is 'float16', but a value of \S+ does not fit into it; scale the"):
        correction.certify(vectors["q"], error="float16")
    assert correction.certify(vectors["q"], error="int8").error > 0


def test_half_the_strength_is_half_the_error_of_the_bias(correction, vectors):
    half = unhub.fit("sn", targets=vectors["targets"], query_bank=vectors["bank"], strength=0.5)
    whole, weaker = (each.certify(vectors["q"], error=0) for each in (correction, half))
    assert weaker.bias_error == pytest.approx(0.5 * whole.bias_error)
    closed = unhub.fit("is", targets=vectors["targets"], query_bank=vectors["bank"])
    assert closed.certify(vectors["q"], error=0).bias_error == 0


@pytest.mark.parametrize("name", ["is", "sn"])
def test_a_bias_fitted_on_scores_that_are_off_is_covered_by_a_larger_error(name, vectors, rng):
    """The bias of is moves by at most the error of the scores, that of sn by 2 T times as much."""
    delta, how = 1e-4, {"tau": 0.03, "strength": 0.7}
    bank, test = (vectors[each].astype(np.float64) @ vectors["targets"].astype(np.float64).T for each in ("bank", "q"))
    right = unhub.fit(name, targets=vectors["targets"], query_bank=vectors["bank"], **how)
    times = 1 + right.strength * (2 * right.iterations if name == "sn" else 1)
    found = right.certify(vectors["q"], K, error=times * delta)
    best = np.argsort(-(test + right.served_bias), axis=1)
    for _ in range(3):
        wrong = unhub.fit(name, scores=bank + rng.choice((-delta, delta), bank.shape), **how)
        off = wrong.served_bias.astype(np.float64) - right.served_bias
        assert np.ptp(off) <= 2 * (times - 1) * delta
        served = test + right.served_bias + off
        served -= delta
        np.put_along_axis(served, best[:, K:], np.take_along_axis(served, best[:, K:], 1) + 2 * delta, 1)
        same = (sets_of(served) == np.sort(found.rows, axis=1)).all(axis=1)
        assert same[found.set_certain].all()
    assert found.set_certain.any()


def test_items_that_tie_are_never_certain(vectors):
    twice = np.concatenate((vectors["targets"][:20], vectors["targets"][:20]))
    correction = unhub.fit("none", targets=twice, query_bank=vectors["bank"])
    found = correction.certify(vectors["q"], 1, error="float32")  # the last bit may differ between the two columns
    assert found.first_share == found.set_share == 0
    assert correction.certify(vectors["q"], 2, error="float32").set_share > 0.9


def test_the_whole_gallery_and_a_single_query(correction, vectors):
    found = correction.certify(vectors["q"][0], 1000, error=5)
    assert (len(found), found.k, found.set_share, found.first_share) == (1, TARGETS, 1, 0)
    assert found.compare(correction.search(vectors["q"][0], k=1000)).same.tolist() == [True]


def test_blocks_files_and_tensors_give_the_same(correction, vectors, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    np.save(tmp_path / "q.npy", vectors["q"])
    correction.save(tmp_path / "c.unhub")
    found = correction.certify(vectors["q"], K, error="float16")
    small = unhub.load(tmp_path / "c.unhub", targets=vectors["targets"], memory="20KB")
    others = (
        small.certify(tmp_path / "q.npy", K, error="float16"),
        correction.certify(torch.from_numpy(vectors["q"]), K, error="float16", targets=vectors["targets"]),
        unhub.load(tmp_path / "c.unhub", targets=torch.from_numpy(vectors["targets"])).certify(
            torch.from_numpy(vectors["q"]), K, error="float16"
        ),
    )
    for other in others:
        assert other.set_certain.tolist() == found.set_certain.tolist()
        assert np.allclose(other.errors, found.errors, rtol=1e-3)


def test_it_tells_its_progress(correction, vectors):
    told = []
    correction.certify(vectors["q"], error="int8", progress=lambda *now: told.append(now))
    assert ("stored vectors", TARGETS, TARGETS) in told
    assert ("certify", QUERIES, QUERIES) in told


def test_it_speaks_in_one_sentence_and_in_plain_data(correction, vectors):
    found = correction.certify(vectors["q"], K, error="float16")
    sets, firsts = found.set_certain.sum(), found.first_certain.sum()
    assert found.sentence.startswith(f"For {sets} of 120 queries (")
    assert f"the 5 best targets cannot change, for {firsts} (" in found.sentence
    assert found.sentence.endswith(
        f"if scores are off by at most {found.error:.2g} (vectors in float16), biases by at most "
        f"{found.bias_error:.2g}, and the index looks at every target."
    )
    plain = json.loads(found.to_json())
    assert plain == found.to_dict()
    assert plain["set_certain"] == found.set_certain.tolist()
    assert (plain["error"], plain["origin"], plain["queries"], plain["k"]) == (found.error, "float16", QUERIES, K)
    one = unhub.fit("none", targets=vectors["targets"], query_bank=vectors["bank"]).certify(vectors["q"], 1, error=0)
    assert one.sentence == (
        "For 120 of 120 queries (100%) the best target cannot change, if scores are off by at most 0 and the index "
        "looks at every target."
    )
    assert repr(one) == "Certificate(120 queries x 1: sets 100%, first places 100%, error 0)"


def test_an_index_that_misses_candidates_is_told_from_one_that_rounds(correction, vectors):
    found = correction.certify(vectors["q"], K, error="float16")
    hits = correction.search(vectors["q"], k=K)
    whole = found.compare(hits)
    assert whole.same.all()
    assert whole.sentence == "The index has the 5 best targets of exact search for 120 of 120 queries."
    rows = hits.rows.copy()
    sure, unsure = np.flatnonzero(found.set_certain)[:2], np.flatnonzero(~found.set_certain)[:1]
    rows[[*sure, *unsure], -1] = -1
    compared = found.compare(unhub.Hits(rows, hits.scores, rows))
    assert np.flatnonzero(~compared.same).tolist() == sorted([*sure, *unsure])
    assert np.flatnonzero(compared.missed).tolist() == sure.tolist()
    assert compared.sentence == (
        "The index has the 5 best targets of exact search for 117 of 120 queries; of the other 3, score errors cannot "
        "explain 2, where it missed targets or its scores are further off."
    )
    assert compared.to_dict()["missed"] == compared.missed.tolist()


def test_hits_of_other_queries_are_refused(correction, vectors):
    found = correction.certify(vectors["q"], K, error=0)
    with pytest.raises(InputError, match=r"^hits has 3 x 5 hits; give 5 hits of each of the same 120 queries\.$"):
        found.compare(correction.search(vectors["q"][:3], k=K))
    with pytest.raises(InputError, match=r"^hits has 120 x 4 hits; give 5 hits"):
        found.compare(correction.search(vectors["q"], k=4))
    with pytest.raises(InputError, match=r"^hits has no rows; give 5 hits"):
        found.compare(unhub.Hits(np.zeros((120, 5)), np.zeros((120, 5))))


ADVICE = "give a number of at least 0 in the unit of the scores, or one of float32, float16, int8."


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("flaot16", f"error is 'flaot16'; did you mean float16? {ADVICE.capitalize()}"),
        ("pq", f"error is 'pq'; {ADVICE}"),
        ("given", f"error is 'given'; {ADVICE}"),
        (-0.1, f"error is -0.1; {ADVICE}"),
        (float("nan"), f"error is nan; {ADVICE}"),
        (True, f"error is True; {ADVICE}"),
        (None, f"error is None; {ADVICE}"),
    ],
)
def test_a_wrong_error_is_refused(error, sentence, correction, vectors):
    with pytest.raises(InputError) as refused:
        correction.certify(vectors["q"], error=error)
    assert str(refused.value) == sentence


def test_a_correction_of_scores_has_no_vectors_to_certify(vectors):
    fitted = unhub.fit("is", scores=vectors["bank"] @ vectors["targets"].T)
    with pytest.raises(InputError, match="fitted on scores, so it has no vectors to search"):
        fitted.certify(vectors["q"], error=0)
    with pytest.raises(InputError, match="k is 0; give a whole number of at least 1"):
        fitted.certify(vectors["q"], 0, error=0)
