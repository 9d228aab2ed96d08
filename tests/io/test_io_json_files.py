"""Small JSON files beside our own: only regular ones are read, and no more of them than they could have."""

import json
import os
import threading

import pytest

from unhub.deploy.journal import Journal
from unhub.foundation.errors import InputError
from unhub.foundation.pairing import pairing_beside, record_beside
from unhub.foundation.regular_files import read_json


def test_what_is_read(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"a": [1, "ü"]}', encoding="utf-8")
    assert read_json(path, longest=100) == {"a": [1, "ü"]}
    with pytest.raises(InputError, match=r"x.json has more than 10 bytes, too many for its kind; remove it\."):
        read_json(path, longest=10)
    path.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="is nested too deeply"):
        read_json(path, longest=1 << 20)
    path.write_text("{")
    with pytest.raises(json.JSONDecodeError):
        read_json(path, longest=1 << 20)
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "nowhere.json", longest=10)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path, monkeypatch):
    """The file was regular when it was looked at, and is a pipe when it is opened."""
    journal, vectors = Journal(tmp_path / "photos.unhub"), tmp_path / "photos.npy"
    for path in (journal.path, record_beside(vectors)):
        os.mkfifo(path)
    regular = os.stat(__file__)
    monkeypatch.setattr(os, "stat", lambda *_, **__: regular)
    found = []

    def ask():
        with pytest.raises(InputError, match="exporting is damaged"):
            journal.read()
        found.append(pairing_beside(vectors))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(10)
    assert found == [None]


def test_a_record_that_grows_is_not_read_whole(tmp_path):
    vectors = tmp_path / "photos.npy"
    with record_beside(vectors).open("wb") as file:
        file.truncate(1 << 40)
    assert pairing_beside(vectors) is None
    with Journal(tmp_path / "photos.unhub").path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputError, match="is damaged; remove it"):
        Journal(tmp_path / "photos.unhub").read()
