# SPDX-License-Identifier: MIT
"""Makes pytest print the Test Anything Protocol when Meson runs it (COARSEN_TAP=1)."""
import os

import pytest


class Tap:
    """A numbered line for each test, and its failure as remarks below it."""

    def __init__(self):
        self.count = 0

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.passed:
            return  # of set-up and tear-down, only what went wrong
        self.count += 1
        name = report.nodeid.split("::", 1)[-1].replace("#", "no. ")
        skipped = f" # SKIP {report.longrepr[2]}" if report.skipped else ""
        print(f"{'not ' if report.failed else ''}ok {self.count} - {name}{skipped}")
        if report.failed:
            for line in report.longreprtext.splitlines():
                print(f"#   {line}")

    def pytest_collectreport(self, report):
        if report.failed:
            print(f"Bail out! {report.nodeid}: {report.longreprtext.splitlines()[-1]}")

    def pytest_sessionfinish(self):
        print(f"1..{self.count}", flush=True)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if os.environ.get("COARSEN_TAP"):
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(Tap())
