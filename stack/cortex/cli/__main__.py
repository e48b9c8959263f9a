"""`python -m cortex.cli` is the `cortex` command."""

from cortex.cli import main

main()
