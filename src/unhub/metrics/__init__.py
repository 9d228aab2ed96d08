"""What a ranking is worth: relevance, ranks, retrieval and hubness metrics, distances, significance."""

from unhub.metrics.emd import (
    EMD,
    BankPrecondition,
    bank_precondition,
    bank_precondition_from_scores,
    emd,
    emd_from_scores,
)
from unhub.metrics.hubness import antihub_share, gini, k_occurrence, largest_count, robin_hood, skewness, sparsity
from unhub.metrics.ranker import Ranker, rank
from unhub.metrics.ranking import TIES, Ranking
from unhub.metrics.registry import (
    DEFAULT_METRICS,
    FAMILIES,
    HUBNESS_METRICS,
    METRICS,
    Measurement,
    Metric,
    depth_needed,
    measure,
    metric,
    metric_names,
    per_query,
    register_metric,
    summarise,
)  # fmt: skip
from unhub.metrics.relevance import Relevance
from unhub.metrics.retrieval import (
    average_precision,
    best_rank,
    geometric_mean,
    gmean,
    hit_rate,
    ndcg,
    recall,
    reciprocal_rank,
)  # fmt: skip
from unhub.metrics.significance import (
    LEVEL,
    Interval,
    McNemar,
    bootstrap_difference,
    bootstrap_mean,
    bootstrap_means,
    holm,
    mcnemar,
)  # fmt: skip

__all__ = [
    "DEFAULT_METRICS", "EMD", "FAMILIES", "HUBNESS_METRICS", "LEVEL", "METRICS", "TIES", "BankPrecondition", "Interval",
    "McNemar", "Measurement", "Metric", "Ranker", "Ranking", "Relevance", "antihub_share", "average_precision",
    "bank_precondition", "bank_precondition_from_scores", "best_rank", "bootstrap_difference", "bootstrap_mean",
    "bootstrap_means", "depth_needed", "emd", "emd_from_scores", "geometric_mean", "gini", "gmean", "hit_rate", "holm",
    "k_occurrence", "largest_count", "mcnemar", "measure", "metric", "metric_names", "ndcg", "per_query", "rank",
    "recall", "reciprocal_rank", "register_metric", "robin_hood", "skewness", "sparsity", "summarise",
]  # fmt: skip
