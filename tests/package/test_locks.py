"""The lock files: exact versions and nothing else, of everything that is asked for, as new as is asked for."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DEMO = ("demo", "report", "serve")


def locked(name):
    """The versions of a lock file; every line that is no comment is NAME==VERSION."""
    lines = (ROOT / "requirements" / f"{name}.lock").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    assert all(len(pair) == 2 for pair in pairs)
    return {canonicalize_name(package): Version(version) for package, version in pairs}


def requirements(name):
    if name == "test":
        lines = (ROOT / "requirements" / "test.txt").read_text().splitlines()
        asked = [text for line in lines if (text := line.partition("#")[0].strip())]
    else:
        asked = [each for extra in DEMO for each in PROJECT["optional-dependencies"][extra]]
    return [Requirement(each) for each in (*asked, *PROJECT["dependencies"])]


@pytest.mark.parametrize("name", ["test", "demo"])
def test_everything_that_is_asked_for_is_locked(name):
    versions = locked(name)
    assert len(versions) > 30
    for each in requirements(name):
        found = versions[canonicalize_name(each.name)]
        assert each.specifier.contains(found, prereleases=True), f"{each}: locked is {found}; run make lock"


@pytest.mark.parametrize("name", ["test", "demo"])
def test_a_lock_says_for_whom_it_is_and_not_where_from(name):
    text = (ROOT / "requirements" / f"{name}.lock").read_text()
    assert "for Python 3.11 on Linux" in text.splitlines()[0]
    assert "LOCKED_PYTHON = 3.11\n" in (ROOT / "Makefile").read_text()
    assert not [word for word in ("://", "@", "+cpu", "/", "file:") if word in text.partition("\n")[2]]


def test_make_knows_the_long_attack_the_locks_and_the_release():
    text = (ROOT / "Makefile").read_text()
    for target in ("attack", "lock", "release"):
        assert f"\n{target}:" in text
        assert target in text.partition(".PHONY:")[2].partition("\n")[0].split()
    assert "$(call locked,test)" in text
    assert "$(call locked,demo)" in text
