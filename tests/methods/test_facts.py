"""What every method says of itself, how it takes a temperature, and how mistyped names are answered."""

import dataclasses

import numpy as np
import pytest

import unhub
from unhub import InputError, UnhubWarning
from unhub.methods import ADDITIVE, METHODS, SN, DualIS, method, method_class, methods, resolve, settings
from unhub.metrics import FAMILIES, METRICS, Relevance, k_occurrence, measure, per_query, rank, summarise
from unhub.metrics.ranking import tied_ranks
from unhub.scores import spread

PUBLISHED = {
    "is": {"tau": 0.02}, "dis": {"tau": 0.02}, "dis_paper": {"tau": 0.02}, "dualis": {"tau1": 0.02, "tau2": 1.0},
    "dualdis": {"tau1": 0.02, "tau2": 1.0}, "sn": {"tau": 0.01, "iterations": 10}, "dsl": {"tau": 0.01},
    "dbsn": {"tau": 0.01, "iterations": 10}, "capped_sn": {"tau": 0.01, "iterations": 10},
    "single_sinkhorn": {"tau": 0.01, "iterations": 10},
}  # fmt: skip


@pytest.fixture
def scores():
    return np.random.default_rng(0).normal(0, 0.1, (40, 30)).astype(np.float32)


@pytest.mark.parametrize("name", METHODS)
def test_the_class_says_what_it_is(name):
    cls = method_class(name)
    assert cls.name == name
    assert cls.title
    assert cls.description.endswith(".")
    assert cls.requires <= {"cross", "targets"}
    assert cls.marginals <= {"query_weight", "target_prior"}
    assert (name in ADDITIVE) == hasattr(cls, "estimate") == hasattr(cls, "bias_of")
    assert cls.iterative == ("iterations" in settings(cls()))
    assert cls.potentials == {"sn": 1, "dbsn": 1, "capped_sn": 2}.get(name, 0)
    assert (cls().rounds is None) != cls.iterative


@pytest.mark.parametrize("name", METHODS)
def test_auto_is_the_default_and_the_papers_constants_have_a_name(name):
    plain, paper = method_class(name)(), method_class(name).paper()
    temperatures = [value for key, value in settings(plain).items() if key.startswith("tau")]
    assert set(temperatures) <= {"auto"}
    strength = {"strength": 1.0} if name in ADDITIVE else {}
    assert settings(paper) == settings(plain) | PUBLISHED.get(name, {}) | strength
    assert name not in ADDITIVE or plain.strength == ("auto" if name != "none" else 1.0)
    assert bool(temperatures) == (plain.temperature == "auto") == (paper.temperature is not None)


@pytest.mark.parametrize("name", METHODS)
def test_at_sets_the_temperature_and_nothing_else(name):
    plain = method_class(name)()
    warm = plain.at(0.5)
    if plain.temperature is None:
        assert warm is plain
    else:
        assert warm.temperature == 0.5
        assert warm.at("auto") == plain
        changed = {key for key, value in settings(warm).items() if value != settings(plain)[key]}
        assert changed == {key for key in settings(plain) if key.startswith("tau")}


def test_two_temperatures_keep_the_published_ratio():
    assert DualIS(strength=1).at(0.02) == DualIS.paper()
    with pytest.raises(InputError, match=r"tau is .1., but a temperature"):
        DualIS().at([1])


def test_tau_reaches_a_method_with_two_temperatures(scores):
    given = {"scores": scores, "target_bank_scores": scores}
    assert unhub.fit("dualis", **given, tau="auto").settings == unhub.fit("dualis", **given).settings
    assert unhub.fit("dualis", **given, tau=0.05, tau2=1.0).settings == {"tau1": 0.05, "tau2": 1.0, "strength": "auto"}
    chosen = methods(["dualis", "sn", "nnn"], {"tau": 0.05})
    assert [each.temperature for each in chosen] == [0.05, 0.05, None]
    result = unhub.evaluate(**given, relevant=np.arange(40) % 30, methods=["dualis", "sn"], tau="auto")
    assert result["dualis"].settings["tau1"] == result["sn"].settings["tau"]
    assert result["dualis"].settings["tau2"] == pytest.approx(50 * result["sn"].settings["tau"])


def test_what_is_judged_is_what_is_fitted(scores):
    bank = np.random.default_rng(1).normal(0, 0.1, (60, 30)).astype(np.float32)
    bank[:, :5] += 0.1
    given = {"scores": scores, "query_bank_scores": bank}
    judged = unhub.evaluate(**given, relevant=np.arange(40) % 30, methods=["is", "sn"])
    for name in ("is", "sn"):
        fitted = unhub.fit(name, scores=bank)
        assert 0 < fitted.strength < 1
        assert judged[name].settings == fitted.settings | {"strength": fitted.strength}
        assert judged[name].verdict == fitted.verdict
        np.testing.assert_allclose(judged[name].bias, fitted.served_bias, atol=1e-7)
        np.testing.assert_allclose(unhub.normalize(name, **given), scores + fitted.served_bias, atol=1e-6)
    assert judged["sn"].settings["tau"] == pytest.approx(bank.std() / 3, rel=1e-5)


