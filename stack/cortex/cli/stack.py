"""`cortex up|status|logs|down`: a stack as its operator handles it."""

import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cortex.runtime import native, processes
from cortex.runtime.layout import (
    StackLayout,
    StackState,
    file_tail,
    load_state,
    write_private,
)
from cortex.runtime.services import PROFILES, select
from cortex.shared.errors import Misconfigured, StackError
from cortex.shared.settings import inherited_environment

Command = Callable[..., Any]


def _stack_options(command: Command) -> Command:
    command = click.option("--name", default="cortex", help="Stacks side by side differ by name.")(
        command
    )
    return click.option(
        "--state-dir",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path(".cortex"),
        help="Where stacks keep their state.",
    )(command)


def _layout(state_dir: Path, name: str) -> StackLayout:
    if not name.replace("-", "").isalnum() or len(name) > 40:
        raise click.UsageError(f"--name is {name!r}; use letters, digits and '-', at most 40")
    return StackLayout(state_dir.absolute(), name)


@click.command()
@click.argument("services", nargs=-1)
@_stack_options
@click.option("--runtime", type=click.Choice(["native"]), default="native", help="How to run.")
@click.option("--profile", type=click.Choice(PROFILES), default="memory", help="What to run.")
@click.option("--port-offset", type=click.IntRange(0, 60000), default=0, help="Shift every port.")
@click.option("--free-ports", is_flag=True, help="Take any free ports.")
@click.option("--fast", is_flag=True, help="Data may be lost if the machine crashes, for tests.")
@click.option("--wait", is_flag=True, help="Return when all is ready, or say what failed.")
@click.option("--wait-timeout", type=float, default=300.0, help="Seconds to wait.")
@click.option("--json", "as_json", is_flag=True, help="Print the state as JSON.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write targets.json.")
def up(
    services: tuple[str, ...],
    state_dir: Path,
    name: str,
    runtime: str,
    profile: str,
    port_offset: int,
    free_ports: bool,
    fast: bool,
    wait: bool,
    wait_timeout: float,
    as_json: bool,
    out: Path | None,
) -> None:
    """Start a stack (all services of the profile, or those named with what they need)."""
    del runtime
    layout = _layout(state_dir, name)
    wish = native.Wish(
        profile=profile,
        services=services,
        port_offset=port_offset,
        free_ports=free_ports,
        fast=fast,
    )
    started = False
    try:
        state, started = native.up(layout, wish, lambda line: click.echo(line, err=True))
        if wait or out:
            for state in native.wait_until_ready(layout, wait_timeout):
                if not as_json:
                    _progress(state)
    except KeyboardInterrupt:
        click.echo(f"interrupted{'; stopping what was started' if started else ''}", err=True)
        if started:
            native.down(layout)
        sys.exit(130)
    except Misconfigured:
        raise
    except StackError as err:
        click.echo(f"cortex: {err}", err=True)
        if started:
            _explain_failure(layout)
        sys.exit(1)
    if out:
        write_private(out, json.dumps(native.targets(layout, state, _revision()), indent=2) + "\n")
    _print_state(layout, state, as_json=as_json)
    for service in select(profile, services):
        for variable, value in service.program.defaults.items():
            if not as_json and variable not in inherited_environment():
                click.echo(f"{service.name}: {variable} is not set; picked {value!r}", err=True)


def _revision() -> str:
    return importlib.metadata.version("cortex-stack")


def _progress(state: StackState) -> None:
    line = "  ".join(f"{name}: {one.state}" for name, one in state.services.items())
    click.echo(line, err=True)


def _explain_failure(layout: StackLayout) -> None:
    """Show the last lines of what did not start, and stop the stack."""
    state = load_state(layout)
    if state is None:
        return
    for name, one in state.services.items():
        if one.state in ("failed", "restarting", "starting"):
            click.echo(f"--- last lines of {layout.log_file(name)}", err=True)
            click.echo(file_tail(layout.log_file(name)), err=True)
    native.down(layout)
    click.echo("cortex: the stack was stopped; mend the above, then `cortex up` again", err=True)


