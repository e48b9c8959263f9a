"""`cortex embedding …`."""

import sys

import click


@click.group()
def embedding() -> None:
    """The embedding service."""


@embedding.command()
def serve() -> None:
    """Serve the TEI-compatible interface; settings are `CORTEX_EMBEDDING_…` variables."""
    from cortex.embedding.main import main

    sys.exit(main())
