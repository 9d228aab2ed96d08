"""Torch tensors in every place where an array may stand, and numbers of 8 and 16 bits in either."""

from collections import Counter

import numpy as np
import pytest
from reference import additive as literal
from reference.problems import unit_vectors

import unhub
from unhub.solvers.sinkhorn import Round

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

METHODS = ("is", "sn", "dbsn", "nnn", "csls", "dn", "dualis")
KINDS = (torch.float32, torch.float16, torch.bfloat16)
CLOSE = 1e-5

by_method = pytest.mark.parametrize("name", METHODS)
by_kind = pytest.mark.parametrize("kind", KINDS, ids=str)

NAMES = ("targets", "query_bank", "target_bank")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Torch's own threads wait for each other in every small product, which takes long on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(8)
    return dict(zip(NAMES, (unit_vectors(rng, size, 16) for size in (90, 130, 40)), strict=True))


def both(array, kind=torch.float32):
    """A tensor of that kind, and the same rounded numbers as a float32 array."""
    tensor = torch.from_numpy(array).to(kind)
    return tensor, tensor.float().numpy()


def given(name, source):
    arguments = {key: source[key] for key in NAMES[: 3 if name in ("dbsn", "dualis") else 2]}
    if name in ("is", "sn", "dbsn"):
        arguments["tau"] = 0.05
    return arguments | ({"k": 20} if name == "nnn" else {}) | {"strength": 1.0}


def sides(arrays, kind):
    pairs = {key: both(array, kind) for key, array in arrays.items()}
    return {key: pair[0] for key, pair in pairs.items()}, {key: pair[1] for key, pair in pairs.items()}


def close(found, expected, atol=CLOSE):
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


@by_kind
@by_method
def test_a_fit_on_tensors_is_the_fit_on_their_numbers(name, kind, arrays):
    tensors, numbers = sides(arrays, kind)
    found, expected = unhub.fit(name, **given(name, tensors)), unhub.fit(name, **given(name, numbers))
    close(found.bias, expected.bias)
    assert found.bias.std() > 1e-3
    assert found.status == expected.status
    if name in ("sn", "dbsn"):
        assert found.marginal_error == pytest.approx(expected.marginal_error, abs=1e-4)


@by_kind
@by_method
def test_extend_with_tensors(name, kind, arrays):
    tensors, numbers = sides(arrays, kind)
    new, new_numbers = both(unit_vectors(np.random.default_rng(9), 7, 16), kind)
    found = unhub.fit(name, **given(name, tensors))
    expected = unhub.fit(name, **given(name, numbers)).extend(new_numbers)
    close(found.extend(new), expected)
    close(found.extend(new_numbers), expected)
    close(found.extend(tensors["targets"]), found.bias)


@by_kind
def test_search_among_tensors(kind, arrays):
    tensors, numbers = sides(arrays, kind)
    queries, query_numbers = both(unit_vectors(np.random.default_rng(9), 30, 16), kind)
    expected = unhub.fit("is", **given("is", numbers)).search(query_numbers, k=5)
    correction = unhub.fit("is", **given("is", tensors))
    for asked in (queries, query_numbers):
        found = correction.search(asked, k=5)
        assert isinstance(found.ids, np.ndarray)
        close(found.scores, expected.scores)
        np.testing.assert_array_equal(found.ids, expected.ids)


@pytest.mark.parametrize("tensors", [("targets",), ("query_bank",), ("target_bank",), ("targets", "query_bank")])
@by_method
def test_one_side_a_tensor_and_the_other_an_array(name, tensors, arrays):
    mixed = {key: torch.from_numpy(array) if key in tensors else array for key, array in arrays.items()}
    found = unhub.fit(name, **given(name, mixed))
    expected = unhub.fit(name, **given(name, arrays))
    close(found.bias, expected.bias)
    close(found.extend(arrays["targets"][:3]), expected.bias[:3])


@pytest.mark.parametrize("gallery", ["tensor", "array"])
def test_a_search_that_gives_tensors(gallery, arrays):
    source = {key: torch.from_numpy(array) if gallery == "tensor" else array for key, array in arrays.items()}
    correction = unhub.fit("is", **given("is", source), target_ids=[f"t{row}" for row in range(90)])
    found, expected = (correction.search(arrays["query_bank"], k=4, output=each) for each in ("torch", "numpy"))
    assert isinstance(found.scores, torch.Tensor)
    assert isinstance(found.ids, torch.Tensor)
    assert found.ids.dtype == torch.int64
    assert [[f"t{row}" for row in line] for line in found.ids.tolist()] == expected.ids.tolist()
    close(found.scores.numpy(), expected.scores, atol=0)


