"""Correction files that somebody made up, with valid checksums: one sentence, whatever they say."""

import contextlib
import hashlib
import json
import math
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import unhub
from unhub.api.fitted_vectors import noted_store
from unhub.foundation.errors import InputError, UnhubError

DIM, TARGETS, BANK = 8, 12, 20


@pytest.fixture
def fitted(unit_rows, tmp_path):
    """A function from a method to the file of a correction with weights and ids."""

    def make(method, **settings):
        made = unhub.fit(
            method,
            targets=unit_rows(TARGETS, DIM),
            query_bank=unit_rows(BANK, DIM),
            target_bank=unit_rows(7, DIM),
            target_ids=[f"item-{row}" for row in range(TARGETS)],
            query_weight=np.linspace(1, 2, BANK),
            **settings,
        )
        made.save(tmp_path / "genuine.unhub")
        return tmp_path / "genuine.unhub"

    return make


@pytest.fixture
def genuine(fitted):
    return fitted("dbsn", tau=0.1)


def parts_of(path):
    whole = path.read_bytes()
    header = json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])
    return json.loads(header["__metadata__"]["unhub"]), load_file(path)


def sealed(path, metadata, tensors):
    tensors = {name: np.ascontiguousarray(part) for name, part in tensors.items() if part is not None}
    metadata = metadata | {"checksums": {name: hashlib.sha256(t.tobytes()).hexdigest() for name, t in tensors.items()}}
    text = metadata if isinstance(metadata, str) else json.dumps(metadata)
    seal = hashlib.sha256(text.encode()).hexdigest()
    save_file(tensors, path, metadata={"unhub": text, "unhub_sha256": seal})
    return path


@pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")
def test_every_method_in_every_form_loads_again(unit_rows, tmp_path):
    targets, bank, others = unit_rows(TARGETS, DIM), unit_rows(BANK, DIM), unit_rows(7, DIM)
    vectors = {"targets": targets, "query_bank": bank, "target_bank": others}
    scores = {
        "scores": bank @ targets.T,
        "cross_bank_scores": bank @ others.T,
        "target_bank_scores": others @ targets.T,
    }
    for name in unhub.ADDITIVE:
        for given in (vectors, scores):
            made = unhub.fit(name, **given)
            made.save(tmp_path / "a.unhub")
            loaded = unhub.load(tmp_path / "a.unhub")
            assert (loaded.bias == made.bias).all()
            assert loaded.settings == made.settings


WRONG = [
    None, True, False, -1, 0, 3.5, 10**30, 1e308, math.nan, math.inf, -math.inf, "", "x", "a\0b", "x" * 20_000, [], [1],
    [None], [[]], ["a"] * 20_000, {}, {"a": [1]}, {"tau": {"a": 1}}, {"strength": -1}, "-1", "converged", 2**70,
]  # fmt: skip
USED = {
    "search": lambda its, rows: its.search(rows(2, DIM), k=2, targets=rows(TARGETS, DIM)),
    "apply": lambda its, rows: its.apply(np.zeros((2, TARGETS), dtype=np.float32)),
    "extend": lambda its, rows: its.extend(rows(2, DIM)),
    "say": lambda its, rows: (repr(its), its.fingerprint, noted_store(its), its.settings),
    "save": lambda its, rows: its.save("again.unhub"),
}


