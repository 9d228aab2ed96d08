"""Every Python block of the documentation runs, and so does every ``$ unhub`` line, page by page, in order."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))

# A fenced block of Python or of a console, or a comment that prepares what a page takes for granted.
BLOCK = re.compile(
    r"^(?P<indent>[ ]*)```(?P<kind>python|console|bash)\n(?P<code>.*?)^(?P=indent)```[ ]*$"
    r"|^<!-- python\n(?P<hidden>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)

# Commands that cannot run here, each with the reason.
NOT_RUN = {
    "unhub demo": "needs an encoder that is an extra",
    "pip ": "would install packages",
    "unhub serve": "serves until it is ended",
}

VERDICTS = {"unhub guard": {0, 3, 4}, "unhub monitor": {0, 3, 4}}
"""exit codes of the commands whose exit code is a verdict"""


def blocks(page):
    """(kind, line, code) of every block, in the order of the page."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        code = found["code"] if found["hidden"] is None else found["hidden"]
        kind = "python" if found["hidden"] is not None else found["kind"]
        start = found.start("code") if found["hidden"] is None else found.start("hidden")
        yield kind, text.count("\n", 0, start), textwrap.dedent(code)


def commands(code):
    """The command lines of a console block: those after ``$``, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", code)
    return [line[2:] for line in joined.splitlines() if line.startswith("$ ")]


def run_command(line):
    words = shlex.split(line)
    assert words[0] == "unhub", f"only unhub is run from the documentation, not {line!r}"
    code = "import sys; from unhub.cli import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", code, *words[1:]], capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("own_registries")
@pytest.mark.parametrize("page", [each for each in PAGES if list(blocks(each))], ids=lambda page: page.stem)
def test_the_page_runs(page, tmp_path, monkeypatch):
    found = list(blocks(page))
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": page.stem}
    for kind, line, code in found:
        if kind == "python":
            source = compile("\n" * line + code, str(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(source, namespace)
        elif kind == "console":
            for command in commands(code):
                if not command.startswith(tuple(NOT_RUN)):
                    ended = run_command(command)
                    expected = VERDICTS.get(" ".join(command.split()[:2]), {0})
                    assert ended.returncode in expected, (
                        f"{page.name}:{line}: $ {command}\n{ended.stdout}{ended.stderr}"
                    )


def test_what_the_first_page_prints_is_what_it_says(tmp_path, monkeypatch):
    """The example of the first page is followed by its output; the two must agree."""
    monkeypatch.chdir(tmp_path)
    page = DOCS / "index.md"
    code = next(code for kind, _, code in blocks(page) if kind == "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(page), "exec"), {})
    shown = re.search(r"```text\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert printed.getvalue() == shown


def test_shell_blocks_hold_nothing_that_should_run():
    """A ``bash`` block is for what is not run; a command of unhub belongs into a ``console`` block."""
    for page in PAGES:
        for kind, line, code in blocks(page):
            if kind == "bash":
                assert "$ unhub" not in code, f"{page.name}:{line}"
            if kind == "console":
                assert commands(code), f"{page.name}:{line} has no line that starts with '$ '"


def test_the_runner_notices_a_broken_block(tmp_path, monkeypatch):
    """The tests above can fail: a page with an error in it does not pass."""
    page = tmp_path / "broken.md"
    page.write_text("# Broken\n\n```python\nimport unhub\nunhub.no_such_name\n```\n", encoding="utf-8")
    with pytest.raises(AttributeError, match="no_such_name"):
        test_the_page_runs(page, tmp_path, monkeypatch)


def test_pages_are_found():
    assert len(PAGES) > 10
    assert sum(1 for page in PAGES for _ in blocks(page)) > 30
    assert os.path.isdir(DOCS / "pictures")
