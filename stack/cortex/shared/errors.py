"""Every error the stack raises on purpose, in one tree.

StackError                  who can fix it
├── InvalidInput      400   the caller: change the request
├── Forbidden         403   the caller: this token may not do that
├── NotFound          404   the caller: ask for something that exists
├── Conflict          409   the caller: read again, then retry
├── Unavailable       503   the operator: look at the dependency we name
├── Uncertain         503   the caller: look whether it was done, then retry
└── Misconfigured     –     the operator: change the setting we name, then start again
"""


class StackError(Exception):
    """The root: an error whose message may be shown to whoever caused it."""

    status = 500
    retryable = False

    @property
    def kind(self) -> str:
        """The error's public name, as answers carry it."""
        return type(self).__name__


class InvalidInput(StackError):
    """The request is wrong; the message says which field, what was sent and what would be right."""

    status = 400


class Forbidden(StackError):
    """The token is known and may not do this."""

    status = 403


class NotFound(StackError):
    """What was asked for does not exist, or not for this caller."""

    status = 404


class Conflict(StackError):
    """Somebody else changed it first."""

    status = 409


class Unavailable(StackError):
    """A dependency did not answer; nothing was half done, the same call may succeed later."""

    status = 503
    retryable = True


class Uncertain(StackError):
    """A dependency went away in the one moment that leaves open whether the change was kept."""

    status = 503


class Misconfigured(StackError):
    """A setting is wrong or missing, so the service must not start."""
