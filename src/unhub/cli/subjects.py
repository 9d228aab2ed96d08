"""What ``unhub report`` and ``unhub serve`` are given: an experiment, or a correction and what goes beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli.inputs import relevance
from unhub.foundation.errors import InputError

if TYPE_CHECKING:
    from unhub.analysis.beside import Beside

Captions = Annotated[
    str | None,
    typer.Option("--captions", metavar="FILE", help="What each query says, one per line.", show_default=False),
]
TargetCaptions = Annotated[
    str | None,
    typer.Option("--target-captions", metavar="FILE", help="What each target is, one per line.", show_default=False),
]
BankCaptions = Annotated[
    str | None,
    typer.Option("--bank-captions", metavar="FILE", help="What each bank query says.", show_default=False),
]
Media = Annotated[
    str | None,
    typer.Option(
        "--media", metavar="FOLDER", help="Pictures, sounds or videos of the targets, named by id.", show_default=False
    ),
]
Protocol = Annotated[
    str | None,
    typer.Option(
        "--protocol", metavar="paper|authors", help="Settings of an experiment's methods; paper if not given.",
        show_default=False,
    ),
]  # fmt: skip

BESIDE = (
    "targets", "queries", "scores", "target_bank", "captions", "target_captions", "bank_captions", "media",
)  # fmt: skip


def beside(path: str, given: dict[str, Any], relevant: str | None) -> Beside:
    """The parts that were given beside a correction; what is right is read once the sizes are known."""
    from unhub.analysis.beside import Beside
    from unhub.analysis.opening import EXPERIMENTS

    found: Any = None
    place = Path(path).expanduser()
    if relevant is not None and not place.is_dir() and place.suffix.lower() not in EXPERIMENTS:
        found = relevance(relevant, _sizes(path, given))
    return Beside(**given, relevant=found, relevant_flag=relevant)


def _sizes(path: str, given: dict[str, Any]) -> tuple[int, int]:
    """How many queries there are beside a correction, and how many targets it has."""
    from unhub.api.artefact import load
    from unhub.io import open_rows

    for name in ("scores", "queries"):
        if name in given:
            return open_rows(given[name], name=name).shape[0], load(path).bias.size
    raise InputError("--relevant says which targets are right for which query; pass the queries with --queries.")
