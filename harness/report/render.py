"""Renders the report."""

from pathlib import Path

from harness.results import Records
from harness.runs import RunRecord


def render(run_folder: Path, run: RunRecord, records: Records) -> str:
    """The report of a run."""
    return "<!doctype html>"
