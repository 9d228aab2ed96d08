"""Whether a bank looks like even traffic or a log with popular targets, and when that cannot be told."""

import re

import numpy as np
import pytest

import unhub

GALLERY, BANK, DIM = 200, 400, 32


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(2)
    scale = np.linspace(0.2, 2, DIM)
    targets = unit(rng.normal(size=(GALLERY, DIM)) * scale)
    bank = unit(targets[rng.integers(0, GALLERY, BANK)] + 0.1 * rng.normal(size=(BANK, DIM)))
    return {"targets": targets, "query_bank": bank}


def draw(popularity, count=BANK):
    return np.random.default_rng(4).choice(GALLERY, count, p=popularity / popularity.sum())


ZIPF = 1 / np.arange(1, GALLERY + 1) ** 0.8


def test_without_clicks_and_repeats_it_cannot_be_told(parts):
    traffic = unhub.check(**parts).traffic
    assert (traffic.looks_like, traffic.most_common, traffic.unevenness) == ("unknown", 1, None)
    found = unhub.check(**parts).facts()[-1]
    assert found == (
        "Traffic: can't tell (0% of the bank repeats another query, the most common one comes once). Popular targets "
        "and hubs look alike in vectors; clicks, or about 50 judged queries, would tell. Without them it counts as "
        "even."
    )


def test_repeated_queries_are_a_log(parts):
    bank = parts["query_bank"][draw(ZIPF[:GALLERY], 900)]
    traffic = unhub.check(targets=parts["targets"], query_bank=bank).traffic
    assert traffic.looks_like == "own_log"
    assert re.search(
        r"Traffic: looks like a log with popular targets \(\d+% of the bank repeats another query, the most common one "
        r"comes \d+ times\)\. If it is this gallery's own log, pass own_log=True, and with clicks and about 50 judged "
        r"queries target_prior='clicks': the clicks are used only if those prefer them\.\n",
        unhub.check(targets=parts["targets"], query_bank=bank).table(),
    )


def test_a_file_written_twice_is_no_log(parts):
    twice = np.concatenate((parts["query_bank"], parts["query_bank"]))
    traffic = unhub.check(targets=parts["targets"], query_bank=twice).traffic
    assert (traffic.looks_like, traffic.repeated, traffic.most_common) == ("unknown", 0.5, 2)


@pytest.mark.parametrize(("popularity", "expected"), [(ZIPF, "own_log"), (np.ones(GALLERY), "even")])
def test_clicks_tell(popularity, expected, parts):
    seen = unhub.check(**parts, clicks=draw(popularity))
    assert seen.traffic.looks_like == expected
    assert seen.to_dict()["traffic"]["looks_like"] == expected
    if expected == "even":
        assert seen.traffic.sentence.startswith("Traffic: looks even (0% of the bank repeats another query, ")
        assert seen.traffic.sentence.endswith("in even traffic). Even traffic is the default; pass nothing.")
    few = unhub.check(**parts, clicks=[(row, target) for row, target in enumerate(draw(popularity)[:50])])
    assert few.traffic.looks_like == "unknown"


def test_without_a_bank_there_is_no_traffic(parts):
    assert unhub.check(targets=parts["targets"], queries=parts["query_bank"]).traffic is None
