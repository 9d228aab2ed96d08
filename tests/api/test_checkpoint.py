"""A fit that was interrupted goes on where it was, to the last bit."""

import errno
import itertools
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from reference.problems import scores, unit_vectors

import unhub
from unhub.api import checkpoint
from unhub.core.execution import Execution
from unhub.scores import EmbeddingScores

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

ROWS, COLUMNS = 130, 90

BYTES = {"cached": 8, "cached in 16 bits": 4, "partly cached": 2, "streamed": 1}
"""memory for each score with which a plan is the fastest that fits"""


def always(**how):
    """Execution whose clock gains a second whenever somebody looks, so that every round is written."""
    return Execution(clock=itertools.count().__next__, **how)


COMPILED = always(compiled=True)

by_plan = pytest.mark.parametrize("kind", BYTES)


@pytest.fixture
def problem():
    rng = np.random.default_rng(6)
    vectors = {"targets": unit_vectors(rng, COLUMNS, 16), "query_bank": unit_vectors(rng, ROWS, 16)}
    return vectors | {"tau": 0.02, "strength": 1, "executor": COMPILED}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "half.done"


def memory(kind):
    return BYTES[kind] * ROWS * COLUMNS


def interrupt_in(wanted):
    """A progress callback that loses its patience in that round."""

    def progress(work, done, total):
        if re.search(rf"round {wanted} of", work):
            raise KeyboardInterrupt

    return progress


def interrupted(name, given, file, wanted=4, **how):
    """Fits until that round, and leaves the file behind."""
    with pytest.raises(KeyboardInterrupt):
        unhub.fit(name, **given, checkpoint=file, progress=interrupt_in(wanted), **how)
    assert file.exists()


def same(found, expected):
    np.testing.assert_array_equal(found.bias, expected.bias)
    np.testing.assert_array_equal(found._potentials, expected._potentials)
    assert (found.status, found.iterations) == (expected.status, expected.iterations)
    assert found.marginal_error == expected.marginal_error
    assert found.error_bound == expected.error_bound
    assert found.plan == expected.plan


@by_plan
def test_a_resumed_fit_is_the_fit_without_a_break(kind, problem, file):
    whole = unhub.fit("sn", **problem, memory=memory(kind))
    assert whole.plan.startswith(f"{kind}: ")
    interrupted("sn", problem, file, memory=memory(kind))
    same(unhub.fit("sn", **problem, checkpoint=file, resume=True, memory=memory(kind)), whole)
    assert not file.exists()


@pytest.mark.parametrize("who", ["compiled", "plain"])
@pytest.mark.parametrize("wanted", [2, 9, 10])
@pytest.mark.parametrize("strength", [1, "auto"])
def test_whichever_round_it_was(wanted, who, strength, problem, file):
    problem |= {"executor": always(compiled=who == "compiled"), "strength": strength}
    interrupted("sn", problem, file, wanted)
    found, expected = unhub.fit("sn", **problem, checkpoint=file, resume=True), unhub.fit("sn", **problem)
    same(found, expected)
    assert found.verdict == expected.verdict


@by_plan
def test_a_fit_with_a_target_bank(kind, problem, file):
    given = problem | {"target_bank": unit_vectors(np.random.default_rng(1), 30, 16)}
    size = BYTES[kind] * ROWS * (COLUMNS + 30)
    whole = unhub.fit("dbsn", **given, memory=size)
    interrupted("dbsn", given, file, memory=size)
    same(unhub.fit("dbsn", **given, checkpoint=file, resume=True, memory=size), whole)


@by_plan
def test_a_fit_in_the_log_domain(kind, file):
    s = scores(np.random.default_rng(2), ROWS, COLUMNS)
    s[:, 7] -= 1.1
    s[:, 8] += 0.7
    given = {"scores": s, "tau": 1e-3, "memory": memory(kind), "executor": COMPILED}
    interrupted("sn", given, file)
    same(unhub.fit("sn", **given, checkpoint=file, resume=True), unhub.fit("sn", **given))


def test_a_fit_on_tensors(problem, file):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    given = {key: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for key, value in problem.items()}
    interrupted("sn", given, file)
    same(unhub.fit("sn", **given, checkpoint=file, resume=True), unhub.fit("sn", **given))


