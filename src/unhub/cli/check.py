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
    from unhub.dataset import Dataset
    from unhub.foundation.wording import Door

FILES = (
    "targets", "queries", "query_bank", "target_bank", "scores", "query_bank_scores", "cross_bank_scores",
    "target_bank_scores", "relevant", "target_ids", "query_ids", "query_weight", "target_prior",
    "recent", "judged", "judged_queries",
)  # fmt: skip
OF_TRAFFIC = ("own_log", "popularity", "clicks")
SETTINGS = ("metric", "normalize", "memory", "allow_overlap", "tau")
OF_FIT = (
    "targets", "query_bank", "target_bank", "target_ids", "query_weight", "target_prior", "recent", "judged",
    "judged_queries",
)  # fmt: skip


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
    recent: options.Recent = None,
    judged: options.Judged = None,
    judged_queries: options.JudgedQueries = None,
    clicks: options.Clicks = None,
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
      unhub check --targets targets.npy --query-bank bank.npy --recent recent.npy
      unhub check --targets targets.npy --query-bank bank.npy --tau 0.01 --memory 2GB
      unhub check --queries queries.npy --targets targets.npy --relevant relevant.tsv --query-bank bank.npy --json
      unhub check experiment.toml
    """
    import unhub

    if experiment is not None and experiment.lower().endswith(".unhub"):
        raise InputError(
            f"{experiment} is a correction, not an experiment file; look at it with unhub report {experiment}, or use "
            f"it with unhub search, extend or export."
        )
    given = options.given(context, (*FILES, "clicks", *SETTINGS))
    with working("reading") as progress:
        data = None if experiment is None else unhub.Dataset.open(experiment)
        seen = unhub.check(data, **given, progress=progress)
    lists = {} if data is None else _possible(data)
    door: Door = console.as_flag
    looks_like = None if seen.traffic is None else seen.traffic.looks_like
    step = next_command(given, logits=seen.logits, own_log=looks_like == "own_log")
    if experiment is not None and data is not None:
        table = next((name for name, (_, lacks) in lists["tables"].items() if lacks is None), None)
        step = None if table is None else shlex.join(["unhub", "reproduce", experiment, "--table", table])
        door = data.door()
    step = step if seen.ready else None
    if json:
        plain = seen.to_dict(door) | {"next": step}
        if data is not None:
            plain |= {"experiment": experiment, "parts": {name: each.shape for name, each in seen.parts.items()}}
            for kind, listed in lists.items():
                plain[kind] = {name: {"can_be_made": why is None, "lacks": why} for name, (_, why) in listed.items()}
        console.data(plain)
    else:
        if data is not None:
            console.say(f"{data.name}, {data.model}: {data.task_type}, {' and '.join(data.directions)}", style="bold")
        if seen.parts:
            console.show_table(seen.parts_table())
            console.say()
        for line in seen.facts(door):
            console.say(line)
        for each in seen.sentences(door) if data is None else ():
            console.say(f"problem: {each}", style="bold red")
        for kind, listed in lists.items():
            rows = [[name, about, lacks or "can be made"] for name, (about, lacks) in listed.items()]
            console.say()
            console.table((kind, "", ""), rows, left=(0, 1, 2))
        if seen.ready:
            console.say("ready", style="bold green")
        if step is not None:
            console.say(f"next: {step}")
    if not seen.ready:
        count = len(seen.problems)
        end = f"{count} problems found; fix them and" if count > 1 else "1 problem found; fix it and"
        for each in [f"{end} check again."] if data is None else seen.sentences(door):
            console.complain(each)
        raise typer.Exit(BAD_INPUT)


def _possible(data: Dataset) -> dict[str, dict[str, tuple[str, str | None]]]:
    """The tables and figures of the paper: name -> what it is, and what the data lack for it."""
    from unhub.experiments import TABLES, possible
    from unhub.experiments.figures import FIGURES, possible_figures

    tables, figures = possible(data), possible_figures(data)
    return {
        "tables": {name: (f"Table {', '.join(TABLES[name].numbers)}", lacks) for name, lacks in tables.items()},
        "figures": {name: (FIGURES[name].description, lacks) for name, lacks in figures.items()},
    }


def next_command(given: dict[str, Any], *, logits: bool, own_log: bool) -> str | None:
    """The command that these files are ready for: evaluate where the right answers are known, otherwise fit.

    own_log: whether the bank looks like a log with popular targets.
    """
    given = {name: value for name, value in given.items() if name != "clicks"} | _traffic(given, own_log=own_log)
    if "relevant" in given and ("scores" in given or {"queries", "targets"} <= set(given)):
        tau = {"tau": "auto"} if logits else {}
        return shlex.join(["unhub", "evaluate", *_flags(tau | given, (*FILES, *OF_TRAFFIC, *SETTINGS))])
    names = OF_FIT if "targets" in given else ("scores", "cross_bank_scores", "target_bank_scores", *OF_FIT[3:])
    if not {"targets", "query_bank"} <= set(given) and "scores" not in given:
        return None
    flags = _flags(given, (*names, *OF_TRAFFIC, "metric", "normalize", "memory", "tau"))
    return shlex.join(["unhub", "fit", *flags, "-o", "correction.unhub"])


def _traffic(given: dict[str, Any], *, own_log: bool) -> dict[str, Any]:
    """What to say of the traffic; a target prior of one's own excludes a popularity."""
    if not own_log:
        return {}
    if "target_prior" in given:
        return {"own_log": True}
    return {"popularity": "clicks", "clicks": given["clicks"]} if "clicks" in given else {"popularity": "own_log"}


def _flags(given: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    """The same flags again, without those that are off or have their default."""
    words: list[str] = []
    for name in names:
        value = given.get(name)
        if value not in (None, False, "cosine"):
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return words
