"""``headgate up``: one whole instance in the foreground, from an empty folder to ready and back to nothing."""

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import structlog

from headgate.configuration.settings import Part as Login
from headgate.configuration.settings import Settings
from headgate.configuration.shared_metrics import forget_metrics
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import HeadgateError
from headgate.kernel.secrets import Secret
from headgate.kernel.tasks import TaskSet
from headgate.organizations.local_issuer import LocalIssuer, open_local_issuer
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID, Role
from headgate.organizations.sign_in_address import FIRST_ADMINISTRATOR, sign_in_address
from headgate.runtime.folders import instance_lock, open_data_directory
from headgate.runtime.fork_server import ForkServer
from headgate.runtime.instance_pointer import point_to
from headgate.runtime.parts import api_part, proxy_part, worker_part
from headgate.runtime.ports import keep_port
from headgate.runtime.runtime_file import RuntimeInformation, write_runtime_file
from headgate.runtime.secrets_file import store_secrets
from headgate.runtime.seed import seed_agent, somebody_signed_in
from headgate.runtime.servers import Servers, open_servers, place_servers
from headgate.runtime.supervisor import Supervisor, together
from proxy.authority import Authority

_log = structlog.get_logger(__name__)

PART_NAMES: Final = ("postgres", "valkey", "api", "worker", "proxy")
_STOP_ORDER: Final = (("proxy", "api"), ("worker",), ("valkey", "postgres"))
_TOKEN_LIFETIME: Final = timedelta(days=1)
_FIRST_SIGN_IN_LIFETIME: Final = timedelta(hours=1)
_TOKEN_RENEWAL_SECONDS: Final = 12 * 3600.0


