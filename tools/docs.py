"""The generated pages, settings and commands, made from the code; `--check` says if one drifted."""

import importlib
import sys
from pathlib import Path

import click
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

ROOT = Path(__file__).resolve().parents[1]
SERVICES = {
    "Memory server": ("cortex.memory.settings", "cortex memory serve"),
    "Embedding service": ("cortex.embedding.settings", "cortex embedding serve"),
}
COMMANDS = {"cortex": ("cortex.cli", "cortex"), "cortex-harness": ("harness.cli", "cortex_harness")}


def settings_page() -> str:
    """`docs/settings.md`."""
    lines = [
        "# Settings",
        "",
        "Every service reads its settings from environment variables, once.",
        "",
    ]
    for title, (module, command) in SERVICES.items():
        settings: type[BaseSettings] = importlib.import_module(module).Settings
        prefix = settings.model_config.get("env_prefix", "")
        lines += [
            f"## {title}",
            "",
            f"Read by `{command}`; an unknown `{prefix}…` name is refused.",
            "",
        ]
        lines += ["| variable | default | meaning |", "|---|---|---|"]
        for name, field in settings.model_fields.items():
            required = field.default is PydanticUndefined
            default = (
                "required"
                if required
                else f"`{_shown(field.default)!r}`"
                if field.default is not None
                else "–"
            )
            meaning = (field.description or "").replace("|", "\\|")
            lines.append(f"| `{prefix}{name.upper()}` | {default} | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def _shown(default: object) -> object:
    """A default as one would write it: a path is its text."""
    return str(default) if isinstance(default, Path) else default


def commands_page() -> str:
    """`docs/cli.md`."""
    lines = ["# Commands", ""]
    for name, (module, attribute) in COMMANDS.items():
        command = getattr(importlib.import_module(module), attribute)
        lines += _command(command, click.Context(command, info_name=name, terminal_width=100))
    return "\n".join(lines)


def _command(command: click.Command, context: click.Context) -> list[str]:
    help_text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    lines = [f"## `{context.command_path}`", "", "```text", help_text, "```", ""]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                inner = click.Context(child, info_name=name, parent=context, terminal_width=100)
                lines += _command(child, inner)
    return lines


PAGES = {"docs/settings.md": settings_page, "docs/cli.md": commands_page}


def main() -> None:
    """Write the pages, or with `--check` fail where one is not as the code says."""
    drifted = []
    for path, make in PAGES.items():
        text, file = make(), ROOT / path
        if "--check" not in sys.argv:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            drifted.append(path)
    if drifted:
        sys.exit(f"{', '.join(drifted)} drifted from the code; run `make docs`")


if __name__ == "__main__":
    main()
