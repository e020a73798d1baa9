"""What the worker needs to know; made by the composition root from the process' configuration."""

from dataclasses import dataclass

from headgate.kernel.secrets import Secret


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """``database_dsn`` logs in as headgate_worker. Without ``valkey_url`` held calls wake by polling only."""

    database_dsn: Secret
    valkey_url: Secret | None = None
