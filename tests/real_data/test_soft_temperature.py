"""A temperature that is soft for the scores: the dual at that temperature would apply what costs answers on MSR-VTT."""

import numpy as np
import pytest

import unhub
from unhub.methods.strength import evidence_of, gains
from unhub.scores import MatrixScores

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

SPLITS, TAU = 20, 0.1


def test_a_soft_temperature_is_not_applied_where_it_hurts(shared_data):
    scores = np.load(shared_data("msrvtt_1ka/msrvtt_video_matrix.npy"))
    at_its_own, lost_at_its_own, lost = [], [], []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(1000)
        bank, recent, test = order[:500], order[500:700], order[700:]
        fresh = scores[np.ix_(recent, test)]
        correction = unhub.fit("sn", scores=scores[np.ix_(bank, test)], recent=fresh, tau=TAU)
        assert correction.verdict.decision != "apply"
        g = correction.bias.astype(np.float64)
        at_its_own.append(evidence_of(gains(MatrixScores(fresh, 200), g, TAU, 0.0), "recent").strength)
        asked, own = scores[np.ix_(test, test)], np.arange(len(test))

        def right(bias, asked=asked, own=own):
            return 100 * np.mean((asked + bias).argmax(axis=1) == own)

        lost_at_its_own.append(right(0) - right(at_its_own[-1] * g))
        lost.append(right(0) - right(correction.served_bias))
    assert min(at_its_own) >= 0.85
    assert np.mean(lost_at_its_own) > 1.5
    assert np.mean(lost) < 0.5
