"""Wrong arguments of public functions: each is answered by one sentence, never by a traceback from inside."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import unhub
from unhub.core.bias import closed_form
from unhub.dataset import Bank, Dataset
from unhub.foundation.errors import InputError
from unhub.methods import SN, Method
from unhub.webapp.server import bind

Q = np.eye(4, dtype=np.float32)
T = np.eye(4, dtype=np.float32)[::-1].copy()


@dataclass(frozen=True)
class Short(Method):
    """A method with a bug: its bias lacks the last target."""

    name: ClassVar[str] = "short"
    title: ClassVar[str] = "Short"
    description: ClassVar[str] = "A bias that is too short."
    strength: float = 1.0

    def estimate(self, banks):
        return closed_form(self.bias_of(banks, None))

    def bias_of(self, banks, potentials):
        return np.zeros(banks.queries.shape[1] - 1)


def data(**more):
    return Dataset(queries=Q, targets=T, relevant="aligned", **more)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Dataset.of("c.unhub"), "correction is of type str; give a Correction, as unhub.load returns it."),
        (lambda: Dataset(banks={"v": Q}), "banks has for v a value of type ndarray; give a Bank, such as"),
        (lambda: Dataset(banks=[Bank(Q)]), "banks is of type list; give a mapping"),
        (lambda: Dataset(banks={"v": Bank()}), "banks has nothing in v; give it queries."),
        (lambda: Dataset(querys=Q), "Dataset has no argument querys; did you mean queries?"),
        (lambda: Dataset.of(1, query=Q), "Dataset.of has no argument query; did you mean queries?"),
        (lambda: unhub.load("c.unhub", target=T), "load has no argument target; did you mean targets?"),
        (lambda: SN(tua=0.1), "SN has no argument tua; did you mean tau?"),
        (
            lambda: unhub.fit("sn", T, Q),
            "fit takes method and data by position; give the rest by name, such as targets=",
        ),
        (lambda: unhub.evaluate(Q, T), "evaluate takes data by position; give the rest by name, such as targets=..."),
        (lambda: unhub.diagnose(Q, T), "diagnose takes data by position; give the rest by name, such as targets=..."),
        (lambda: Dataset(Q, T), "Dataset takes nothing by position; give the rest by name, such as targets=..."),
        (lambda: data().sample(cells="x"), "cells is 'x'; give a whole number of at least 1."),
        (lambda: data().sample(cells=0), "cells is 0; give a whole number of at least 1."),
        (lambda: data().sample(cells=9, seed=-1), "seed is -1; give a whole number of at least 0."),
        (lambda: data().shard(0.5, of=4), "i is 0.5 of 4; count shards from 0."),
        (lambda: data().shard(0, of=0), "of is 0; give a whole number of at least 1."),
        (lambda: unhub.evaluate(data(), metrics=[]), "metrics is empty; name at least one."),
        (lambda: unhub.evaluate(Q), "data is of type ndarray; give a Dataset, as in"),
        (
            lambda: unhub.evaluate(correction=3, queries=Q, relevant=[0]),
            "correction is of type int; give what unhub.fit",
        ),
        (lambda: unhub.connect("faiss://x.faiss", 3), "correction is of type int; give what unhub.fit"),
        (lambda: unhub.plan_export(3, "faiss://x.faiss"), "correction is of type int; give what unhub.fit"),
        (lambda: unhub.diagnose(queries=object(), targets=T), "queries is of type object, not an array; give"),
        (lambda: unhub.diagnose(scores=np.full((2, 2), np.nan)), "scores has NaN or infinite values in 2 rows"),
        (lambda: unhub.reproduce(3), "data is of type int; give a Dataset or the path of an experiment file."),
        (lambda: bind("127.0.0.1", "a"), "port is 'a'; give a whole number, or 0 for any free port."),
        (lambda: data(directions=("a", "a")), "directions is a, a; give two different names."),
        (
            lambda: unhub.evaluate(queries=Q, targets=T, relevant="aligend"),
            "relevant is 'aligend', and there is no such file; did you mean aligned?",
        ),
        (
            lambda: unhub.evaluate(data(), methods=[Short()]),
            "the bias of short has shape (3,) but there are 4",
        ),
        (lambda: unhub.fit("sn", query_bank=Q, targets=T, k=3), "sn has no hyper-parameter k; it has tau"),
        (
            lambda: unhub.diagnose(queries=Q, targets=T, target_ids=["a"]),
            "targets has 4 rows but there is 1 id; give one id for each row.",
        ),
        (lambda: data(captions=["a"]).items(), "captions has 1 line but there are 4 queries; write one line for each."),
        (lambda: data(modality="foo"), "modality is 'foo'; use one of image, video, audio."),
        (lambda: data(normalize="yes"), "normalize is 'yes'; use True or False."),
    ],
)
def test_a_wrong_argument_is_one_sentence(call, sentence):
    with pytest.raises(InputError) as error:
        call()
    assert str(error.value).startswith(sentence)


def test_a_sample_takes_a_whole_number_written_as_a_float():
    assert data().sample(cells=1e5).shape == (4, 4)


def test_names_of_metrics_are_found_in_any_capitals():
    result = unhub.evaluate(data(), metrics=["MRR", "r@1", "mdr"], methods=["none"], resamples=10)
    assert list(result["none"].values) == ["mrr", "R@1", "MdR"]


def test_advice_about_scores_is_not_about_embeddings():
    with pytest.raises(InputError, match=r"compute these scores again\.$"):
        unhub.diagnose(scores=np.full((2, 2), np.nan))


def test_one_table_may_be_named_without_a_list():
    scores = np.eye(20) + np.linspace(0, 0.5, 20)
    tables = unhub.reproduce(Dataset(scores=scores, relevant="aligned"), "query-aware").tables
    assert [table.name for table in tables] == ["query-aware"]


def test_small_numbers_are_said_in_the_singular():
    result = unhub.diagnose(scores=np.eye(1))
    assert repr(result).startswith("Diagnosis(1 query x 1 target, ")


def test_shares_below_ten_percent_have_a_digit():
    scores = np.eye(40) + np.linspace(0, 1e-6, 40)
    assert "1 of 40 targets takes 2.5% of the first places" in unhub.diagnose(scores=scores).sentence
