"""``unhub report``: one HTML file that says what a correction does, to whom, and whether to use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unhub.cli import console, options, output, subjects
from unhub.cli.progress import working
from unhub.foundation.errors import InputError

FILE = "report.html"


def command(
    context: typer.Context,
    subject: Annotated[
        str,
        typer.Argument(metavar="RUN|CORRECTION", help="A folder of unhub reproduce, an experiment file or a .unhub."),
    ],
    direction: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A direction of the experiment; the first if not given.", show_default=False),
    ] = None,
    bank: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The bank to learn from; the first if not given.", show_default=False),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What stands beside no correction: dbsn, else sn; of a correction, itself.",
            show_default=False,
        ),
    ] = None,
    sweeps: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Where unhub sweep -o has kept its points.", show_default=False),
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
    out: Annotated[str | None, output.option("The file to write; report.html if not given.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the data instead; with -o, besides.")] = False,
) -> None:  # fmt: skip
    """Write a report: who takes how many first places, what a correction changes, for better and for worse.

    One file that needs no network. A correction is judged on the queries given beside it; without --relevant only how
    evenly targets are retrieved can be said.

    \b
    Examples:
      unhub report experiment.toml -o report.html
      unhub report experiment.toml --bank val --method sn --json
      unhub report gallery.unhub --queries queries.npy --relevant relevant.tsv -o gallery.html
    """
    from unhub.explore.opening import open_subject, run_of
    from unhub.explore.story import Asked, story

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
        raise InputError(f"sweeps, {sweeps}, is no folder; name the one that unhub sweep -o wrote to.")
    with working("reporting") as progress:
        told = story(opened, asked, progress=progress)
        if out is not None or not json:
            from unhub.report.html import html_report

            text = html_report(told)
            output.write_text(target, text)
    if json:
        console.data(told.to_dict())
        return
    console.say(told.headline.sentence)
    console.say(told.verdict.sentence)
    output.tell(target, f"{len(text.encode('utf-8')) / 1e6:.1f} MB; open it in any browser", replaced=replaced)
