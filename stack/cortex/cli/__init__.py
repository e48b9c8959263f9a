"""The `cortex` command: one file a command group; a group is imported when it is used."""

import importlib
import sys

import click

from cortex.shared.errors import Misconfigured, StackError

_GROUPS = {
    "up": ("cortex.cli.stack", "up", "Start a stack."),
    "status": ("cortex.cli.stack", "status", "Say what runs, and where."),
    "logs": ("cortex.cli.stack", "logs", "Show services' logs."),
    "down": ("cortex.cli.stack", "down", "Stop a stack."),
    "memory": ("cortex.cli.memory", "memory", "The memory server."),
    "embedding": ("cortex.cli.embedding", "embedding", "The embedding service."),
}


class _Lazy(click.Group):
    """Loads a command's module when it is called, so that no service carries the others."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_GROUPS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in _GROUPS:
            return None
        module, attribute, _help = _GROUPS[name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_m, _a, text) in _GROUPS.items()])


@click.group(cls=_Lazy)
def cortex() -> None:
    """Services for AI agents, on this machine."""


def main() -> None:
    """Run the command; an error of ours is one line and exit 1 (2: a setting is wrong)."""
    try:
        cortex()
    except Misconfigured as err:
        click.echo(f"cortex: {err}", err=True)
        sys.exit(2)
    except (StackError, OSError) as err:  # OSError: a disk that is full, read-only or not ours
        click.echo(f"cortex: {err}", err=True)
        sys.exit(1)