def test_ties_go_to_the_lower_row_of_a_tensor(arrays):
    """Products of unit axes are exact, so that equal targets have equal scores wherever they stand."""
    axes = np.eye(16, dtype=np.float32)
    twice = np.concatenate((axes, axes))
    for targets in (twice, torch.from_numpy(twice)):
        correction = unhub.fit("none", targets=targets, query_bank=arrays["query_bank"])
        found = correction.search(axes, k=2)
        np.testing.assert_array_equal(found.ids, np.stack((np.arange(16), np.arange(16) + 16), axis=1))


def test_any_other_output_is_refused(arrays):
    with pytest.raises(unhub.InputError, match="output is 'jax'; use 'numpy' or 'torch'"):
        unhub.fit("is", **given("is", arrays)).search(arrays["targets"], output="jax")


@pytest.mark.parametrize("kind", ["tensor", "array"])
def test_the_bias_as_a_tensor(kind, arrays):
    source = {key: torch.from_numpy(array) if kind == "tensor" else array for key, array in arrays.items()}
    correction = unhub.fit("is", **given("is", source))
    for bias in (correction.bias_tensor(), correction.bias_tensor("cpu")):
        assert bias.device.type == "cpu"
        assert bias.dtype == torch.float32
        np.testing.assert_array_equal(bias.numpy(), correction.bias)


@pytest.mark.parametrize("kind", [torch.float64, *KINDS], ids=str)
@by_method
def test_matrices_of_scores_as_tensors(name, kind, arrays):
    T, B, V = (arrays[key] for key in NAMES)
    tensors, numbers = {}, {}
    for key, s in (("scores", B @ T.T), ("cross_bank_scores", B @ V.T), ("target_bank_scores", V @ T.T)):
        tensors[key], numbers[key] = both(s, kind)
    hyper = {key: value for key, value in given(name, arrays).items() if key not in NAMES}
    found, expected = unhub.fit(name, **tensors, **hyper), unhub.fit(name, **numbers, **hyper)
    close(found.bias, expected.bias)
    new = {key: tensors[key] for key in (("scores", "target_bank_scores") if name == "dualis" else ("scores",))}
    close(found.extend(**new), found.bias)
    close(found.apply(tensors["scores"]), numbers["scores"] + expected.bias)


def test_a_gallery_in_a_tensor_that_is_its_own_bank(arrays):
    own = torch.from_numpy(arrays["targets"])
    for name in ("is", "sn", "nnn", "csls", "dn"):
        numbers = given(name, arrays) | {"query_bank": arrays["targets"], "ignore_self": True}
        expected = unhub.fit(name, **numbers)
        close(unhub.fit(name, **numbers | {"query_bank": own, "targets": own}).bias, expected.bias)


@pytest.mark.parametrize("tau", [1e-4, 1e-3, 0.01, 1.0, 10.0])
def test_tensors_at_any_temperature(tau, arrays):
    """Where a kernel is too small for float32 the device has to start again in the log domain."""
    tensors, numbers = sides(arrays, torch.float32)
    s = numbers["query_bank"].astype(np.float64) @ numbers["targets"].astype(np.float64).T
    found = unhub.fit("sn", **given("sn", tensors) | {"tau": tau})
    close(found.bias, literal.gauge_free(literal.sinkhorn_normalisation(s, tau)))
    assert found.error_bound > 0


@pytest.mark.parametrize("memory", [8, 2, 1])
def test_tensors_in_every_plan(memory, arrays):
    tensors, numbers = sides(arrays, torch.float32)
    s = numbers["query_bank"].astype(np.float64) @ numbers["targets"].astype(np.float64).T
    found = unhub.fit("sn", **given("sn", tensors), memory=memory * s.size)
    assert found.plan.startswith({8: "cached: ", 2: "partly cached: ", 1: "streamed: "}[memory])
    expected = literal.gauge_free(literal.sinkhorn_normalisation(s, 0.05))
    assert np.abs(found.bias - expected).max() <= 2 * found.error_bound + 2.0**-24


def test_a_gradient_is_left_where_it_is(arrays):
    tensors, numbers = sides(arrays, torch.float32)
    tensors["targets"].requires_grad_()
    close(unhub.fit("sn", **given("sn", tensors)).bias, unhub.fit("sn", **given("sn", numbers)).bias)
    assert tensors["targets"].grad is None


