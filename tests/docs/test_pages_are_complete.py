"""The reference pages keep up with the code: no method, metric, format or command is left out or misdescribed."""

import dataclasses
import re
from pathlib import Path

import pytest

import unhub
from unhub.io.formats import FORMATS
from unhub.methods import method_class
from unhub.metrics import FAMILIES, METRICS, TIES

ROOT = Path(__file__).parents[2]


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


METHOD_SECTIONS = dict(re.findall(r"^### `(\w+)`[^\n]*\n(.*?)(?=^##|\Z)", page("methods.md"), re.M | re.S))


def test_methods_page_has_every_method():
    assert set(METHOD_SECTIONS) == set(unhub.METHODS)


@pytest.mark.parametrize("name", unhub.METHODS)
def test_methods_page_has_the_defaults_and_the_class(name):
    text = METHOD_SECTIONS[name]
    told = re.search(r"Defaults: (.*?)\.(?:\s|$)", text, re.DOTALL)[1]
    fields = {field.name: repr(field.default) for field in dataclasses.fields(method_class(name))}
    assert dict(re.findall(r"`(\w+)=([^`]+)`", told)) == fields, name
    assert f"Class `{method_class(name).__name__}`" in text
    assert hasattr(unhub.methods, method_class(name).__name__)


@pytest.mark.parametrize("name", [name for name in unhub.METHODS if name != "none"])
def test_methods_page_has_the_sources_of_the_docstring(name):
    cited = set(re.findall(r"\b[a-z]+:\d{2}\b", method_class(name).__doc__))
    assert cited & set(re.findall(r"\b[a-z]+:\d{2}\b", METHOD_SECTIONS[name]))


def test_the_comparison_has_every_method_and_says_who_can_be_served():
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", page("choose.md"), re.MULTILINE)
    assert [name for name, _ in rows] == list(unhub.METHODS)
    assert {name for name, served in rows if served.startswith("yes")} == set(unhub.ADDITIVE)


def test_metrics_page_has_every_metric_and_tie_policy():
    text = page("metrics.md")
    for name in (*(f"{family}@k" for family in FAMILIES), *(each for each in METRICS if "@" not in each)):
        assert f"| `{name}` |" in text, name
    for policy in TIES:
        assert re.search(rf"^\| `{policy}`", text, re.MULTILINE), policy


def test_files_page_has_every_ending():
    rows = "\n".join(line for line in page("files.md").splitlines() if line.startswith("| `."))
    assert set(re.findall(r"`(\.\w+)`", rows)) == set(FORMATS)


def test_interface_page_has_every_public_name():
    text = page("api.md")
    listed = set(re.findall(r"::: unhub\.(\w+)", text)) | set(re.findall(r"- (\w+)$", text, re.MULTILINE))
    assert set(unhub.__all__) - {"__version__"} <= listed


def test_command_page_has_every_command_and_no_option_that_is_not_there():
    typer = pytest.importorskip("typer")
    from unhub.cli import COMMANDS, app

    text = page("cli.md")
    assert re.findall(r"^### `unhub (\w+)`$", text, re.MULTILINE) == list(COMMANDS)
    group = typer.main.get_command(app)
    options = {
        option
        for command in (group, *group.commands.values())
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text)) - {"--help"}
    assert told <= options, told - options


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    docs = ROOT / "docs"
    assert listed == {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}


def test_architecture_and_readme_name_files_and_folders_that_exist():
    src = ROOT / "src" / "unhub"
    text = page("architecture.md")
    named = set(re.findall(r"\b([a-z]+/[\w/]+\.(?:py|css))", text)) | set(re.findall(r"`([a-z]+/(?:\w+/)*)`", text))
    assert len(named) > 60
    assert not {path for path in named if not ((src / path).exists() or (ROOT / path).exists())}
    folders = {path.name for path in src.iterdir() if path.is_dir() and not path.name.startswith("__")}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    layers = readme[readme.index("## Where things are") : readme.index("Imports go down this list")]
    assert not {folder for folder in folders if not re.search(rf"\s{folder}\s", layers)}


def test_percent_signs_follow_their_number():
    pages = [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in ("README.md", "CHANGELOG.md"))]
    assert not {path.name for path in pages if re.search(r"\d %", path.read_text(encoding="utf-8"))}
