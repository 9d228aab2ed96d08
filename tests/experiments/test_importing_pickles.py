"""Pickles that others published: arrays come out of them as they went in, and nothing that they ask for is run."""

import collections
import io
import os
import pickle
import re
import shlex
import struct
import subprocess
import sys

import numpy as np
import pytest

from unhub import InputError
from unhub.experiments.importing.reading import Opener

SCORES = np.arange(12, dtype=np.float32).reshape(4, 3) / 7
ARRAYS = {
    "float32": SCORES,
    "float64": SCORES.astype(np.float64),
    "float16": SCORES.astype(np.float16),
    "big-endian": SCORES.astype(">f4"),
    "integers": np.arange(6).reshape(3, 2),
    "columns first": np.asfortranarray(SCORES),
    "not contiguous": SCORES[::2, ::2],
    "three dimensions": np.arange(24.0).reshape(2, 3, 4),
}


def opened(path, **more):
    return Opener(trust=True).array(str(path), "scores", dims=(2, 3), **more).array


def dumped(path, value, protocol=None):
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_of_every_protocol(tmp_path, kind, protocol):
    found = opened(dumped(tmp_path / "test.pkl", ARRAYS[kind], protocol))
    np.testing.assert_array_equal(found, ARRAYS[kind])
    assert found.dtype == ARRAYS[kind].dtype


@pytest.mark.parametrize("core", ["numpy.core", "numpy._core"])
def test_arrays_of_old_and_new_numpy(tmp_path, core):
    text = pickle.dumps(SCORES, protocol=2).replace(b"numpy._core", b"numpy.core").replace(b"numpy.core", core.encode())
    assert core.encode() in text
    (tmp_path / "test.pkl").write_bytes(text)
    np.testing.assert_array_equal(opened(tmp_path / "test.pkl"), SCORES)


class Python2(pickle._Pickler):
    """Writes text and bytes as Python 2 did: one kind of string, of bytes."""

    def save_string(self, value):
        raw = value.encode("ascii") if isinstance(value, str) else value
        self.write(pickle.BINSTRING + struct.pack("<i", len(raw)) + raw)
        self.memoize(value)


Python2.dispatch = pickle._Pickler.dispatch | {bytes: Python2.save_string, str: Python2.save_string}


def test_arrays_of_python_2(tmp_path):
    file = io.BytesIO()
    Python2(file, protocol=2).dump({"sims": SCORES.astype(np.float64), "name": "tt-ce"})
    text = file.getvalue().replace(b"numpy._core", b"numpy.core")
    assert b"T\x60\x00\x00\x00" in text, "96 bytes of numbers as a string"
    (tmp_path / "test.pkl").write_bytes(text)
    np.testing.assert_array_equal(opened(tmp_path / "test.pkl"), SCORES.astype(np.float64))


@pytest.mark.parametrize(
    "value",
    [
        {"sims": SCORES, "other": SCORES + 1, "npts": 4},
        collections.OrderedDict(sims=SCORES, ids=["a", "b"], known={1, 2}),
        [{"epoch": 3, "scores": SCORES}],
        (np.float32(0.5), SCORES),
    ],
)
def test_the_matrix_among_other_things(tmp_path, value):
    np.testing.assert_array_equal(opened(dumped(tmp_path / "test.pkl", value)), SCORES)


def test_several_matrices_need_a_name(tmp_path):
    path = dumped(tmp_path / "test.pkl", {"t2v": SCORES, "v2t": SCORES.T})
    with pytest.raises(InputError, match=r"holds several arrays of numbers: t2v \(4, 3\), v2t \(3, 4\); name one"):
        opened(path)
    np.testing.assert_array_equal(opened(f"{path}::v2t"), SCORES.T)


def test_tensors(tmp_path):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(SCORES)
    for value in (tensor, {"sims": tensor.T.contiguous().T}, [tensor[:, :2], 1][:1], torch.nn.Parameter(tensor)):
        found = opened(dumped(tmp_path / "test.pkl", value))
        np.testing.assert_array_equal(found, SCORES[:, : found.shape[1]])
    torch.save({"sims": tensor, "loss": tensor[0]}, tmp_path / "test.pt")
    found = Opener().array(str(tmp_path / "test.pt"), "scores").array
    np.testing.assert_array_equal(found, SCORES)


