"""Five points on a circle, one of them a hub.

                         hub 0°
          ask left -30°          ask right +30°


    left -75°                              right +75°

Three targets: *left* at -75°, the *hub* at 0°, *right* at +75°. Two queries: *ask left* at -30° wants left, *ask right*
at +30° wants right. The score of two points is the cosine of the angle between them:

                 left      hub    right
    ask left    .7071    .8660   -.2588        cos 45°    cos 30°    cos 105°
    ask right  -.2588    .8660    .7071        cos 105°   cos 30°    cos 45°

The hub is nearest to both queries, so both answers are wrong. It owes that to standing in the middle, and it is the
middle that the bias takes away. With tau = .1, by hand:

    hub     .1 * log(e^8.660 + e^8.660)    =  .8660 + .1 * log 2       =  .9353
    left    .1 * log(e^7.071 + e^-2.588)   =  .7071 + .1 * .00006      =  .7071      right: the same
    mean    (.7071 + .9353 + .7071) / 3                                =  .7832

    hubness = minus the bias:   left  .7071 - .7832 = -.0761    hub  .9353 - .7832 = .1522    right  -.0761

    corrected    left      hub    right
    ask left    .7832    .7139   -.1827        left wins, by .1 * log 2 = .0693
    ask right  -.1827    .7139    .7832        right wins
"""

import numpy as np
import pytest

import unhub


def at(*degrees):
    """Unit vectors at these angles, clockwise from the top."""
    angles = np.radians(degrees)
    return np.column_stack((np.sin(angles), np.cos(angles))).astype(np.float32)


NAMES = ["left", "hub", "right"]
TARGETS = at(-75, 0, 75)
QUERIES = at(-30, 30)

RAW = [[0.7071, 0.8660, -0.2588], [-0.2588, 0.8660, 0.7071]]
HUBNESS = [-0.0761, 0.1522, -0.0761]
CORRECTED = [[0.7832, 0.7139, -0.1827], [-0.1827, 0.7139, 0.7832]]


def four_decimals(numbers):
    return pytest.approx(np.array(numbers), abs=6e-5)


@pytest.fixture(params=["is", "sn"])
def correction(request):
    """The two queries ask for the two sides alike, so Sinkhorn has nothing to add to the inverted softmax."""
    return unhub.fit(request.param, targets=TARGETS, target_ids=NAMES, query_bank=QUERIES, tau=0.1, strength=1)


def test_the_scores_are_those_of_the_drawing():
    scores = QUERIES @ TARGETS.T
    assert scores == four_decimals(RAW)


def test_the_hub_has_positive_hubness(correction):
    assert correction.hubness == four_decimals(HUBNESS)
    assert correction.bias == four_decimals([0.0761, -0.1522, 0.0761])


def test_both_queries_get_the_hub_and_then_what_they_asked_for(correction):
    assert correction.search(QUERIES, k=1, corrected=False).ids.tolist() == [["hub"], ["hub"]]
    hits = correction.search(QUERIES, k=3)
    assert hits.ids.tolist() == [["left", "hub", "right"], ["right", "hub", "left"]]
    assert hits.scores == four_decimals([[0.7832, 0.7139, -0.1827]] * 2)
    assert correction.apply(QUERIES @ TARGETS.T) == four_decimals(CORRECTED)


def test_who_really_means_the_hub_still_gets_it(correction):
    """A query at 0° scores 1 with the hub, .2588 with the others: 1 - .1522 = .8478, .2588 + .0761 = .3349."""
    hits = correction.search(at(0), k=1)
    assert hits.ids.tolist() == [["hub"]]
    assert hits.scores == four_decimals([[0.8478]])


def test_a_newcomer_beside_the_hub_is_as_much_of_a_hub(correction):
    """A target that appears where the hub stands gets the hub's bias, without a new fit."""
    assert correction.extend(at(0, 75)) == four_decimals([-0.1522, 0.0761])


def test_recall_goes_from_nothing_to_everything():
    """Who comes first how often: (0, 2, 0) for left, hub, right without a correction, (1, 0, 1) with it."""
    result = unhub.evaluate(
        queries=QUERIES, targets=TARGETS, relevant=[0, 2], methods=["none", "is", "sn"], tau=0.1,
        metrics=["R@1", "MnR", "max N_1", "skew@1", "antihub@1"],
    )  # fmt: skip
    none, corrected = result["none"], result["sn"]
    assert (none["R@1"], corrected["R@1"], result["is"]["R@1"]) == (0, 100, 100)
    assert (none["MnR"], corrected["MnR"]) == (2, 1)
    assert (none["max N_1"], corrected["max N_1"]) == (2, 1)
    assert (none["skew@1"], corrected["skew@1"]) == four_decimals([0.7071, -0.7071])
    assert (none["antihub@1"], corrected["antihub@1"]) == pytest.approx((200 / 3, 100 / 3))