def test_interrupted_twice(problem, file):
    interrupted("sn", problem, file, 3)
    with pytest.raises(KeyboardInterrupt):
        unhub.fit("sn", **problem, checkpoint=file, resume=True, progress=interrupt_in(7))
    same(unhub.fit("sn", **problem, checkpoint=file, resume=True), unhub.fit("sn", **problem))


def test_what_was_done_is_not_read_again(problem, file, calls_of):
    how = {"memory": memory("streamed")}
    with calls_of(EmbeddingScores.read) as whole:
        unhub.fit("sn", **problem, **how)
    interrupted("sn", problem, file, 8, **how)
    with calls_of(EmbeddingScores.read) as resumed:
        unhub.fit("sn", **problem, checkpoint=file, resume=True, **how)
    read, again = (sum(call["stop"] - call["start"] for call in calls) for calls in (whole, resumed))
    assert read - again == 7 * ROWS


def test_progress_begins_where_the_fit_does(problem, file):
    interrupted("sn", problem, file, 8, memory=memory("streamed"))
    seen = []
    given = problem | {"memory": memory("streamed"), "progress": lambda *told: seen.append(told)}
    unhub.fit("sn", **given, checkpoint=file, resume=True)
    assert seen[0][0] == "sn, round 8 of 10"
    assert 7 * ROWS < seen[0][1] <= 8 * ROWS
    assert seen[-1][1:] == (10 * ROWS, 10 * ROWS)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_more_rounds_than_before(problem, file):
    interrupted("sn", problem, file)
    found = unhub.fit("sn", **problem, iterations=15, checkpoint=file, resume=True)
    same(found, unhub.fit("sn", **problem, iterations=15))


def test_fewer_rounds_than_were_done(problem, file):
    interrupted("sn", problem, file, 8)
    with pytest.raises(unhub.InputError, match=r"holds 7 finished rounds but only 2 are wanted; .*remove the file"):
        unhub.fit("sn", **problem, iterations=2, checkpoint=file, resume=True)
    assert file.exists()


def test_a_tolerance_that_was_not_there_before(problem, file):
    interrupted("sn", problem, file)
    found = unhub.fit("sn", **problem, tol=1e-3, checkpoint=file, resume=True)
    same(found, unhub.fit("sn", **problem, tol=1e-3))
    assert found.status == "converged"


def test_another_strength_is_the_same_fit(problem, file):
    interrupted("sn", problem, file)
    problem["strength"] = 0.5
    found = unhub.fit("sn", **problem, checkpoint=file, resume=True)
    np.testing.assert_array_equal(found.bias, unhub.fit("sn", **problem).bias)


def test_without_a_file_it_starts_from_the_beginning_and_says_so(problem, file):
    with pytest.warns(unhub.UnhubWarning, match=r"there is no .*half.done to go on from"):
        found = unhub.fit("sn", **problem, checkpoint=file, resume=True)
    same(found, unhub.fit("sn", **problem))
    assert not file.exists()


def test_without_resume_nothing_that_could_go_on_is_lost(problem, file):
    interrupted("sn", problem, file)
    content = file.read_bytes()
    with pytest.raises(unhub.InputError, match=r"half.done holds \d finished rounds of this very fit; .*resume=True"):
        unhub.fit("sn", **problem, checkpoint=file)
    assert file.read_bytes() == content


def test_without_resume_the_file_of_another_fit_is_replaced_with_a_note(problem, file):
    interrupted("sn", problem, file)
    seen = []
    with pytest.warns(unhub.UnhubWarning, match=r"finished rounds of another fit, and will be replaced"):
        unhub.fit("sn", **problem | {"tau": 0.03}, checkpoint=file, progress=lambda *told: seen.append(told))
    assert seen[0][0] == "sn, round 1 of 10"
    assert not file.exists()


def test_nothing_is_left_beside_the_file(problem, file):
    interrupted("sn", problem, file)
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_quick_fit_writes_nothing(problem, file):
    problem["executor"] = Execution(compiled=True, clock=lambda: 0.0)
    with pytest.raises(KeyboardInterrupt):
        unhub.fit("sn", **problem, checkpoint=file, progress=interrupt_in(4))
    assert not file.exists()


