"""``unhub extend`` in place, run again after a kill that nobody noticed: the same targets are appended once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from shlex import split

import numpy as np
import pytest
from encode.kills import Killer, survive

import unhub
import unhub.stores

from .conftest import TARGETS, Run, write_index

FIT = split("fit --targets targets.npy --query-bank bank.npy --target-ids ids.txt")
IN_PLACE = split("extend c.unhub --targets new_targets.npy -o c.unhub")
ALREADY = (
    "c.unhub ends with these 6 targets already; nothing to do. To append them once more, give them other ids "
    "(--target-ids).\n"
)


def gallery(folder: Path) -> tuple[tuple[str, ...] | None, list[int], list[float]]:
    """Ids, digests and biases of the correction: what a longer one is."""
    found = unhub.load(folder / "c.unhub")
    return found.ids, found.digests.tolist(), found.bias.tolist()


@pytest.mark.parametrize("named", [False, True], ids=["without ids", "with ids"])
@pytest.mark.parametrize("fitted", [FIT, FIT[:-2]], ids=["a gallery with ids", "a gallery without"])
def test_extending_in_place_twice_appends_once(fitted: list[str], named: bool, run: Run, folder: Path) -> None:
    run(*fitted, "-o", "c.unhub")
    if named:
        Path("new_targets.ids.txt").write_text("".join(f"new-{row}\n" for row in range(6)))
    assert run(*IN_PLACE).out.startswith("replaced c.unhub: the bias of 40 targets and of 6 new ones")
    longer, bytes_before = gallery(folder), Path("c.unhub").read_bytes()
    again = run(*IN_PLACE)
    assert (again.code, again.out, again.err) == (0, ALREADY, "")
    told = json.loads(run(*IN_PLACE, "--json").out)
    assert (told["already"], told["replaced"]) == (True, False)
    assert [each["id"] for each in told["targets"]] == list(longer[0] or ())[-6:]
    assert [each["bias"] for each in told["targets"]] == longer[2][-6:]
    assert Path("c.unhub").read_bytes() == bytes_before


def test_other_ids_other_vectors_or_another_file_are_no_repetition(run: Run) -> None:
    run(*FIT, "-o", "c.unhub")
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
    for fitted in (FIT, FIT[:-2]):
        run(*fitted, "-o", "c.unhub")
        assert run(*IN_PLACE).code == 0
        assert unhub.load("c.unhub").bias.size == TARGETS + 6


def test_an_extension_in_place_that_was_killed_anywhere_appends_once(run: Run, folder: Path, tmp_path: Path) -> None:
    run(*FIT, "-o", "c.unhub")
    start = tmp_path / "start"
    start.mkdir()
    for name in ("c.unhub", "new_targets.npy"):
        shutil.copy(folder / name, start / name)

    def look(where: Path) -> str:
        return f"{unhub.load(where / 'c.unhub').bias.size}"

    with Killer("import unhub.cli.extend") as killer:
        seen = survive(killer, IN_PLACE, start, tmp_path, look=look, result=gallery)
    assert set(seen) == {"40", "46"}  # before and after it was replaced


def test_following_a_store_that_was_killed_anywhere_comes_to_the_same(run: Run, folder: Path, tmp_path: Path) -> None:
    here = tmp_path / "killed"  # where every attempt runs: the correction notes the whole address of its store
    here.mkdir()
    targets = np.load(folder / "targets.npy")
    write_index(here / "photos.faiss", targets)
    shutil.copy(folder / "bank.npy", here)
    address = f"faiss://{here}/photos.faiss"
    assert run("fit", "--targets", address, "--query-bank", "bank.npy", "-o", f"{here}/c.unhub").code == 0
    assert run("export", f"{here}/c.unhub", "--to", address).code == 0
    write_index(here / "photos.faiss", np.concatenate((targets[1:], np.load(folder / "new_targets.npy"))))
    here.rename(tmp_path / "start")

    def result(where: Path) -> object:
        found = unhub.load(where / "c.unhub")
        (export,) = found.exports
        place = unhub.stores.open_store(f"faiss://{where}/{export.place}")
        rows = sorted(
            (each, row.tolist()) for block in place.scan() for each, row in zip(block.ids, block.vectors, strict=True)
        )
        return gallery(where), export.state, rows, (where / "c.unhub.exporting").exists()

    words = ["extend", "c.unhub", "--from-store", "--store", address]
    with Killer("import faiss, unhub.cli.extend, unhub.serving.refresh") as killer:
        look = lambda where: str(len(gallery(where)[1]))  # noqa: E731
        seen = survive(killer, words, tmp_path / "start", tmp_path, look=look, points=7, result=result)
    assert set(seen) == {"40", "45"}