def test_a_dictionary_in_an_npy(tmp_path):
    torch = pytest.importorskip("torch")
    for sims in (SCORES, torch.tensor(SCORES)):
        np.save(tmp_path / "test.npy", {"npts": 4, "sims": sims})
        np.testing.assert_array_equal(opened(tmp_path / "test.npy"), SCORES)
        with pytest.raises(InputError, match=r"test\.npy holds pickled objects, .* pass trust=True"):
            Opener().array(str(tmp_path / "test.npy"), "scores")


def test_a_pickle_is_refused_unless_trusted(tmp_path):
    path = dumped(tmp_path / "test.pkl", SCORES)
    with pytest.raises(InputError, match=r"scores: .*test\.pkl is a pickle, .* pass trust=True") as caught:
        Opener().array(str(path), "scores")
    assert "\n" not in str(caught.value)


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function, *given):
        self.call = (function, given)

    def __reduce__(self):
        return self.call


def code(path):
    return f"open({str(path)!r}, 'w').close()"


WAYS = {
    "system": lambda path: Calls(os.system, f"{shlex.quote(sys.executable)} -c {shlex.quote(code(path))}"),
    "eval": lambda path: Calls(eval, code(path)),
    "exec": lambda path: Calls(exec, code(path)),
    "open": lambda path: Calls(open, str(path), "w"),
    "call": lambda path: Calls(subprocess.call, [sys.executable, "-c", code(path)]),
    "load": lambda path: Calls(np.load, dumped(path.with_suffix(".inner"), Calls(eval, code(path))), None, True),
}
"""things whose opening makes a file at a path, by the last word of what they ask for"""


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("way", WAYS)
def test_what_a_pickle_asks_for_is_not_run(tmp_path, way, protocol):
    made = tmp_path / "made"
    path = dumped(tmp_path / "test.pkl", {"sims": SCORES, "extra": WAYS[way](made)}, protocol)
    for trust in (False, True):
        with pytest.raises(InputError) as caught:
            Opener(trust).array(str(path), "scores")
        assert not made.exists()
    assert re.search(rf"asks for [\w.]+\.{way}, which is neither an array nor a plain container", str(caught.value))
    pickle.loads(path.read_bytes())
    assert made.exists(), "the same pickle does its harm where it is opened without care"


def test_objects_in_an_npy_are_not_run(tmp_path):
    made = tmp_path / "made"
    np.save(tmp_path / "test.npy", {"sims": SCORES, "extra": Calls(eval, code(made))})
    for trust in (False, True):
        with pytest.raises(InputError, match="trust" if not trust else r"asks for builtins\.eval"):
            Opener(trust).array(str(tmp_path / "test.npy"), "scores")
        assert not made.exists()


def test_objects_in_a_torch_file_are_not_run(tmp_path):
    torch = pytest.importorskip("torch")
    made = tmp_path / "made"
    value = {"sims": torch.tensor(SCORES), "extra": Calls(eval, code(made))}
    for new in (True, False):
        torch.save(value, tmp_path / "test.pt", _use_new_zipfile_serialization=new)
        for trust in (False, True):
            with pytest.raises(InputError):
                Opener(trust).array(str(tmp_path / "test.pt"), "scores")
            assert not made.exists()


def test_harm_in_the_bytes_of_a_tensor_is_not_run(tmp_path):
    torch = pytest.importorskip("torch")
    made = tmp_path / "made"
    inner = io.BytesIO()
    torch.save(Calls(eval, code(made)), inner, _use_new_zipfile_serialization=False)
    path = dumped(tmp_path / "test.pkl", Calls(torch.storage._load_from_bytes, inner.getvalue()))
    with pytest.raises(InputError, match=r"test\.pkl"):
        Opener(trust=True).array(str(path), "scores")
    assert not made.exists()


class Forged:
    """Pickles as an array of objects whose objects are bytes; NumPy itself follows them as addresses, and crashes."""

    def __reduce__(self):
        function, given, _ = np.empty(0).__reduce__()
        return function, given, (1, (1,), ForgedType(), False, b"\x41" * 8)


