"""The same correction as a scikit-learn estimator; needs ``pip install 'unhub[sklearn]'``."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np

from unhub.api.fit import fit
from unhub.core.bias import augment_targets, scaled_bias
from unhub.core.fingerprint import row_digests
from unhub.core.parameters import Strength, Temperature
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray, IntArray, Similarity
from unhub.methods import AdditiveMethod, HyperParameters, Method, additive
from unhub.methods import method as method_by_name
from unhub.metrics import Relevance
from unhub.scores.embedding import vectors

require("sklearn", extra="sklearn")

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402


class HubnessCorrector(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Neighbours by score + strength * bias: ``unhub.fit`` as an estimator.

    ``fit`` takes the gallery, ``transform`` takes targets, ``kneighbors`` and ``score`` take queries. With the default
    strength, "auto", a bias is added as strongly as queries support that it was not fitted on, or not at all: then
    ``fit`` warns.

    method: a name of ``unhub.ADDITIVE``, or an object such as ``unhub.methods.SN(tau=0.02)``.
    tau, tau1, tau2, iterations, tol, strength, k, alpha, w, gamma, reg: hyper-parameters of the method, as in
    ``unhub.fit``; None leaves each to the method, whose temperature then follows the spread of the bank's scores.
    query_bank: (bank, dim), past queries embedded as the gallery is: an array or a path. None: the gallery is its own
    bank, with the score of each vector with itself left out. That suits search within one kind of item (image to
    image), not across two (text to image).
    target_bank: (bank, dim), other targets, which dbsn and dualis need.
    recent, judged, judged_queries, own_log: what the strength is judged by, as in ``unhub.fit``. They are parameters
    because scikit-learn's ``fit`` takes the gallery alone.
    metric, normalize, memory: as in ``unhub.fit``, except that rows are scaled to unit length unless normalize=False.
    n_neighbors: how many neighbours ``kneighbors`` gives by default.

    Fitted: ``correction_`` (all that ``unhub.Correction`` can do), ``bias_`` and ``hubness_`` (gallery,) at strength
    1, ``strength_``, ``verdict_``, ``n_features_in_``.

    >>> gallery = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> bank = [[0.9, 0.5], [0.8, 0.5], [0.3, 0.8]]  # too few to judge the strength by
    >>> corrector = HubnessCorrector("is", query_bank=bank, strength=1).fit(gallery)
    >>> corrector.kneighbors([[0.97, 0.25]], n_neighbors=1, return_distance=False).tolist()
    [[0]]
    """

    def __init__(
        self,
        method: str | Method = "sn",
        *,
        tau: Temperature | None = None,
        tau1: Temperature | None = None,
        tau2: Temperature | None = None,
        iterations: int | None = None,
        tol: float | None = None,
        strength: Strength | None = None,
        k: int | None = None,
        alpha: float | None = None,
        w: float | None = None,
        gamma: float | None = None,
        reg: float | None = None,
        query_bank: Any = None,
        target_bank: Any = None,
        recent: Any = None,
        judged: Any = None,
        judged_queries: Any = None,
        own_log: bool = False,
        metric: Similarity = "cosine",
        normalize: bool = True,
        memory: str | int | None = None,
        n_neighbors: int = 10,
    ) -> None:
        self.method, self.query_bank, self.target_bank = method, query_bank, target_bank
        self.tau, self.tau1, self.tau2 = tau, tau1, tau2
        self.iterations, self.tol, self.strength = iterations, tol, strength
        self.k, self.alpha, self.w, self.gamma, self.reg = k, alpha, w, gamma, reg
        self.recent, self.judged, self.judged_queries, self.own_log = recent, judged, judged_queries, own_log
        self.metric, self.normalize, self.memory, self.n_neighbors = metric, normalize, memory, n_neighbors

    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimates the bias of the gallery X (gallery, dim); y is ignored."""
        gallery = validate_data(self, X, dtype=np.float32, ensure_min_samples=1 if self.query_bank is not None else 2)
        bank = gallery if self.query_bank is None else self.query_bank
        reading: Any = {"metric": self.metric, "normalize": self.normalize, "memory": self.memory}
        banks: Any = {"query_bank": bank, "target_bank": self.target_bank, "ignore_self": self.query_bank is None}
        fresh: Any = {name: getattr(self, name) for name in ("recent", "judged", "judged_queries", "own_log")}
        self.correction_ = fit(self._method(), targets=gallery, **banks, **fresh, **reading)
        self.bias_ = self.correction_.bias
        self.hubness_ = self.correction_.hubness
        self.verdict_, self.strength_ = self.correction_.verdict, self.correction_.strength
        return self

    def transform(self, X: Any) -> FloatArray:
        """[t; strength * bias] of targets X: (targets, dim + 1) float32, for any inner-product index.

        A row of the fitted gallery gets its fitted bias, any other row its exact bias without a refit. Queries are not
        targets: ``correction_.augment_queries`` gives their [q; 1].
        """
        check_is_fitted(self)
        targets = validate_data(self, X, dtype=np.float32, reset=False)
        reader = self.correction_._reader
        rows = reader.vectors(targets, "X")
        unit = vectors(rows, 0, len(rows), normalize=reader.normalize and reader.metric == "cosine")
        return augment_targets(unit, self._bias_of(targets))

    def kneighbors(
        self, X: Any, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[FloatArray, IntArray] | IntArray:
        """The nearest gallery rows of queries X, nearest first: distances and indices, (query, n_neighbors) each.

        The distance is 1 - (score + strength * bias), because in scikit-learn smaller is nearer: the only place in
        unhub that flips a sign. It may be negative; equal distances go to the lower index.
        """
        check_is_fitted(self)
        queries = validate_data(self, X, dtype=np.float32, reset=False)
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        if wanted > self.bias_.size:
            raise InputError(
                "n_neighbors",
                f"is {wanted} but the gallery has {self.bias_.size:,} targets",
                "ask for no more than that",
            )
        hits = self.correction_.search(queries, k=wanted)
        return (1.0 - hits.scores, hits.rows) if return_distance else hits.rows

    def score(self, X: Any, y: Any) -> float:
        """R@1, between 0 and 1: the share of queries X whose first neighbour is their target, row y of the gallery."""
        first = np.asarray(self.kneighbors(X, n_neighbors=1, return_distance=False))[:, 0]
        right = Relevance.from_index(y, gallery=self.bias_.size, queries=len(first), name="y").targets
        return float(np.mean(first == right))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_) + 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _method(self) -> AdditiveMethod:
        values = {name: getattr(self, name) for name in HyperParameters.__annotations__}
        given = {name: value for name, value in values.items() if value is not None}
        return additive(method_by_name(self.method, cast(HyperParameters, given)))

    def _bias_of(self, targets: FloatArray) -> FloatArray:
        """What is added: the fitted bias of rows that are in the gallery, the extended one of all others."""
        fitted = self.correction_._digests
        assert fitted is not None, "a correction fitted on vectors knows them"
        digests, order = row_digests(targets), np.argsort(fitted, kind="stable")
        place = order[np.searchsorted(fitted, digests, sorter=order).clip(max=fitted.size - 1)]
        known = fitted[place] == digests
        bias = np.where(known, self.bias_[place], np.float32(0))
        if not known.all():
            bias[~known] = self.correction_.extend(targets[~known])
        return scaled_bias(bias, self.strength_)
