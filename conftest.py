# SPDX-License-Identifier: Apache-2.0
"""The order of tests for two workers: see order.py in tests/models. Tests that were not run again, or whose benches and
proofs were not, are "cached", not "passed": see results.py and whole_tests.py there. Those that are skipped are named:
skips.py."""

from __future__ import annotations

import os
from collections.abc import Generator

import order
import pytest
import results
import skips
from doorbell import build


def pytest_sessionstart(session: pytest.Session) -> None:
    """The registers are there, so that no command under test has a line to say about making them."""
    if not hasattr(session.config, "workerinput"):
        build.regs()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if getattr(config, "workerinput", {}).get("workercount") == len(order.LONG):
        items[:] = order.dealt([(item.nodeid, item) for item in items])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    results.ran.clear()
    results.kept.clear()
    outcome = yield
    if results.kept and not results.ran:
        item.user_properties.append(("cached", len(results.kept)))
    return outcome


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    if report.when == "call" and report.passed and dict(report.user_properties).get("cached"):
        return "cached", "c", "CACHED"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if cached := len(terminalreporter.stats.get("cached", [])):
        terminalreporter.write_line(
            f"cached: {cached} tests were not run again, because they passed and nothing that they depend on has"
            " changed since; --fresh runs them"
        )
    for line in skips.lines(skipped(terminalreporter)):
        terminalreporter.write_line(line)


def skipped(terminalreporter: pytest.TerminalReporter) -> list[skips.Skip]:
    def reason(said: object) -> str:
        return str(said[2] if isinstance(said, tuple) else said).removeprefix("Skipped: ")

    return [skips.Skip(r.nodeid, reason(r.longrepr)) for r in terminalreporter.stats.get("skipped", [])]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    strict = os.environ.get("DOORBELL_STRICT") and not hasattr(session.config, "workerinput")
    if strict and reporter and not all(s.listed() for s in skipped(reporter)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