class ForgedType:
    def __reduce__(self):
        return np.dtype, ("O8", False, True), (3, "|", None, None, None, -1, -1, 0)


def test_bytes_are_not_taken_for_addresses(tmp_path):
    path = dumped(tmp_path / "test.pkl", {"sims": SCORES, "extra": Forged()})
    with pytest.raises(InputError, match="an array of objects without objects"):
        opened(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is empty"),
        (b"\x80\x04\x95", "cut short or damaged"),
        (pickle.dumps(SCORES)[:-20], "cut short or damaged"),
        (b"not a pickle at all", "cut short or damaged"),
        (pickle.dumps({"epoch": 3}), "holds no arrays"),
        (pickle.dumps(np.zeros((2, 2), dtype="M8[s]")), "holds no plain values"),
        (pickle.dumps(np.zeros(3, dtype=[("a", "f4"), ("b", "O")])), "holds no plain values"),
        (pickle.dumps(pickle.PickleBuffer(b"abc"), protocol=5), "holds no arrays"),
    ],
)
def test_a_pickle_that_cannot_be_used_is_one_sentence(tmp_path, text, said):
    (tmp_path / "test.pkl").write_bytes(text)
    with pytest.raises(InputError, match=said) as caught:
        opened(tmp_path / "test.pkl")
    assert "\n" not in str(caught.value)


def order(module, name, *given):
    """The bytes of a pickle that takes a name and calls it with what these bytes leave."""
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n(" + b"".join(given) + b"tR"


def value(plain):
    return pickle.dumps(plain, 2)[2:-1]


OBJECTS = order(
    "numpy._core.numeric", "_frombuffer", b"](Ne", order("numpy", "dtype", value("O")), value((1,)), value("C")
)
NUMBERS = order(
    "numpy._core.numeric", "_frombuffer", b"h\x00", order("numpy", "dtype", value("i8")), value((1,)), value("C")
)


@pytest.mark.parametrize(
    "orders",
    [
        OBJECTS + b"q\x00" + NUMBERS + value(0) + value(0x4141414141414141) + b"s0h\x00",
        OBJECTS + b"q\x00" + NUMBERS,
        OBJECTS + b"q\x00" + order("builtins", "bytes", b"h\x00"),
        b"cnumpy\nndarray\nq\x00(N}" + value("__setstate__") + b"h\x00stb",
        b"cnumpy\ndtype\n",
    ],
    ids=["writes an address", "reads an address", "bytes of an array", "changes a class", "a name alone"],
)
def test_orders_reach_no_array_and_no_class(tmp_path, orders):
    (tmp_path / "test.pkl").write_bytes(b"\x80\x02" + orders + b".")
    with pytest.raises(InputError, match=r"test\.pkl"):
        opened(tmp_path / "test.pkl")
    np.testing.assert_array_equal(opened(dumped(tmp_path / "good.pkl", SCORES)), SCORES)


def test_what_is_named_very_often_is_not_copied(tmp_path):
    laugh = ["ha"]
    for _ in range(40):
        laugh = [laugh, laugh]
    with pytest.raises(InputError, match="holds more than 50,000,000 values"):
        opened(dumped(tmp_path / "laugh.pkl", laugh))
    itself = []
    itself.append(itself)
    with pytest.raises(InputError, match="holds something that holds itself"):
        opened(dumped(tmp_path / "itself.pkl", itself))


def test_numbers_of_numpy_are_keys_and_values(tmp_path):
    path = dumped(tmp_path / "test.pkl", {np.int64(3): SCORES, np.str_("scale"): np.float32(100)})
    np.testing.assert_array_equal(opened(path), SCORES)


def test_a_tensor_that_shows_one_number_very_often(tmp_path):
    torch = pytest.importorskip("torch")
    path = dumped(tmp_path / "test.pkl", torch.ones(1).expand(100_000, 100_000))
    assert path.stat().st_size < 1000
    with pytest.raises(InputError, match="it asks for more copies of its values than a file of its size should"):
        opened(path)
    np.testing.assert_array_equal(opened(dumped(path, torch.ones(1).expand(4, 3))), np.ones((4, 3)))
