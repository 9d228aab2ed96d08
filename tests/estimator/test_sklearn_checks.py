"""scikit-learn's own checks, all of them; one that cannot hold is named here with the reason."""

import pytest

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import check_estimators_dtypes, parametrize_with_checks

from unhub.estimator import HubnessCorrector
from unhub.foundation.errors import InputError

CANNOT_HOLD = {
    "check_estimators_dtypes": "its rounded data hold a row of zeros, which has no direction and is refused by name",
}


@parametrize_with_checks(
    [
        HubnessCorrector(),
        HubnessCorrector("nnn"),
        HubnessCorrector("is", metric="ip", normalize=False),
    ],
    expected_failed_checks=lambda estimator: CANNOT_HOLD,
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


def test_the_reason_is_the_one_given():
    with pytest.raises(InputError, match="targets has 1 zero vector"):
        check_estimators_dtypes("HubnessCorrector", HubnessCorrector())
