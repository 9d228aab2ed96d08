"""``unhub report``: one HTML file that shows what a correction changes, and whether to use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unhub.cli import console, options, output
from unhub.cli.console import working
from unhub.cli.options import BankCaptions, Captions, ExperimentProtocol, Media, TargetCaptions

FILE = "report.html"


def command(
    context: typer.Context,
    subject: Annotated[
        str,
        typer.Argument(metavar="RUN|CORRECTION", help="A folder from reproduce, an experiment file, or a .unhub."),
    ],
    direction: options.Direction = None,
    bank: Annotated[str | None, options.value("NAME", "The bank to learn from; the first by default.")] = None,
    method: Annotated[
        str | None, options.value("NAME", "The method to show; by default dbsn or sn, or that of the correction.")
    ] = None,
    sweeps: Annotated[str | None, options.value("FOLDER", "A folder that unhub sweep -o wrote.")] = None,
    protocol: ExperimentProtocol = None,
    queries: options.Queries = None,
    relevant: options.Relevant = None,
    targets: options.Targets = None,
    scores: options.Scores = None,
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
    out: Annotated[str | None, output.option("The file to write; report.html by default.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON; write the report only with -o.")] = False,
) -> None:  # fmt: skip
    """Write a report: hubs, what a correction changes, and which queries get better or worse.

    One HTML file that works offline. A correction is judged on the queries you pass; without --relevant the report only
    shows how evenly targets are retrieved.

    \b
    Examples:
      unhub report experiment.toml -o report.html
      unhub report experiment.toml --bank val --method sn --json
      unhub report gallery.unhub --queries queries.npy --relevant relevant.tsv -o gallery.html
    """
    from unhub.analysis.session import PARTS
    from unhub.reports.report import report

    parts = options.given(context, PARTS)
    target = out or FILE
    replaced = output.check(target, (".html", ".htm"), (subject, *map(str, parts.values())))
    written = target if out is not None or not json else None
    with working("reporting") as progress:
        result = report(
            subject, written, direction=direction, bank=bank, method=None if method is None else method.lower(),
            sweeps=sweeps, protocol=protocol, history=history, command=options.again(context, json=False, out=target),
            progress=progress, **parts,
        )  # fmt: skip
    if json:
        console.data(result.to_dict())
        return
    console.say(result.headline.sentence)
    console.say(result.verdict.sentence)
    output.tell(target, f"{Path(target).stat().st_size / 1e6:.1f} MB; open it in a browser", replaced=replaced)
