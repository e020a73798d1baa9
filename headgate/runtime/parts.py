"""Headgate's own parts as child processes: API, worker, proxies; each with its own login and no other."""

import asyncio
from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit

from headgate.configuration.data_directory import DataDirectory
from headgate.configuration.settings import Part as Login
from headgate.configuration.settings import Settings, environment_with_file
from headgate.configuration.shared_metrics import forget_process
from headgate.policies.marker import note_death
from headgate.runtime.fork_server import ForkServer
from headgate.runtime.listening import listens_on
from headgate.runtime.server_process import Program, RunningProgram
from headgate.runtime.servers import Servers
from headgate.runtime.supervisor import Part, Ready, ready_at_once, wait_until

_READY_SECONDS = 60.0
_STOP_SECONDS = 15.0


def api_part(settings: Settings, servers: Servers, fork_server: ForkServer) -> Part:
    """Ready when it answers /ready: its database included."""
    url = settings.local_api_url

    async def answers(running: RunningProgram) -> bool:
        return listens_on(running.pid, settings.api_port) and await _answers_ready(url)

    async def ready(running: RunningProgram) -> None:
        await wait_until(answers, running, seconds=_READY_SECONDS)

    return _kept(_program("api", Login.API, settings, servers), settings.data, fork_server, ready)


def proxy_part(settings: Settings, servers: Servers, fork_server: ForkServer) -> Part:
    """One of several on the same port."""
    program = _program("proxy", Login.PROXY, settings, servers)
    return kept_proxy(program, settings.proxy_port, settings.data, fork_server)


def kept_proxy(program: Program, port: int, data: DataDirectory, fork_server: ForkServer) -> Part:
    """Ready when this very process listens."""

    async def listens(running: RunningProgram) -> bool:
        return listens_on(running.pid, port)

    async def ready(running: RunningProgram) -> None:
        await wait_until(listens, running, seconds=_READY_SECONDS)

    return _kept(program, data, fork_server, ready)


def after_death(data: DataDirectory, pid: int, status: int) -> None:
    """What a process that decides was evaluating when a signal ended it is noted for the next that starts; what it
    measured of itself (connections, held requests) ends with it."""
    if status < 0:
        note_death(data.evaluating, pid, -status)
    forget_process(data.metrics, pid)


def worker_part(settings: Settings, servers: Servers, fork_server: ForkServer) -> Part:
    """Nobody connects to it: what it does is done later in any case."""
    return _kept(_program("worker", Login.WORKER, settings, servers), settings.data, fork_server, ready_at_once)


def _kept(program: Program, data: DataDirectory, fork_server: ForkServer, ready: Ready) -> Part:
    return Part(program, ready, died=partial(after_death, data), start=fork_server.start)


def _program(name: str, login: Login, settings: Settings, servers: Servers) -> Program:
    return Program(
        name=name,
        command=(name,),
        environment=child_environment(environment_with_file(), login, settings, servers),
        stop_seconds=_STOP_SECONDS,
    )


def child_environment(
    environment: Mapping[str, str], login: Login, settings: Settings, servers: Servers
) -> dict[str, str]:
    """``settled_environment`` with one database login: the part's own."""
    logins = {"HEADGATE_DATABASE_URL", *(f"HEADGATE_{one.name}_DATABASE_URL" for one in Login)}
    settled = settled_environment(environment, settings).items()
    return {name: value for name, value in settled if name not in logins} | {
        f"HEADGATE_{login.name}_DATABASE_URL": servers.databases[login].reveal(),
        "HEADGATE_REDIS_URL": servers.valkey.reveal(),
    }


def settled_environment(environment: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Our environment with what was decided at the start: ports, addresses, absolute paths."""
    # A whole instance is probed at its API's port, and ends as one.
    of_parts_alone = {"HEADGATE_MONITOR_ADDRESS", "HEADGATE_DRAIN_SECONDS"}
    inherited = {name: value for name, value in environment.items() if name not in of_parts_alone}
    return inherited | {
        "HEADGATE_LOG_LEVEL": settings.log_level,
        **absolute_paths(settings),
        "HEADGATE_API_HOST": settings.api_host,
        "HEADGATE_API_PORT": str(settings.api_port),
        "HEADGATE_PUBLIC_API_URL": settings.api_url,
        "HEADGATE_COMMAND_NAME": settings.command_name,
        "HEADGATE_PROXY_HOST": settings.proxy_host,
        "HEADGATE_PROXY_PORT": str(settings.proxy_port),
        "HEADGATE_PROXY_WORKERS": "1",  # this process is one of them
    }


def absolute_paths(settings: Settings) -> dict[str, str]:
    """The settings that are paths, as a process understands them that runs in another folder than ours."""
    paths = {
        "HEADGATE_DATA_DIR": settings.data_dir,
        "HEADGATE_CA_FILE": settings.ca_file,
        "HEADGATE_UPSTREAM_CA_FILE": settings.upstream_ca_file,
        "HEADGATE_SIGNING_KEYS_FILE": settings.signing_keys_file,
        "HEADGATE_MASTER_KEYS_FILE": settings.master_keys_file,
        "HEADGATE_VAULT_TOKEN_FILE": settings.vault_token_file,
        "HEADGATE_JWT_ISSUERS_FILE": settings.jwt_issuers_file,
        "HEADGATE_SIEM_FOLDER": settings.siem_folder,
        "HEADGATE_CLASSIFIERS_DIR": settings.classifiers_dir,
    }
    found = {name: str(path.absolute()) for name, path in paths.items() if path is not None}
    if settings.report_fonts:
        found["HEADGATE_REPORT_FONTS"] = ",".join(str(path.absolute()) for path in settings.report_fonts)
    return found


async def _answers_ready(url: str) -> bool:
    """One GET /ready over a connection of its own (RFC 9112)."""
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(5):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            try:
                writer.write(f"GET /ready HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
                status = await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
    return status.split()[1:2] == [b"200"]