OTHERS = {
    "another temperature": lambda given: given | {"tau": 0.03},
    "other targets": lambda given: given | {"targets": given["targets"][::-1].copy()},
    "another bank": lambda given: given | {"query_bank": given["query_bank"][:-1]},
    "other weights": lambda given: given | {"query_weight": np.arange(1.0, ROWS + 1)},
    "another prior": lambda given: given | {"target_prior": np.arange(1.0, COLUMNS + 1)},
}


@pytest.mark.parametrize("other", OTHERS)
def test_the_file_of_another_fit_is_refused(other, problem, file):
    interrupted("sn", problem, file)
    with pytest.raises(unhub.InputError, match=r"half.done is of another fit .*remove it, or fit without resume"):
        unhub.fit("sn", **OTHERS[other](problem), checkpoint=file, resume=True)
    assert file.exists()


def test_the_file_of_another_method_is_refused(problem, file):
    interrupted("sn", problem, file)
    with pytest.raises(unhub.InputError, match="is of another fit"):
        unhub.fit("dbsn", **problem, target_bank=problem["targets"][:5], checkpoint=file, resume=True)


def test_the_file_of_a_fit_with_itself_is_refused(problem, file):
    """ignore_self changes every score of the diagonal."""
    own = problem | {"query_bank": problem["targets"]}
    interrupted("sn", own, file)
    with pytest.raises(unhub.InputError, match="is of another fit"):
        unhub.fit("sn", **own, ignore_self=True, checkpoint=file, resume=True)


def test_the_file_of_a_fit_on_lengths_is_refused(problem, file):
    """normalize changes the scores of vectors that are not of unit length."""
    longer = problem | {"targets": problem["targets"] * np.linspace(0.995, 1.005, COLUMNS, dtype=np.float32)[:, None]}
    interrupted("sn", longer, file)
    with pytest.raises(unhub.InputError, match="is of another fit"):
        unhub.fit("sn", **longer, normalize=True, checkpoint=file, resume=True)


