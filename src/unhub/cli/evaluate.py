"""``unhub evaluate`` and ``unhub diagnose``: what methods gain, and how uneven retrieval is without one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from unhub.cli import console, options, output, results
from unhub.cli.console import working
from unhub.cli.inputs import relevance, sizes
from unhub.foundation.errors import InputError

SOURCES = (
    "scores", "queries", "targets", "query_bank", "target_bank", "query_bank_scores", "cross_bank_scores",
    "target_bank_scores", "query_ids", "target_ids", "query_weight", "target_prior",
)  # fmt: skip
SETTINGS = (
    "direction", "ties", "group_targets", "ignore_self", "allow_overlap", "allow_empty", "metric", "normalize",
    "memory", "resamples", "seed",
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
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Comma-separated, or 'all'; by default none,is,sn and, with a target bank, dbsn.",
            show_default=False,
        ),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Comma-separated, such as R@1,MnR.", show_default=False)
    ] = None,
    direction: Annotated[
        str, typer.Option(metavar="forward|reverse|both", help="Queries retrieve targets, or the reverse.")
    ] = "forward",
    ties: Annotated[
        str, typer.Option(metavar="NAME", help="Rank of tied scores: average, optimistic, pessimistic or index.")
    ] = "average",
    group_targets: Annotated[
        str | None, typer.Option(metavar="max", help="Count the targets of one query as one.", show_default=False)
    ] = None,
    ignore_self: options.IgnoreSelf = False,
    allow_overlap: options.AllowOverlap = False,
    allow_empty: options.AllowEmpty = False,
    correction: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Judge this saved correction (.unhub) as it is, next to none.", show_default=False
        ),
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
    resamples: Annotated[int, typer.Option(metavar="N", help="Bootstrap resamples for the intervals.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed for the bootstrap.")] = 0,
    compare: Annotated[
        bool | None,
        typer.Option("--compare/--no-compare", help="Compare R@1 with no correction; the default on a terminal."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="NAME", help="table, markdown, latex, csv or json.")
    ] = "table",
    json: options.Json = False,
    out: Annotated[str | None, output.option("Also write the table to a file: .json, .csv, .md, .tex or .txt.")] = None,
) -> None:
    """Measure what each method gains on test queries with known relevant targets.

    Give a bank of other queries. Without one, methods learn from the test queries themselves and their rows say
    transductive. --protocol paper uses the constants of each method's paper, and --correction judges a saved
    correction as it is.

    \b
    Examples:
      unhub evaluate --scores scores.npy --relevant relevant.tsv --methods none,is,sn --tau auto
      unhub evaluate --queries queries.npy --targets targets.npy --relevant relevant.tsv --query-bank bank.npy --compare
      unhub evaluate --queries queries.npy --targets targets.npy --relevant diagonal --tau auto -o results.tex --json
    """
    import unhub

    sources = options.given(context, SOURCES)
    shape = "json" if json else form
    if shape not in results.FORMATS:
        raise InputError("form", f"is {form!r}", f"use one of {', '.join(results.FORMATS)}")
    if compare and "csv" in (shape, results.ENDINGS.get(output.ending(out)) if out is not None else None):
        raise InputError(
            "a CSV has no place for the comparison; write .json, .md, .tex or .txt, or leave out --compare."
        )
    replaced = output.check(out, tuple(results.ENDINGS), (relevant, *sources.values()))
    if relevant is None:
        raise InputError("relevant", "is missing", "name a file of relevant targets, or pass diagonal")
    chosen = _methods(
        methods or (None if correction is None else "none"),
        target_bank is not None or cross_bank_scores is not None,
        baseline=compare is True,
    )
    hyper = options.given(context, options.HYPER_PARAMETERS)
    paper = options.paper_methods(chosen, protocol, hyper)
    more: dict[str, Any] = {} if metrics is None else {"metrics": options.names(metrics)}
    if correction is not None:
        more["correction"] = correction
    if compare and results.ON not in more.get("metrics", [results.ON]):
        raise InputError(f"--compare needs {results.ON}; add it to --metrics, or leave out --compare.")
    with working("evaluating") as progress:
        evaluation = unhub.evaluate(
            relevant=relevance(relevant, sizes(sources)),
            methods=chosen if paper is None else paper,
            progress=progress,
            **sources,
            **options.given(context, SETTINGS),
            **more,
            **({} if paper is not None else hyper),
        )
    if out is not None:
        output.write_text(out, results.FORMATS[results.ENDINGS[output.ending(out)]](evaluation, compare is True))
    if shape == "table" and console.on_terminal():
        results.show(evaluation, compare=compare is not False)
    else:
        write = console.lines if shape == "table" else console.exactly
        write(results.FORMATS[shape](evaluation, compare is True))
    if out is not None and shape == "table":
        output.tell(out, f"{len(evaluation):,} methods", replaced=replaced)


def _methods(text: str | None, target_bank: bool, *, baseline: bool) -> list[str]:
    import unhub

    if text == "all":
        return list(unhub.METHODS)
    if text is None:
        return ["none", "is", "sn", *(["dbsn"] if target_bank else [])]
    chosen = options.names(text)
    return [results.BASELINE, *chosen] if baseline and results.BASELINE not in chosen else chosen


def diagnose_command(
    context: typer.Context,
    queries: options.Queries = None,
    targets: options.Targets = None,
    scores: options.Scores = None,
    target_ids: options.TargetIds = None,
    hubs: Annotated[int, typer.Option("--hubs", metavar="N", help="Number of hubs to list.")] = 10,
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
    plain = diagnosis.to_dict() | {
        "hubs": [{"row": hub.row, "id": hub.id, "count": hub.count} for hub in diagnosis.hubs(hubs)],
    }
    if out is not None:
        output.write_text(out, console.as_json(plain))
    if json:
        console.data(plain)
        return
    _show_diagnosis(diagnosis, hubs)
    if out is not None:
        output.tell(out, "the diagnosis", replaced=replaced)


def _show_diagnosis(diagnosis: Any, most: int) -> None:
    console.say(diagnosis.sentence, style="bold")
    console.say()
    families = dict.fromkeys(name.partition("@")[0] for name in diagnosis.values)
    rows = [[name, *(f"{diagnosis[f'{name}@{k}']:.2f}" for k in (1, 5, 10))] for name in families]
    console.table(("hubness", "k = 1", "k = 5", "k = 10"), rows)
    console.say()
    console.say(f"Most often in the top 10 of {diagnosis.queries:,} queries:")
    console.table(
        ("target", "times", "queries"),
        [[hub.id, f"{hub.count:,}", f"{hub.count / diagnosis.queries:.1%}"] for hub in diagnosis.hubs(most)],
    )
    console.say()
    console.say(
        f"Scores run from {diagnosis.low:.3f} to {diagnosis.high:.3f} (standard deviation {diagnosis.spread:.4f}); "
        f"--tau auto is {diagnosis.tau:.3g} here."
    )