class Instance:
    """``runtime_file``: written besides the one in the data directory. ``announce`` is called when all is ready,
    with the address at which the administrator signs in, until the first sign-in with a browser."""

    def __init__(
        self,
        settings: Settings,
        runtime_file: Path | None,
        announce: Callable[[RuntimeInformation, Secret | None], None],
    ) -> None:
        self._settings = settings
        self._files = tuple(dict.fromkeys(file for file in (settings.data.runtime_file, runtime_file) if file))
        self._announce = announce
        self._information: RuntimeInformation | None = None
        self._supervisor = Supervisor(changed=self._parts_changed)
        self._fork_server = ForkServer(settings.data.metrics)
        self._ports = ExitStack()

    async def run(self) -> None:
        """Until SIGINT or SIGTERM; a second one ends everything at once. Raises HeadgateError where it cannot start."""
        open_data_directory(self._settings.data)
        with instance_lock(self._settings.data), self._ports:
            stop = asyncio.Event()
            self._listen_for_signals(stop)
            tasks = TaskSet(lambda name, error: stop.set())
            self._forget()
            forget_metrics(self._settings.data.metrics)
            try:
                starting = tasks.start(self._start(), name="start")
                stopping = tasks.start(stop.wait(), name="stop")
                await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if starting.done():
                    await starting  # raises what went wrong
                    tasks.start(self._renew_token(), name="renew token")
                    await stop.wait()
            finally:
                self._forget()
                await tasks.close()
                await self._supervisor.stop(_STOP_ORDER)
                await self._fork_server.close()

    def _listen_for_signals(self, stop: asyncio.Event) -> None:
        def on_signal() -> None:
            if stop.is_set():
                self._supervisor.kill()
                self._fork_server.kill()
            _log.info("instance_stopping")
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, on_signal)

    async def _start(self) -> None:
        settings = self._settings = self._with_ports(self._settings)
        data = settings.data
        authority = Authority(data.authority, data.public, settings.ca_file)
        authority.open(system_clock())
        issuer = open_local_issuer(data.issuer)
        servers = place_servers(settings)
        # The API is the last: most of what is loaded is its own.
        await self._fork_server.load("worker", "proxy", "api")
        await open_servers(settings, servers, self._supervisor)
        kept = await seed_agent(servers.databases[Login.API], servers.secrets, system_clock)
        if kept != servers.secrets:
            store_secrets(data, kept)
        parts = [worker_part(settings, servers, self._fork_server)]
        parts += [proxy_part(settings, servers, self._fork_server)] * settings.proxy_workers
        parts += [api_part(settings, servers, self._fork_server)]
        await together(*(self._supervisor.start(part) for part in parts))
        self._information = self._describe(settings, replace(servers, secrets=kept), authority, issuer)
        self._write()
        self._point()
        signed_in = await somebody_signed_in(servers.databases[Login.API])
        self._announce(self._information, None if signed_in else first_sign_in(issuer, settings.api_url))

    def _with_ports(self, settings: Settings) -> Settings:
        api = self._ports.enter_context(
            keep_port(
                settings.api_host, settings.api_port, what="API", option="--api-port", variable="HEADGATE_API_PORT"
            )
        )
        proxy = self._ports.enter_context(
            keep_port(
                settings.proxy_host,
                settings.proxy_port,
                what="proxy",
                option="--proxy-port",
                variable="HEADGATE_PROXY_PORT",
            )
        )
        return replace(settings, api_port=api.getsockname()[1], proxy_port=proxy.getsockname()[1])

    def _describe(
        self, settings: Settings, servers: Servers, authority: Authority, issuer: LocalIssuer
    ) -> RuntimeInformation:
        return RuntimeInformation(
            api_url=settings.api_url,
            proxy_url=settings.local_proxy_url,
            ca_cert=str(authority.certificate_file),
            agent_id=servers.secrets.agent_id or "",
            agent_key=servers.secrets.agent_key or Secret(""),
            admin_token=administrator_token(issuer),
            dashboard_url=settings.api_url + "/",
            database_url=servers.administrator,
            redis_url=servers.valkey,
            pids=self._pids(self._supervisor.pids),
        )

    def _parts_changed(self, pids: Mapping[str, Sequence[int]]) -> None:
        if self._information is not None:
            self._information = replace(self._information, pids=self._pids(pids))
            self._write()

    def _pids(self, pids: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
        return {name: pids.get(name, ()) for name in PART_NAMES}

    async def _renew_token(self) -> None:
        issuer = open_local_issuer(self._settings.data.issuer)
        while True:
            await asyncio.sleep(_TOKEN_RENEWAL_SECONDS)
            if self._information is not None:
                self._information = replace(self._information, admin_token=administrator_token(issuer))
                self._write()

    def _write(self) -> None:
        """A file that cannot be written now (the disk is full) does not end the instance; it is written next time."""
        if self._information is None:
            return
        for file in self._files:
            try:
                write_runtime_file(file, self._information)
            except HeadgateError as error:
                _log.error("runtime_file_not_written", path=str(file), error=error.message)

    def _point(self) -> None:
        """Commands in other folders do without it, where the user's state cannot be written."""
        try:
            point_to(self._settings.data.runtime_file)
        except (HeadgateError, OSError) as error:
            _log.warning("instance_pointer_not_written", error=str(error))

    def _forget(self) -> None:
        """The files are there exactly while the instance is ready."""
        self._information = None
        for file in self._files:
            with suppress(OSError):
                file.unlink(missing_ok=True)


def first_sign_in(issuer: LocalIssuer, api_url: str) -> Secret:
    """A link for the first administrator. It works once, within an hour."""
    return sign_in_address(
        issuer,
        api_url,
        org_id=DEFAULT_ORGANIZATION_ID,
        user=FIRST_ADMINISTRATOR,
        roles=[Role.ADMIN, Role.OPERATOR],
        now=system_clock(),
        lifetime=_FIRST_SIGN_IN_LIFETIME,
    )


def administrator_token(issuer: LocalIssuer) -> Secret:
    """All rights, second factor, for a day."""
    return issuer.mint(
        org_id=DEFAULT_ORGANIZATION_ID,
        subject=FIRST_ADMINISTRATOR,
        name="Administrator",
        roles=[Role.ADMIN, Role.OPERATOR],
        aal="aal2",
        now=system_clock(),
        lifetime=_TOKEN_LIFETIME,
    )
