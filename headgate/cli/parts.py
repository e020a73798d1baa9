"""The parts of an instance, each by itself: ``headgate api``, ``proxy``, ``worker``, ``migrate``.

Here the process' settings become those of each part: the parts know nothing of environment variables.
"""

import asyncio
import sys
from contextlib import AbstractContextManager, closing, nullcontext
from datetime import timedelta
from importlib import metadata
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from headgate.configuration.settings import Part, Settings, read_settings
from headgate.kernel.extras import importing
from headgate.kernel.loading import loading
from headgate.monitor.settings import MonitorSettings

if TYPE_CHECKING:
    from headgate.outgoing.upstream_proxy import UpstreamProxy
    from headgate.telemetry.export import Telemetry
    from headgate.vault.unwrapper import Unwrapper


@click.command()
def api() -> None:
    """Run one API process until SIGTERM or SIGINT. Settings: docs/reference/settings.md."""
    settings = _begin()
    with loading():
        from admin_api.forwarded import ForwardedHeader, TrustedProxies  # noqa: PLC0415 - loaded by this part only
        from admin_api.process_settings import ApiSettings  # noqa: PLC0415
        from admin_api.server import run  # noqa: PLC0415
        from headgate.cli.evidence_settings import signing_key_source  # noqa: PLC0415
        from headgate.cli.issuer_settings import configured_issuers  # noqa: PLC0415
        from headgate.mfa.providers.settings import provider_settings  # noqa: PLC0415
        from headgate.ratelimits.classes import quotas_of  # noqa: PLC0415
        from headgate.sessions.model import SessionLimits  # noqa: PLC0415

    api_settings = ApiSettings(
        database_dsn=settings.database_url_of(Part.API),
        valkey_url=settings.redis_url,
        data_dir=settings.data_dir,
        host=settings.api_host,
        port=settings.api_port,
        rate_limits=settings.rate_limits,
        quotas=quotas_of(settings),
        local_tokens=settings.jwt_local_issuer,
        passkeys=settings.passkeys,
        oidc=configured_issuers(settings),
        public_url=settings.api_url,
        command_name=settings.command_name,
        proxy_url=settings.proxy_url,
        session_limits=SessionLimits(
            timedelta(seconds=settings.session_seconds), timedelta(seconds=settings.session_idle_seconds)
        ),
        sign_in_trust=timedelta(seconds=settings.sign_in_trust_seconds),
        ca_certificate=settings.ca_file or settings.data.public / "ca.pem",
        approval_expires_seconds=settings.approval_expires_seconds,
        grant_max_seconds=settings.grant_max_seconds,
        key_lifetime_days=settings.key_lifetime_days,
        delegation_depth=settings.delegation_depth,
        execution_concurrency_max=settings.execution_concurrency_max,
        body_limit_bytes=settings.api_body_limit_bytes,
        event_streams_of_person=settings.event_streams_per_person,
        connections_max=settings.api_connections_max,
        connections_of_address=settings.api_connections_per_address,
        bodies_bytes_max=settings.api_bodies_limit_bytes,
        trusted_proxies=TrustedProxies(settings.trusted_proxies or (), ForwardedHeader(settings.forwarded_header)),
        upstream_ca_file=settings.upstream_ca_file,
        upstream_proxy=_upstream_proxy(settings),
        monitor=_monitor(settings),
        classifiers_dir=settings.classifiers_dir,
        master_keys_file=settings.master_keys_file,
        unwrapper=_unwrapper(settings),
        signing_keys=signing_key_source(settings),
        checkpoint_seconds=settings.checkpoint_seconds,
        mfa_provider=provider_settings(
            settings.mfa_provider,
            issuer=settings.jwt_issuer,
            url=settings.mfa_provider_url,
            client_id=settings.mfa_provider_client_id,
            secret=settings.mfa_provider_secret,
        ),
    )
    with _telemetry(settings, Part.API):
        run(api_settings)


@click.command()
def proxy() -> None:
    """Run the proxy until SIGTERM or SIGINT: HEADGATE_PROXY_WORKERS processes on one port."""
    settings = _begin()
    settings.database_url_of(Part.PROXY)  # said once, and not by every process: there is none
    if settings.proxy_workers > 1:
        from headgate.runtime.proxy_workers import run_proxy_workers  # noqa: PLC0415 - loaded by this command only

        asyncio.run(run_proxy_workers(settings))
    else:
        _serve_proxy(settings)


def _serve_proxy(settings: Settings) -> None:
    with loading():
        from headgate.ratelimits.classes import quotas_of  # noqa: PLC0415 - loaded by this part only
        from proxy.server import serve  # noqa: PLC0415 - loaded by this part only
        from proxy.settings import GateSettings  # noqa: PLC0415

    gate = GateSettings(
        database_dsn=settings.database_url_of(Part.PROXY),
        valkey_url=settings.redis_url,
        data_dir=settings.data_dir,
        host=settings.proxy_host,
        port=settings.proxy_port,
        public_api_url=settings.api_url,
        ca_file=settings.ca_file,
        upstream_ca_file=settings.upstream_ca_file,
        upstream_proxy=_upstream_proxy(settings),
        classifiers_dir=settings.classifiers_dir,
        hold_seconds=settings.hold_seconds,
        approval_expires_seconds=settings.approval_expires_seconds,
        rate_limits=settings.rate_limits,
        quotas=quotas_of(settings),
        master_keys_file=settings.master_keys_file,
        unwrapper=_unwrapper(settings),
        capture_spool_limit_bytes=settings.capture_spool_limit_bytes,
        monitor=_monitor(settings),
    )
    limits = replace(
        gate.limits,
        body=settings.proxy_body_limit_bytes,
        buffered=settings.buffer_budget_bytes,
        head_seconds=settings.request_head_seconds,
    )
    answers = replace(
        gate.answers, body=settings.inspected_answer_limit_bytes, seconds=settings.inspected_answer_seconds
    )
    telemetry = _telemetry(settings, Part.PROXY)
    # Plain asyncio: the guard stands in the loop's resolver, which uvloop would pass by (proxy/resolver.py).
    with telemetry as opened:
        asyncio.run(serve(replace(gate, limits=limits, answers=answers), None if opened is None else opened.tracer))


