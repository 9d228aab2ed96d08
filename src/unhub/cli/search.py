"""``unhub search``: the best targets of each query, corrected, and beside them what it was before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli import console, options, output
from unhub.cli.progress import working

if TYPE_CHECKING:
    from unhub.api.hits import Hits

SCHEMA_VERSION = 1
ENDINGS = (".jsonl", ".json", ".csv", ".tsv")
SHOWN_QUERIES = 5
"""queries whose hits a terminal shows; a pipe or a file gets all of them"""

TITLES, RAW_TITLES = ("query", "rank", "id", "score"), ("raw_id", "raw_score")


def command(
    correction: Annotated[str, typer.Argument(metavar="CORRECTION", help="A file that unhub fit wrote.")],
    queries: Annotated[str, typer.Option(metavar="FILE", help="Embeddings of the queries.")],
    targets: options.Targets = None,
    query_ids: options.QueryIds = None,
    k: Annotated[int, typer.Option("--k", metavar="N", help="How many targets for each query.")] = 10,
    raw: Annotated[bool, typer.Option("--raw", help="Show the uncorrected ranking beside the corrected one.")] = False,
    memory: options.Memory = None,
    json: options.Json = False,
    out: Annotated[str | None, output.option("Write all hits: .jsonl, .json, .csv or .tsv.")] = None,
) -> None:
    """Find the k best targets of each query by score + bias, exactly.

    The gallery is found again where it was when the correction was fitted; pass --targets if it has moved.

    \b
    Examples:
      unhub search gallery.unhub --queries queries.npy --k 5
      unhub search gallery.unhub --queries queries.npy --targets targets.npy --raw -o hits.csv
    """
    import unhub
    from unhub.api.sources import named
    from unhub.io import open_rows

    replaced = output.check(out, ENDINGS, (correction, queries, targets, query_ids))
    with working("searching") as progress:
        loaded = unhub.load(correction, targets=targets, memory=memory)
        asked = named(open_rows(queries, name="queries"), query_ids)
        fixed = loaded.search(asked, k, progress=progress)
        before = loaded.search(asked, k, corrected=False, progress=progress) if raw else None
    titles, rows = _rows(asked.ids, fixed, before)
    if out is not None:
        _write(out, titles, rows, correction)
    if json:
        console.data(_plain(titles, rows, correction))
        return
    _show(titles, rows, len(fixed), whole=out is None)
    if out is not None:
        output.tell(out, f"{len(rows):,} hits of {len(fixed):,} queries", replaced=replaced)


def _rows(names: tuple[str, ...] | None, fixed: Hits, before: Hits | None) -> tuple[tuple[str, ...], list[list[Any]]]:
    """One row for each hit; without ids of their own, queries go by their row."""
    titles = TITLES if before is None else TITLES + RAW_TITLES
    rows: list[list[Any]] = []
    for query in range(len(fixed)):
        name = str(query) if names is None else names[query]
        for place in range(fixed.rows.shape[1]):
            row = [name, place + 1, *_hit(fixed, query, place)]
            rows.append(row if before is None else row + _hit(before, query, place))
    return titles, rows


def _hit(hits: Hits, query: int, place: int) -> list[Any]:
    return [str(hits.ids[query, place]), round(float(hits.scores[query, place]), 6)]


def _plain(titles: tuple[str, ...], rows: list[list[Any]], correction: str) -> dict[str, Any]:
    """The hits by query, as plain data."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(dict(zip(titles[1:], row[1:], strict=True)))
    queries = [{"query": query, "hits": hits} for query, hits in found.items()]
    return {"schema_version": SCHEMA_VERSION, "correction": correction, "queries": queries}


def _write(out: str, titles: tuple[str, ...], rows: list[list[Any]], correction: str) -> None:
    kind = output.ending(out)
    whole = kind == ".json"
    text = console.as_json(_plain(titles, rows, correction)) if whole else output.table_text(kind, titles, rows)
    output.write_text(out, text)


def _show(titles: tuple[str, ...], rows: list[list[Any]], queries: int, *, whole: bool) -> None:
    """Every hit as tab-separated text in a pipe; the first queries as a table on a terminal."""
    if not console.on_terminal():
        if whole:
            console.say(output.table_text(".tsv", titles, rows).removesuffix("\n"))
        return
    shown = rows[: SHOWN_QUERIES * (len(rows) // max(1, queries))]
    texts = [[f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row] for row in shown]
    left = [at for at, title in enumerate(titles) if title in ("query", "id", "raw_id")]
    console.table(titles, texts, left=left)
    if queries > SHOWN_QUERIES and whole:
        console.say(f"and {queries - SHOWN_QUERIES:,} more queries; write all with -o hits.jsonl")
