"""``headgate proxy`` by itself: as many processes on one port as the settings say, kept running until it is stopped."""

import asyncio
import signal

from headgate.configuration.settings import Settings, environment_with_file
from headgate.runtime.fork_server import ForkServer
from headgate.runtime.parts import absolute_paths, kept_proxy
from headgate.runtime.server_process import Program
from headgate.runtime.supervisor import Supervisor, together
from proxy.listener import reserve_port

_STOP_SECONDS = 15.0


async def run_proxy_workers(settings: Settings) -> None:
    """Until SIGINT or SIGTERM. Raises UnavailableError where the port is taken or a worker cannot start."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    # Kept bound and never listening: port 0 becomes one port that all share, and nobody else takes it meanwhile.
    with reserve_port(settings.proxy_host, settings.proxy_port) as reserved:
        port = reserved.getsockname()[1]
        program = Program(
            name="proxy",
            command=("proxy",),
            environment={
                **environment_with_file(),
                **absolute_paths(settings),
                "HEADGATE_PROXY_PORT": str(port),
                "HEADGATE_PROXY_WORKERS": "1",
            },
            stop_seconds=_STOP_SECONDS + settings.drain_seconds,
        )
        supervisor = Supervisor()
        fork_server = ForkServer(settings.data.metrics)
        part = kept_proxy(program, port, settings.data, fork_server)
        try:
            await together(*(supervisor.start(part) for _ in range(settings.proxy_workers)))
            await stop.wait()
        finally:
            await supervisor.stop([])
            await fork_server.close()
