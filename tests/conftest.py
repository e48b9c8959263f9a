"""What all tests share: the helpers' folder, and no skip where everything is required."""

import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With `CORTEX_REQUIRE_ALL` a missing part (Node, a browser, a server) fails its test."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CORTEX_REQUIRE_ALL"):
        report.outcome = "failed"
        report.longrepr = f"everything is required here, and this was skipped: {report.longrepr}"
    return report
