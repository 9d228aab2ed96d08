"""The lock beside a correction file: of many processes that want it, never two have it."""

import multiprocessing
import os
import time

import pytest

from unhub.deploy.journal import Journal
from unhub.foundation import file_lock
from unhub.foundation.errors import InputError, UnhubWarning

PROCESSES, SECONDS = 6, 1.0


def _try_again_and_again(file, results):
    """Counts how often this process had the lock, and how often somebody else was inside as well."""
    inside, entered, together, until = f"{file}.inside", 0, 0, time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            with Journal(file).alone():
                entered += 1
                try:
                    os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    together += 1
                    continue
                os.unlink(inside)
        except InputError:
            pass
    results.put((entered, together))


def test_two_are_never_in_together(tmp_path):
    file = tmp_path / "photos.unhub"
    start = multiprocessing.get_context("fork")
    results = start.Queue()
    processes = [start.Process(target=_try_again_and_again, args=(file, results)) for _ in range(PROCESSES)]
    for each in processes:
        each.start()
    counts = [results.get(timeout=60) for _ in processes]
    for each in processes:
        each.join()
    assert sum(entered for entered, _ in counts) > 100
    assert sum(together for _, together in counts) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_second_process_is_told_to_wait(tmp_path):
    file = tmp_path / "photos.unhub"
    with Journal(file).alone():
        wait = f"another process works on the exports of {file}; wait until it is done"
        with pytest.raises(InputError, match=wait), Journal(file).alone():
            raise AssertionError("two are in")
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_lock_of_ours_is_left_alone(tmp_path):
    file, there, thesis = (tmp_path / name for name in ("photos.unhub", "photos.unhub.lock", "thesis.docx"))
    thesis.write_text("three years of work")
    there.symlink_to(thesis)
    with pytest.raises(InputError, match="is a link and not a lock of unhub; remove it"), Journal(file).alone():
        pass
    there.unlink()
    there.write_text("of another program")
    with pytest.raises(InputError, match="is not a lock of unhub"), Journal(file).alone():
        pass
    assert (there.read_text(), thesis.read_text()) == ("of another program", "three years of work")
    there.unlink()
    os.mkfifo(there)
    with pytest.raises(InputError, match="is not a lock of unhub"), Journal(file).alone():
        pass


def test_what_a_killed_process_has_left_is_taken_over(tmp_path):
    (tmp_path / "photos.unhub.lock").touch()
    with Journal(tmp_path / "photos.unhub").alone():
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_system_without_locks_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(file_lock, "fcntl", None)
    warned = pytest.warns(UnhubWarning, match="has no file locks; make sure that no two")
    with warned, Journal(tmp_path / "photos.unhub").alone():
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="an open file can be moved elsewhere only here")
def test_a_lock_file_that_cannot_be_removed_is_let_go_all_the_same(tmp_path):
    import fcntl

    there, moved = tmp_path / "photos.unhub.lock", tmp_path / "moved"
    own = Journal(tmp_path / "photos.unhub").alone()
    own.__enter__()
    there.rename(moved)
    there.mkdir()
    with pytest.raises(OSError, match=r"photos\.unhub\.lock"):
        own.__exit__(None, None, None)
    with moved.open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # which nobody holds


def test_a_link_to_a_correction_has_the_lock_of_the_file(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "same.unhub").symlink_to("../photos.unhub")
    told = pytest.raises(InputError, match="another process works on the exports of")
    linked = Journal(tmp_path / "elsewhere" / "same.unhub")
    with Journal(tmp_path / "photos.unhub").alone(), told, linked.alone():
        pass


def test_a_journal_that_is_a_link_is_neither_read_nor_written_through(tmp_path):
    (tmp_path / "photos.unhub.exporting").symlink_to("new_config.json")
    journal = Journal(tmp_path / "photos.unhub")
    with pytest.raises(InputError, match=r"photos.unhub.exporting is a link to new_config.json, and not unhub's"):
        journal.read()
    assert not (tmp_path / "new_config.json").exists()
