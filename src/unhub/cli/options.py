"""The flags that commands share: each is named after the Python argument that it becomes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from unhub.foundation.errors import InputError


def _file(flag: str, help: str) -> Any:
    return typer.Option(flag, metavar="FILE", help=help, show_default=False)


def _value(flag: str, metavar: str, help: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=help, show_default=False)


Targets = Annotated[
    str | None,
    _file("--targets", "Embeddings of the gallery (npy, npz::key, parquet, h5, ...), or the address of a store."),
]
Queries = Annotated[str | None, _file("--queries", "Embeddings of the queries.")]
QueryBank = Annotated[str | None, _file("--query-bank", "Embeddings of past queries.")]
TargetBank = Annotated[str | None, _file("--target-bank", "Embeddings of other targets, for dbsn and dualis.")]
Scores = Annotated[str | None, _file("--scores", "Score matrix, queries x gallery, instead of embeddings.")]
BankScores = Annotated[str | None, _file("--scores", "Score matrix, bank queries x gallery, instead of embeddings.")]
QueryBankScores = Annotated[str | None, _file("--query-bank-scores", "Score matrix, query bank x gallery.")]
CrossBankScores = Annotated[str | None, _file("--cross-bank-scores", "Score matrix, query bank x target bank.")]
TargetBankScores = Annotated[str | None, _file("--target-bank-scores", "Score matrix, target bank x gallery.")]
TargetIds = Annotated[str | None, _file("--target-ids", "Ids of the targets, one for each row.")]
QueryIds = Annotated[str | None, _file("--query-ids", "Ids of the queries, one for each row.")]
QueryWeight = Annotated[str | None, _file("--query-weight", "A positive weight for each bank query.")]
TargetPrior = Annotated[str | None, _file("--target-prior", "A positive weight for each target.")]
Relevant = Annotated[
    str | None,
    _value(
        "--relevant",
        "FILE",
        "Which targets are right: a file of rows, pairs of ids or TREC qrels; 'diagonal' if query i means target i; "
        "'labels:QUERIES,TARGETS' if equal labels in two files are.",
    ),
]

Metric = Annotated[str, typer.Option("--metric", metavar="cosine|ip", help="The similarity of embeddings.")]
Normalize = Annotated[bool, typer.Option("--normalize", help="Scale embeddings to unit length.")]
Memory = Annotated[str | None, _value("--memory", "SIZE", "A bound on blocks of scores, such as 64MB.")]
IgnoreSelf = Annotated[bool, typer.Option("--ignore-self", help="Query i is target i and must not find itself.")]
AllowEmpty = Annotated[
    bool, typer.Option("--allow-empty", help="Leave queries without a right answer out of the averages.")
]
AllowOverlap = Annotated[bool, typer.Option("--allow-overlap", help="Let the bank hold test queries.")]

Tau = Annotated[str | None, _value("--tau", "NUMBER|auto", "Temperature; auto follows the spread of the scores.")]
Tau1 = Annotated[str | None, _value("--tau1", "NUMBER|auto", "Temperature of the query bank (dualis, dualdis).")]
Tau2 = Annotated[str | None, _value("--tau2", "NUMBER|auto", "Temperature of the target bank (dualis, dualdis).")]
Iterations = Annotated[int | None, _value("--iterations", "N", "Sinkhorn rounds; 10 unless --tol is given.")]
Tol = Annotated[float | None, _value("--tol", "NUMBER", "Stop once the marginal error is this small.")]
Strength = Annotated[
    float | None, _value("--strength", "NUMBER", "Rank by score + strength * bias, 0 to 4; 1 if not given.")
]
K = Annotated[int | None, _value("--k", "N", "Neighbours that a method looks at (nnn, csls, dis, ...).")]
Alpha = Annotated[float | None, _value("--alpha", "NUMBER", "Weight of nnn.")]
W = Annotated[float | None, _value("--w", "NUMBER", "Weight of dn.")]
Gamma = Annotated[float | None, _value("--gamma", "NUMBER", "Exponent of centering.")]
Reg = Annotated[float | None, _value("--reg", "NUMBER", "Regularisation of l2n and sparse_k.")]

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]

TEMPERATURES = ("tau", "tau1", "tau2")
HYPER_PARAMETERS = (*TEMPERATURES, "iterations", "tol", "strength", "k", "alpha", "w", "gamma", "reg")


def given(context: typer.Context, names: Iterable[str]) -> dict[str, Any]:
    """The flags of these names that were given, by name, as the façades take them."""
    found = {name: context.params[name] for name in names if context.params.get(name) is not None}
    return {name: _temperature(name, value) if name in TEMPERATURES else value for name, value in found.items()}


def again(context: typer.Context, **instead: Any) -> str:
    """The command with all that was given and is no default, to be run again; ``instead`` replaces some of it.

    It may be shown to others, so that addresses are without their secrets.
    """
    from unhub.stores.address import is_address, without_secrets

    said = {**context.params, **instead}
    words: list[str] = ["unhub", str(context.info_name)]
    flags: list[str] = []
    for parameter in context.command.params:
        value = said.get(parameter.name or "")
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
    """The names of a list with commas.

    >>> names("is, sn,dbsn")
    ['is', 'sn', 'dbsn']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def _temperature(name: str, text: str) -> str | float:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} is {text!r}; give a positive number, or auto.") from None