# -- nothing is asked of a device in the loop

ASKING = ("cpu", "item", "numpy", "tolist", "__bool__", "__float__", "__int__", "__index__", "__array__")


@pytest.fixture
def asked(monkeypatch):
    """How often a tensor was asked for its value, by the name of the question."""
    count = Counter()

    def watch(name):
        ask = getattr(torch.Tensor, name)

        def counted(self, *given, **named):
            count[name] += 1
            return ask(self, *given, **named)

        monkeypatch.setattr(torch.Tensor, name, counted)

    for name in ASKING:
        watch(name)
    return count


def questions(asked, tensors, **how):
    """How often each question came in one fit."""
    asked.clear()
    unhub.fit("sn", **tensors, tau=0.05, strength=1, **how)
    return dict(asked)


@pytest.mark.parametrize("memory", [None, "20kB"])
@pytest.mark.parametrize("kind", ["vectors", "scores"])
def test_rounds_ask_a_device_for_nothing(kind, memory, arrays, asked):
    T, B = (torch.from_numpy(arrays[key]) for key in NAMES[:2])
    tensors = {"targets": T, "query_bank": B} if kind == "vectors" else {"scores": B @ T.T}
    few, many = (questions(asked, tensors, iterations=rounds, memory=memory) for rounds in (3, 30))
    assert sum(few.values()) > 0, "the counter sees the copy of the answer"
    assert few == many


def test_a_tolerance_asks_once_in_each_round(arrays, asked):
    """The counter can count: this loop has to ask."""
    T, B = (torch.from_numpy(arrays[key]) for key in NAMES[:2])
    few, many = (questions(asked, {"targets": T, "query_bank": B}, iterations=n, tol=1e-30) for n in (3, 30))
    assert sum(many.values()) - sum(few.values()) == 27


def test_potentials_are_tensors_all_the_way(arrays, calls_of):
    with calls_of(Round.__init__) as rounds:
        unhub.fit("sn", **given("sn", {key: torch.from_numpy(array) for key, array in arrays.items()}))
    assert [(type(each["f"]), type(each["columns"])) for each in rounds] == [(torch.Tensor, torch.Tensor)] * 10


# -- numbers of few bits


def exact(arrays, tau):
    T, B = (arrays[key].astype(np.float64) for key in NAMES[:2])
    T, B = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (T, B))
    return literal.gauge_free(literal.sinkhorn_normalisation(B @ T.T, tau))


def few_bits(arrays, kind):
    """The vectors in few bits: whole numbers up to 127, or halves of float32."""
    scaled = {key: array * (127 / np.abs(array).max()) for key, array in arrays.items()}
    if kind == "int8":
        return {key: np.round(array).astype(np.int8) for key, array in scaled.items()}
    return {key: array.astype(np.float16) for key, array in scaled.items()}


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("kind", ["int8", "float16", "bfloat16"])
def test_numbers_of_few_bits_are_what_they_stand_for(kind, library, arrays):
    if (kind, library) == ("bfloat16", "numpy"):
        brain = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own").bfloat16
        small = {key: array.astype(brain) for key, array in arrays.items()}
    elif kind == "bfloat16":
        small = {key: torch.from_numpy(array).bfloat16() for key, array in arrays.items()}
    else:
        small = few_bits(arrays, kind)
        small = {key: torch.from_numpy(array) for key, array in small.items()} if library == "torch" else small
    numbers = {
        key: array.float().numpy() if library == "torch" else array.astype(np.float32) for key, array in small.items()
    }
    found = unhub.fit("sn", **given("sn", small), normalize=True)
    assert np.abs(found.bias - exact(numbers, 0.05)).max() <= 2 * found.error_bound + 2.0**-24
    queries = unit_vectors(np.random.default_rng(9), 20, 16)
    same = unhub.fit("sn", **given("sn", numbers), normalize=True)
    close(found.bias, same.bias)
    close(found.search(queries).scores, same.search(queries).scores)
    close(found.extend(small["target_bank"]), same.extend(numbers["target_bank"]))


def test_a_device_that_is_not_there(arrays):
    correction = unhub.fit("is", **given("is", arrays))
    with pytest.raises(unhub.InputError, match="device is 'potato', which cannot be used"):
        correction.bias_tensor("potato")


def test_a_tensor_without_numbers(arrays):
    sources = given("is", arrays)
    with pytest.raises(unhub.InputError, match="targets is a tensor on the meta device, which has a shape"):
        unhub.fit("is", **sources | {"targets": torch.empty((5, 16), device="meta")})