def test_test_queries_that_are_the_bank_are_not_judged_by(scores):
    judged = unhub.evaluate(scores=scores, relevant=np.arange(40) % 30, methods=["is", "sn"])
    for name in ("is", "sn"):
        assert judged[name].settings["strength"] == 1
        assert judged[name].verdict.sentence == (
            "APPLY at strength 1: the test queries are the bank, so nothing can be checked."
        )
        np.testing.assert_allclose(judged[name].bias, unhub.fit(name, scores=scores).bias, atol=1e-7)  # summed in parts


def test_resolve_fills_in_numbers_and_notes_what_does_not_suit(scores):
    from unhub.scores import MatrixScores

    bank = MatrixScores(scores, block_rows=16)
    seen = spread(bank)
    resolved = resolve(SN(), bank)
    assert resolved == resolve(SN(), bank, seen)
    assert resolved.method == SN(tau=seen.tau, iterations=10)
    assert resolved.notes == ()
    assert resolve(SN(tol=1e-6), bank).method.iterations == 1000
    assert resolve(DualIS(tau2=3.0), bank).method == DualIS(tau1=seen.tau, tau2=3.0)
    (note,) = resolve(SN(tau=5.0), bank).notes
    assert note == ("tau = 5 of sn is soft for scores with a standard deviation of 0.098; auto would be 0.033.")
    assert resolve(method("nnn"), bank).method == method("nnn")
    (note,) = resolve(method("dis_paper"), bank).notes
    assert note.startswith("dis_paper is for audit only. DIS as one paper prints it")
    with pytest.raises(InputError, match=r"tau2 is 1e-12, but float32 .* pass a larger one, or tau2='auto'"):
        resolve(DualIS(tau2=1e-12), bank)
    same = resolve(SN(), MatrixScores(np.full((4, 3), 0.5, dtype=np.float32), block_rows=4))
    assert same.method.tau == 0.01


def test_a_method_for_audit_warns_once(scores):
    with pytest.warns(UnhubWarning, match="dis_paper is for audit only") as caught:
        unhub.normalize("dis_paper", scores=scores)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda s: unhub.fit("sn", scores=s, alpha=0.1),
            "sn has no hyper-parameter alpha; it has tau, iterations, tol",
        ),
        (lambda s: unhub.fit("sn", scores=s, taau=0.1), "fit has no argument taau; did you mean tau?"),
        (lambda s: unhub.fit("sn", target=s), "fit has no argument target; did you mean targets?"),
        (lambda s: unhub.fit("nnn", scores=s, tau=0.1), "nnn has no hyper-parameter tau; it has k, alpha, strength."),
        (lambda s: unhub.fit("dualis", scores=s, stregth=1), "fit has no argument stregth; did you mean strength?"),
        (lambda s: unhub.normalize("otn", scores=s, reg=1), "otn has no hyper-parameter reg; it has no hyper-parame"),
        (lambda s: unhub.fit("dbns", scores=s), "there is no method 'dbns'; .* Did you mean 'dbsn'?"),
        (
            lambda s: unhub.evaluate(scores=s, relevant=[0], methods=["none", "sn"], taau=1),
            "evaluate has no argument taau; did you mean tau?",
        ),
        (
            lambda s: unhub.evaluate(scores=s, relevant=[0], method="sn"),
            "evaluate has no argument method; did you mean methods?",
        ),
        (lambda s: unhub.evaluate(scores=s, relevant=[0], methods=[]), "methods is empty; name at least one of none"),
        (lambda s: unhub.fit(SN, scores=s), "a method is a name or an object such as"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_right_one(call, sentence, scores):
    with pytest.raises(InputError, match=sentence.replace("?", r"\?")):
        call(scores)


def test_a_hyper_parameter_beside_none_need_not_reach_it(scores):
    result = unhub.evaluate(scores=scores, relevant=np.arange(40) % 30, methods=["none"], tau=0.1)
    assert list(result.rows) == ["none"]


@pytest.mark.parametrize("each", [*METRICS.values(), *(make(7) for make in FAMILIES.values())], ids=lambda m: m.name)
def test_a_metric_says_what_it_is(each):
    assert each.title != each.name
    assert each.description.endswith(".")
    assert (each.per_query is None) != (each.whole is None)
    assert each.digits == (1 if each.percent or each.name in ("MdR", "MnR") else 2)
    assert each.shown(12.347) == ("12.3" if each.digits == 1 else "12.35")


def test_a_ranking_is_measured_once(scores, calls_of):
    ranked = rank(scores, Relevance.from_index(np.arange(40) % 30, gallery=30))
    names = ["R@1", "R@5", "R@10", "MdR", "MnR", "mrr", "map", "gmean", "skew@1", "gini@1", "antihub@10", "max_n@10"]
    with calls_of(tied_ranks) as ties:
        measured = measure(ranked, names)
    with calls_of(k_occurrence) as counts:
        measure(dataclasses.replace(ranked), names)
    assert (len(ties), len(counts)) == (1, 2)
    assert measured.values == summarise(ranked, names)
    assert list(measured.per_query) == ["R@1", "R@5", "R@10", "MdR", "MnR", "mrr", "map"]
    for name, values in measured.per_query.items():
        np.testing.assert_array_equal(values, per_query(ranked, name))
    assert dataclasses.replace(ranked, top=ranked.top[:, :1])._occurrences == {}
