"""``unhub serve``: a page to explore hubs, on this machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli import console, options, subjects
from unhub.cli.progress import working
from unhub.foundation.optional import require

if TYPE_CHECKING:
    from unhub.explore.material import Subject


def command(
    context: typer.Context,
    path: Annotated[
        str,
        typer.Argument(
            metavar="CORRECTION_OR_EXPERIMENT",
            help="A correction (.unhub), an experiment file (.toml, .yaml), or a folder that unhub reproduce wrote.",
        ),
    ],
    queries: options.Queries = None,
    scores: options.Scores = None,
    relevant: options.Relevant = None,
    targets: options.Targets = None,
    target_bank: options.TargetBank = None,
    captions: subjects.Captions = None,
    target_captions: subjects.TargetCaptions = None,
    bank_captions: subjects.BankCaptions = None,
    media: subjects.Media = None,
    protocol: subjects.Protocol = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What turns words into vectors: MODULE:FUNCTION or a sentence-transformers model.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=65535, help="8765, or the next that is free.", show_default=False),
    ] = None,
    host: Annotated[str, typer.Option(metavar="NAME", help="Who may come in: this machine alone.")] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", envvar="UNHUB_TOKEN", help="What visitors must bring; made up where --host lets others in.",
            show_default=False,
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:  # fmt: skip
    """Explore hubs in the browser: who takes which places, before and after, and why.

    Everything stays on this machine. Another --host lets others in who have the token that is printed.

    \b
    Examples:
      unhub serve experiment.toml
      unhub serve gallery.unhub --queries queries.npy --relevant relevant.tsv --port 8800
    """
    for package in ("fastapi", "uvicorn", "fastapi_offline"):
        require(package, extra="serve")
    from unhub.explore.opening import open_subject
    from unhub.serve.app import make_app
    from unhub.serve.running import address, listening, run, token_for
    from unhub.serve.safety import Guard

    wanted = token_for(host, token)
    beside = subjects.beside(path, options.given(context, subjects.BESIDE), relevant)
    with working("opening"):
        subject = open_subject(path, beside, protocol=protocol)
        made = _encode(encoder)
        _refuse_other_space(made, subject)
        app = make_app(subject, Guard.of(host, wanted), encode=made)
    opened = listening(host, port)
    here = address(host, opened, wanted)
    with opened, suppress(KeyboardInterrupt):  # that is how it ends
        run(
            app,
            opened,
            started=lambda: console.say(f"{subject.title}: {here} (Ctrl-C ends it)"),
            browser=here if browser else None,
        )


def _encode(encoder: str | None) -> Callable[[list[str]], Any] | None:
    """From words to vectors, if an encoder is named here or in the environment; ."""
    import os

    from unhub.cli.encoder import VARIABLE, encode

    named = encoder or os.environ.get(VARIABLE)
    if not named:
        return None
    return lambda texts: encode(texts, named)


def _refuse_other_space(encode: Callable[[list[str]], Any] | None, subject: Subject) -> None:
    """An error where the encoder's vectors cannot be compared with the targets'."""
    from unhub.explore.comparing import refuse_other_space

    vectors = subject.material(subject.directions[0]).vectors
    if encode is not None and vectors is not None:
        refuse_other_space(encode(["a"])[0], vectors)
