"""How a service reads its settings: once, from its own prefix, refusing names it does not know."""

import os
from typing import Any, Self

from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from cortex.shared.errors import Misconfigured


class ServiceSettings(BaseSettings):
    """Base of every service's settings; pydantic alone would ignore a misspelt variable."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    @classmethod
    def read(cls, **overrides: Any) -> Self:
        """Settings from the environment, `overrides` first; raises `Misconfigured` naming each."""
        prefix = cls.model_config.get("env_prefix", "")
        known = {f"{prefix}{name}".upper() for name in cls.model_fields}
        unknown = sorted(
            name
            for name in os.environ
            if name.upper().startswith(prefix.upper()) and name.upper() not in known
        )
        if prefix and unknown:
            names = ", ".join(unknown)
            raise Misconfigured(f"unknown setting {names}; the known ones are in docs/settings.md")
        try:
            return cls(**overrides)
        except ValidationError as err:
            problems = "; ".join(
                f"{prefix}{'_'.join(str(part) for part in fault['loc'])}".upper()
                + f": {fault['msg']}"
                for fault in err.errors(include_input=False, include_url=False)
            )
            raise Misconfigured(problems) from err


def inherited_environment() -> dict[str, str]:
    """The environment a child process starts from."""
    return dict(os.environ)
