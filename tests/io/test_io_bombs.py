"""Pickles of a few bytes, YAML whose aliases stand for very much, TOML that is nested: one sentence each."""

from __future__ import annotations

import collections
import pickle

import numpy as np
import pytest

from unhub import InputError
from unhub.dataset.experiment_file import read_experiment
from unhub.experiments.importing.reading import Opener


def opened(path, text):
    path.write_bytes(text)
    return Opener(trust=True).array(str(path), "scores").array


BOMBS = {
    "a note under a large number, 8 bytes": (
        b"K\x01r\xff\xff\xff\x7f.",
        "it stores a value under the number 2,147,483,647 after 2 opcodes",
    ),
    "the same in text": (b"K\x01p99999999999\n.", "it stores a value under the number 99,999,999,999 after 2 opcodes"),
    "bytes that are not there, 9 bytes": (
        b"\x8e" + (1 << 40).to_bytes(8, "little"),
        "it promises 1,099,511,627,776 bytes where 0 are left",
    ),
    "a frame that is not there": (
        b"\x80\x04\x95" + (1 << 40).to_bytes(8, "little") + b"N.",
        "it promises 1,099,511,627,776 bytes where 2 are left",
    ),
    "a bytearray of a length, 45 bytes": (
        b"cbuiltins\nbytearray\n(I100000000000000\ntR.",
        "it asks for bytearray of int",
    ),
    "bytes of a length": (b"c__builtin__\nbytes\n(I100000000000000\ntR.", "it asks for bytes of int"),
    "no order at all": (b"\xff\xff", "its opcode 1 is none that a pickle has"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_pickle_that_asks_for_all_the_memory(tmp_path, bomb):
    text, said = BOMBS[bomb]
    with pytest.raises(InputError) as caught:
        opened(tmp_path / "x.pkl", text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def doubled(times):
    """A tuple of twice a tuple of twice a tuple, whose hash takes two to the power of its depth."""
    return b")\x94" + b"".join(b"h" + bytes([at]) + b"h" + bytes([at]) + b"\x86\x94" for at in range(times))


KEYS = {
    "of one entry": b"\x80\x04}" + doubled(60) + b"Ns.",
    "of several entries": b"\x80\x04}(" + doubled(60) + b"Nu.",
    "of a dictionary at once": b"\x80\x04(" + doubled(60) + b"Nd.",
    "of a set": b"\x80\x04\x8f(" + doubled(60) + b"\x90.",
    "of a set that is frozen": b"\x80\x04(" + doubled(60) + b"\x91.",
    "of a set that is called for": b"\x80\x04cbuiltins\nset\n](" + doubled(60) + b"e\x85R.",
    "of a dictionary that is called for": b"\x80\x04cbuiltins\ndict\n](" + doubled(60) + b"N\x86e\x85R.",
}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_takes_for_ever_to_hash(tmp_path, key):
    with pytest.raises(InputError, match="it has a key of more than 1,000 values"):
        opened(tmp_path / "x.pkl", KEYS[key])


def test_a_pickle_that_asks_for_very_many_copies(tmp_path):
    """A list of a hundred thousand, noted once and copied a hundred thousand times: 80 GB."""
    copies = b"cbuiltins\nlist\nq\x01" + b"]q\x02(" + b"K\x01" * 100_000 + b"e0" + b"]("
    copies += b"h\x01h\x02\x85R" * 100_000 + b"e."
    with pytest.raises(InputError, match="it asks for more copies of its values than a file of its size should"):
        opened(tmp_path / "x.pkl", copies)


def test_a_pickle_that_is_nested_very_deeply(tmp_path):
    with pytest.raises(InputError, match="is nested too deeply to be read as a pickle"):
        opened(tmp_path / "x.pkl", b"]" * 100_000 + b"a" * 99_999 + b".")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_honest_pickles_are_read(tmp_path, protocol):
    named = collections.OrderedDict(sims=np.eye(3), other=collections.defaultdict(list, a=[1]))
    named.note = "an attribute"
    value = [named, {"set": {1, 2}, "bytes": b"abc", "room": bytearray(b"xyz"), "number": 2j}]
    found = opened(tmp_path / "x.pkl", pickle.dumps(value, protocol))
    np.testing.assert_array_equal(found, np.eye(3))


def refused(path, text):
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_experiment(path)
    told = str(caught.value).replace(f"{path.parent}/", "")
    assert "\n" not in told
    assert len(told) < 300
    return told


def laughs(key):
    """Nine levels of ten aliases each."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{each}: &a{each} [{', '.join([f'*a{each - 1}'] * 10)}]" for each in range(1, 10)]
    return "\n".join([*lines, f"dataset: {{{key}: *a9}}"])


def test_aliases_that_stand_for_very_much(tmp_path):
    pytest.importorskip("yaml")
    told = refused(tmp_path / "x.yaml", laughs("name"))
    assert told == "x.yaml is not usable YAML: it stands for more than 100,000 values; write plain settings."
    merged = ["a0: &a0 {x: 1}"]
    merged += [f"a{each}: &a{each} {{<<: [{', '.join([f'*a{each - 1}'] * 10)}]}}" for each in range(1, 10)]
    assert refused(tmp_path / "y.yaml", "\n".join(merged)).startswith("y.yaml is not usable YAML: it stands for more")
    assert "it has a part that holds itself" in refused(tmp_path / "z.yaml", "dataset: &a {name: *a}")


def test_an_honest_alias_is_followed(tmp_path):
    pytest.importorskip("yaml")
    np.save(tmp_path / "s.npy", np.eye(3))
    text = "test: {scores: &s s.npy, relevant: aligned}\nbanks: {val: {scores: *s}}\n"
    (tmp_path / "x.yaml").write_text(text)
    assert read_experiment(tmp_path / "x.yaml")["banks"]["val"].scores == str(tmp_path / "s.npy")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[dataset]\nname = " + "[" * 100_000, "x.toml is not usable TOML: it is nested too deeply"),
        (
            "[dataset]\nname = {" + ".".join("a" * 400) + " = 1}",
            "x.toml is not usable TOML: it is nested deeper than 32",
        ),
        ("[dataset]\nname = 0x" + "f" * 10_000, "x.toml is not usable TOML: it has a number of 40,000 bits"),
        ("[dataset]\nname = " + "[" * 20 + "]" * 20, "x.toml: dataset.name is [[[[...]]]]; write a text."),
        ("#" * 5_000_000, "x.toml is larger than 4,000,000 bytes, which is too much for settings"),
    ],
)
def test_settings_that_nobody_writes(tmp_path, text, said):
    assert refused(tmp_path / "x.toml", text).startswith(said)


def test_yaml_that_is_nested(tmp_path):
    pytest.importorskip("yaml")
    for depth in (40, 1000):
        assert "x.yaml is not usable YAML: it is nested" in refused(
            tmp_path / "x.yaml", "dataset: " + "[" * depth + "]" * depth
        )
