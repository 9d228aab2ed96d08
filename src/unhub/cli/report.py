"""``unhub report``: one HTML file that shows what a correction changes, and whether to use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unhub.cli import console, options, output, subjects
from unhub.cli.console import working
from unhub.foundation.errors import InputError

FILE = "report.html"


def command(
    context: typer.Context,
    subject: Annotated[
        str,
        typer.Argument(metavar="RUN|CORRECTION", help="A folder from reproduce, an experiment file, or a .unhub."),
    ],
    direction: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A direction of the experiment; the first by default.", show_default=False),
    ] = None,
    bank: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The bank to learn from; the first by default.", show_default=False),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The method to show; by default dbsn or sn, or that of the correction.",
            show_default=False,
        ),
    ] = None,
    sweeps: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="A folder that unhub sweep -o wrote.", show_default=False),
    ] = None,
    protocol: subjects.Protocol = None,
    queries: options.Queries = None,
    relevant: options.Relevant = None,
    targets: options.Targets = None,
    scores: options.Scores = None,
    target_bank: options.TargetBank = None,
    captions: subjects.Captions = None,
    target_captions: subjects.TargetCaptions = None,
    bank_captions: subjects.BankCaptions = None,
    media: subjects.Media = None,
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
    from unhub.analysis.opening import open_subject, run_of
    from unhub.analysis.story import Asked, story

    given = options.given(context, subjects.BESIDE)
    target = out or FILE
    replaced = output.check(target, (".html", ".htm"), (subject, relevant, *map(str, given.values())))
    opened = open_subject(subject, subjects.beside(subject, given, relevant), protocol=protocol)
    place = Path(subject).expanduser()
    folders = [Path(each).expanduser() for each in (sweeps, subject) if each is not None]
    asked = Asked(
        direction,
        run_of(place).bank if bank is None and place.is_dir() else bank,
        None if method is None else method.lower(),
        tuple(each for each in folders if each.is_dir()),
        command=options.again(context, json=False, out=target),
    )
    if sweeps is not None and not folders[0].is_dir():
        raise InputError("sweeps", f"is {sweeps}, which is not a folder", "name one that unhub sweep -o wrote")
    with working("reporting") as progress:
        result = story(opened, asked, progress=progress)
        if out is not None or not json:
            from unhub.report.html import html_report

            text = html_report(result)
            output.write_text(target, text)
    if json:
        console.data(result.to_dict())
        return
    console.say(result.headline.sentence)
    console.say(result.verdict.sentence)
    output.tell(target, f"{len(text.encode('utf-8')) / 1e6:.1f} MB; open it in a browser", replaced=replaced)
