"""Every error the harness raises on purpose, and the exit code each one ends a run with.

HarnessError             4   the stack or the harness failed
├── UsageMistake         2   the caller: change the command, a file of settings, an eval set
├── StackFailed          4   the operator: look at the service we name
└── NothingCollected     5   the caller: give the suite something to measure
"""


class HarnessError(Exception):
    """Something the harness can name; the message says what was and what would be right."""

    exit_code = 4


class UsageMistake(HarnessError):
    """The command, a settings file or an eval set is wrong; nothing was measured."""

    exit_code = 2


class StackFailed(HarnessError):
    """The stack did not start, or stopped answering."""

    exit_code = 4


class NothingCollected(HarnessError):
    """A suite had nothing to measure."""

    exit_code = 5
