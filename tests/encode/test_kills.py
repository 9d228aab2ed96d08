"""``unhub encode`` killed at its changes to the disk: readers never mix two runs, and the same command goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from unhub.encoders import encode
from unhub.foundation.errors import InputError
from unhub.foundation.pairing import READ, STRETCHES, record_beside, vectors_fingerprint
from unhub.io import open_rows

from .conftest import TEXTS
from .encode_kills import encode_killer, encode_kills, encode_words
from .kills import Killer, survive

QUICK = 10
"""kill points of a test; the long run takes all"""


@pytest.fixture(scope="module")
def killer(clip: Path) -> Iterator[Killer]:
    with encode_killer(clip) as made:
        yield made


def test_a_kill_anywhere_mixes_nothing_and_the_same_command_goes_on(
    tmp_path: Path, killer: Killer, clip: Path, other_clip: Path
) -> None:
    seen = encode_kills(killer, tmp_path, clip, other_clip, points=QUICK)
    assert set(seen) == {"old", "refused", "new"}
    assert sum(seen.values()) == QUICK


def test_ids_among_the_texts_that_are_encoded_are_no_input_after_a_kill(
    tmp_path: Path, killer: Killer, clip: Path
) -> None:
    start = tmp_path / "start"
    start.mkdir()
    for row, text in enumerate(TEXTS[:3]):
        (start / f"w{row}.txt").write_text(text)
    assert killer.run(encode_words(".", clip), start)[0] == 0
    assert (start / "x.ids.txt").read_text() == "w0.txt\nw1.txt\nw2.txt\n"
    (start / "w1.txt").write_text("piano")
    survive(killer, encode_words(".", clip), start, tmp_path, look=lambda folder: "", points=4)


@pytest.fixture
def pair(tmp_path: Path, clip: Path) -> Path:
    """x.npy with its ids, and y.npy of as many other texts with theirs."""
    for name in ("x", "y"):
        texts = TEXTS if name == "x" else TEXTS[::-1]
        (tmp_path / f"{name}.csv").write_text("id,text\n" + "".join(f"{name}{i},{t}\n" for i, t in enumerate(texts)))
        encode(tmp_path / f"{name}.csv", model=str(clip), output=tmp_path / f"{name}.npy", device="cpu")
    return tmp_path / "x.npy"


@pytest.mark.parametrize("ending", [".npy", ".ids.txt", "both"])
def test_files_of_another_run_are_refused(ending: str, pair: Path) -> None:
    for each in (".npy", ".ids.txt") if ending == "both" else (ending,):
        pair.with_suffix(each).write_bytes(pair.with_name(f"y{each}").read_bytes())
    what = {".npy": "vectors", ".ids.txt": "ids", "both": "vectors and ids"}[ending]
    with pytest.raises(InputError) as caught:
        open_rows(pair, name="targets")
    assert str(caught.value) == (
        f"targets: {pair} and its ids are no longer what unhub encode wrote together: the {what} are others; encode "
        f"again, or, if they do belong together, remove x.encoded.json."
    )
    record_beside(pair).unlink()
    assert open_rows(pair, name="targets").ids is not None  # files without a record are their owner's business


def test_a_pair_may_move_and_change_its_line_ends(pair: Path) -> None:
    for ending in (".npy", ".ids.txt", ".encoded.json"):
        pair.with_suffix(ending).rename(pair.with_name(f"moved{ending}"))
    ids = pair.with_name("moved.ids.txt")
    ids.write_bytes(ids.read_bytes().replace(b"\n", b"\r\n"))
    assert open_rows(pair.with_name("moved.npy"), name="targets").ids == tuple(f"x{row}" for row in range(len(TEXTS)))


@pytest.mark.parametrize("text", ["", "[1, 2", '{"mine": 1}', "[" * 4000, "{}" * 4000])
def test_a_file_of_that_name_that_is_not_ours_is_passed_over(text: str, pair: Path) -> None:
    record_beside(pair).write_text(text)
    pair.with_suffix(".ids.txt").write_text("".join(f"mine{row}\n" for row in range(len(TEXTS))))
    assert open_rows(pair, name="targets").ids is not None


def test_a_large_matrix_is_known_by_its_shape_and_by_stretches_from_its_first_row_to_its_last() -> None:
    rows = np.zeros((2 * READ // 64, 64), dtype=np.float32)
    whole, read = vectors_fingerprint(rows), []
    for row in (0, len(rows) - 1, (len(rows) - READ // STRETCHES // 64) * 31 // (STRETCHES - 1)):
        rows[row, 5] = 1
        assert vectors_fingerprint(rows) != whole
        rows[row, 5] = 0
    assert vectors_fingerprint(rows[1:]) != whole

    class Watched:
        shape, dtype = rows.shape, rows.dtype

        def __getitem__(self, part: slice) -> np.ndarray:
            read.append(rows[part].size)
            return rows[part]

    assert vectors_fingerprint(Watched()) == whole
    assert (len(read), sum(read)) == (STRETCHES, READ)


def test_the_input_is_not_written_over(tmp_path: Path, clip: Path) -> None:
    source = tmp_path / "x.ids.txt"
    source.write_text("a red dog\npiano\n")
    with pytest.raises(InputError, match=r"puts the ids into .*x\.ids\.txt, which is the input and would be lost"):
        encode(source, model=str(clip), output=tmp_path / "x.npy", device="cpu")
    assert source.read_text() == "a red dog\npiano\n"


def test_a_strangers_file_in_the_folder_of_parts_outlives_the_run(tmp_path: Path, texts: Path, clip: Path) -> None:
    def stop(what: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    def again(**how: object) -> None:
        encode(texts, model=str(clip), output=tmp_path / "x.npy", device="cpu", batch=2, **how)  # type: ignore[arg-type]

    with pytest.raises(KeyboardInterrupt):
        again(progress=stop)
    (tmp_path / "x.npy.part" / "diary.txt").write_text("mine")
    again()
    assert [path.name for path in (tmp_path / "x.npy.part").iterdir()] == ["diary.txt"]