def test_a_field_of_another_type_or_range_is_refused_or_harmless(genuine, unit_rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    metadata, tensors = parts_of(genuine)
    sentences = []
    for name in metadata:
        for value in WRONG:
            path = sealed(tmp_path / "f.unhub", metadata | {name: value}, tensors)
            try:
                loaded = unhub.load(path)
            except InputError as error:
                sentences.append(str(error))
                continue
            for use in USED.values():
                with contextlib.suppress(UnhubError):
                    use(loaded, unit_rows)
    assert len(sentences) > 18 * len(metadata)  # most values are wrong everywhere
    assert all("f.unhub" in each and ("fit again" in each or "not a correction" in each) for each in sentences)


VERDICTS = {
    "decision": [None, 1, "", "APPLY", "maybe", ["apply"], "x" * 20_000],
    "strength": [None, True, "1", [], -0.1, 1.01, 9, math.nan, math.inf, 10**400],
    "bank_size": [None, -1, 2.5, True, "3", 1 << 50],
    "duplicates": [None, -0.1, 1.1, math.nan, "none"],
    "own_log": [None, 1, "true"],
    "tau": [-1, "auto", math.nan, math.inf, True],
    "reason": [None, "", "because", 3],
    "evidence": ["x", 3, [None], [[]], [{}], [{"source": "bank"}] * 9],
}
EVIDENCE = {
    "source": [None, "clicks", 1],
    "strength": [None, -0.1, 1.5, math.nan, "1"],
    "gain": [None, math.nan, -math.inf, "much", True],
    "standard_error": [None, -1, math.inf, math.nan],
    "queries": [None, 0, -3, 1.5, 1 << 50],
    "another": [1],
}


def test_a_verdict_of_another_type_or_range_is_refused(genuine, tmp_path):
    metadata, tensors = parts_of(genuine)
    half = [metadata["verdict"]["evidence"][0] | {"strength": 0.5}]
    verdict = metadata["verdict"] | {"decision": "apply weaker", "strength": 0.5, "evidence": half}
    possible = sealed(tmp_path / "f.unhub", metadata | {"verdict": verdict}, tensors)
    assert unhub.load(possible).strength == 0.5
    forged = [None, "apply", 1, [], {}, {**verdict, "decision": "refuse"}, {**verdict, "strength": 0}]
    forged += [{**verdict, "reason": "given", "decision": "refuse", "strength": 1}]
    few = {"source": "judged", "queries": 19}
    forged += [verdict | {"evidence": [first | more]} for more in (few, {"with_all": 0.9}) for first in half]
    forged += [verdict | {"tau": 0.2}, verdict | {"reason": "given"}]
    forged += [verdict | {"decision": "apply"}, verdict | {"strength": 0.6}, verdict | {"evidence": half + half}]
    forged += [{key: value for key, value in verdict.items() if key != name} for name in VERDICTS if name != "tau"]
    forged += [verdict | {name: value} for name, values in VERDICTS.items() for value in values]
    first, *others = verdict["evidence"]
    forged += [
        verdict | {"evidence": [first | {name: value}, *others]}
        for name, values in EVIDENCE.items()
        for value in values
    ]
    for each in forged:
        path = sealed(tmp_path / "f.unhub", metadata | {"verdict": each}, tensors)
        with pytest.raises(InputError) as refused:
            unhub.load(path)
        assert str(refused.value).startswith(f"{path} is damaged or was not written by unhub ("), each
        assert str(refused.value).endswith("; fit again.")
        assert "\n" not in str(refused.value)


def test_a_forged_verdict_serves_no_more_than_it_could_have_said(genuine, tmp_path):
    """Whoever forges the whole verdict gets the strength that it says, at most 1 as judged and 4 as given."""
    metadata, tensors = parts_of(genuine)
    bank = metadata["verdict"]["evidence"][0] | {"strength": 1.0, "queries": 50}
    for reason, strength in (("judged", 1.0), ("given", 4.0)):
        forged = {"decision": "apply", "reason": reason, "strength": strength}
        evidence = [bank, bank | {"source": "recent"}]
        verdict = metadata["verdict"] | forged | {"evidence": evidence}
        loaded = unhub.load(sealed(tmp_path / "f.unhub", metadata | {"verdict": verdict}, tensors))
        assert loaded.strength == strength
        assert np.isfinite(loaded.served_bias).all()


TENSORS = {
    "an unknown part": ({"extra": np.zeros(3, dtype=np.float32)}, "a part 'extra', which no correction has"),
    "a bias of doubles": ({"bias": np.zeros(TARGETS)}, "its bias holds float64 values"),
    "a bias without an end": ({"bias": np.full(TARGETS, np.inf, dtype=np.float32)}, "its bias is not finite"),
    "potentials of whole numbers": ({"potentials": np.zeros(BANK, dtype=np.int64)}, "potentials holds int64 values"),
    "potentials that are none": ({"potentials": np.full(BANK, np.nan)}, "its potentials is not finite"),
    "a weight of zero": ({"query_weight": np.zeros(BANK)}, "a weight is not positive"),
    "digests of floats": ({"digests": np.zeros(TARGETS)}, "its digests holds float64 values"),
    "no digests": ({"digests": None}, "its fingerprint does not fit"),
    "sketches of another shape": ({"sketches": np.zeros((TARGETS, 3), np.float32)}, "sketches has the wrong shape"),
    "a bank of doubles": ({"query_bank": np.zeros((BANK, DIM))}, "its query_bank holds float64 values"),
    "a bank without numbers": ({"query_bank": np.full((BANK, DIM), np.nan, np.float16)}, "query_bank is not finite"),
    "a bank of no dimension": ({"query_bank": np.zeros((BANK, 0), dtype=np.float32)}, "has the wrong shape"),
    "banks of two dimensions": ({"target_bank": np.zeros((7, 3), dtype=np.float32)}, "target_bank has the wrong shape"),
    "one bank of two": ({"target_bank": None}, "its banks do not fit its method"),
    "ids in a square": ({"ids": np.zeros((2, 2), dtype=np.uint8)}, "its ids has the wrong shape"),
    "ids that are numbers": ({"ids": b"[" + b"1," * 11 + b"1]"}, "its ids are damaged"),
    "ids that repeat": ({"ids": json.dumps(["a"] * TARGETS).encode()}, "its ids are damaged"),
    "half of a character": (
        {"ids": json.dumps(["\ud800", *map(str, range(TARGETS - 1))]).encode()},
        "its ids hold half of a character",
    ),
    "nested ids": ({"ids": b"[" * 40_000 + b"]" * 9_000}, "recursion"),
    "ids far too long": ({"ids": json.dumps(["a" * 5_000] * TARGETS).encode()}, "its ids are too long"),
}  # fmt: skip


@pytest.mark.parametrize("case", TENSORS)
def test_a_part_of_another_kind_is_refused(case, fitted, tmp_path):
    changed, reason = TENSORS[case]
    genuine = fitted("dualis", tau1=0.1, tau2=1.0) if "target_bank" in changed else fitted("dbsn", tau=0.1)
    changed = {n: np.frombuffer(part, np.uint8) if isinstance(part, bytes) else part for n, part in changed.items()}
    metadata, tensors = parts_of(genuine)
    path = sealed(tmp_path / "f.unhub", metadata, tensors | changed)
    with pytest.raises(InputError, match=f"f.unhub is damaged or was not written by unhub .*{reason}"):
        unhub.load(path)


def test_a_linear_term_beyond_its_bias_is_refused(genuine, tmp_path):
    metadata, tensors = parts_of(genuine)
    most = float(np.abs(tensors["bias"]).max())
    assert unhub.load(sealed(tmp_path / "f.unhub", metadata | {"linear": 0.9 * most}, tensors)).bias.size == TARGETS
    for linear in (1.1 * most, -1.1 * most, 5):
        with pytest.raises(InputError, match="its linear term is larger than its bias"):
            unhub.load(sealed(tmp_path / "f.unhub", metadata | {"linear": linear}, tensors))


def test_nested_metadata_is_a_sentence(genuine, tmp_path):
    tensors = parts_of(genuine)[1]
    for text in ("[" * 100_000, '{"schema_version": 1, "settings": ' + '{"a":' * 900 + "1" + "}" * 901):
        path = tmp_path / "f.unhub"
        seal = hashlib.sha256(text.encode()).hexdigest()
        save_file(tensors, path, metadata={"unhub": text, "unhub_sha256": seal})
        with pytest.raises(InputError, match=r"f.unhub is (not a whole correction file|damaged)"):
            unhub.load(path)


def test_a_header_without_end_is_not_read(genuine, tmp_path):
    path = tmp_path / "f.unhub"
    for claimed in (2**63, 200_000_000):
        path.write_bytes(claimed.to_bytes(8, "little") + b"{" + bytes(1000))
        with pytest.raises(InputError, match=f"its header would be {claimed:,} bytes"):
            unhub.load(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="it is cut short"):
        unhub.load(path)


def test_a_file_larger_than_memory_is_refused_before_it_is_read(genuine, tmp_path):
    path = tmp_path / "f.unhub"
    path.write_bytes(genuine.read_bytes())
    try:
        os.truncate(path, 1 << 43)  # a sparse file of eight terabytes takes no room
    except OSError:
        pytest.skip("this file system has no files of this size")
    with pytest.raises(InputError, match="more than this machine has memory for now"):
        unhub.load(path)


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v and sparse files")
def test_a_file_that_the_limit_of_the_process_cannot_hold_is_a_sentence(tmp_path):
    path = tmp_path / "f.unhub"
    path.write_bytes((2).to_bytes(8, "little") + b"{}")
    os.truncate(path, 6_000_000_000)
    code = f"import unhub; unhub.load({str(path)!r})"
    command = ["sh", "-c", f"ulimit -v 4000000; exec {sys.executable} -c '{code.replace(chr(39), chr(34))}'"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert "f.unhub has 6,000,000,000 bytes, more than this machine has memory for now" in last


def test_a_load_takes_memory_for_the_parts_alone(tmp_path):
    """The file is neither held whole nor copied: at most a part's checksum and its finite numbers come on top."""
    rows = np.random.default_rng(0).standard_normal((40_000, 64), dtype=np.float32)
    unhub.fit("nnn", targets=rows[:50], query_bank=rows, normalize=True).save(tmp_path / "f.unhub")
    unhub.load(tmp_path / "f.unhub")
    tracemalloc.start()
    loaded = unhub.load(tmp_path / "f.unhub")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loaded.query_bank.shape == (40_000, 64)
    assert peak < 1.25 * (tmp_path / "f.unhub").stat().st_size


LAID_OUT = {
    "parts that overlap": (lambda h: h["bias"].update(data_offsets=h["digests"]["data_offsets"][:]), "which its shape"),
    "a part twice": (lambda h: h.update(potentials=h["bias"]), "does not begin where the part before it ends"),
    "a hole": (lambda h: h.pop("potentials"), "does not begin where the part before it ends"),
    "a part behind the end": (lambda h: h.update(z={"dtype": "U8", "shape": [9], "data_offsets": [2480, 2489]}), "end"),
    "an offset below zero": (lambda h: h["bias"].update(data_offsets=[-48, 0]), "has no shape or no place"),
    "a shape of truths": (lambda h: h["bias"].update(shape=[True] * 3), "has no shape or no place"),
    "a shape without end": (lambda h: h["bias"].update(shape=[2**40] * 9), "has no shape or no place"),
    "a type of its own": (lambda h: h["bias"].update(dtype="F8_E4M3"), "its bias holds values of an unknown type"),
    "no type": (lambda h: h["bias"].pop("dtype"), "no 'dtype'"),
    "a part that is a number": (lambda h: h.update(bias=3), "not subscriptable"),
}


@pytest.mark.parametrize("case", LAID_OUT)
def test_parts_that_do_not_fill_the_file_are_refused(case, genuine, tmp_path):
    change, reason = LAID_OUT[case]
    whole = genuine.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    (tmp_path / "f.unhub").write_bytes(len(text).to_bytes(8, "little") + text + whole[8 + length :])
    with pytest.raises(InputError, match=f"f.unhub is not a whole correction file .*{reason}.*; fit again"):
        unhub.load(tmp_path / "f.unhub")


def test_a_file_of_a_strength_that_was_allowed_once_says_so(genuine, tmp_path):
    metadata, tensors = parts_of(genuine)
    strong = metadata | {"settings": metadata["settings"] | {"strength": 5.0}}
    path = sealed(tmp_path / "x.unhub", strong, tensors)
    with pytest.raises(InputError, match=r"x.unhub has strength 5; unhub takes 0 to 4 now; fit again\.$"):
        unhub.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_only_regular_files_are_opened(tmp_path):
    """In a process of its own, since opening such a file may never end."""
    os.mkfifo(tmp_path / "pipe.unhub")
    (tmp_path / "zero.unhub").symlink_to("/dev/zero")
    for name in ("pipe.unhub", "zero.unhub"):
        code = f"import unhub; unhub.load({str(tmp_path / name)!r})"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, check=False
        )
        assert f"{name} is not a regular file; give a file on disk." in done.stderr
