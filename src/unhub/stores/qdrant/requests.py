"""What the client is asked, built from plain values: filters, queries, aliases, and a collection like another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.stores.qdrant.engine import Ask, Having
from unhub.stores.qdrant.shape import MADE, MARK


def models() -> Any:
    """The client's models."""
    return require("qdrant_client.models", extra="qdrant")


def having(what: Having) -> Any:
    """The filter for points that have something; None if anything will do."""
    if what.vector is not None:
        return models().Filter(must=[models().HasVectorCondition(has_vector=what.vector)])
    if what.field is not None:
        empty = models().IsEmptyCondition(is_empty=models().PayloadField(key=what.field))
        return models().Filter(must_not=[empty])
    return None


def these(ids: Sequence[int | str]) -> Any:
    """The filter for these points. By filter, because a list of ids is refused if one of them is not there."""
    return models().Filter(must=[models().HasIdCondition(has_id=list(ids))])


def queries(vectors: list[list[float]], ask: Ask, *, parameters: bool) -> list[Any]:
    """One request for each vector."""
    make = models()
    given = make.Filter(**ask.filter) if isinstance(ask.filter, dict) else ask.filter
    common: dict[str, Any] = {"using": ask.vector or None, "filter": given}
    if parameters:
        times = ask.oversampling
        again = None if times is None else make.QuantizationSearchParams(rescore=True, oversampling=times)
        common["params"] = make.SearchParams(exact=ask.exact, hnsw_ef=ask.effort, quantization=again)
    if ask.field is None:
        return [make.QueryRequest(query=each, limit=ask.k, **common) for each in vectors]
    score = make.MultExpression(mult=[-0.5, "$score", "$score"]) if ask.squared else "$score"
    total = make.FormulaQuery(formula=make.SumExpression(sum=[score, ask.field]), defaults={ask.field: 0.0})
    return [
        make.QueryRequest(prefetch=make.Prefetch(query=each, limit=ask.fetch, **common), query=total, limit=ask.k)
        for each in vectors
    ]


def pointing(alias: str, *, there: bool, collection: str | None) -> list[Any]:
    """The changes that point an alias at a collection, for one request."""
    make = models()
    changes = []
    if there:
        changes.append(make.DeleteAliasOperation(delete_alias=make.DeleteAlias(alias_name=alias)))
    if collection is not None:
        given = make.CreateAlias(collection_name=collection, alias_name=alias)
        changes.append(make.CreateAliasOperation(create_alias=given))
    return changes


def settings_like(config: Any, vector: str, dim: int, distance: str) -> dict[str, Any]:
    """What ``create_collection`` takes to make a collection like one of this configuration."""
    make = models()
    params = config.params
    if str(getattr(params.sharding_method, "value", params.sharding_method)) == "custom":
        raise InputError(
            "this collection has shard keys, which a new one cannot take over; choose the strategy payload."
        )
    named = params.vectors if isinstance(params.vectors, dict) else {"": params.vectors}
    vectors = {name: each for name, each in named.items() if MARK not in name}
    # Whole numbers from 0 to 255 cannot hold a bias.
    bytes_only = str(getattr(vectors[vector].datatype, "value", "")) == "uint8"
    change = {"size": dim, "distance": make.Distance(distance), **({"datatype": None} if bytes_only else {})}
    vectors[vector] = vectors[vector].model_copy(update=change)
    return {
        "vectors_config": vectors[""] if set(vectors) == {""} else vectors,
        "sparse_vectors_config": params.sparse_vectors,
        "shard_number": params.shard_number,
        "replication_factor": params.replication_factor,
        "write_consistency_factor": params.write_consistency_factor,
        "on_disk_payload": params.on_disk_payload,
        "hnsw_config": _as(make.HnswConfigDiff, config.hnsw_config),
        "optimizers_config": _as(make.OptimizersConfigDiff, config.optimizer_config),
        "wal_config": _as(make.WalConfigDiff, config.wal_config),
        "quantization_config": config.quantization_config,
        "strict_mode_config": _as(make.StrictModeConfig, config.strict_mode_config),
        "metadata": {name: each for name, each in (config.metadata or {}).items() if not name.startswith(MADE)},
        "payload": params.payload,
        "id_tracker": params.id_tracker,
    }


def _as(kind: Any, settings: Any) -> Any:
    """The same settings as another class of the client."""
    return None if settings is None else kind(**settings.model_dump(exclude_none=True))
