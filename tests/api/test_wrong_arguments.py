"""Wrong arguments of public functions: each is answered by one sentence, never by a traceback from inside."""

import numpy as np
import pytest

import unhub
from unhub.dataset import Bank, Dataset
from unhub.foundation.errors import InputError
from unhub.methods import SN

Q = np.eye(4, dtype=np.float32)
T = np.eye(4, dtype=np.float32)[::-1].copy()


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