def _print_state(layout: StackLayout, state: StackState | None, *, as_json: bool) -> None:
    rows = [] if state is None else [_row(name, one) for name, one in state.services.items()]
    if as_json:
        click.echo(json.dumps({"name": layout.name, "services": rows}))
        return
    if not rows:
        click.echo(f"no stack {layout.name!r} in {layout.state_dir}")
        return
    click.echo(f"{'SERVICE':<12}{'STATE':<12}{'ADDRESS':<24}{'READY AFTER':<13}VERSION")
    for row in rows:
        ready = "" if row["ready_s"] is None else f"{row['ready_s']} s"
        click.echo(
            f"{row['service']:<12}{row['state']:<12}{row['address']:<24}{ready:<13}{row['version']}"
        )


def _row(name: str, one: Any) -> dict[str, Any]:
    alive = one.pid and processes.is_alive(one.pid, one.ticks)
    return {
        "service": name,
        "state": one.state if alive or one.state != "ready" else "lost",
        "address": "127.0.0.1:" + ",".join(str(port) for port in one.ports.values()),
        "ready_s": one.ready_s,
        "version": one.version,
        "pid": one.pid,
        "restarts": one.restarts,
        "why": one.why,
    }


@click.command()
@_stack_options
@click.option("--json", "as_json", is_flag=True, help="Print the state as JSON.")
def status(state_dir: Path, name: str, as_json: bool) -> None:
    """Say what runs; exit 1 unless every service is ready."""
    layout = _layout(state_dir, name)
    state = load_state(layout)
    _print_state(layout, state, as_json=as_json)
    lost = state and not processes.is_alive(state.supervisor.pid, state.supervisor.ticks)
    if lost:
        click.echo(
            "the supervisor is gone; `cortex down` cleans up, `cortex up` starts anew", err=True
        )
    if state is None or lost or any(s.state != "ready" for s in state.services.values()):
        sys.exit(1)


@click.command()
@click.argument("services", nargs=-1)
@_stack_options
@click.option("--follow", "-f", is_flag=True, help="Go on as lines come.")
@click.option("--lines", type=int, default=50, help="Lines from the end, each service.")
def logs(services: tuple[str, ...], state_dir: Path, name: str, follow: bool, lines: int) -> None:
    """Show the services' logs."""
    layout = _layout(state_dir, name)
    paths = sorted((layout.home / "logs").glob("*.log"))
    paths = [path for path in paths if not services or path.stem in services]
    if not paths:
        raise click.UsageError(f"no logs of {', '.join(services) or 'this stack'} in {layout.home}")
    for path in paths:
        for line in file_tail(path, lines).splitlines():
            click.echo(f"{path.stem:<11}| {line}")
    offsets = {path: path.stat().st_size for path in paths}
    while follow:
        for path in paths:
            if path.stat().st_size > offsets[path]:
                with path.open("rb") as file:
                    file.seek(offsets[path])
                    fresh = file.read()
                offsets[path] += len(fresh)
                for line in fresh.decode("utf-8", "replace").splitlines():
                    click.echo(f"{path.stem:<11}| {line}")
        time.sleep(0.3)


@click.command()
@_stack_options
@click.option("--volumes", is_flag=True, help="Remove the stack's data and secrets as well.")
def down(state_dir: Path, name: str, volumes: bool) -> None:
    """Stop every process of a stack; its data stays unless --volumes."""
    layout = _layout(state_dir, name)
    if native.down(layout, volumes=volumes):
        click.echo(f"stack {name!r} is down" + (", its data removed" if volumes else ""))
    elif volumes:
        click.echo(f"no stack {name!r} ran; its data, if any, is removed")
    else:
        click.echo(f"no stack {name!r} in {os.path.relpath(layout.state_dir)}")
