"""``unhub evaluate``: methods x metrics, as a table, a file or JSON."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from unhub.cli import console, options, output, results
from unhub.cli.inputs import relevance, sizes
from unhub.cli.progress import working
from unhub.foundation.errors import InputError

SOURCES = (
    "scores", "queries", "targets", "query_bank", "target_bank", "query_bank_scores", "cross_bank_scores",
    "target_bank_scores", "query_ids", "target_ids", "query_weight", "target_prior",
)  # fmt: skip
SETTINGS = (
    "direction", "ties", "group_targets", "ignore_self", "allow_overlap", "allow_empty", "metric", "normalize",
    "memory", "resamples", "seed",
)  # fmt: skip


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
            help="With commas between, or 'all'; none,is,sn and, with a target bank, dbsn if not given.",
            show_default=False,
        ),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="NAMES", help="With commas between, such as R@1,MnR.", show_default=False)
    ] = None,
    direction: Annotated[
        str, typer.Option(metavar="forward|reverse|both", help="Queries find targets, or the other way.")
    ] = "forward",
    ties: Annotated[
        str, typer.Option(metavar="NAME", help="Rank of equal scores: average, optimistic, pessimistic, index.")
    ] = "average",
    group_targets: Annotated[
        str | None, typer.Option(metavar="max", help="Targets of one query count as one.", show_default=False)
    ] = None,
    ignore_self: options.IgnoreSelf = False,
    allow_overlap: options.AllowOverlap = False,
    allow_empty: options.AllowEmpty = False,
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
    metric: options.Metric = "cosine",
    normalize: options.Normalize = False,
    memory: options.Memory = None,
    resamples: Annotated[int, typer.Option(metavar="N", help="Bootstrap rounds of the intervals.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the bootstrap.")] = 0,
    compare: Annotated[
        bool | None,
        typer.Option("--compare/--no-compare", help="Compare R@1 with none; on a terminal by default."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="NAME", help="table, markdown, latex, csv or json.")
    ] = "table",
    json: options.Json = False,
    out: Annotated[str | None, output.option("Also write: .json, .csv, .md, .tex or .txt.")] = None,
) -> None:
    """Measure what methods bring: test queries, a gallery, the right answers and, best, a bank of other queries.

    Without a bank the test queries are the bank, and the rows carry the word transductive. Each method keeps its
    published temperature, made for cosines, unless one is given: --tau auto follows the spread of the scores.

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
        raise InputError(f"format is {form!r}; use one of {', '.join(results.FORMATS)}.")
    if compare and "csv" in (shape, results.ENDINGS.get(output.ending(out)) if out is not None else None):
        raise InputError("a comparison has no place among the columns of a CSV; write it as .json, .md, .tex or .txt.")
    replaced = output.check(out, tuple(results.ENDINGS), (relevant, *sources.values()))
    if relevant is None:
        raise InputError("relevant is missing; say which targets are right with --relevant (a file, or diagonal).")
    chosen = _methods(methods, target_bank is not None or cross_bank_scores is not None, baseline=compare is True)
    hyper = temperatures(chosen, options.given(context, options.HYPER_PARAMETERS))
    asked: dict[str, Any] = {} if metrics is None else {"metrics": options.names(metrics)}
    if compare and results.ON not in asked.get("metrics", [results.ON]):
        raise InputError(f"--compare is about {results.ON}; name it among the metrics, or leave --compare out.")
    with working("evaluating") as progress:
        found = unhub.evaluate(
            relevant=relevance(relevant, sizes(sources)),
            methods=chosen,
            progress=progress,
            **sources,
            **options.given(context, SETTINGS),
            **asked,
            **hyper,
        )
    if out is not None:
        output.write_text(out, results.FORMATS[results.ENDINGS[output.ending(out)]](found, compare is True))
    if shape == "table" and console.on_terminal():
        results.show(found, compare=compare is not False)
    else:
        tell = console.lines if shape == "table" else console.exactly
        tell(results.FORMATS[shape](found, compare is True))
    if out is not None and shape == "table":
        output.tell(out, f"{len(found):,} methods", replaced=replaced)


def temperatures(chosen: list[str], hyper: dict[str, Any]) -> dict[str, Any]:
    """The hyper-parameters, where ``--tau auto`` reaches the two temperatures of dualis and dualdis as well."""
    from unhub.methods import REGISTRY

    if hyper.get("tau") != "auto":
        return hyper
    known = {field for name in chosen if name in REGISTRY for field in REGISTRY[name].__dataclass_fields__}
    automatic = {name: "auto" for name in options.TEMPERATURES if name in known} or {"tau": "auto"}
    return automatic | {name: value for name, value in hyper.items() if name != "tau"}


def _methods(text: str | None, target_bank: bool, *, baseline: bool) -> list[str]:
    import unhub

    if text == "all":
        return list(unhub.METHODS)
    if text is None:
        return ["none", "is", "sn", *(["dbsn"] if target_bank else [])]
    chosen = options.names(text)
    return [results.BASELINE, *chosen] if baseline and results.BASELINE not in chosen else chosen
