"""Where the telemetry of a process goes."""

from msgspec import Struct

from headgate.kernel.secrets import Secret


class TelemetrySettings(Struct, frozen=True):
    """``endpoint``: the collector's base address, below which ``/v1/traces`` and the others are. ``headers``: sent with
    each export, as ``NAME=VALUE`` separated by commas. ``part`` and ``version`` name the process in what it sends."""

    endpoint: str
    headers: Secret | None
    part: str
    version: str
