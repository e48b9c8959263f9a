"""What a program of one stack is told: its places, ports and secrets."""

from collections.abc import Mapping
from dataclasses import dataclass

from cortex.runtime.layout import StackLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What may be used to start, ask and reach the services of one stack."""

    layout: StackLayout
    ports: Mapping[str, int]
    secrets: Mapping[str, str]
    fast: bool
    host: str = "127.0.0.1"

    def url(self, service: str) -> str:
        """The HTTP address of a service of this stack."""
        return f"http://{self.host}:{self.ports[service]}"

    def database_url(self) -> str:
        """The address of the application database, password included."""
        password = quoted(self.secrets["CORTEX_POSTGRES_PASSWORD"])
        return f"postgresql://cortex:{password}@{self.host}:{self.ports['postgres']}/cortex"


def quoted(text: str) -> str:
    """Text as it may stand in any part of a URL."""
    return "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02X}"
        for byte in text.encode()
    )
