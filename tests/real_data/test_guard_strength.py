"""The strength of the bank, whose held-out biases share rounds and reads, beside the literal formula on real sets."""

import numpy as np
import pytest
from reference import guard as literal

import unhub
from unhub.core.fingerprint import row_sketches
from unhub.methods.strength import held_out_parts

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

CLOSE = 0.02 + 1e-9
SETS = {
    "COCO": ("coco500/features_clip.npy", lambda x: (x[1], x[0])),
    "Flickr8k, dual": ("flickr8k/flickr8k_dual.npz", lambda x: (x["train_text"], x["test_image"])),
    "Flickr8k, ridge": ("flickr8k/flickr8k_ridge_t2i.npz", lambda x: (x["train_text"], x["test_image"])),
    "Multi30k": ("multi30k_cs_en/cs-en.npz", lambda x: (x["bank_q"], x["test_t"])),
    "OpenClipart": ("openclipart/openclipart_mapped.npz", lambda x: (x["train_text"], x["test_image"])),
}


@pytest.mark.parametrize("rows", [100, 1200])
@pytest.mark.parametrize("name", SETS)
def test_the_strength_of_the_bank_is_that_of_the_formula(shared_data, name, rows):
    path, parts = SETS[name]
    queries, targets = (unit(each) for each in parts(np.load(shared_data(path))))
    bank = literal.distinct(queries)
    bank = bank[np.random.default_rng(0).permutation(len(bank))[:rows]]
    correction = unhub.fit("sn", targets=targets, query_bank=bank)
    found = correction.verdict.evidence[0]
    if found.queries < len(bank):
        pytest.skip(f"{name} has near copies, which the formula would count")
    assert found.source == "bank"
    expected = literal.bank_strength(bank @ targets.T, correction.method.tau, held_out_parts(row_sketches(bank)[:, 0]))
    assert abs(found.strength - expected) <= CLOSE


def unit(rows):
    rows = rows.astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
