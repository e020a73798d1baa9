"""What the worker needs to know; made by the composition root from the process' configuration."""

from pathlib import Path

from msgspec import Struct, field

from headgate.configuration.data_directory import DataDirectory
from headgate.evidence.settings import EvidenceSettings
from headgate.executions.model import DEFAULT_CONCURRENCY_MAX
from headgate.kernel.secrets import Secret
from headgate.monitor.settings import MonitorSettings
from headgate.outgoing.upstream_proxy import UpstreamProxy
from headgate.vault.unwrapper import Unwrapper


class WorkerSettings(Struct, frozen=True):
    """``database_dsn`` logs in as headgate_worker. Without ``valkey_url`` held calls wake by polling only.

    ``data_dir`` holds the master keys (unless ``master_keys_file`` says where) and the mark of the policy that is being
    evaluated. ``unwrapper``: of master keys that a key management service wraps. ``public_api_url`` is where links in
    messages lead. ``places``: how many executions run at once in this process. Without ``evidence`` this worker signs
    no checkpoints. ``siem_folder``: where streams to files go. ``report_fonts``: of PDF reports, beside their own.
    ``classifiers_dir``: local classifiers of content policies.
    ``execution_concurrency_max``: what an organization's own limits of concurrency are cut to.
    """

    database_dsn: Secret
    valkey_url: Secret | None
    data_dir: Path
    master_keys_file: Path | None = None
    unwrapper: Unwrapper | None = None
    upstream_ca_file: Path | None = None
    upstream_proxy: UpstreamProxy | None = None
    classifiers_dir: Path | None = None
    public_api_url: str = "http://127.0.0.1:8470"
    places: int = 32
    evidence: EvidenceSettings | None = None
    siem_folder: Path | None = None
    report_fonts: tuple[Path, ...] = ()
    execution_concurrency_max: int = DEFAULT_CONCURRENCY_MAX
    monitor: MonitorSettings = field(default_factory=MonitorSettings)

    @property
    def data(self) -> DataDirectory:
        return DataDirectory(self.data_dir)
