"""Flags that commands share, each named after the Python argument that it becomes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from unhub.foundation.errors import InputError
from unhub.foundation.wording import argument, did_you_mean, setting


def value(metavar: str, help: str, *flags: str) -> Any:
    """An option with a value; its flag is the parameter's name unless flags are given."""
    return typer.Option(*flags, metavar=metavar, help=help)


def flag(name: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help)


def file(help: str) -> Any:
    """An option that names a file."""
    return value("FILE", help)


CorrectionFile = Annotated[str, typer.Argument(metavar="CORRECTION", help="A correction file (.unhub) from unhub fit.")]
Targets = Annotated[
    str | None, file("Embeddings of the gallery (npy, npz::key, parquet, h5, ...), or the URL of a vector store.")
]
Queries = Annotated[str | None, file("Embeddings of the queries.")]
QueryBank = Annotated[str | None, file("Embeddings of past queries.")]
TargetBank = Annotated[str | None, file("Embeddings of other targets, for dbsn and dualis.")]
Scores = Annotated[str | None, file("Score matrix, queries x gallery, instead of embeddings.")]
BankScores = Annotated[str | None, file("Score matrix, bank queries x gallery, instead of embeddings.")]
QueryBankScores = Annotated[str | None, file("Score matrix, query bank x gallery.")]
CrossBankScores = Annotated[str | None, file("Score matrix, query bank x target bank.")]
TargetBankScores = Annotated[str | None, file("Score matrix, target bank x gallery.")]
TargetIds = Annotated[str | None, file("Ids of the targets, one per row.")]
QueryIds = Annotated[str | None, file("Ids of the queries, one per row.")]
QueryWeight = Annotated[str | None, file("Positive weights, one per bank query.")]
TargetPrior = Annotated[
    str | None,
    value("FILE|clicks", "Positive weights, one per target; clicks: as often as clicked, if judged queries prefer it."),
]
Recent = Annotated[
    str | None, file("Embeddings of queries that are asked now, to judge the correction by; about 200, 50 at least.")
]
Judged = Annotated[
    str | None,
    file("Which targets are right for which recent query: row -> target, -1 where nobody has judged, or pairs of ids."),
]
JudgedQueries = Annotated[
    str | None, file("Embeddings of the queries of --judged, where they are not the recent ones.")
]
Clicks = Annotated[str | None, file("Which target was clicked for which bank query; for --popularity clicks.")]
OwnLog = Annotated[bool, flag("--own-log", "The bank is a log of this gallery's own traffic.")]
Duplicates = Annotated[
    str, value("drop|weigh", "Count each different bank query once, or as often as it comes.", "--duplicates")
]
Popularity = Annotated[
    str | None,
    value(
        "even|own_log|clicks",
        "Whose queries the bank holds: all targets are wanted alike (even), the gallery's own traffic (own_log), or "
        "that with its --clicks.",
    ),
]
Relevant = Annotated[
    str | None,
    file(
        "Relevant targets: a file of rows, pairs of ids or TREC qrels; 'diagonal' if query i matches target i; "
        "'labels:QUERIES,TARGETS' if equal labels in two files match."
    ),
]

Similarity = Annotated[str, value("cosine|ip", "Similarity of embeddings: cosine or inner product.", "--metric")]
Normalize = Annotated[bool, flag("--normalize", "Scale embeddings to unit length.")]
Memory = Annotated[str | None, value("SIZE", "Memory for blocks of scores, such as 64MB.")]
IgnoreSelf = Annotated[bool, flag("--ignore-self", "Query i is target i: leave it out of its own results.")]
Force = Annotated[bool, flag("--force", "Serve a correction that was refused, at full strength.")]
AllowEmpty = Annotated[bool, flag("--allow-empty", "Leave queries without a relevant target out of the averages.")]
AllowOverlap = Annotated[bool, flag("--allow-overlap", "Allow test queries in the bank.")]

Tau = Annotated[str | None, value("NUMBER|auto", "Temperature; auto (the default) follows the spread of the scores.")]
Tau1 = Annotated[str | None, value("NUMBER|auto", "Temperature of the query bank, for methods with two.")]
Tau2 = Annotated[str | None, value("NUMBER|auto", "Temperature of the target bank, for methods with two.")]
Iterations = Annotated[int | None, value("N", "Sinkhorn iterations; 10 unless --tol is given.")]
Tol = Annotated[float | None, value("NUMBER", "Stop once the marginal error is this small.")]
Strength = Annotated[
    str | None,
    value(
        "NUMBER|auto",
        "Rank by score + strength * bias, 0 to 4; auto (the default) is what queries support that were not fitted on.",
    ),
]
K = Annotated[int | None, value("N", "Number of neighbours (nnn, csls, dis, ...).")]
Alpha = Annotated[float | None, value("NUMBER", "Weight of nnn.")]
W = Annotated[float | None, value("NUMBER", "Weight of dn.")]
Gamma = Annotated[float | None, value("NUMBER", "Exponent of centering.")]
Reg = Annotated[float | None, value("NUMBER", "Regularisation of l2n and sparse_k.")]

