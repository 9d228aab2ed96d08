"""What a Qdrant Edge shard is asked, built from plain values: queries, and filters in the words of REST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.stores.qdrant.engine import Ask, Having

_MATCHES = {
    "value": "MatchValue",
    "any": "MatchAny",
    "except": "MatchExcept",
    "text": "MatchText",
    "text_any": "MatchTextAny",
    "phrase": "MatchPhrase",
}
_CLAUSES = ("must", "should", "must_not")


def edge() -> Any:
    """The package."""
    return require("qdrant_edge", extra="qdrant")


def having(what: Having) -> Any:
    """The filter for points that have something; None if anything will do."""
    if what.vector is not None:
        return edge().Filter(must=[edge().HasVectorCondition(what.vector)])
    return None if what.field is None else edge().Filter(must_not=[edge().IsEmptyCondition(what.field)])


def these(ids: Sequence[int | str]) -> Any:
    """The filter for these points. By filter, because a list of ids is refused if one of them is not there."""
    return edge().Filter(must=[edge().HasIdCondition(set(ids))])


def queries(vectors: list[list[float]], ask: Ask) -> Any:
    """One request for all vectors."""
    make = edge()
    times = ask.oversampling
    again = None if times is None else make.QuantizationSearchParams(rescore=True, oversampling=times)
    params = make.SearchParams(exact=ask.exact, hnsw_ef=ask.effort, quantization=again)
    common = {"filter": narrowed(ask.filter) if isinstance(ask.filter, dict) else ask.filter, "params": params}
    nearest = [make.Query.Nearest(each, using=ask.vector or None) for each in vectors]
    if ask.field is None:
        return make.QueryBatchRequest([make.QueryRequest(limit=ask.k, query=each, **common) for each in nearest])
    score = make.Expression.Variable("$score")
    if ask.squared:
        score = make.Expression.Mult([make.Expression.Constant(-0.5), score, score])
    total = make.Formula(make.Expression.Sum([score, make.Expression.Variable(ask.field)]), {ask.field: 0.0})
    fetched = [make.Prefetch(limit=ask.fetch, query=each, **common) for each in nearest]
    return make.QueryBatchRequest([make.QueryRequest(limit=ask.k, query=total, prefetches=[each]) for each in fetched])


def narrowed(words: dict[str, Any]) -> Any:
    """The filter that {"must": [{"key": "group", "match": {"value": 2}}]} says."""
    unknown = [name for name in words if name not in _CLAUSES]
    if unknown:
        raise InputError(
            f"a filter has no {unknown[0]!r} here; use must, should and must_not, or a qdrant_edge.Filter."
        )
    lists = {name: each if isinstance(each, list) else [each] for name, each in words.items()}
    return edge().Filter(**{name: [_condition(each) for each in some] for name, some in lists.items()})


def _condition(words: dict[str, Any]) -> Any:
    make = edge()
    if set(words) == {"key", "match"} and len(words["match"]) == 1:
        ((kind, value),) = words["match"].items()
        if kind in _MATCHES:
            return make.FieldCondition(words["key"], match=getattr(make, _MATCHES[kind])(value))
    if set(words) == {"key", "range"}:
        dates = any(isinstance(each, str) for each in words["range"].values())
        return make.FieldCondition(
            words["key"], range=(make.RangeDateTime if dates else make.RangeFloat)(**words["range"])
        )
    if set(words) == {"has_id"}:
        return make.HasIdCondition(set(words["has_id"]))
    if set(words) == {"is_empty"}:
        return make.IsEmptyCondition(words["is_empty"]["key"])
    if set(words) == {"is_null"}:
        return make.IsNullCondition(words["is_null"]["key"])
    if words and set(words) <= set(_CLAUSES):
        return narrowed(words)
    raise InputError(f"the condition {words} cannot be understood here; build it with qdrant_edge.Filter.")