@click.command()
def worker() -> None:
    """Run one worker process until SIGTERM or SIGINT. It seals the audit log, expires approvals, executes
    actions and cleans up orphans."""
    settings = _begin()
    with loading():
        from headgate.cli.evidence_settings import evidence_settings  # noqa: PLC0415 - loaded by this part only
        from headgate.cli.report_fonts import usable_report_fonts  # noqa: PLC0415
        from headgate.worker.main import run  # noqa: PLC0415 - loaded by this part only
        from headgate.worker.settings import WorkerSettings  # noqa: PLC0415

    worker_settings = WorkerSettings(
        settings.database_url_of(Part.WORKER),
        settings.redis_url,
        settings.data_dir,
        master_keys_file=settings.master_keys_file,
        unwrapper=_unwrapper(settings),
        upstream_ca_file=settings.upstream_ca_file,
        upstream_proxy=_upstream_proxy(settings),
        classifiers_dir=settings.classifiers_dir,
        public_api_url=settings.api_url,
        evidence=evidence_settings(settings),
        siem_folder=settings.siem_folder,
        report_fonts=usable_report_fonts(settings),
        execution_concurrency_max=settings.execution_concurrency_max,
        monitor=_monitor(settings),
    )
    with _telemetry(settings, Part.WORKER):
        asyncio.run(run(worker_settings))


@click.command()
@click.option("--beside", type=int, metavar="PID", help="Exit when this process ends.")
def masker(beside: int | None) -> None:
    """Mask and store the captured traffic of the proxies of this machine, until SIGTERM or SIGINT.

    A proxy starts this process itself when it captures. There is one process for each data directory.
    """
    settings = _begin()
    with loading():
        from headgate.worker.masker import MaskerSettings, run  # noqa: PLC0415 - loaded by this part only

    masker_settings = MaskerSettings(
        settings.database_url_of(Part.PROXY), settings.data_dir, settings.master_keys_file, _unwrapper(settings), beside
    )
    sys.exit(asyncio.run(run(masker_settings)))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def migrate(as_json: bool) -> None:
    """Migrate the database to this version, as its owner, and create the first organization with the default policies.

    You can run it again at any time, also concurrently. The roles of the parts are created without the right to log
    in. Grant it (ALTER ROLE headgate_api LOGIN PASSWORD …), or give every part the owner's database URL.
    """
    from headgate.db.migrate import migrate as apply_migrations  # noqa: PLC0415 - loaded by this command only
    from headgate.kernel.clock import system_clock  # noqa: PLC0415
    from headgate.runtime.seed import seed_organization  # noqa: PLC0415

    url = _begin().database_url_of(Part.OWNER)

    async def bring_up_to_date() -> list[str]:
        applied = await apply_migrations(url.reveal())
        await seed_organization(url, system_clock)
        return applied

    applied = asyncio.run(bring_up_to_date())
    if as_json:
        from headgate.cli.tables import show_json  # noqa: PLC0415 - the parts print no JSON

        show_json({"applied": applied})
        return
    for name in applied:
        click.echo(f"applied {name}")
    if not applied:
        click.echo("up to date")


def _telemetry(settings: Settings, part: Part) -> "AbstractContextManager[Telemetry | None]":
    """What hands traces, metrics and log lines to a collector; None: no collector is named, and nothing is imported.

    To be entered once the process has its metrics and its log. Raises MissingExtraError.
    """
    if settings.otlp_endpoint is None:
        return nullcontext()
    with loading(), importing("opentelemetry", "exports to HEADGATE_OTLP_ENDPOINT"):
        from headgate.telemetry.export import Telemetry  # noqa: PLC0415 - of an extra
        from headgate.telemetry.settings import TelemetrySettings  # noqa: PLC0415

    version = metadata.version("headgate")
    return closing(Telemetry(TelemetrySettings(settings.otlp_endpoint, settings.otlp_headers, part, version)))


def _upstream_proxy(settings: Settings) -> "UpstreamProxy | None":
    """Raises ValidationError."""
    from headgate.outgoing.upstream_proxy import upstream_proxy_of  # noqa: PLC0415 - loaded by parts only

    return upstream_proxy_of(
        settings.upstream_proxy_url, settings.upstream_proxy_direct, settings.upstream_proxy_resolution
    )


def _unwrapper(settings: Settings) -> "Unwrapper":
    """Unwraps master keys that a key management service has wrapped. Raises ValidationError."""
    from headgate.kms.access import kms_access  # noqa: PLC0415 - loaded by parts only
    from headgate.kms.key_services import KeyServices  # noqa: PLC0415
    from headgate.vault.unwrapper import Unwrapper  # noqa: PLC0415

    return Unwrapper(KeyServices(kms_access(settings)))


def _monitor(settings: Settings) -> MonitorSettings:
    return MonitorSettings(settings.monitor_address, settings.drain_seconds)


def _begin() -> Settings:
    with loading():
        from headgate.configuration.logs import configure_logs  # noqa: PLC0415 - not for --help
        from headgate.configuration.shared_metrics import share_metrics  # noqa: PLC0415

    settings = read_settings()
    configure_logs(settings)
    share_metrics(settings.data.metrics)
    return settings
