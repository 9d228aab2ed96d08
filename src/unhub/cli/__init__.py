"""The command line: each command reads files, calls one façade and writes what it gives back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from unhub.cli import (
    check,
    demo,
    diagnose,
    encode,
    evaluate,
    export,
    extend,
    fit,
    import_,
    report,
    reproduce,
    rollback,
    search,
    serve,
    sweep,
)
from unhub.cli.console import complain, say, warnings_as_notes
from unhub.cli.failures import OK, failure
from unhub.cli.streams import lasting_streams, lost_output
from unhub.foundation.printable import printable

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.command,
    "check": check.command,
    "diagnose": diagnose.command,
    "evaluate": evaluate.command,
    "fit": fit.command,
    "search": search.command,
    "extend": extend.command,
    "export": export.command,
    "rollback": rollback.command,
    "import": import_.command,
    "reproduce": reproduce.command,
    "sweep": sweep.command,
    "report": report.command,
    "serve": serve.command,
    "encode": encode.command,
}

app = typer.Typer(
    name="unhub",
    help="Vector retrieval that is fair to every target: find hubs, correct them, and measure what it brings.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


def _version(wanted: bool) -> None:
    if wanted:
        import unhub

        say(f"unhub {unhub.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and gives back the exit code.

    0: done, also if whoever reads stdout left early, or there is no stdout. 2: bad input, or a disk that did not take
    the output. 130: interrupted. 1: a bug.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words or os.environ.get("UNHUB_DEBUG", "0") not in ("", "0")
    with lasting_streams() as stdout:
        if os.environ.get("_UNHUB_COMPLETE"):
            app(prog_name="unhub")  # a shell asks what could come next
        try:
            with warnings_as_notes():
                _run([word for word in words if word != "--debug"] or ["--help"])
            code = OK
        except BaseException as error:
            code = _ended(error, debug)
        lost = lost_output(stdout)
        if lost is not None and code == OK:
            told = failure(lost, place="standard output")
            complain(told.sentence or "")
            code = told.code
    return code


def _run(words: list[str]) -> None:
    command = typer.main.get_command(app)
    with command.make_context("unhub", words) as context:
        command.invoke(context)


def _ended(error: BaseException, debug: bool) -> int:
    """The exit code of a command that an exception ended, once that has been told."""
    told = failure(error)
    if told.sentence is not None:
        if debug:
            import traceback

            lines = "".join(traceback.format_exception(error)).rstrip("\n").split("\n")
            sys.stderr.write("".join(f"{printable(line)}\n" for line in lines))
        complain(told.sentence)
    return told.code
