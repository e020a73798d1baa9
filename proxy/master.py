"""A proxy process: a bare mitmproxy master with the gate's addons, and nothing that could change them.

No script loader, no command line, no default addons. The process ends when anything fails while it starts.
"""

import asyncio
import gc
import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import structlog
from msgspec import Struct, field

import proxy.lean_addons  # noqa: F401 - first: it stands in for the package that the next line imports from

from mitmproxy.addons import errorcheck, proxyserver  # isort: skip
from mitmproxy.master import Master
from mitmproxy.options import Options

from addons.latch import Latch
from addons.lift import Lift
from addons.limits import RequestLimits
from headgate.kernel.descriptors import most_connections
from headgate.kernel.errors import UnavailableError
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.trust import trusted_roots
from headgate.outgoing.tunnel import Tunnels
from headgate.outgoing.upstream_proxy import UpstreamProxy
from proxy.budget import BufferBudget
from proxy.chaining import chain
from proxy.client_certificate import GateTlsConfig
from proxy.dispatch import GateAddonManager, skip_type_checks
from proxy.event_queue import use_event_queues
from proxy.fast_headers import use_fast_headers
from proxy.http1_upstream import bound_answers
from proxy.listener import Listener
from proxy.next_layer import NextLayer
from proxy.options import FrozenOptions
from proxy.resolver import install

_log = structlog.get_logger(__name__)


class ProxySettings(Struct, frozen=True):
    """``authority_dir``: ``Authority.private_dir``, opened before. ``upstream_roots``: PEM, all of them.
    ``public_api_url``: where the pages are that explain refusals."""

    host: str
    port: int
    authority_dir: Path
    upstream_roots: Path
    limits: RequestLimits = field(default_factory=RequestLimits)
    drain_seconds: float = 10.0
    max_connections: int = field(default_factory=most_connections)
    public_api_url: str | None = None
    upstream_proxy: UpstreamProxy | None = None


class GateMaster(Master):
    """mitmproxy's master with the gate's dispatch."""

    addons: GateAddonManager

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        # It would turn each line of the log into a hook.
        self._legacy_log_events.uninstall()
        self.addons = GateAddonManager(self)


class _Starter:
    """The last to run: seals the options and opens the door."""

    name = "starter"

    def __init__(
        self, master: GateMaster, frozen: FrozenOptions, listener: Listener, ready: Callable[[Listener], None]
    ) -> None:
        self._master = master
        self._frozen = frozen
        self._listener = listener
        self._ready = ready

    async def running(self) -> None:
        self._frozen.check()
        self._frozen.seal()
        await self._listener.open(self._master.addons, self._master.options)
        # What the start has made stays: the collector need not look at it again.
        gc.collect()
        gc.freeze()
        self._ready(self._listener)

    async def done(self) -> None:
        await self._listener.close()


class Gate:
    """One proxy process: build it, then ``run`` it; ``stop`` ends it in order.

    ``gate_addons`` stand between latch and lift, in the order of ``addons.order``.
    """

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self.budget = BufferBudget(settings.limits.buffered)
        self.listener = Listener(
            settings.host,
            settings.port,
            self.budget,
            max_connections=settings.max_connections,
            head_seconds=settings.limits.head_seconds,
            drain_seconds=settings.drain_seconds,
        )
        self._master: GateMaster | None = None

    async def run(
        self, gate_addons: Sequence[object], *, ready: Callable[[Listener], None] = lambda listener: None
    ) -> None:
        """Serve until ``stop``. ``ready`` is called when the port is open.

        Raises UnavailableError, ValidationError, OptionsError, SystemExit where it cannot start.
        """
        loop = asyncio.get_running_loop()
        install(loop)
        if self._settings.upstream_proxy is None:
            await self._run(gate_addons, ready)
            return
        trust = trusted_roots(self._settings.upstream_roots)
        with closing(SystemResolver()) as resolve:
            chain(loop, Tunnels(self._settings.upstream_proxy, trust, resolve))
            await self._run(gate_addons, ready)

    async def _run(self, gate_addons: Sequence[object], ready: Callable[[Listener], None]) -> None:
        skip_type_checks()
        use_fast_headers()
        use_event_queues()
        bound_answers()
        # A line per connection and per streamed response costs more than it tells.
        logging.getLogger("mitmproxy").setLevel(logging.WARNING)
        master = self._master = GateMaster(Options())
        frozen = FrozenOptions(authority_dir=self._settings.authority_dir, upstream_roots=self._settings.upstream_roots)
        core: list[Any] = [
            errorcheck.ErrorCheck(),
            proxyserver.Proxyserver(),  # defines options of the core; it listens to nothing
            NextLayer(self._settings.limits, self.budget),
            GateTlsConfig(master.options),
        ]
        master.addons.add(Latch(self._settings.public_api_url), *core, *gate_addons, Lift(), frozen)  # type: ignore[no-untyped-call] # untyped in mitmproxy
        frozen.apply(master.options)
        master.addons.add(_Starter(master, frozen, self.listener, ready))  # type: ignore[no-untyped-call] # untyped in mitmproxy
        await master.run()

    def stop(self) -> None:
        """Thread-safe."""
        if self._master is None:
            raise UnavailableError("the proxy is not running")
        self._master.shutdown()  # type: ignore[no-untyped-call] # untyped in mitmproxy
