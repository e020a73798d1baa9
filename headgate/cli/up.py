"""``headgate up``: a whole instance in the foreground."""

import asyncio
import dataclasses
import sys
from pathlib import Path

import click

from headgate.cli.command_name import command_name, command_name_anywhere
from headgate.cli.shown_address import shown_address
from headgate.cli.tables import show_json
from headgate.configuration.settings import Settings, environment_with_file, read_settings
from headgate.kernel.loading import loading
from headgate.kernel.secrets import Secret
from headgate.runtime.runtime_file import RuntimeInformation


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="The data directory (HEADGATE_DATA_DIR). Default: $XDG_DATA_HOME/headgate, or ~/.local/share/headgate. make up"
    " in a clone: .headgate.",
)
@click.option(
    "--runtime-file",
    type=click.Path(path_type=Path),
    help="Also write the addresses and keys for scripts to this file, as JSON.",
)
@click.option("--api-host", help="Address of the API (HEADGATE_API_HOST).")
@click.option("--api-port", type=click.IntRange(0, 65535), help="Port of the API; 0: any (HEADGATE_API_PORT).")
@click.option("--proxy-host", help="Address of the proxy (HEADGATE_PROXY_HOST).")
@click.option("--proxy-port", type=click.IntRange(0, 65535), help="Port of the proxy; 0: any (HEADGATE_PROXY_PORT).")
@click.option("--proxy-workers", type=click.IntRange(1), help="Number of proxy processes (HEADGATE_PROXY_WORKERS).")
@click.option("--json", "as_json", is_flag=True, help="When it is ready, print its addresses as JSON instead of text.")
def up(
    data_dir: Path | None,
    runtime_file: Path | None,
    api_host: str | None,
    api_port: int | None,
    proxy_host: str | None,
    proxy_port: int | None,
    proxy_workers: int | None,
    as_json: bool,
) -> None:
    """Run a complete instance on this machine: database, Valkey, API, worker and proxy, until Ctrl-C or SIGTERM.

    Needs no installed servers. With HEADGATE_DATABASE_URL and HEADGATE_REDIS_URL, it uses those servers instead. The
    supervisor restarts a part that ends.
    """
    with loading():
        from headgate.cli.report_fonts import check_report_fonts  # noqa: PLC0415 - loaded by this command only
        from headgate.configuration.logs import configure_logs  # noqa: PLC0415
        from headgate.runtime.instance import Instance  # noqa: PLC0415
        from headgate.runtime.prepared import Prepared  # noqa: PLC0415

    settings = read_settings()
    settings = dataclasses.replace(
        settings,
        data_dir=(data_dir or settings.data_dir).absolute(),
        api_host=api_host or settings.api_host,
        api_port=settings.api_port if api_port is None else api_port,
        proxy_host=proxy_host or settings.proxy_host,
        proxy_port=settings.proxy_port if proxy_port is None else proxy_port,
        proxy_workers=proxy_workers or settings.proxy_workers,
    )
    if "HEADGATE_COMMAND_NAME" not in environment_with_file() and settings.public_api_url is None:
        # Elsewhere people have an installation of their own, and nobody needs to know where this one lies.
        settings = dataclasses.replace(settings, command_name=command_name_anywhere())
    configure_logs(settings)
    check_report_fonts(settings)
    if sys.stderr.isatty() and "HEADGATE_LOG_LEVEL" not in environment_with_file():
        # On a terminal the parts report warnings only: a line for each request would scroll the text below away.
        settings = dataclasses.replace(settings, log_level="warning")
    target = None if runtime_file is None else runtime_file.absolute()

    def announce(ready: RuntimeInformation, prepared: Prepared) -> None:
        if as_json:
            _announce_as_json(settings, ready, prepared.first_sign_in)
        else:
            _announce(settings, ready, target, shown_address(prepared.dashboard, ready.api_url), prepared.first_sign_in)

    asyncio.run(Instance(settings, target, announce).run())


def _announce_as_json(settings: Settings, ready: RuntimeInformation, first_sign_in: Secret | None) -> None:
    show_json(
        {
            "dashboard_url": ready.dashboard_url,
            "api_url": ready.api_url,
            "proxy_url": ready.proxy_url,
            "data_dir": str(settings.data_dir),
            "sign_in_url": None if first_sign_in is None else first_sign_in.reveal(),
        }
    )


def _announce(
    settings: Settings,
    ready: RuntimeInformation,
    runtime_file: Path | None,
    dashboard: str,
    first_sign_in: Secret | None,
) -> None:
    which = "" if runtime_file is None else f" --runtime-file {runtime_file}"
    if runtime_file is None and settings.data.runtime_file != _found_by_default():
        which = f" --runtime-file {settings.data.runtime_file}"
    name = command_name()
    click.echo(
        f"Headgate is ready.\n"
        f"  dashboard  {dashboard}/\n"
        f"  API        {ready.api_url}\n"
        f"  proxy      {ready.proxy_url}\n"
        f"  data       {settings.data_dir}\n"
        f"Run a program through Headgate, from another shell:\n"
        f'  {name} run{which} -- COMMAND …      or:  eval "$({name} env{which})"\n'
        f"List the open approval requests:\n"
        f"  {name} approvals list{which}\n"
        f"Stop the instance: Ctrl-C. Log each request: set HEADGATE_LOG_LEVEL=info"
    )
    if first_sign_in is None:
        click.echo(f"Sign in to the dashboard: {name} login{which}")
    else:
        click.echo(
            f"Open the dashboard as the first administrator. The link works once, within an hour:\n"
            f"  {first_sign_in.reveal().replace(ready.api_url, dashboard, 1)}"
        )


def _found_by_default() -> Path | None:
    from headgate.cli.target import default_runtime_file  # noqa: PLC0415 - needed at the end of a start only

    return default_runtime_file()
