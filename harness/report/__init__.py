"""The report: results and verdicts in, one HTML file out; no network, the same bytes every time."""

from harness.report.render import render

__all__ = ["render"]
