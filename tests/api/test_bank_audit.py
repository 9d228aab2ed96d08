"""What is wrong with a bank: each fault gives its sentence, and sound banks give none."""

import warnings

import numpy as np
import pytest

import unhub
from unhub import InputError, UnhubWarning
from unhub.foundation.wording import in_python, spoken

GALLERY, BANK, DIM = 90, 240, 96


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(11)
    scale = np.linspace(0.2, 2, DIM)
    targets = unit(rng.normal(size=(GALLERY, DIM)) * scale)
    queries = unit(targets[rng.integers(0, GALLERY, BANK)] + 0.1 * rng.normal(size=(BANK, DIM)) * scale)
    return {"targets": targets, "query_bank": queries}


def notes(**more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnhubWarning)
        return tuple(spoken(note, in_python) for note in unhub.fit("is", **more).notes)


def eight_bits(x):
    step = np.abs(x).max(axis=1, keepdims=True) / 127
    return unit(np.round(x / step) * step)


GALLERIES = {
    "exact": lambda t: t,
    "permuted": lambda t: t[::-1].copy(),
    "rounded": eight_bits,
    "most of it": lambda t: t[:60],
    "repeated": lambda t: np.concatenate((t, t)),
}


@pytest.mark.parametrize("bank", GALLERIES.values(), ids=GALLERIES)
def test_the_gallery_is_no_bank(bank, parts):
    itself = {"targets": parts["targets"], "query_bank": bank(parts["targets"])}
    count = len(itself["query_bank"])

    def came(count):
        return (
            f"query_bank is the gallery itself: {count} of {count} vectors are targets, up to rounding, and such a "
            "bank cost 12 points of R@1 in a study and harmed 81% of its sets; give past queries or about 100 typed "
            "examples, or pass ignore_self=True to search items by items"
        )

    with pytest.raises(InputError) as refused:
        unhub.fit("sn", **itself)
    different = came(min(count, GALLERY))
    assert str(refused.value) == f"{different}; a strength that is given, such as strength=1, takes it as it is."
    assert notes(**itself, strength=1) == (f"{came(count)}.",)
    with pytest.raises(InputError, match="query_bank is the gallery itself"):
        unhub.evaluate(**itself, queries=parts["query_bank"], relevant=[0] * BANK, methods=["none", "is"])


def test_a_title_that_many_people_type_is_one_query(parts):
    """Most rows of the log are one target, but one target is not the gallery."""
    typed = np.concatenate((parts["query_bank"], np.repeat(parts["targets"][:1], 300, axis=0)))
    assert not any("is the gallery" in note for note in notes(targets=parts["targets"], query_bank=typed))


def test_items_may_be_searched_by_items(parts):
    itself = {"targets": parts["targets"], "query_bank": parts["targets"]}
    assert notes(**itself, ignore_self=True) == ()


def test_some_targets_in_the_bank(parts):
    mixed = np.concatenate((parts["query_bank"], parts["targets"][:30]))
    assert notes(targets=parts["targets"], query_bank=mixed) == (
        "in query_bank 30 of 270 vectors are targets, up to rounding; a target says nothing of what people ask, so "
        "take them out.",
    )


def test_a_sound_bank_has_no_notes(parts):
    assert notes(**parts) == ()
    assert notes(**parts, metric="ip", strength=1, tau=0.1) == ()


def test_a_bank_of_another_model(parts):
    turned, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(DIM, DIM)))
    (note,) = notes(targets=parts["targets"], query_bank=unit(parts["query_bank"] @ turned), strength=1)
    assert note.startswith("the 240 vectors of query_bank that were looked at have no more in common with the targets")
    assert note.endswith("as where another model made them; encode both with the same model.")


@pytest.mark.parametrize("times", [0.1, 25])
def test_another_length_scale(times, parts):
    (note,) = notes(targets=parts["targets"], query_bank=times * parts["query_bank"], metric="ip", strength=1)
    assert note == (
        f"vectors in query_bank are {times:.3g} long and targets 1, in the median, as where one side was normalised or "
        "scaled; normalise all of them, or pass normalize=True."
    )


def test_a_bank_that_was_normalised_in_part(parts):
    bank = parts["query_bank"].copy()
    bank[:100] *= 3
    (note,) = notes(targets=2 * parts["targets"], query_bank=bank, metric="ip", strength=1)
    assert note == (
        "140 of 240 vectors in query_bank are of unit length and the others are not (up to 3), as where a part was "
        "normalised; normalise all of them, or pass normalize=True."
    )


def test_check_lists_what_is_found(parts):
    rounded = np.concatenate((parts["query_bank"], eight_bits(parts["query_bank"][:60])))
    found = unhub.check(targets=parts["targets"], query_bank=rounded)
    sentence = (
        "60 of 300 bank queries repeat another one, exactly or up to rounding; with strength='auto' each counts once, "
        "and duplicates='weigh' counts them as often as they come."
    )
    assert found.ready
    assert found.to_dict()["findings"] == [{"kind": "duplicates", "sentence": sentence}]
    assert f"note: {sentence}" in found.facts()
    assert unhub.check(**parts).findings == ()


def test_check_has_a_problem_with_the_gallery_as_bank(parts):
    (problem,) = unhub.check(targets=parts["targets"], query_bank=parts["targets"][::-1].copy()).problems
    assert problem.startswith(
        "query_bank is the gallery itself: 90 of 90 vectors are targets, up to rounding, and such"
    )
    assert unhub.check(targets=parts["targets"], queries=parts["query_bank"]).findings == ()


def test_a_bank_in_another_script(parts):
    english, russian = [f"a red boat {row}" for row in range(BANK)], [f"красная лодка {row}" for row in range(BANK)]
    bank = unhub.dataset.Bank(parts["query_bank"][::-1].copy(), captions=russian)
    both = {"queries": parts["query_bank"], "targets": parts["targets"], "allow_overlap": True}
    data = unhub.Dataset(**both, captions=english, banks={"log": bank})
    assert [(each.kind, each.sentence) for each in unhub.check(data).findings] == [
        (
            "language",
            "the 240 texts of the bank are in another script (Cyrillic) than the 240 queries (Latin); a bank in "
            "another language says little of yours, so take queries in the language that people use.",
        )
    ]
    assert unhub.check(unhub.Dataset(**both, captions=russian, banks={"log": bank})).findings == ()