@pytest.mark.parametrize("damage", ["cut", "empty", "words", "a bit", "a number"])
def test_a_damaged_file_is_refused(damage, problem, file):
    interrupted("sn", problem, file)
    content = file.read_bytes()
    file.write_bytes(
        {
            "cut": content[: len(content) // 2],
            "empty": b"",
            "words": b"not a fit at all",
            "a bit": bytes([content[0] ^ 0x80]) + content[1:],
            "a number": content[:-1] + bytes([content[-1] ^ 0x01]),
        }[damage]
    )
    with pytest.raises(unhub.InputError, match=r"half.done is not an interrupted fit, or is damaged; .*remove it"):
        unhub.fit("sn", **problem, checkpoint=file, resume=True)


def test_a_file_of_vectors_is_refused_and_left_alone(problem, file):
    save_file = pytest.importorskip("safetensors.numpy").save_file
    save_file({"x": problem["targets"]}, file)
    content = file.read_bytes()
    for resume in (True, False):
        with pytest.raises(unhub.InputError, match="is not an interrupted fit"):
            unhub.fit("sn", **problem, checkpoint=file, resume=resume)
    assert file.read_bytes() == content


def test_resume_needs_a_file_to_name(problem):
    with pytest.raises(unhub.InputError, match="resume needs checkpoint="):
        unhub.fit("sn", **problem, resume=True)


def test_a_folder_that_is_not_there(problem, tmp_path):
    with pytest.raises(unhub.InputError, match=r"and there is no such folder; make it first"):
        unhub.fit("sn", **problem, checkpoint=tmp_path / "nowhere" / "half.done")


def test_another_memory_goes_on_within_the_bounds(problem, file):
    """The plan may change with the machine; the answer stays within both bounds."""
    whole = unhub.fit("sn", **problem)
    interrupted("sn", problem, file, memory=memory("cached"))
    for kind in BYTES:
        kept = file.read_bytes()
        found = unhub.fit("sn", **problem, checkpoint=file, resume=True, memory=memory(kind))
        assert np.abs(found.bias - whole.bias).max() <= 2 * (found.error_bound + whole.error_bound)
        file.write_bytes(kept)


def test_a_file_that_is_to_be_kept(problem, file):
    problem = problem | {"strength": 1.0}
    whole = unhub.fit("sn", **problem)
    unhub.fit("sn", **problem, checkpoint=file, keep_checkpoint=True)
    assert file.exists()
    rounds = []
    again = unhub.fit(
        "sn", **problem, checkpoint=file, resume=True, progress=lambda work, done, total: rounds.append(done)
    )
    np.testing.assert_array_equal(again.bias, whole.bias)
    assert not file.exists()
    assert len(rounds) <= 1  # the kernel is made again, no round is


def test_there_is_nothing_to_keep_without_a_file(problem):
    with pytest.raises(unhub.InputError, match="keep_checkpoint needs checkpoint"):
        unhub.fit("sn", **problem, keep_checkpoint=True)


WITHOUT_IT = "the checkpoint could not be written, and the fit goes on without it: "


def fits_without_a_file(problem, file, reason, **how):
    """The fit ends as it would without a checkpoint, says why there is none, and leaves nothing behind."""
    sentence = f"{WITHOUT_IT}cannot write {file}: {reason}"
    with pytest.warns(unhub.UnhubWarning) as told:
        found = unhub.fit("sn", **problem, checkpoint=file, **how)
    assert [str(each.message) for each in told if "checkpoint" in str(each.message)] == [sentence]
    assert found.warnings[-1] == sentence
    same(found, unhub.fit("sn", **problem))
    assert not file.exists()


def test_a_folder_that_is_removed_during_the_fit(problem, tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    fits_without_a_file(
        problem,
        folder / "half.done",
        f"there is no folder {folder}; make it first.",
        progress=lambda *told: shutil.rmtree(folder) if folder.exists() and "round 2" in told[0] else None,
    )


def test_a_folder_in_its_place(problem, file):
    def progress(work, done, total):
        if "round 3" in work and file.is_file():
            file.unlink()
            file.mkdir()

    with pytest.warns(unhub.UnhubWarning, match=r"goes on without it: .*half.done: it is a folder"):
        found = unhub.fit("sn", **problem, checkpoint=file, progress=progress)
    same(found, unhub.fit("sn", **problem))
    assert "is no longer needed but could not be removed" in found.warnings[-1]


def test_an_interrupted_fit_without_a_disk_is_still_an_interrupted_fit(problem, tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()

    def progress(work, done, total):
        if "round 3" in work:
            shutil.rmtree(folder)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unhub.fit("sn", **problem, checkpoint=folder / "half.done", progress=progress)


def test_a_round_that_could_be_written_later_is(problem, file):
    """The disk is full for a while: what is kept in the end is the last round."""
    folder = file.parent

    def progress(work, done, total):
        if "round 2" in work and folder.exists():
            folder.rename(folder.with_name("away"))
        if "round 6" in work and not folder.exists():
            folder.with_name("away").rename(folder)
        if "round 8" in work:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unhub.fit("sn", **problem, checkpoint=file, progress=progress)
    assert int(checkpoint._contents(file)[1]["rounds"][0]) == 7
    same(unhub.fit("sn", **problem, checkpoint=file, resume=True), unhub.fit("sn", **problem))


LIMITED = """
import resource, sys
import numpy as np
import unhub
from itertools import count
from unhub.core.execution import Execution
every_round = Execution(clock=count().__next__)
vectors = np.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
found = unhub.fit("sn", targets=vectors, query_bank=vectors[:20], tau="auto", strength=1, checkpoint=sys.argv[2],
                  executor=every_round)
assert found.warnings[-1].endswith(
    f"cannot write {sys.argv[2]}: the file is larger than this process may write; choose another place."
), found.warnings
"""


def test_a_limit_on_the_size_of_files(problem, file, tmp_path):
    np.save(tmp_path / "vectors.npy", problem["targets"])
    command = [sys.executable, "-W", "ignore", "-c", LIMITED, str(tmp_path / "vectors.npy"), str(file)]
    subprocess.run(command, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["vectors.npy"]


@pytest.fixture
def full_disk(tmp_path, monkeypatch):
    """A small disk with no room left; only the administrator may mount one, others have one that says so at its end."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", place], capture_output=True).returncode:

        def fsync(file):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", fsync)
        yield place
        return
    try:
        with pytest.raises(OSError, match="No space left"):
            (place / "filler").write_bytes(b"0" * 20_000)
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_full_disk(problem, full_disk):
    before = os.listdir(full_disk)
    fits_without_a_file(problem, full_disk / "half.done", "the disk is full; free some space or choose another place.")
    assert os.listdir(full_disk) == before
