"""The parts of an instance, each by itself: ``headgate api``, ``proxy``, ``worker``, ``migrate``.

Here the process' settings become those of each part: the parts know nothing of environment variables.
"""

import asyncio
from dataclasses import replace

import click

from headgate.configuration.logs import configure_logs
from headgate.configuration.settings import Part, Settings, read_settings
from headgate.configuration.shared_metrics import share_metrics
from headgate.kernel.loading import loading


@click.command()
def api() -> None:
    """Run one API process until SIGTERM or SIGINT. Settings: docs/reference/settings.md."""
    settings = _begin()
    with loading():
        from admin_api.process_settings import ApiSettings, OidcSettings  # noqa: PLC0415 - loaded by this part only
        from admin_api.server import run  # noqa: PLC0415
        from admin_api.tokens import ClaimNames  # noqa: PLC0415

    oidc = None
    if settings.jwt_issuer is not None:
        oidc = OidcSettings(
            issuer=settings.jwt_issuer,
            audience=settings.jwt_audience,
            jwks_url=settings.jwt_jwks_url,
            claims=ClaimNames(settings.jwt_organization_claim, settings.jwt_roles_claim, settings.jwt_aal_claim),
            default_organization=settings.jwt_default_organization,
        )
    run(
        ApiSettings(
            database_dsn=settings.database_url_of(Part.API),
            valkey_url=settings.redis_url,
            data_dir=settings.data_dir,
            host=settings.api_host,
            port=settings.api_port,
            rate_limits=settings.rate_limits,
            local_tokens=settings.jwt_local_issuer,
            oidc=oidc,
            ca_certificate=settings.data.public / "ca.pem",
            approval_expires_seconds=settings.approval_expires_seconds,
            body_limit_bytes=settings.api_body_limit_bytes,
            master_keys_file=settings.master_keys_file,
        )
    )


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
        from proxy.server import serve  # noqa: PLC0415 - loaded by this part only
        from proxy.settings import GateSettings  # noqa: PLC0415

    gate = GateSettings(
        database_dsn=settings.database_url_of(Part.PROXY),
        valkey_url=settings.redis_url,
        data_dir=settings.data_dir,
        host=settings.proxy_host,
        port=settings.proxy_port,
        public_api_url=settings.api_url,
        upstream_ca_file=settings.upstream_ca_file,
        hold_seconds=settings.hold_seconds,
        approval_expires_seconds=settings.approval_expires_seconds,
        rate_limits=settings.rate_limits,
        master_keys_file=settings.master_keys_file,
    )
    limits = replace(
        gate.limits,
        body=settings.proxy_body_limit_bytes,
        buffered=settings.buffer_budget_bytes,
        head_seconds=settings.request_head_seconds,
    )
    # Plain asyncio: the guard stands in the loop's resolver, which uvloop would pass by (proxy/resolver.py).
    asyncio.run(serve(replace(gate, limits=limits)))


@click.command()
def worker() -> None:
    """Run one worker process until SIGTERM or SIGINT: it seals the record, expires approvals, closes what is left."""
    with loading():
        from headgate.worker.main import run  # noqa: PLC0415 - loaded by this part only
        from headgate.worker.settings import WorkerSettings  # noqa: PLC0415

    settings = _begin()
    asyncio.run(run(WorkerSettings(settings.database_url_of(Part.WORKER), settings.redis_url)))


@click.command()
def migrate() -> None:
    """Bring the database to this version, as its owner, and make the first organization with the default policies.

    Can be run again at any time, and by several at once. The roles of the parts are made without a right to log
    in: give them one (ALTER ROLE headgate_api LOGIN PASSWORD …), or give every part the owner's address.
    """
    from headgate.db.migrate import migrate as apply_migrations  # noqa: PLC0415 - loaded by this command only
    from headgate.kernel.clock import system_clock  # noqa: PLC0415
    from headgate.runtime.seed import seed_organization  # noqa: PLC0415

    url = _begin().database_url_of(Part.OWNER)

    async def bring_up_to_date() -> list[str]:
        applied = await apply_migrations(url.reveal())
        await seed_organization(url, system_clock)
        return applied

    for name in (applied := asyncio.run(bring_up_to_date())):
        click.echo(f"applied {name}")
    if not applied:
        click.echo("up to date")


def _begin() -> Settings:
    settings = read_settings()
    configure_logs(settings)
    share_metrics(settings.data.metrics)
    return settings
