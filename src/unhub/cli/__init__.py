"""The command line: each command reads files, calls one function of the library and prints its result."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from unhub.cli import (
    bank,
    check,
    demo,
    encode,
    evaluate,
    export,
    extend,
    fit,
    guard,
    import_,
    monitor,
    report,
    reproduce,
    search,
    serve,
)
from unhub.cli.console import complain, say, warnings_as_notes
from unhub.cli.failures import OK, failure, lasting_streams, lost_output
from unhub.foundation.safe_text import printable

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.command,
    "check": check.command,
    "diagnose": evaluate.diagnose_command,
    "evaluate": evaluate.command,
    "fit": fit.command,
    "guard": guard.command,
    "monitor": monitor.command,
    "search": search.command,
    "extend": extend.command,
    "export": export.command,
    "rollback": export.rollback_command,
    "import": import_.command,
    "reproduce": reproduce.command,
    "sweep": reproduce.sweep_command,
    "report": report.command,
    "serve": serve.command,
    "encode": encode.command,
    "bank": bank.command,
}

app = typer.Typer(
    name="unhub",
    help="Make vector retrieval fair to every target: find hubs, correct them, and measure the gain.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


def _version(requested: bool) -> None:
    if requested:
        import unhub

        say(f"unhub {unhub.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print a traceback when a command fails.")] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    arguments: the words after ``unhub``; those of the process by default.

    Returns 0: done, even if stdout was closed early. 2: bad input, or output that could not be written. 3 and 4, of
    guard and monitor: apply weaker or look again, and refuse or fit again. 130: interrupted. 1: a bug.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words or os.environ.get("UNHUB_DEBUG", "0") not in ("", "0")
    with lasting_streams() as stdout:
        if os.environ.get("_UNHUB_COMPLETE"):
            app(prog_name="unhub")  # shell completion
        try:
            with warnings_as_notes():
                _run([word for word in words if word != "--debug"] or ["--help"])
            code = OK
        except BaseException as error:
            code = _report(error, debug)
        lost = lost_output(stdout)
        if lost is not None and code == OK:
            ended = failure(lost, place="standard output")
            complain(ended.sentence or "")
            code = ended.code
    return code


def _run(words: list[str]) -> None:
    command = typer.main.get_command(app)
    with command.make_context("unhub", words) as context:
        command.invoke(context)


def _report(error: BaseException, debug: bool) -> int:
    """Print why a command failed; returns its exit code."""
    ended = failure(error)
    if ended.sentence is not None:
        if debug:
            import traceback

            lines = "".join(traceback.format_exception(error)).rstrip("\n").split("\n")
            sys.stderr.write("".join(f"{printable(line)}\n" for line in lines))
        complain(ended.sentence)
    return ended.code
