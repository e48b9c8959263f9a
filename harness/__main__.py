"""`python -m harness` is `cortex-harness`."""

from harness.cli import main

main()
