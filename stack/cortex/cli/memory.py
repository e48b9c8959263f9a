"""`cortex memory …`."""

import click


@click.group()
def memory() -> None:
    """The memory server."""


@memory.command()
def serve() -> None:
    """Serve MCP at /mcp; settings are `CORTEX_MEMORY_…` variables."""
    from cortex.memory.main import serve as run

    run()


@memory.command()
def migrate() -> None:
    """Bring the database's schema to this version, then exit."""
    from cortex.memory.main import migrate as run

    click.echo(run())
