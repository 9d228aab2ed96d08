"""A written file is complete or not there."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

from unhub.io import replace_file


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "x.txt"
    with replace_file(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == tmp_path
        assert not path.exists()
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_the_ending_stays_for_writers_that_would_add_it(tmp_path):
    with replace_file(tmp_path / "x.npy") as temporary:
        np.save(temporary, np.eye(2))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.eye(2))


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_changes_nothing(tmp_path, failure):
    (tmp_path / "x.txt").write_text("old")

    def write():
        with replace_file(tmp_path / "x.txt") as temporary:
            temporary.write_text("half")
            raise failure

    with pytest.raises(failure):
        write()
    assert (tmp_path / "x.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_an_interrupted_process_leaves_nothing(tmp_path):
    code = (
        "import sys, time\nfrom unhub.foundation.atomic import replace_file\n"
        "with replace_file(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half'); print('writing', flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "x.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert len(os.listdir(tmp_path)) == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) != 0
    assert os.listdir(tmp_path) == []


def test_readers_never_see_half_a_file(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("0" * 1000)
    with replace_file(path) as temporary, open(temporary, "w") as file:
        for _ in range(100):
            file.write("1" * 10)
            file.flush()
            assert path.read_text() == "0" * 1000
    assert path.read_text() == "1" * 1000


def test_modes(tmp_path):
    old = os.umask(0o027)
    try:
        with replace_file(tmp_path / "new.txt") as temporary:
            temporary.write_text("new")
        assert mode(tmp_path / "new.txt") == 0o640
        (tmp_path / "kept.txt").touch()
        (tmp_path / "kept.txt").chmod(0o444)
        with replace_file(tmp_path / "kept.txt") as temporary:
            temporary.write_text("new")
        assert mode(tmp_path / "kept.txt") == 0o444
    finally:
        os.umask(old)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real" / "x.txt")
    with replace_file(tmp_path / "link.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real" / "x.txt").read_text() == "new"


def enter(path):
    with replace_file(path):
        pass


def test_places_that_cannot_be_written(sentence, tmp_path):
    assert sentence(enter, tmp_path / "no" / "x.txt") == (
        "cannot write no/x.txt: there is no folder no; make it first."
    )
    (tmp_path / "folder").mkdir()
    assert sentence(enter, tmp_path / "folder") == ("cannot write folder: it is a folder; give the name of a file.")


def test_a_full_disk_is_a_sentence(sentence, tmp_path):
    def write():
        with replace_file(tmp_path / "x.txt"), open("/dev/full", "wb", buffering=0) as full:
            full.write(b"0")

    if not os.path.exists("/dev/full"):
        pytest.skip("/dev/full is known to Linux only")
    assert sentence(write) == "cannot write x.txt: the disk is full; free or choose another place."
    assert os.listdir(tmp_path) == []


def test_other_system_errors_pass(tmp_path):
    with pytest.raises(OSError) as caught, replace_file(tmp_path / "x.txt"):
        raise OSError(errno.EPIPE, "broken pipe")
    assert caught.value.errno == errno.EPIPE
