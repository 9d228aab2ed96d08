"""In CI a skipped test, or a skipped example of a docstring, is a failure."""

import os

import pytest


class NoSkips:
    """Ends a run with an error if a test was skipped; for CI, where everything that a test needs is there."""

    def __init__(self):
        self.skipped = []

    def pytest_runtest_logreport(self, report):
        """Notes a test that was skipped."""
        self._note(report)

    def pytest_collectreport(self, report):
        """Notes a file that was skipped whole."""
        self._note(report)

    def _note(self, report):
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.skipped.append(f"{report.nodeid}: {reason}")

    def pytest_sessionfinish(self, session, exitstatus):
        """Turns success into failure."""
        if self.skipped and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        """Names what was skipped."""
        if self.skipped:
            terminalreporter.section("skipped, which is a failure in CI")
            for line in self.skipped:
                terminalreporter.line(line)


def pytest_configure(config):
    """With CI set, a skipped test is a failure. Workers of xdist report to their controller, which counts."""
    if os.environ.get("CI", "").lower() not in ("", "0", "false") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(NoSkips())
