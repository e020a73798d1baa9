"""What a proxy process needs to know; made by the composition root from the process' configuration."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from addons.inspection import AnswerLimits
from addons.limits import RequestLimits
from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.secrets import Secret
from headgate.monitor.settings import MonitorSettings
from headgate.outgoing.upstream_proxy import UpstreamProxy
from headgate.ratelimits.classes import DEFAULT_QUOTAS, RateClass
from headgate.ratelimits.gcra import Quota
from headgate.traffic.spool_writer import SPOOL_LIMIT_BYTES
from headgate.vault.unwrapper import Unwrapper
from proxy.authority import Authority


class GateSettings(Struct, frozen=True):
    """``database_dsn`` logs in as headgate_proxy. Without ``valkey_url`` held calls wake by polling only.

    ``data_dir`` holds the certificate authority (private) and what clients need; ``ca_file``: the authority that is
    shared with other machines. ``public_api_url`` is where
    agents ask about a held action; its origin passes the guard. ``master_keys_file`` None: the one in ``data_dir``.
    ``unwrapper``: of wrapped master keys. ``classifiers_dir``: local classifiers of content policies.
    """

    database_dsn: Secret
    valkey_url: Secret | None
    data_dir: Path
    host: str
    port: int
    public_api_url: str
    ca_file: Path | None = None
    upstream_ca_file: Path | None = None
    upstream_proxy: UpstreamProxy | None = None
    classifiers_dir: Path | None = None
    hold_seconds: float = 50.0
    approval_expires_seconds: int = 86_400
    rate_limits: bool = True
    quotas: Mapping[RateClass, Quota] = DEFAULT_QUOTAS
    limits: RequestLimits = field(default_factory=RequestLimits)
    answers: AnswerLimits = field(default_factory=AnswerLimits)
    master_keys_file: Path | None = None
    unwrapper: Unwrapper | None = None
    capture_spool_limit_bytes: int = SPOOL_LIMIT_BYTES
    monitor: MonitorSettings = field(default_factory=MonitorSettings)

    @property
    def data(self) -> DataDirectory:
        return DataDirectory(self.data_dir)

    @property
    def authority(self) -> Authority:
        return Authority(self.data.authority, self.data.public, self.ca_file)
