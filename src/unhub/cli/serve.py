"""``unhub serve``: a local web page to explore hubs."""

from __future__ import annotations

import os
import webbrowser
from typing import Annotated

import typer

from unhub.cli import console, options
from unhub.cli.console import working
from unhub.cli.options import BankCaptions, Captions, ExperimentProtocol, Media, TargetCaptions


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
    recent: options.Recent = None,
    judged: options.Judged = None,
    judged_queries: options.JudgedQueries = None,
    captions: Captions = None,
    target_captions: TargetCaptions = None,
    bank_captions: BankCaptions = None,
    media: Media = None,
    history: Annotated[
        str | None, options.file("What unhub monitor wrote of the correction; CORRECTION.history.jsonl by default.")
    ] = None,
    protocol: ExperimentProtocol = None,
    encoder: Annotated[
        str | None, options.value("NAME", "Encodes typed queries: MODULE:FUNCTION or a sentence-transformers model.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=65535, help="By default 8765 or the next free one.")
    ] = None,
    host: Annotated[str, options.value("NAME", "Interface to bind; local by default.")] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", envvar="UNHUB_TOKEN", help="Secret that clients send; made up if --host is not local."
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in your web browser.")] = False,
) -> None:  # fmt: skip
    """Explore hubs in the browser: which targets are retrieved how often, before and after a correction, and why.

    Everything stays on this machine. With another --host, clients on the network need the token that is printed.

    \b
    Examples:
      unhub serve experiment.toml
      unhub serve gallery.unhub --queries queries.npy --relevant relevant.tsv --port 8800
    """
    from unhub.analysis.session import PARTS
    from unhub.api.facade import warn
    from unhub.webapp.server import prepare

    with working("opening"):
        server = prepare(
            path,
            options.given(context, PARTS),
            history=history,
            protocol=protocol,
            encoder=encoder or os.environ.get("UNHUB_ENCODER") or None,
            host=host,
            port=port,
            token=token,
        )
    warn(server.notes)
    console.say(f"{server.title}: {server.url} (press Ctrl-C to stop)")
    if browser:
        webbrowser.open(server.url)
    server.run()
