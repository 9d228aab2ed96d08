"""``fit``, ``normalize`` and ``evaluate`` at strength 1, which the identities are about, unless one is given."""

from functools import wraps

import unhub


def _at_full_strength(function):
    @wraps(function)
    def call(method, **given):
        served = isinstance(method, str) and method in unhub.ADDITIVE and method != "none"
        return function(method, **({"strength": 1} if served else {}) | given)

    return call


fit, normalize = _at_full_strength(unhub.fit), _at_full_strength(unhub.normalize)


def evaluate(**given):
    """An evaluation at strength 1."""
    return unhub.evaluate(**{"strength": 1} | given)
