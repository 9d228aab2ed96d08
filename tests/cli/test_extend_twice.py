"""``unhub extend`` in place, run again after a kill that nobody noticed: the same targets are appended once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import unhub
from unhub.deploy.journal import Journal

from .conftest import TARGETS, Run
from .extend_kills import FIT, IN_PLACE, extend_kills, follow_kills, gallery

UNNAMED = [*FIT[:-4], *FIT[-2:]]
ALREADY = (
    "c.unhub ends with these 6 targets already; nothing to do. To append them again, give them other ids "
    "(--target-ids).\n"
)


@pytest.mark.parametrize("named", [False, True], ids=["without ids", "with ids"])
@pytest.mark.parametrize("fitted", [FIT, UNNAMED], ids=["a gallery with ids", "a gallery without"])
def test_extending_in_place_twice_appends_once(fitted: list[str], named: bool, run: Run, folder: Path) -> None:
    run(*fitted)
    if named:
        Path("new_targets.ids.txt").write_text("".join(f"new-{row}\n" for row in range(6)))
    assert run(*IN_PLACE).out.startswith("replaced c.unhub: the bias of 40 targets and 6 new ones")
    longer, bytes_before = gallery(folder), Path("c.unhub").read_bytes()
    again = run(*IN_PLACE)
    assert (again.code, again.out, again.err) == (0, ALREADY, "")
    told = json.loads(run(*IN_PLACE, "--json").out)
    assert (told["already"], told["replaced"]) == (True, False)
    assert [each["id"] for each in told["targets"]] == list(longer[0] or ())[-6:]
    assert [each["bias"] for each in told["targets"]] == longer[2][-6:]
    assert Path("c.unhub").read_bytes() == bytes_before


def test_other_ids_other_vectors_or_another_file_are_no_repetition(run: Run) -> None:
    run(*FIT)
    assert json.loads(run(*IN_PLACE, "--json").out)["already"] is False
    Path("more.txt").write_text("".join(f"copy-{row}\n" for row in range(6)))
    assert run(*IN_PLACE, "--target-ids", "more.txt").code == 0
    assert unhub.load("c.unhub").bias.size == TARGETS + 12
    assert run(*IN_PLACE[:-1], "longer.unhub").code == 0  # a file of its own can be written as often as one likes
    assert unhub.load("longer.unhub").bias.size == TARGETS + 18
    np.save("new_targets.npy", np.load("new_targets.npy")[::-1])
    assert run(*IN_PLACE).code == 0
    assert unhub.load("c.unhub").bias.size == TARGETS + 18


def test_the_end_of_a_fitted_gallery_is_no_extension(run: Run) -> None:
    np.save("new_targets.npy", np.load("targets.npy")[-6:])
    for fitted in (FIT, UNNAMED):
        run(*fitted)
        assert run(*IN_PLACE).code == 0
        assert unhub.load("c.unhub").bias.size == TARGETS + 6


def test_an_extension_in_place_that_was_killed_anywhere_appends_once(tmp_path: Path) -> None:
    assert set(extend_kills(tmp_path)) == {"40", "46"}  # before and after it was replaced


def test_following_a_store_that_was_killed_anywhere_comes_to_the_same(tmp_path: Path) -> None:
    assert set(follow_kills(tmp_path, points=7)) == {"40", "45"}


def test_two_at_once_do_not_lose_what_the_other_appended(run: Run) -> None:
    run(*FIT)
    before = Path("c.unhub").read_bytes()
    with Journal("c.unhub").alone():
        told = run(*IN_PLACE)
        elsewhere = run(*IN_PLACE[:-1], "longer.unhub")
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("unhub: another process works on the exports of ")
    assert told.err.endswith("/c.unhub; wait until it is done.\n")
    assert Path("c.unhub").read_bytes() == before
    assert elsewhere.code == 0  # nothing of the correction itself is written
    assert run(*IN_PLACE).code == 0
    assert not Path("c.unhub.lock").exists()
