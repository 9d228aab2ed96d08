"""A written file is complete or not there."""

from __future__ import annotations

import errno
import os
import signal
import stat
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from unhub.foundation.atomic import complete_folder
from unhub.foundation.errors import InputError
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
    assert sentence(write) == "cannot write x.txt: the disk is full; free some space or choose another place."
    assert os.listdir(tmp_path) == []


def test_other_system_errors_pass(tmp_path):
    with pytest.raises(OSError) as caught, replace_file(tmp_path / "x.txt"):
        raise OSError(errno.EPIPE, "broken pipe")
    assert caught.value.errno == errno.EPIPE


def test_a_file_that_replaces_a_private_one_is_private_from_its_first_byte(tmp_path):
    path = tmp_path / "secret.txt"
    path.touch(0o600)
    with replace_file(path) as temporary:
        assert mode(temporary) == 0o600
        temporary.write_text("secret")
        assert mode(temporary) == 0o600
    assert mode(path) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_file_for_more_people_is_private_until_it_is_complete(tmp_path):
    path = tmp_path / "shared.txt"
    path.touch()
    path.chmod(0o664)
    with replace_file(path) as temporary:
        assert mode(temporary) == 0o600
    assert mode(path) == 0o664


def test_an_empty_private_folder_stays_private(tmp_path):
    place = tmp_path / "dump"
    place.mkdir(0o700)
    with complete_folder(place) as folder:
        assert mode(folder) == 0o700
        (folder / "a.txt").write_text("new")
    assert mode(place) == 0o700
    assert os.listdir(place) == ["a.txt"]


AS_NOBODY = """
import os, sys
from unhub.foundation.atomic import replace_file
os.setgroups([]); os.setgid(65534); os.setuid(65534)
with replace_file(sys.argv[1]) as temporary:
    temporary.write_text("new")
"""


def test_owner_and_group_are_kept_or_their_rights_are_dropped(tmp_path):
    """The administrator keeps both; somebody else can keep neither, and the group's bits would mean another group."""
    if os.geteuid() != 0:
        path = tmp_path / "own.txt"
        path.touch()
        path.chmod(0o640)
        with replace_file(path) as temporary:
            temporary.write_text("new")
        assert (mode(path), path.stat().st_gid) == (0o640, path.stat().st_gid)
        return
    path = tmp_path / "theirs.txt"
    path.touch()
    os.chown(path, 4321, 8765)
    path.chmod(0o664)
    with replace_file(path) as temporary:
        temporary.write_text("new")
    assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (4321, 8765, 0o664)
    with tempfile.TemporaryDirectory() as open_to_all:
        os.chmod(open_to_all, 0o777)
        for before, after in ((0o660, 0o600), (0o664, 0o644), (0o666, 0o666)):
            path = Path(open_to_all) / "theirs.txt"
            path.touch()
            os.chown(path, 4321, 8765)
            path.chmod(before)
            subprocess.run([sys.executable, "-c", AS_NOBODY, str(path)], check=True)
            assert (path.stat().st_uid, mode(path)) == (65534, after)
            path.unlink()


def test_an_access_list_stays(tmp_path):
    """user 4321 may read, the group may not: without the list its mask would be the group's right."""
    path = tmp_path / "shared.txt"
    path.touch(0o600)
    entries = (
        (0x01, 6, 0xFFFFFFFF),
        (0x02, 4, 4321),
        (0x04, 0, 0xFFFFFFFF),
        (0x10, 4, 0xFFFFFFFF),
        (0x20, 0, 0xFFFFFFFF),
    )
    wanted = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *each) for each in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", wanted)
    except (AttributeError, OSError):
        wanted = None  # a file system without lists: nothing to keep, and nothing may go wrong
    before = mode(path)
    with replace_file(path) as temporary:
        temporary.write_text("new")
    assert mode(path) == before
    if wanted is not None:
        assert before == 0o640
        assert os.getxattr(path, "system.posix_acl_access") == wanted


def test_another_hard_link_keeps_the_old_contents(tmp_path):
    (tmp_path / "x.txt").write_text("old")
    os.link(tmp_path / "x.txt", tmp_path / "other.txt")
    with replace_file(tmp_path / "x.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "x.txt").read_text() == "new"
    assert (tmp_path / "other.txt").read_text() == "old"


def test_a_link_to_nothing_yet(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "real" / "x.txt")
    with replace_file(tmp_path / "link.txt") as temporary:
        assert temporary.parent == tmp_path / "real"
        temporary.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real" / "x.txt").read_text() == "new"


def test_a_pipe_or_a_device_is_never_replaced(sentence, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert sentence(enter, tmp_path / "pipe") == (
        "cannot write pipe: it is a device or a pipe; give the name of a file."
    )
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="folders have no fsync elsewhere")
def test_a_folder_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """Its files, then their names in it, then its own name: a power failure leaves all of it or nothing."""
    reached, fsync = [], os.fsync

    def watched(handle):
        reached.append(Path(os.readlink(f"/proc/self/fd/{handle}")))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    with complete_folder(tmp_path / "dump") as temporary:
        (temporary / "a.npy").write_text("a")
    assert reached == [temporary / "a.npy", temporary, tmp_path]


@pytest.mark.parametrize("target", ["there.txt", "missing.txt"])
def test_a_link_is_refused_where_the_user_has_not_named_the_path(tmp_path, target):
    (tmp_path / "there.txt").write_text("old")
    (tmp_path / "note").symlink_to(target)
    told = pytest.raises(InputError, match=f"note: it is a link to {target}; remove it")
    with told, replace_file(tmp_path / "note", follow_links=False):
        pass
    assert sorted(each.name for each in tmp_path.iterdir()) == ["note", "there.txt"]
