"""In CI a skipped test is a failure: shown with a tiny suite of its own, in its worker."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SUITE = """
import pytest

def test_runs():
    pass

def test_is_skipped():
    pytest.skip("its data is not here")

@pytest.mark.xfail(reason="known")
def test_is_known_to_fail():
    assert False
"""


def run(folder, *options, **environment):
    """The exit code and the output of pytest on the tiny suite."""
    shutil.copy(Path(__file__).parents[2] / "conftest.py", folder)
    inherited = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST")}
    bare = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # others take seconds to load
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", *options, str(folder)]
    done = subprocess.run(command, cwd=folder, env=inherited | bare | environment, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_skipped_test_is_a_failure_in_ci_and_is_named(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "test_whole.py").write_text("import pytest\npytest.importorskip('no_such_package_at_all')\n")
    code, said = run(tmp_path, "-n", "1", "--dist", "loadgroup", CI="true")
    assert code == 1
    assert "skipped, which is a failure in CI" in said
    assert "test_suite.py::test_is_skipped: Skipped: its data is not here" in said
    assert "test_whole.py: Skipped: could not import 'no_such_package_at_all'" in said
    assert "test_is_known_to_fail:" not in said


def test_elsewhere_it_is_not(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    assert run(tmp_path, CI="false")[0] == 0


def test_without_a_skip_nothing_changes(tmp_path):
    (tmp_path / "test_suite.py").write_text("def test_runs():\n    pass\n")
    assert run(tmp_path, CI="true")[0] == 0
