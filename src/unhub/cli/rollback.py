"""``unhub rollback``: the store as it was before the export."""

from __future__ import annotations

from typing import Annotated

import typer

from unhub.cli import console, options
from unhub.cli.progress import working

SCHEMA_VERSION = 1


def command(
    correction: Annotated[str, typer.Argument(metavar="CORRECTION", help="A file that unhub export was run with.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="ADDRESS",
            help="The store to take it back from, with a password if it needs one; without it, what the file knows of "
            "is listed.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Take back what exports of this correction have written, finished or not; the old collection was never touched.

    Only the store that --to names is connected to, and only what unhub has named and marked there is removed.
    Running it again does nothing.

    \b
    Examples:
      unhub rollback photos.unhub --to faiss://photos.faiss
    """
    from unhub.serving.rollback import rollback

    with working("taking back"):
        done = rollback(correction, to=to)
    if json:
        console.data({"schema_version": SCHEMA_VERSION, "correction": correction, "exports": done.plain()})
        return
    for each in done.exports:
        what = f"removed {each.place}" if done.removed(each) is not None else "nothing was there to remove"
        console.say(f"{each.origin}: {what}")
        if each.alias is not None:
            now = done.aliases.get(each.alias)
            console.say(f"alias {each.alias} {f'points to {now}' if now else 'is gone'}")
    if not done.exports:
        console.say("nothing to take back")
