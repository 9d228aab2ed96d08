"""``evaluate``: methods x metrics on one dataset; the scores of a bank are computed once, however many methods."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

from unhub.api.artefact import loaded
from unhub.api.correction import Correction
from unhub.api.evaluation import Evaluation
from unhub.api.facade import dataset_of, facade, warn, with_settings
from unhub.api.fitted_vectors import saved_bias
from unhub.api.running import Options, run
from unhub.core.execution import Execution, Executor
from unhub.core.parameters import count, seed_number
from unhub.dataset import Dataset
from unhub.foundation.errors import InputError
from unhub.foundation.types import Progress, Similarity
from unhub.methods import METHODS, HyperParameters, Method
from unhub.methods import methods as methods_by_name
from unhub.methods.sn_dbsn import for_own_log
from unhub.metrics import DEFAULT_METRICS
from unhub.metrics import metric as metric_by_name

DEFAULT_METHODS: tuple[str, ...] = ("none", "is", "sn")  # and dbsn with a target bank
TEST_PARTS = ("queries", "targets", "scores", "relevant", "query_ids", "ignore_self", "group_targets")
OF_FIT = (
    "query_bank", "query_bank_scores", "cross_bank_scores", "target_bank_scores", "query_weight", "target_prior",
    "target_ids", "metric", "normalize", "recent", "judged", "judged_queries", "clicks", "own_log", "duplicates",
)  # fmt: skip
"""arguments that a saved correction has of its own"""
UNSEEN = "The bank of this correction is not in its file, so test queries may have been in it."


@facade
def evaluate(
    data: Dataset | None = None,
    *,
    bank: str | None = None,
    relevant: Any = None,
    scores: Any = None,
    queries: Any = None,
    targets: Any = None,
    query_bank: Any = None,
    target_bank: Any = None,
    query_bank_scores: Any = None,
    cross_bank_scores: Any = None,
    target_bank_scores: Any = None,
    correction: Correction | str | os.PathLike[str] | None = None,
    methods: str | Iterable[str | Method] = DEFAULT_METHODS,
    metrics: str | Sequence[str] = DEFAULT_METRICS,
    direction: str = "forward",
    ties: str | None = None,
    group_targets: Literal["max"] | None = None,
    ignore_self: bool = False,
    allow_overlap: bool = False,
    allow_empty: bool = False,
    query_ids: Any = None,
    target_ids: Any = None,
    query_weight: Any = None,
    target_prior: Any = None,
    recent: Any = None,
    judged: Any = None,
    judged_queries: Any = None,
    clicks: Any = None,
    own_log: bool = False,
    duplicates: Literal["drop", "weigh"] = "drop",
    metric: Similarity = "cosine",
    normalize: bool = False,
    memory: str | int | None = None,
    executor: Execution | Executor | None = None,
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    **hyper_parameters: Unpack[HyperParameters],
) -> Evaluation:
    """Every method on every metric, for test queries against a gallery.

    Every array argument takes an array, a memory map, a torch tensor or a path. Without a query bank the test queries
    are the bank, and the rows carry the word transductive.

    data: a Dataset in place of the arrays below.
    bank: which bank of the dataset; may be left out where it has only one. "test queries" takes none of them.
    relevant: which targets are right: an int array (query -> target), a list of sets, pairs of ids, or a path.
    scores: (query, gallery) a matrix instead of embeddings.
    queries: (query, dim) embeddings of the test queries.
    targets: (gallery, dim) embeddings of the gallery.
    query_bank: (bank, dim) past queries, for results that a deployed system could have.
    target_bank: (target bank, dim) other targets, for dbsn and dualis.
    query_bank_scores: (bank, gallery), beside scores.
    cross_bank_scores: (bank, target bank), beside scores.
    target_bank_scores: (target bank, gallery), beside scores.
    correction: a Correction, or its file, to be judged as it is beside no correction; with queries, or scores.
    methods: names or objects; none, is and sn by default, and dbsn with a target bank. ``unhub.METHODS`` runs all that
        can run and lists the others in ``skipped``.
    metrics: names, such as "R@1", "MRR", "skew@10".
    direction: "forward", "reverse" (targets ask), "both", or the name that a dataset gives a direction.
    ties: how equal scores rank: "average" (the default), "optimistic", "pessimistic" or "index".
    group_targets: "max" counts the targets of one query as one.
    ignore_self: query i is target i, and is left out of its own results.
    allow_overlap: test queries may be in the bank, which makes the rows transductive.
    allow_empty: queries without a relevant target are left out.
    query_ids: ids of the test queries, if they come without.
    target_ids: ids of the gallery, if it comes without.
    query_weight: (bank,) how much each bank query counts.
    target_prior: (gallery,) how often each target is expected, or "clicks".
    recent: (recent, dim) queries that are asked now, to choose the strength by; no test queries may be among them.
    judged: which targets are right for which recent query, as in ``fit``; no test queries may be among them.
    judged_queries: (judged, dim) the queries of ``judged``, where they are not the recent ones.
    clicks: which targets were clicked for which bank query, for target_prior="clicks".
    own_log: the bank is a log of this gallery's own traffic; capped_sn runs in place of sn.
    duplicates: how often a bank query counts that comes more than once: "drop" or "weigh", as in ``fit``.
    metric: "cosine" or "ip" (inner product).
    normalize: scale vectors to unit length.
    memory: such as "2GB": bounds the scores that are held at once.
    executor: how to compute, as in ``fit``.
    resamples: draws of the bootstrap intervals.
    seed: of these draws.
    progress: called with the name of the work, how much is done, and how much there is.
    hyper_parameters: by name; each reaches every method that has it.

    Returns an Evaluation: ``result["sn"]["R@1"]``, ``result.table()``.

    >>> S = [[0.9, 0.8, 0.1], [0.7, 0.6, 0.2], [0.8, 0.3, 0.5]]
    >>> result = evaluate(scores=S, relevant=[0, 1, 2], methods=["none", "sn"], tau=0.1)
    >>> result["none"]["R@1"] < result["sn"]["R@1"]
    True
    """
    arguments = locals()
    resamples, seed = count("resamples", resamples), seed_number("seed", seed)
    wanted = [methods] if isinstance(methods, str) else list(methods)
    judged = None if correction is None else loaded(correction)
    if judged is not None:
        own = {"none", judged.method.name}
        others = (
            [] if methods is DEFAULT_METHODS else [each for each in wanted if getattr(each, "name", each) not in own]
        )
        wanted = ["none", judged.method, *others]
    if judged is not None:
        if bank is not None or (hyper_parameters and not others):
            name = "bank" if bank is not None else next(iter(hyper_parameters))
            raise InputError(name, "belongs to a fit; a correction has its own", "leave it out")
        if direction != "forward":
            raise InputError("direction", f"is {direction!r}", "a correction was fitted for the forward direction")
        whole, bank = _dataset_of_correction(judged, arguments)
        none, *rest = methods_by_name(["none", *others], hyper_parameters if others else None)
        chosen = (none, judged.method, *rest)
    else:
        whole = dataset_of(evaluate, arguments)
        bank = whole.bank_name(bank)
        if methods is DEFAULT_METHODS and bank is not None and whole.banks[bank].has_targets:
            wanted.append("dbsn")
        named_methods = zip(wanted, methods_by_name(wanted, hyper_parameters), strict=True)
        chosen = tuple(with_settings(name, each, whole, hyper_parameters) for name, each in named_methods)
        if whole.own_log:  # as fit does; capped_sn may have been named too
            chosen = tuple(dict.fromkeys(map(for_own_log, chosen)))
    if direction not in ("forward", "reverse", "both", *whole.directions):
        raise InputError("direction", f"is {direction!r}", "use 'forward', 'reverse' or 'both'")
    direction = direction if direction == "both" else whole.way(direction)
    metrics = whole.metrics or metrics if metrics is DEFAULT_METRICS else metrics
    named = [metrics] if isinstance(metrics, str) else metrics
    options = Options(
        metrics=tuple(dict.fromkeys(metric_by_name(name).name for name in named)),
        ties=ties or whole.settings.get("ties", "average"),
        group_targets=whole.group_targets,
        ignore_self=whole.ignore_self,
        resamples=resamples,
        seed=seed,
        lenient=tuple(wanted) == METHODS,
        progress=progress,
    )
    known = None if judged is None else {judged.method.name: saved_bias(judged)}

    def one(way: str) -> Evaluation:
        with whole.words(bank, way):
            task = whole.task(way, bank, executor=executor, progress=progress)
            if task.relevance is None:
                raise InputError("relevant", "is missing", "say which targets are right for each query")
            return run(task, chosen, options, known)

    back = one("reverse") if direction != "forward" else None
    result = one("forward") if direction != "reverse" or back is None else back
    if judged is not None and bank is None:  # not the test queries but a bank that is not here
        row = replace(result[judged.method.name], transductive=False, notes=(UNSEEN,))
        result = replace(result, rows={**result.rows, judged.method.name: row})
    result = replace(result, reverse=back) if direction == "both" else result
    warn(result.notes)
    return result


def _dataset_of_correction(correction: Correction, arguments: Mapping[str, Any]) -> tuple[Dataset, str | None]:
    """The test set of a saved correction, with the bank that it was fitted on if the file holds it."""
    data: Dataset | None = arguments["data"]
    known = Dataset(**{name: arguments[name] for name in TEST_PARTS}) if data is None else data
    for name in OF_FIT:
        value = arguments[name]
        if value is not None and not (isinstance(value, str | bool) and value in (False, "cosine", "drop")):
            raise InputError(name, "belongs to a fit; a correction has its own", "leave it out")
    if known.source("queries") is None and known.source("scores") is None:
        raise InputError("queries", "is missing", "give test queries to judge the correction by, and relevant")
    parts = {name: known.source(name) for name in ("queries", "targets", "scores", "relevant", "query_ids")}
    whole = Dataset.of(correction, **parts, target_bank=arguments["target_bank"])
    whole.ignore_self, whole.group_targets = known.ignore_self, known.group_targets
    return whole, whole.bank_name()
