"""``unhub search``: the best targets of each query, with the correction and, on request, without."""

from __future__ import annotations

import json as jsonlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli import console, options, output
from unhub.cli.console import Progress, working
from unhub.cli.options import flag, value
from unhub.foundation.errors import InputError
from unhub.foundation.wording import argument

if TYPE_CHECKING:
    from unhub.api.correction import Correction
    from unhub.api.hits import Hits
    from unhub.io import Rows

ENDINGS = (".jsonl", ".json", ".csv", ".tsv")
SHOWN_QUERIES = 5
"""queries shown on a terminal; a pipe or a file gets all of them"""

TITLES, RAW_TITLES = ("query", "rank", "id", "score"), ("raw_id", "raw_score")


def command(
    correction: options.CorrectionFile,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORDS]...", help="Queries as text; needs --encoder.")
    ] = None,
    queries: options.Queries = None,
    encoder: Annotated[
        str | None,
        value(
            "NAME",
            "Turns text into vectors: MODULE:FUNCTION or a sentence-transformers model; default: $UNHUB_ENCODER.",
        ),
    ] = None,
    targets: options.Targets = None,
    store: Annotated[
        str | None, value("ADDRESS", "Search in this vector store, such as qdrant://localhost/photos.")
    ] = None,
    filter: Annotated[
        str | None, value("TEXT", "Filter in the store's own syntax; JSON where it is more than text.")
    ] = None,
    exact: Annotated[bool, flag("--exact", "Compare with every vector, also if they are in a store.")] = False,
    query_ids: options.QueryIds = None,
    k: Annotated[int, value("N", "Targets per query.", "--k")] = 10,
    raw: Annotated[bool, flag("--raw", "Also show the ranking without correction.")] = False,
    force: options.Force = False,
    certify: Annotated[
        str | None,
        value(
            "ERROR",
            "Say which results cannot change if scores are off by this number, or if an index keeps the vectors in "
            "float32, float16 or int8.",
        ),
    ] = None,
    memory: options.Memory = None,
    json: options.Json = False,
    out: Annotated[str | None, output.option("Write all hits to a file: .jsonl, .json, .csv or .tsv.")] = None,
) -> None:
    """Find the k best targets of each query by score + strength * bias.

    A gallery in a file is read from where it was at the fit and searched exactly; pass --targets if it has moved. A
    store must be named with --store, since a correction file alone must not make unhub connect anywhere. The store
    searches what was exported to it; without an export, unhub fetches more than k hits and reranks them with the bias.

    The correction counts as much as its verdict says. One that was refused leaves the scores as they are, and no store
    is searched with it; --force serves it at full strength all the same.

    --certify also compares the hits of a store with exact search, for which it reads all vectors.

    \b
    Examples:
      unhub search gallery.unhub --queries queries.npy --k 5
      unhub search gallery.unhub --queries queries.npy --targets targets.npy --raw -o hits.csv
      unhub search gallery.unhub --queries queries.npy --certify float16
      unhub search photos.unhub --queries queries.npy --store faiss://photos.faiss
    """
    import unhub
    from unhub.api.guard import require_served

    replaced = output.check(out, ENDINGS, (correction, queries, targets, query_ids))
    options.check_url("targets", targets)
    options.check_url("store", store)
    with working("searching") as progress:
        loaded = unhub.load(correction, targets=targets or (store if exact else None), memory=memory)
        if targets is None and store is None:
            _refuse_unnamed(loaded, correction)
        vectors = _query_rows(queries, query_ids, words or [], encoder)
        loaded = require_served(loaded, force=force) if force or store is not None else loaded
        address = None if targets is not None or exact else store
        checks = {} if certify is None else _certify(loaded, vectors, k, certify, address, filter, progress)
        if address is not None:
            corrected, uncorrected = _through_store(loaded, address, vectors, k, filter, raw)
        elif filter is not None:
            raise InputError("--filter works in a vector store only; add --store, or leave it out.")
        else:
            corrected = loaded.search(vectors, k, progress=progress)
            uncorrected = loaded.search(vectors, k, corrected=False, progress=progress) if raw else None
    if not loaded.verdict.served:
        console.complain(f"note: the scores are as they are, without the correction. {loaded.verdict.sentence}")
    if checks and address is not None:
        checks["comparison"] = checks["certificate"].compare(corrected)
    titles, rows = _rows(vectors.ids, corrected, uncorrected)
    plain = _plain(titles, rows, loaded, correction) | {name: each.to_dict() for name, each in checks.items()}
    if out is not None:
        _write(out, titles, rows, plain)
    if json:
        console.data(plain)
        return
    _show(titles, rows, len(corrected), whole=out is None)
    if out is not None:
        output.tell(out, f"{len(rows):,} hits of {len(corrected):,} queries", replaced=replaced)
    for each in checks.values():
        (console.say if console.on_terminal() or out is not None else console.complain)(each.sentence)


def _query_rows(queries: str | None, query_ids: str | None, words: list[str], encoder: str | None) -> Rows:
    """The query vectors: from a file, or encoded from text, which then serves as ids."""
    from unhub.dataset.reader import named
    from unhub.encoders.loading import encode_queries
    from unhub.io import Rows, open_rows

    if (queries is None) == (not words):
        raise InputError("search needs queries: either vectors (--queries) or text.")
    if queries is not None:
        return named(open_rows(queries, name="queries"), query_ids)
    vectors = encode_queries(words, encoder, instead=f"pass vectors: {argument('queries')}")
    return Rows(vectors, ids=tuple(words), name="queries")


