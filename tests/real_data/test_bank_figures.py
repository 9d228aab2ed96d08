"""Published R@1 with banks of other queries, tau chosen on a development set: within one standard error.

The standard error is that of the published rate on as many independent test targets as there are: five captions of one
picture are found or missed together, so captions are averaged by picture first.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import unhub

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

TEMPERATURES = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
"""tried on the development set; the scores have standard deviations of .07 (Multi30k) to .16 (Flickr8k)"""


@dataclass(frozen=True)
class Split:
    queries: np.ndarray
    targets: np.ndarray
    relevant: np.ndarray

    def hits(self, method, tau, **banks):
        """1 or 0 for each query: whether its target came first."""
        result = unhub.evaluate(
            queries=self.queries, targets=self.targets, relevant=self.relevant, methods=[method],
            metrics=["R@1"], normalize=True, allow_overlap=True, resamples=1, strength=1, **banks,
            **({} if tau is None else {"tau": tau}),
        )  # fmt: skip
        return np.asarray(result[method].per_query["R@1"], dtype=float)

    def best_tau(self, method, **banks):
        """The temperature of highest R@1 here."""
        return max(TEMPERATURES, key=lambda tau: self.hits(method, tau, **banks).mean())


def unit(rows):
    """Rows of length one."""
    wide = rows.astype(np.float64)
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)


def standard_error(hits, relevant):
    """Of the mean, in percent: queries of one target count as one draw."""
    means = np.bincount(relevant, hits) / np.bincount(relevant)
    return 100 * means.std(ddof=1) / np.sqrt(len(means))


def multi30k(shared_data):
    x = np.load(shared_data("multi30k_cs_en/cs-en.npz"))
    test, dev = (Split(x[f"{part}_q"], x[f"{part}_t"], np.arange(len(x[f"{part}_q"]))) for part in ("test", "val"))
    return test, dev, x["bank_q"], x["bank_t"]


def flickr8k(shared_data, model):
    x = np.load(shared_data(f"flickr8k/flickr8k_{model}.npz"))
    test, dev = (Split(x[f"{part}_text"], x[f"{part}_image"], x[f"{part}_text_target"]) for part in ("test", "dev"))
    return test, dev, x["train_text"], x["train_image"]


SETS = {
    "Multi30k cs->en": (multi30k, (), [16.2, 21.9, 22.1, 22.5, 24.8]),
    "Flickr8k ridge": (flickr8k, ("ridge_t2i",), [10.3, 18.6, 18.3, 18.4, 19.0]),
    "Flickr8k dual": (flickr8k, ("dual",), [21.0, 23.9, 23.7, 23.8, 24.1]),
}
"""none, IS with a bank, SN with a bank, DBSN, SN transductive"""


@pytest.mark.parametrize("name", SETS)
def test_recall_with_real_banks(shared_data, name):
    load, arguments, published = SETS[name]
    test, dev, query_bank, target_bank = load(shared_data, *arguments)
    one = {"query_bank": query_bank}
    tau = {"is": dev.best_tau("is", **one), "sn": dev.best_tau("sn", **one), "own": dev.best_tau("sn")}
    rows = {
        "none": test.hits("none", None),
        "IS bank": test.hits("is", tau["is"], **one),
        "SN bank": test.hits("sn", tau["sn"], **one),
        "DBSN": test.hits("dbsn", tau["sn"], **one, target_bank=target_bank),
        "SN transductive": test.hits("sn", tau["own"]),
    }
    for (row, hits), figure in zip(rows.items(), published, strict=True):
        room = standard_error(hits, test.relevant)
        assert 100 * hits.mean() == pytest.approx(figure, abs=room), f"{row}, one standard error is {room:.2f}"
    assert 100 * (rows["SN transductive"].mean() - rows["none"].mean()) > 2


def test_openclipart_gains(shared_data):
    """What each method adds to R@1, within one standard error, at a third of the spread.

    The published figures (20.4, 22.4, 22.75, 22.9, 23.8) are means over 8 splits, each with a map fitted on its own
    train part. One split is here, and its 700 test pairs are easier than the mean (22.0 without any correction); the
    train pairs cannot be split again, since the map has seen them (R@1 of about 70). So gains are compared.
    """
    x = np.load(shared_data("openclipart/openclipart_mapped.npz"))
    test = Split(x["test_text"], x["test_image"], np.arange(700))
    one = {"query_bank": x["train_text"]}
    bank, own = (float((unit(x[part]) @ unit(x["test_image"]).T).std() / 3) for part in ("train_text", "test_text"))
    none = test.hits("none", None)
    assert 100 * none.mean() == pytest.approx(22.0, abs=0.05)
    gains = {
        "IS bank": (test.hits("is", bank, **one), 22.4 - 20.4),
        "SN bank": (test.hits("sn", bank, **one), 22.75 - 20.4),
        "DBSN": (test.hits("dbsn", bank, **one, target_bank=x["train_image"]), 22.9 - 20.4),
        "SN transductive": (test.hits("sn", own), 23.8 - 20.4),
    }
    for row, (hits, published) in gains.items():
        room = standard_error(hits - none, test.relevant)
        assert 100 * (hits - none).mean() == pytest.approx(published, abs=room), f"{row}: {room:.2f}"