Json = Annotated[bool, flag("--json", "Print JSON only.")]
Protocol = Annotated[
    str | None, value("paper", "Use the constants of each method's paper; auto temperatures by default.")
]

FAISS = (".faiss", ".index")
HYPER_PARAMETERS = (
    "tau", "tau1", "tau2", "iterations", "tol", "strength", "k", "alpha", "w", "gamma", "reg",
)  # fmt: skip
"""options of fit and evaluate; the methods check their values"""
EVIDENCE = ("recent", "judged", "judged_queries", "clicks")
"""queries that choose the strength, and the clicks of the bank"""
OF_BANK = ("own_log", "duplicates")
"""what the bank is"""
POPULARITY: Mapping[str, Mapping[str, Any]] = {
    "even": {},
    "own_log": {"own_log": True},
    "clicks": {"own_log": True, "target_prior": "clicks"},
}
"""what each situation stands for"""
ExperimentProtocol = Annotated[
    str | None, value("auto|paper|authors", "Settings of the methods: unhub's own (auto), or published.", "--protocol")
]
Bank = Annotated[str | None, value("NAME", "A bank of the experiment.")]
Direction = Annotated[str | None, value("NAME", "A direction of the experiment; the first by default.")]
Captions = Annotated[str | None, file("What each query says, one per line.")]
TargetCaptions = Annotated[str | None, file("What each target is, one per line.")]
BankCaptions = Annotated[str | None, file("What each bank query says, one per line.")]
Media = Annotated[str | None, value("FOLDER", "Pictures, sounds or videos of the targets, named by id.")]


def given(context: typer.Context, names: Iterable[str]) -> dict[str, Any]:
    """The flags of these names that have a value, as the library's functions take them."""
    values = {name: context.params[name] for name in names if context.params.get(name) is not None}
    for name, value in values.items():
        check_url(name, value)
    return {name: number(value) if name in HYPER_PARAMETERS else value for name, value in values.items()}


def traffic(popularity: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """What ``--popularity`` stands for; conflicts with what was given otherwise are refused."""
    if popularity is None:
        if "clicks" in given and given.get("target_prior") != "clicks":
            raise InputError(
                "clicks", "would not be used", f"pass {setting('popularity', 'clicks')}, or leave them out"
            )
        return {}
    if popularity not in POPULARITY:
        hint = did_you_mean(popularity, POPULARITY, f"use one of {', '.join(POPULARITY)}")
        raise InputError("popularity", f"is {popularity!r}", hint)
    means = POPULARITY[popularity]
    others = [name for name in ("own_log", "target_prior") if given.get(name) not in (None, False, means.get(name))]
    others += ["clicks"] if "clicks" in given and popularity != "clicks" else []
    if others:
        came = f"is {popularity}, but {argument(others[0])} came too"
        raise InputError("popularity", came, "leave one of them out")
    if popularity == "clicks" and "clicks" not in given:
        raise InputError("popularity", "is clicks, but there are none", f"give {argument('clicks')} too")
    return dict(means)


def check_url(name: str, value: Any) -> None:
    """Refuse the path of a faiss index where its URL is needed."""
    if isinstance(value, str) and "://" not in value and Path(value).suffix.lower() in FAISS:
        raise InputError(name, f"is {value!r}, which looks like a faiss index", f"write it as faiss://{value}")


def paper_methods(chosen: Iterable[str], protocol: str | None, hyper: Mapping[str, Any]) -> list[Any] | None:
    """The methods with the constants of their papers for ``--protocol paper``; None without a protocol."""
    from unhub.methods import method

    if protocol is None:
        return None
    if protocol != "paper":
        raise InputError("protocol", f"is {protocol!r}", "the only one is paper")
    if hyper:
        raise InputError("protocol", "sets every hyper-parameter", f"leave out {argument(next(iter(hyper)))}")
    return [type(cast(Any, method(name))).paper() for name in chosen]


def again(context: typer.Context, **instead: Any) -> str:
    """The command line that runs this again, without defaults; ``instead`` replaces some values.

    Others may see it, so secrets in URLs are removed.
    """
    from unhub.stores.address import is_address, without_secrets

    values = {**context.params, **instead}
    words: list[str] = ["unhub", str(context.info_name)]
    flags: list[str] = []
    for parameter in context.command.params:
        value = values.get(parameter.name or "")
        if value in (None, False, []) or (parameter.name not in instead and value == parameter.default):
            continue
        each = [
            without_secrets(one) if is_address(one) else one
            for one in (value if isinstance(value, list | tuple) else [value])
        ]
        flag = parameter.opts[0] if parameter.opts[0].startswith("-") else None
        if flag is None:
            words += map(str, each)
        else:
            flags += [flag] if value is True else [word for one in each for word in (flag, str(one))]
    return shlex.join([*words, *flags])


def names(text: str) -> list[str]:
    """The names in a comma-separated list.

    >>> names("is, sn,dbsn")
    ['is', 'sn', 'dbsn']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def number(value: Any) -> Any:
    """The number that a text says, such as "0.1"; anything else, such as "auto", as it is."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
