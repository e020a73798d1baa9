"""``headgate up``: one whole instance in the foreground, from an empty folder to ready and back to nothing."""

import asyncio
import dataclasses
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Final

import structlog
from msgspec.structs import replace

from headgate.configuration.settings import Settings
from headgate.configuration.shared_metrics import forget_metrics
from headgate.kernel.errors import HeadgateError
from headgate.kernel.tasks import TaskSet
from headgate.runtime.folders import instance_lock, open_data_directory
from headgate.runtime.fork_server import ForkServer
from headgate.runtime.instance_pointer import point_to
from headgate.runtime.open_instance import new_token, open_instance
from headgate.runtime.own_data import make_own
from headgate.runtime.ports import keep_port
from headgate.runtime.prepared import Prepared
from headgate.runtime.runtime_file import RuntimeInformation, write_runtime_file
from headgate.runtime.supervisor import Supervisor

_log = structlog.get_logger(__name__)

PART_NAMES: Final = ("postgres", "valkey", "api", "worker", "proxy")
_STOP_ORDER: Final = (("proxy", "api"), ("worker",), ("valkey", "postgres"))
_START: Final = "start"
_TOKEN_RENEWAL_SECONDS: Final = 12 * 3600.0
_TOKEN_RETRY_SECONDS: Final = 300.0


def _task_failed(stop: asyncio.Event, name: str, error: BaseException) -> None:
    """The instance ends. What failed at its start is raised, and said once."""
    if name != _START:
        _log.critical("instance_task_failed", task=name, error=repr(error))
    stop.set()


class Instance:
    """``runtime_file``: written besides the one in the data directory. ``announce`` is called when all is ready."""

    def __init__(
        self,
        settings: Settings,
        runtime_file: Path | None,
        announce: Callable[[RuntimeInformation, Prepared], None],
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
            tasks = TaskSet(partial(_task_failed, stop))
            self._forget()
            forget_metrics(self._settings.data.metrics)
            try:
                starting = tasks.start(self._start(), name=_START)
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
        # In the order in which they are forked: most of what is loaded is the API's own.
        await self._fork_server.load("prepare", "proxy", "api", "worker")
        opened = await open_instance(settings, self._supervisor, self._fork_server)
        self._information = opened.describe(self._pids(self._supervisor.pids))
        self._write()
        self._point()
        self._announce(self._information, opened.prepared)

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
        return dataclasses.replace(settings, api_port=api.getsockname()[1], proxy_port=proxy.getsockname()[1])

    def _parts_changed(self, pids: Mapping[str, Sequence[int]]) -> None:
        if self._information is not None:
            self._information = replace(self._information, pids=self._pids(pids))
            self._write()

    def _pids(self, pids: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
        return {name: pids.get(name, ()) for name in PART_NAMES}

    async def _renew_token(self) -> None:
        seconds = _TOKEN_RENEWAL_SECONDS
        while True:
            await asyncio.sleep(seconds)
            try:
                token = await new_token(self._settings, self._fork_server)
            except Exception as error:  # noqa: BLE001 - whatever it is, commands can go on with the token that they have
                _log.error("token_not_renewed", error=str(error) or repr(error))
                seconds = _TOKEN_RETRY_SECONDS
                continue
            seconds = _TOKEN_RENEWAL_SECONDS
            if self._information is not None:
                self._information = replace(self._information, admin_token=token)
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
        """Commands need the instance to be named, where the user's state cannot be written."""
        try:
            make_own(self._settings.data)
            point_to(self._settings.data.runtime_file)
        except (HeadgateError, OSError) as error:
            _log.warning("instance_pointer_not_written", error=str(error))

    def _forget(self) -> None:
        """The files are there exactly while the instance is ready."""
        self._information = None
        for file in self._files:
            with suppress(OSError):
                file.unlink(missing_ok=True)
