"""``evaluate``: methods x metrics on one trial; the scores of a bank are computed once, however many methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

from unhub.api.evaluation import Evaluation
from unhub.api.progress import Progress
from unhub.api.running import Options, run
from unhub.api.sources import Metric, Reader
from unhub.api.temperature import temperature_given
from unhub.api.trial import Terms, open_side
from unhub.core.parameters import count, seed_number
from unhub.foundation.errors import InputError
from unhub.methods import METHODS, HyperParameters, Method
from unhub.methods import methods as methods_by_name
from unhub.metrics import DEFAULT_METRICS
from unhub.metrics import metric as metric_by_name
from unhub.metrics.ties import tie_policy

Direction = Literal["forward", "reverse", "both"]


def evaluate(
    *,
    relevant: Any,
    scores: Any = None,
    queries: Any = None,
    targets: Any = None,
    query_bank: Any = None,
    target_bank: Any = None,
    query_bank_scores: Any = None,
    cross_bank_scores: Any = None,
    target_bank_scores: Any = None,
    methods: str | Iterable[str | Method] = ("none", "is", "sn"),
    metrics: str | Sequence[str] = DEFAULT_METRICS,
    direction: Direction = "forward",
    ties: str = "average",
    group_targets: Literal["max"] | None = None,
    ignore_self: bool = False,
    allow_overlap: bool = False,
    allow_empty: bool = False,
    query_ids: Any = None,
    target_ids: Any = None,
    query_weight: Any = None,
    target_prior: Any = None,
    metric: Metric = "cosine",
    normalize: bool = False,
    memory: str | int | None = None,
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    **given: Unpack[HyperParameters],
) -> Evaluation:
    """Every method on every metric, for test queries against a gallery.

    Embeddings: queries, targets and, for results that a deployed system could have, query_bank and target_bank.
    Matrices: scores (query, gallery), query_bank_scores (bank, gallery), cross_bank_scores (bank, target bank),
    target_bank_scores (target bank, gallery). Without a query bank the test queries are the bank, and the rows carry
    the word transductive. relevant: an int array (query -> target), a list of sets, pairs of ids, or a path.

    methods=unhub.METHODS runs all that can run and lists the others in ``skipped``. allow_overlap: test queries may be
    in the bank, which makes the rows transductive. allow_empty: queries without a relevant target are left out.

    >>> import numpy as np
    >>> S = np.array([[0.9, 0.8, 0.1], [0.7, 0.6, 0.2], [0.8, 0.3, 0.5]], dtype=np.float32)
    >>> result = evaluate(scores=S, relevant=[0, 1, 2], methods=["none", "sn"], tau=0.1)
    >>> result["none"]["R@1"] < result["sn"]["R@1"]
    True
    """
    if direction not in ("forward", "reverse", "both"):
        raise InputError(f"direction is {direction!r}; use 'forward', 'reverse' or 'both'.")
    if group_targets not in (None, "max"):
        raise InputError(f"group_targets is {group_targets!r}; use 'max' or leave it out.")
    if group_targets is not None and ignore_self:
        raise InputError("group_targets and ignore_self exclude each other: a group is not one of the queries.")
    tie_policy(ties)
    resamples, seed = count("resamples", resamples), seed_number("seed", seed)
    wanted = [methods] if isinstance(methods, str) else list(methods)
    chosen = methods_by_name(wanted, given)
    named = [metrics] if isinstance(metrics, str) else metrics
    options = Options(
        metrics=tuple(dict.fromkeys(metric_by_name(name).name for name in named)),
        ties=ties,
        group_targets=group_targets,
        ignore_self=ignore_self,
        resamples=resamples,
        seed=seed,
        lenient=tuple(wanted) == METHODS,
        progress=progress,
    )
    side = open_side(
        Reader(metric, normalize, memory, tensors=False),
        vectors={"queries": queries, "targets": targets, "query_bank": query_bank, "target_bank": target_bank},
        matrices={
            "scores": scores,
            "query_bank_scores": query_bank_scores,
            "cross_bank_scores": cross_bank_scores,
            "target_bank_scores": target_bank_scores,
        },
        relevant=relevant,
        ids=(query_ids, target_ids),
        terms=Terms(allow_overlap, ignore_self, allow_empty, query_weight, target_prior),
    )
    explicit = [temperature_given(each, given) for each in wanted]
    back = run(side.trial(reverse=True), chosen, explicit, options, "reverse") if direction != "forward" else None
    if direction == "reverse" and back is not None:
        return back
    return replace(run(side.trial(reverse=False), chosen, explicit, options, "forward"), reverse=back)