SUSPICIOUS = 10
"""hits of which none is known, from which on the collection is taken for another one"""


def _refuse_unnamed(loaded: Correction, file: str) -> None:
    """Refuse a gallery in a store that only the file names; note if it was merely exported to one."""
    from unhub.api.fitted_vectors import noted_store
    from unhub.dataset.galleries import unnamed_store
    from unhub.stores.address import is_address, without_secrets

    noted = noted_store(loaded)
    if noted is not None and is_address(loaded.source or noted):
        raise unnamed_store(noted, "add --store {}", file=file)
    if noted is not None:
        console.complain(
            f"note: searching {loaded.source}; to search the export in {without_secrets(noted)}, name it with --store."
        )


def _through_store(
    loaded: Correction, address: str, vectors: Rows, k: int, filter: str | None, raw: bool
) -> tuple[Hits, Hits | None]:
    from unhub.deploy.retriever import connect

    condition = _filter(filter)
    with connect(address, loaded) as retriever:
        rows = vectors[0 : len(vectors)]
        corrected = retriever.search(rows, k, filter=condition)
        uncorrected = retriever.search(rows, k, filter=condition, corrected=False) if raw else None
        reranked = retriever.strategy == "rerank"
    if (
        filter is None
        and corrected.missing >= SUSPICIOUS
        and corrected.missing == sum(each is not None for each in corrected.ids.flat)
    ):
        raise InputError(
            f"none of the {corrected.missing:,} hits is in the correction, so it was probably fitted on another "
            f"collection; name that one with --store."
        )
    if reranked:
        console.complain(
            "no export of this correction there, so only the best hits by score are reranked with the bias; unhub "
            "export makes the store rank every item."
        )
    if corrected.missing:
        console.complain(f"{corrected.missing:,} hits are not in the correction; their bias counts as 0.")
    return corrected, uncorrected


def _certify(
    loaded: Correction,
    vectors: Rows,
    k: int,
    error: str,
    address: str | None,
    filter: str | None,
    progress: Progress | None,
) -> dict[str, Any]:
    """The certificate of a search, by its name in JSON; made before the search, so that a wrong value ends it early."""
    from unhub.stores.address import is_address

    if filter is not None:
        raise InputError("--certify looks at the whole gallery; leave out --filter.")
    targets = address if is_address(loaded.source) else None
    return {"certificate": loaded.certify(vectors, k, error=options.number(error), targets=targets, progress=progress)}


def _filter(text: str | None) -> Any:
    """Parsed JSON, or any other text as it is."""
    if text is None or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        parsed = jsonlib.loads(text)
        pair = isinstance(parsed, list) and len(parsed) == 2 and isinstance(parsed[0], str)
        return tuple(parsed) if pair else parsed  # a condition and its values
    except ValueError as error:
        raise InputError(f"filter is not valid JSON: {error}.") from None


def _rows(
    names: tuple[str, ...] | None, corrected: Hits, uncorrected: Hits | None
) -> tuple[tuple[str, ...], list[list[Any]]]:
    """One row per hit; queries without ids go by their row."""
    titles = TITLES if uncorrected is None else TITLES + RAW_TITLES
    rows: list[list[Any]] = []
    for query in range(len(corrected)):
        name = str(query) if names is None else names[query]
        for place in range(corrected.scores.shape[1]):
            if corrected.ids[query, place] is None and (uncorrected is None or uncorrected.ids[query, place] is None):
                break  # a filter left fewer than k
            row = [name, place + 1, *_hit(corrected, query, place)]
            rows.append(row if uncorrected is None else row + _hit(uncorrected, query, place))
    return titles, rows


def _hit(hits: Hits, query: int, place: int) -> list[Any]:
    found = hits.ids[query, place]
    return ["", ""] if found is None else [str(found), round(float(hits.scores[query, place]), 6)]


def _plain(titles: tuple[str, ...], rows: list[list[Any]], loaded: Correction, file: str) -> dict[str, Any]:
    """The hits by query and how strongly they are corrected, as plain data."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(dict(zip(titles[1:], row[1:], strict=True)))
    queries = [{"query": query, "hits": hits} for query, hits in found.items()]
    its = {"correction": file, "decision": loaded.verdict.decision, "strength": loaded.strength}
    return {"schema_version": console.SCHEMA_VERSION, **its, "queries": queries}


def _write(out: str, titles: tuple[str, ...], rows: list[list[Any]], plain: dict[str, Any]) -> None:
    kind = output.ending(out)
    text = console.as_json(plain) if kind == ".json" else output.table_text(kind, titles, rows)
    output.write_text(out, text)


def _show(titles: tuple[str, ...], rows: list[list[Any]], queries: int, *, whole: bool) -> None:
    """Every hit as tab-separated text in a pipe; the first queries as a table on a terminal."""
    if not console.on_terminal():
        if whole:
            console.exactly(output.table_text(".tsv", titles, rows).removesuffix("\n"))
        return
    shown = rows[: SHOWN_QUERIES * (len(rows) // max(1, queries))]
    texts = [[f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row] for row in shown]
    left = [at for at, title in enumerate(titles) if title in ("query", "id", "raw_id")]
    console.table(titles, texts, left=left)
    if queries > SHOWN_QUERIES and whole:
        console.say(f"and {queries - SHOWN_QUERIES:,} more queries; -o hits.jsonl writes all of them")
