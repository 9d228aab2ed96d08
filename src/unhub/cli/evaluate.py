"""``unhub evaluate`` and ``unhub diagnose``: what methods gain, and how uneven retrieval is without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli import console, options, output
from unhub.cli.console import working
from unhub.cli.options import value
from unhub.foundation.errors import InputError

if TYPE_CHECKING:
    from unhub.api.diagnose import Diagnosis
    from unhub.api.evaluation import Evaluation

BASELINE, ON = "none", "R@1"
"""of the comparison"""
FORMATS = {".txt": "table", ".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json"}
"""ending of a file -> format"""
SOURCES = (
    "scores", "queries", "targets", "query_bank", "target_bank", "query_bank_scores", "cross_bank_scores",
    "target_bank_scores", "query_ids", "target_ids", "query_weight", "target_prior", "relevant", "correction",
    *options.EVIDENCE,
)  # fmt: skip
SETTINGS = (
    "direction", "ties", "group_targets", "ignore_self", "allow_overlap", "allow_empty", "metric", "normalize",
    "memory", "resamples", "seed", *options.OF_BANK,
)  # fmt: skip
DIAGNOSED = ("scores", "queries", "targets", "target_ids", "ignore_self", "metric", "normalize", "memory")


def command(
    context: typer.Context,
    relevant: options.Relevant = None,
    queries: options.Queries = None,
    targets: options.Targets = None,
    query_bank: options.QueryBank = None,
    target_bank: options.TargetBank = None,
    scores: options.Scores = None,
    query_bank_scores: options.QueryBankScores = None,
    cross_bank_scores: options.CrossBankScores = None,
    target_bank_scores: options.TargetBankScores = None,
    query_ids: options.QueryIds = None,
    target_ids: options.TargetIds = None,
    query_weight: options.QueryWeight = None,
    target_prior: options.TargetPrior = None,
    recent: options.Recent = None,
    judged: options.Judged = None,
    judged_queries: options.JudgedQueries = None,
    clicks: options.Clicks = None,
    own_log: options.OwnLog = False,
    popularity: options.Popularity = None,
    duplicates: options.Duplicates = "drop",
    methods: Annotated[
        str | None, value("NAMES", "Comma-separated, or 'all'; by default none,is,sn and, with a target bank, dbsn.")
    ] = None,
    metrics: Annotated[str | None, value("NAMES", "Comma-separated, such as R@1,MnR.")] = None,
    direction: Annotated[str, value("forward|reverse|both", "Queries retrieve targets, or the reverse.")] = "forward",
    ties: Annotated[str, value("NAME", "Rank of tied scores: average, optimistic, pessimistic or index.")] = "average",
    group_targets: Annotated[str | None, value("max", "Count the targets of one query as one.")] = None,
    ignore_self: options.IgnoreSelf = False,
    allow_overlap: options.AllowOverlap = False,
    allow_empty: options.AllowEmpty = False,
    correction: Annotated[
        str | None, value("FILE", "Judge this saved correction (.unhub) as it is, next to none.")
    ] = None,
    protocol: options.Protocol = None,
    tau: options.Tau = None,
    tau1: options.Tau1 = None,
    tau2: options.Tau2 = None,
    iterations: options.Iterations = None,
    tol: options.Tol = None,
    strength: options.Strength = None,
    k: options.K = None,
    alpha: options.Alpha = None,
    w: options.W = None,
    gamma: options.Gamma = None,
    reg: options.Reg = None,
    metric: options.Similarity = "cosine",
    normalize: options.Normalize = False,
    memory: options.Memory = None,
    resamples: Annotated[int, value("N", "Bootstrap resamples for the intervals.")] = 1000,
    seed: Annotated[int, value("N", "Seed for the bootstrap.")] = 0,
    compare: Annotated[
        bool | None,
        typer.Option("--compare/--no-compare", help="Compare R@1 with no correction; the default on a terminal."),
    ] = None,
    form: Annotated[str, value("NAME", "table, markdown, latex, csv or json.", "--format")] = "table",
    json: options.Json = False,
    out: Annotated[str | None, output.option("Also write the table to a file: .json, .csv, .md, .tex or .txt.")] = None,
) -> None:
    """Measure what each method gains on test queries with known relevant targets.

    Give a bank of other queries. Without one, methods learn from the test queries themselves and their rows say
    transductive. Each method is served as strongly as queries support that it was not fitted on: part of the bank, and
    --recent and --judged ones, which must not be test queries; --strength 1 serves the bias as it is. --protocol paper
    uses the constants of each method's paper, and --correction judges a saved correction as it is.

    \b
    Examples:
      unhub evaluate --scores scores.npy --relevant relevant.tsv --methods none,is,sn --tau auto
      unhub evaluate --queries queries.npy --targets targets.npy --relevant relevant.tsv --query-bank bank.npy --compare
      unhub evaluate --queries queries.npy --targets targets.npy --relevant diagonal --tau auto -o results.tex --json
    """
    import unhub

    sources = options.given(context, SOURCES)
    shape = "json" if json else form
    if shape not in FORMATS.values():
        raise InputError("form", f"is {form!r}", f"use one of {', '.join(FORMATS.values())}")
    replaced = output.check(out, tuple(FORMATS), sources.values())
    written = None if out is None else FORMATS[output.ending(out)]
    if compare and "csv" in (shape, written):
        raise InputError(
            "a CSV has no place for the comparison; write .json, .md, .tex or .txt, or leave out --compare."
        )
    situation = options.traffic(popularity, sources | options.given(context, options.OF_BANK))
    chosen = _methods(methods, correction, "target_bank" in sources or "cross_bank_scores" in sources, compare is True)
    hyper = options.given(context, options.HYPER_PARAMETERS)
    paper = options.paper_methods(chosen, protocol, hyper)
    more: dict[str, Any] = {} if metrics is None else {"metrics": options.names(metrics)}
    if compare and ON not in more.get("metrics", [ON]):
        raise InputError(f"--compare needs {ON}; add it to --metrics, or leave out --compare.")
    with working("evaluating") as progress:
        result = unhub.evaluate(
            methods=chosen if paper is None else paper,
            progress=progress,
            **{**sources, **options.given(context, SETTINGS), **situation},
            **more,
            **({} if paper is not None else hyper),
        )
    if out is not None and written is not None:
        output.write_text(out, _rendered(result, written, compare=compare is True))
    if shape == "table" and console.on_terminal():
        _show(result, compare=compare is not False)
    else:
        write = console.lines if shape == "table" else console.exactly
        write(_rendered(result, shape, compare=compare is True))
    if out is not None and shape == "table":
        output.tell(out, f"{len(result):,} methods", replaced=replaced)


def _methods(text: str | None, correction: str | None, target_bank: bool, baseline: bool) -> list[str]:
    import unhub

    if text == "all":
        return list(unhub.METHODS)
    if text is None:
        return [BASELINE] if correction is not None else [BASELINE, "is", "sn", *(["dbsn"] if target_bank else [])]
    chosen = options.names(text)
    return [BASELINE, *chosen] if baseline and BASELINE not in chosen else chosen


def _rendered(result: Evaluation, shape: str, *, compare: bool) -> str:
    """An evaluation in a format, with the comparison where the format has a place for it."""
    lines = list(_comparison(result)) if compare else []
    if shape == "json":
        return console.as_json(_to_dict(result, compare=compare))
    if shape == "csv":
        return result.to_csv().removesuffix("\n")
    if shape == "latex":
        return "\n".join([*(f"% {line.strip()}" if line else "" for line in lines), result.to_latex()])
    if shape == "markdown":
        return "\n".join([result.to_markdown(), *(f"- {line.strip()}" if line else "" for line in lines)])
    return "\n".join([result.table(), *lines])


def _show(result: Evaluation, *, compare: bool) -> None:
    """The table on a terminal, the best value of each column coloured."""
    from unhub.api.evaluation import evaluation_table

    for one in (result, result.reverse):
        if one is not None:
            console.show_table(evaluation_table(one))
    for line in _comparison(result) if compare else ():
        console.say(line)


def _comparable(result: Evaluation) -> bool:
    return BASELINE in result.rows and len(result) > 1 and ON in result.metrics


def _to_dict(result: Evaluation, *, compare: bool) -> dict[str, Any]:
    plain = result.to_dict()
    if compare and _comparable(result):
        plain["comparison"] = [
            {
                "method": each.method, "baseline": each.baseline, "metric": each.metric,
                "difference": each.interval.value, "low": each.interval.low, "high": each.interval.high,
                "p_value": each.p_value, "adjusted_p_value": each.adjusted,
            }
            for each in result.compare(BASELINE, on=ON)
        ]  # fmt: skip
    return plain if result.reverse is None else plain | {"reverse": _to_dict(result.reverse, compare=compare)}


def _comparison(result: Evaluation) -> Iterator[str]:
    """A line for each method: its difference to no correction, with interval and p-value."""
    for one in (result, result.reverse):
        if one is None or not _comparable(one):
            continue
        yield ""
        yield f"{ON} against {BASELINE}" + ("" if result.reverse is None else f", {one.settings['direction']}")
        for each in one.compare(BASELINE, on=ON):
            ends = f"{each.interval.level:.0%} interval {each.interval.low:+.1f} to {each.interval.high:+.1f}"
            chance = "" if each.adjusted is None else f", p = {each.adjusted:.2g} after Holm"
            yield f"  {each.method:16} {each.interval.value:+.1f}  ({ends}{chance})"


def diagnose_command(
    context: typer.Context,
    queries: options.Queries = None,
    targets: options.Targets = None,
    scores: options.Scores = None,
    target_ids: options.TargetIds = None,
    hubs: Annotated[int, value("N", "Number of hubs to list.")] = 10,
    ignore_self: options.IgnoreSelf = False,
    metric: options.Similarity = "cosine",
    normalize: options.Normalize = False,
    memory: options.Memory = None,
    json: options.Json = False,
    out: Annotated[str | None, output.option("Also write the numbers to a .json file.")] = None,
) -> None:
    """Show how uneven retrieval is without a correction: hubs, and targets that are never retrieved.

    \b
    Examples:
      unhub diagnose --queries queries.npy --targets targets.npy
      unhub diagnose --scores scores.npy --hubs 3 --json
    """
    import unhub
    from unhub.core.parameters import count

    hubs = count("hubs", hubs)
    replaced = output.check(out, (".json",), (queries, targets, scores, target_ids))
    with working("diagnosing") as progress:
        diagnosis = unhub.diagnose(**options.given(context, DIAGNOSED), progress=progress)
    listed = [{"row": hub.row, "id": hub.id, "count": hub.count} for hub in diagnosis.hubs(hubs)]
    plain = diagnosis.to_dict() | {"hubs": listed}
    if out is not None:
        output.write_text(out, console.as_json(plain))
    if json:
        console.data(plain)
        return
    _show_diagnosis(diagnosis, hubs)
    if out is not None:
        output.tell(out, "the diagnosis", replaced=replaced)


def _show_diagnosis(diagnosis: Diagnosis, most: int) -> None:
    console.say(diagnosis.sentence, style="bold")
    console.say()
    families = dict.fromkeys(name.partition("@")[0] for name in diagnosis.values)
    rows = [[name, *(f"{diagnosis[f'{name}@{k}']:.2f}" for k in (1, 5, 10))] for name in families]
    console.table(("hubness", "k = 1", "k = 5", "k = 10"), rows)
    console.say()
    console.say(f"Most often in the top 10 of {diagnosis.queries:,} queries:")
    hubs = [[hub.id, f"{hub.count:,}", f"{hub.count / diagnosis.queries:.1%}"] for hub in diagnosis.hubs(most)]
    console.table(("target", "times", "queries"), hubs)
    console.say()
    console.say(
        f"Scores run from {diagnosis.low:.3f} to {diagnosis.high:.3f} (standard deviation {diagnosis.spread:.4f}); "
        f"--tau auto is {diagnosis.tau:.3g} here."
    )
