"""Registering a method or a metric, and what is said where one cannot be."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest

import unhub
from unhub import InputError
from unhub.core.bias import closed_form
from unhub.methods import METHODS, Method, method_class, method_names, title_of
from unhub.metrics import Metric, metric, metric_names, register_metric

pytestmark = pytest.mark.usefixtures("own_registries")


@dataclass(frozen=True)
class Flat(Method):
    name = "flat"
    title = "Flat"
    description = "Minus the mean."
    strength: float = 1.0

    def estimate(self, banks):
        return closed_form(self.bias_of(banks, None))

    def bias_of(self, banks, potentials):
        return -banks.queries.read(0, banks.queries.shape[0]).mean(axis=0)


def test_a_registered_method_is_known_by_name(tmp_path):
    with pytest.raises(InputError, match="there is no method 'flat'"):
        unhub.fit("flat", scores=np.eye(3, dtype=np.float32))
    assert unhub.register_method(Flat) is Flat
    assert unhub.register_method(Flat) is Flat  # again does no harm
    assert "flat" in method_names()
    assert "flat" in method_names(additive=True)
    assert "flat" not in METHODS
    assert title_of("flat") == "Flat"
    scores = np.array([[0.9, 0.1], [0.5, 0.3]], dtype=np.float32)
    made = unhub.fit("flat", scores=scores)
    np.testing.assert_allclose(made.bias, [-0.25, 0.25], atol=1e-6)
    made.save(tmp_path / "flat.unhub")
    assert unhub.load(tmp_path / "flat.unhub").method == Flat()


def test_an_object_needs_no_registration():
    scores = np.array([[0.9, 0.1], [0.5, 0.3]], dtype=np.float32)
    np.testing.assert_allclose(unhub.fit(Flat(strength=2.0), scores=scores).served_bias, [-0.5, 0.5], atol=1e-6)


def changed(**facts):
    return dataclass(frozen=True)(type("Wrong", (Flat,), {"__annotations__": {}, **facts}))


WRONG = {
    "an object": (lambda: Flat(), "a method is a frozen dataclass"),
    "no dataclass": (lambda: type("Wrong", (), {}), "Wrong is not a method: a method is a frozen dataclass"),
    "not frozen": (lambda: dataclass(type("Wrong", (Method,), {})), "put @dataclass.frozen=True. above"),
    "no name": (lambda: changed(name="No Name"), "its name is 'No Name'; give it a name of lower-case letters"),
    "a reserved name": (lambda: changed(name="saved"), "its name is 'saved'"),
    "a name of ours": (
        lambda: changed(name="sn"),
        r"there is a method 'sn' already .unhub.methods.sn_dbsn.SN.; choose",
    ),
    "no title": (lambda: changed(title=None), "it has no title .str.; set it on the class or inherit"),
    "an unknown need": (lambda: changed(requires=frozenset({"gpu"})), "its requires holds 'gpu'; there are cross, tar"),
    "an unknown weight": (lambda: changed(marginals=frozenset({"age"})), "its marginals holds 'age'"),
    "two verbs": (lambda: changed(correct=lambda self, scores: scores), "it needs one verb of estimate, prepare, cor"),
    "no strength": (
        lambda: dataclass(frozen=True)(
            type("Wrong", (Method,), {"name": "w", "title": "w", "description": "w", "estimate": print})
        ),
        "also needs bias_of and a field strength",
    ),
    "no default": (
        lambda: dataclasses.make_dataclass("Wrong", [("size", int)], bases=(Flat,), frozen=True, kw_only=True),
        "its hyper-parameter size has no default",
    ),
    "no plain type": (
        lambda: dataclasses.make_dataclass("Wrong", [("size", list, ())], bases=(Flat,), frozen=True),
        "its hyper-parameter size is not a plain number",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_method_is_refused(case):
    make, sentence = WRONG[case]
    with pytest.raises(InputError, match=sentence):
        unhub.register_method(make())


def test_another_class_cannot_take_a_registered_name():
    unhub.register_method(Flat)
    other = changed()
    with pytest.raises(InputError, match="there is a method 'flat' already"):
        unhub.register_method(other)
    assert method_class("flat") is Flat


def test_a_registered_metric_is_known_by_name():
    with pytest.raises(InputError, match="there is no metric 'last'"):
        metric("last")
    last = Metric("last", per_query=lambda ranking: 1.0 * (ranking.ranks == ranking.gallery), larger_is_better=False)
    assert register_metric(last) is last
    assert (last.title, last.json_name) == ("last", "last")
    assert "last" in metric_names()
    scores = np.array([[0.9, 0.1], [0.5, 0.3]], dtype=np.float32)
    result = unhub.evaluate(scores=scores, relevant=[0, 1], methods="none", metrics=["last", "R@1"])
    assert (result["none"]["last"], result["none"]["R@1"]) == (0.5, 50.0)
    assert "last" in result.table()


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        ("R@1", "a metric is an object unhub.metrics.Metric"),
        (Metric("mine"), "needs either per_query or whole"),
        (Metric("mine", per_query=print, whole=print), "needs either per_query or whole, and not both"),
        (Metric("R@7", whole=print), "there is a metric 'R@7' already"),
        (Metric("mean_rank", whole=print), "there is a metric 'mean_rank' already"),
        (Metric("a b", whole=print), "a metric cannot be called 'a b'"),
    ],
)
def test_what_is_no_metric_is_refused(new, sentence):
    with pytest.raises(InputError, match=sentence):
        register_metric(new)


def test_two_metrics_cannot_share_a_name():
    register_metric(Metric("mine", whole=print))
    with pytest.raises(InputError, match="there is a metric 'mine' already"):
        register_metric(Metric("mine", whole=len))


def test_a_fit_refuses_a_bias_of_the_wrong_length():
    class Short(unhub.methods.IS):
        name, title = "short", "Short"

        def estimate(self, banks):
            return dataclasses.replace(super().estimate(banks), values=np.zeros(1))

    rows = np.eye(3, dtype=np.float32)
    with pytest.raises(InputError, match="3 targets"):
        unhub.fit(Short(), targets=rows, query_bank=-rows[:2])
