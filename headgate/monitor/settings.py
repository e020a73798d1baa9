"""Where a process answers probes, and how long it goes on when it is told to stop."""

from msgspec import Struct


class MonitorSettings(Struct, frozen=True):
    """``address`` None: no probes. ``drain_seconds``: between SIGTERM and the end of new connections."""

    address: tuple[str, int] | None = None
    drain_seconds: int = 0
