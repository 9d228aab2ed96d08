"""``unhub check``: a look at files before anything runs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli import console, options
from unhub.cli.console import working
from unhub.cli.failures import BAD_INPUT
from unhub.foundation.errors import InputError

if TYPE_CHECKING:
    from unhub.cli.cost import Cost
    from unhub.cli.inspection import Inspection

SCHEMA_VERSION = 1
FILES = (
    "targets", "queries", "query_bank", "target_bank", "scores", "query_bank_scores", "cross_bank_scores",
    "target_bank_scores", "relevant", "target_ids", "query_ids", "query_weight", "target_prior",
)  # fmt: skip
SETTINGS = ("metric", "normalize", "memory", "allow_overlap")
OF_FIT = ("targets", "query_bank", "target_bank", "target_ids", "query_weight", "target_prior")


def command(
    context: typer.Context,
    experiment: Annotated[
        str | None,
        typer.Argument(metavar="EXPERIMENT", help="An experiment file, instead of options.", show_default=False),
    ] = None,
    targets: options.Targets = None,
    queries: options.Queries = None,
    query_bank: options.QueryBank = None,
    target_bank: options.TargetBank = None,
    scores: options.Scores = None,
    query_bank_scores: options.QueryBankScores = None,
    cross_bank_scores: options.CrossBankScores = None,
    target_bank_scores: options.TargetBankScores = None,
    relevant: options.Relevant = None,
    target_ids: options.TargetIds = None,
    query_ids: options.QueryIds = None,
    query_weight: options.QueryWeight = None,
    target_prior: options.TargetPrior = None,
    metric: options.Similarity = "cosine",
    normalize: options.Normalize = False,
    allow_overlap: options.AllowOverlap = False,
    tau: options.Tau = None,
    memory: options.Memory = None,
    json: options.Json = False,
) -> None:
    """Check files before anything runs: shapes, ids, lengths, spread, overlap, and every problem with them.

    \b
    Examples:
      unhub check --targets targets.npy --query-bank bank.npy
      unhub check --targets targets.npy --query-bank bank.npy --tau 0.01 --memory 2GB
      unhub check --queries queries.npy --targets targets.npy --relevant relevant.tsv --query-bank bank.npy --json
      unhub check experiment.toml
    """
    if experiment is not None:
        if experiment.lower().endswith(".unhub"):
            raise InputError(
                f"{experiment} is a correction, not an experiment file; look at it with unhub report {experiment}, or "
                f"use it with unhub search, extend or export."
            )
        from unhub.cli.check_experiment import check

        beside = options.given(context, FILES)
        if beside:
            raise InputError(
                f"check takes an experiment file or options, not both; leave out {experiment} or "
                f"--{next(iter(beside)).replace('_', '-')}."
            )
        check(experiment, json=json)
        return
    from unhub.cli.inspection import inspect
    from unhub.methods import method

    given = options.given(context, (*FILES, *SETTINGS))
    if not any(name in given for name in FILES):
        raise InputError("check needs files, such as --targets and --query-bank.")
    temperature = options.given(context, ("tau",))
    if temperature:
        method("sn", {"tau": temperature["tau"]})  # says what is wrong with it
    with working("reading"):
        seen = inspect(given)
        matrix = "scores" in seen.rows or "query_bank_scores" in seen.rows
        dim = None if matrix or "targets" not in seen.rows else seen.rows["targets"].shape[1]
        expected = None if seen.bank is None else _cost(seen, dim, memory, temperature.get("tau"))
    step = None if seen.problems else next_command(given | temperature, logits=seen.logits)
    if json:
        console.data(_plain(seen, expected, step))
    else:
        _show(seen, expected, dim, step)
    if seen.problems:
        count = len(seen.problems)
        console.complain(f"{count} problem{'s' if count > 1 else ''} found; fix them and check again.")
        raise typer.Exit(BAD_INPUT)


def _cost(seen: Inspection, dim: int | None, memory: str | None, tau: str | float | None) -> Cost:
    """The cost of the targets, and of those of the target bank beside them, as dbsn reads them.

    A tau that is large beside the scores wants them in float64.
    """
    from unhub.cli.cost import cost
    from unhub.core.logsumexp import LARGE_TAU

    assert seen.bank is not None
    matrix = seen.rows.get("query_bank_scores", seen.rows.get("scores"))
    beside = seen.rows.get("target_bank")
    crossed = seen.rows.get("cross_bank_scores")
    extra = len(beside) if beside is not None else 0 if crossed is None else crossed.shape[1]
    double = matrix is not None and str(matrix.dtype) == "float64"
    if isinstance(tau, float) and seen.scores is not None:
        double = double or tau > LARGE_TAU * seen.scores.largest
    return cost(seen.bank.shape[0], seen.bank.shape[1] + extra, dim, memory, double=double)


def next_command(given: dict[str, Any], *, logits: bool) -> str | None:
    """The command that these files are ready for: evaluate where the right answers are known, otherwise fit."""
    if "relevant" in given and ("scores" in given or {"queries", "targets"} <= set(given)):
        tau = {"tau": "auto"} if logits else {}
        return shlex.join(["unhub", "evaluate", *_flags(tau | given, (*FILES, *SETTINGS, "tau"))])
    names = OF_FIT if "targets" in given else ("scores", "cross_bank_scores", "target_bank_scores", *OF_FIT[3:])
    if not {"targets", "query_bank"} <= set(given) and "scores" not in given:
        return None
    return shlex.join(["unhub", "fit", *_flags(given, (*names, *SETTINGS[:3], "tau")), "-o", "correction.unhub"])


def _flags(given: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    """The same flags again; those that are off or as they always are, left out."""
    words: list[str] = []
    for name in names:
        value = given.get(name)
        if value is True:
            words += [f"--{name.replace('_', '-')}"]
        elif value not in (None, False, "cosine"):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def _show(seen: Inspection, expected: Cost | None, dim: int | None, step: str | None) -> None:
    rows = []
    for name, each in seen.rows.items():
        low, high = seen.lengths.get(name, (None, None))
        lengths = "" if low is None else f"{low:.3g} to {high:.3g}"
        ids = "" if each.ids is None else f"{each.ids[0]} ..."
        rows.append([name, f"{len(each):,}", f"{each.shape[1]:,}", str(each.dtype), lengths, ids])
    if rows:
        console.table(("file", "rows", "columns", "type", "lengths", "ids"), rows, left=(0, 3, 5))
        console.say()
    if seen.scores is not None:
        console.say(
            f"scores run from {seen.scores.low:.3f} to {seen.scores.high:.3f}, standard deviation "
            f"{seen.scores.std:.4f}; --tau auto is {seen.scores.tau:.3g}"
        )
    if seen.relevance is not None:
        counts = seen.relevance.counts
        console.say(f"relevant: {counts.sum():,} pairs, {counts.min():,} to {counts.max():,} for each query")
    if expected is not None:
        console.say(expected.sentence(dim))
        console.say(f"plan: {expected.plan}")
    for note in seen.notes:
        console.say(f"note: {note}")
    for problem in seen.problems:
        console.say(f"problem: {problem}", style="bold red")
    if not seen.problems:
        console.say("ready", style="bold green")
        if step is not None:
            console.say(f"next: {step}")


def _plain(seen: Inspection, expected: Cost | None, step: str | None) -> dict[str, Any]:
    counts = None if seen.relevance is None else seen.relevance.counts
    return {
        "schema_version": SCHEMA_VERSION,
        "ready": not seen.problems,
        "problems": seen.problems,
        "notes": seen.notes,
        "files": {
            name: {
                "rows": len(each),
                "columns": each.shape[1],
                "dtype": str(each.dtype),
                "ids": each.ids is not None,
                "lengths": seen.lengths.get(name),
                "source": each.source,
            }
            for name, each in seen.rows.items()
        },
        "scores": None
        if seen.scores is None
        else {"low": seen.scores.low, "high": seen.scores.high, "std": seen.scores.std, "tau_auto": seen.scores.tau},
        "relevant": None
        if counts is None
        else {"pairs": int(counts.sum()), "fewest": int(counts.min()), "most": int(counts.max())},
        "cost": None
        if expected is None
        else {
            "plan": expected.plan.kind,
            "sentence": str(expected.plan),
            "whole_bytes": expected.whole,
            "kept_bytes": expected.plan.kept_bytes,
            "block_bytes": expected.plan.block_bytes,
            "seconds": expected.seconds,
        },
        "next": step,
    }
