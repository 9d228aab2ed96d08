"""A direction is assembled once, however many threads ask for it at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from unhub.analysis.opening import open_subject
from unhub.analysis.stage import Setting, Stage

import unhub
from unhub.analysis import correction_subject, experiment_subject, stage

THREADS = 8


@pytest.fixture
def correction(unit_rows, tmp_path):
    np.save(tmp_path / "targets.npy", unit_rows(300, 16))
    fitted = unhub.fit("nnn", targets=str(tmp_path / "targets.npy"), query_bank=unit_rows(400, 16))
    fitted.save(tmp_path / "photos.unhub")
    return tmp_path / "photos.unhub"


@pytest.mark.parametrize("kind", ["correction", "experiment"])
def test_a_direction_is_assembled_once(kind, correction, request, monkeypatch):
    where = correction_subject if kind == "correction" else experiment_subject
    subject = open_subject(str(correction if kind == "correction" else request.getfixturevalue("experiment")))
    assembled, made, together = where.assembled, [], threading.Barrier(THREADS)
    monkeypatch.setattr(where, "assembled", lambda given: made.append(given) or assembled(given))

    def ask(_):
        together.wait()
        return subject.material(subject.directions[0])

    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(ask, range(THREADS)))
    assert len(made) == 1
    assert all(each is found[0] for each in found)


def test_no_more_than_a_few_trials_are_held(correction, monkeypatch):
    monkeypatch.setattr(stage, "MOST_TRIALS", 1)
    subject = open_subject(str(correction))
    its = subject.material()
    here = Stage(subject)
    bank = next(iter(its.banks))
    for name in (bank, "another"):
        its.banks.setdefault(name, its.banks[bank])
        assert here.scene(Setting(its.direction, name, "nnn", k=1)).after.top.size
        assert list(here._trials) == [(its.direction, name)]
