"""``unhub demo``: a correction on real data, in a minute."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from unhub.cli import console, options
from unhub.cli.options import value

WIDTH = 100
"""columns of text in a pipe"""


def command(
    name: Annotated[str, typer.Argument(metavar="[emoji|clipart]", help="The dataset.")] = "emoji",
    language: Annotated[str, value("CODE", "Language of the emoji names.")] = "de",
    ask: Annotated[list[str] | None, value("WORDS", "Search for your own words; repeatable.")] = None,
    out: Annotated[
        Path | None,
        value("DIR", "Folder for the correction, vectors and numbers; demo-output/NAME by default.", "-o", "--output"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Show what a correction does on real data: search emoji by name in your language, or drawings.

    \b
    Examples:
      unhub demo
      unhub demo emoji --language fr --ask "quelque chose de chaud"
      unhub demo clipart --json
    """
    from rich.console import Console

    from unhub.demo.run import run

    there = sys.stderr if json else sys.stdout
    shown = Console(file=there, width=None if there.isatty() else WIDTH)
    asking = not json and not ask and sys.stdin.isatty() and there.isatty()
    code = language if language == "zh-Hant" else language.lower()
    folder = out or Path("demo-output") / (f"emoji-{code}" if name == "emoji" else name)
    result = run(name, language=code, output=folder, console=shown, interactive=asking, words=tuple(ask or ()))
    if json:
        console.data(result)
