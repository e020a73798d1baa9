"""One proxy process, put together: the decision point, the addons around it, and the loops that keep both warm."""

import asyncio
import signal
import time
from contextlib import AsyncExitStack
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import structlog
from redis.asyncio import Redis

from addons.certificate import Certificate
from addons.enforce import Enforce
from addons.guard import Guard, OwnPlaces
from addons.identify import Identify
from addons.limits import Limits
from addons.measure import Measure
from addons.metrics import HELD, flush_tallies, observe_batch, observe_decision
from addons.order import in_order
from addons.streaming import Streaming
from addons.tally import FLUSH_SECONDS
from headgate.agents.authenticate import KeyRing
from headgate.approvals.gate_store import MOST_OPEN_APPROVALS
from headgate.configuration.data_directory import DataDirectory
from headgate.db.database import Database
from headgate.kernel.clock import system_clock
from headgate.kernel.tasks import TaskSet
from headgate.policies.evaluate import PolicySet
from headgate.policies.marker import Marker
from headgate.policies.quarantine import quarantine_suspects
from headgate.ratelimits.local import LocalLimiter
from headgate.tools.load import load_catalogues
from headgate.workflows.admit_call import CallGate
from headgate.workflows.count_refusals import RefusalCounts
from headgate.workflows.finish_execution import ExecutionEnds
from headgate.workflows.hold_call import Holds, HoldTimes
from headgate.workflows.instance import Instance
from headgate.workflows.organization_state import OrganizationStates
from headgate.workflows.record_batch import Recorder
from headgate.workflows.wake_ups import WakeUps
from proxy.authority import Authority
from proxy.descriptors import raise_descriptor_limit
from proxy.listener import Listener
from proxy.master import Gate, ProxySettings
from proxy.settings import GateSettings
from proxy.trust import write_upstream_roots

_log = structlog.get_logger(__name__)

_CONNECTIONS: Final = 6
_DRAIN_SECONDS: Final = 10.0
_OUTCOMES_WAIT_SECONDS: Final = 5.0


async def serve(settings: GateSettings) -> None:
    """Serve until SIGTERM or SIGINT.

    Held calls are then told to come back, requests in flight are given ten seconds, and their outcomes are written.
    """
    raise_descriptor_limit()
    async with AsyncExitStack() as stack:
        gate = Gate(_mitmproxy_settings(settings))
        gate_addons, holds = await _build(settings, gate, stack)

        def stop() -> None:
            holds.release()
            gate.stop()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        await gate.run(gate_addons, ready=_ready)


def _ready(listener: Listener) -> None:
    _log.info("proxy_ready", addresses=listener.addresses)


def _mitmproxy_settings(settings: GateSettings) -> ProxySettings:
    authority = Authority(settings.authority_dir, settings.public_dir)
    authority.open(system_clock())
    upstream_roots = settings.data_dir / "upstream-roots.pem"
    write_upstream_roots(upstream_roots, settings.upstream_ca_file)
    return ProxySettings(
        host=settings.host,
        port=settings.port,
        authority_dir=settings.authority_dir,
        upstream_roots=upstream_roots,
        limits=settings.limits,
        drain_seconds=_DRAIN_SECONDS,
    )


async def _build(settings: GateSettings, gate: Gate, stack: AsyncExitStack) -> tuple[list[object], Holds]:
    """The addons and the held calls; what they stand on is closed by ``stack``, in the opposite order of opening."""
    clock = system_clock
    database = Database(settings.database_dsn, max_connections=_CONNECTIONS)
    await database.open()
    stack.push_async_callback(database.close)
    valkey = None if settings.valkey_url is None else Redis.from_url(settings.valkey_url.reveal())
    if valkey is not None:
        stack.push_async_callback(valkey.aclose)

    suspects = DataDirectory(settings.data_dir).evaluating
    await quarantine_suspects(database, suspects)
    marker = Marker(suspects)
    stack.callback(marker.close)

    recorder = Recorder(settings.database_dsn, observe=observe_batch)
    instance = Instance("proxy", database)
    ends = ExecutionEnds(recorder, instance)
    refusals = RefusalCounts(database, clock)
    wake_ups = WakeUps(database)
    keys = KeyRing(database, clock=clock)
    states = OrganizationStates(database, compile_policies=partial(PolicySet, marker=marker))
    holds = Holds(
        database=database,
        wake_ups=wake_ups,
        instance=instance,
        ends=ends,
        clock=clock,
        times=HoldTimes(settings.hold_seconds, settings.approval_expires_seconds, settings.public_api_url),
        most_open_approvals=MOST_OPEN_APPROVALS if settings.rate_limits else None,
    )
    call_gate = CallGate(
        states=states,
        keys=keys,
        recorder=recorder,
        holds=holds,
        instance=instance,
        ends=ends,
        clock=clock,
        observe=observe_decision,
    )

    stack.push_async_callback(instance.end)
    stack.push_async_callback(refusals.close)
    stack.push_async_callback(recorder.close)
    stack.push_async_callback(ends.close, wait_seconds=_OUTCOMES_WAIT_SECONDS)
    await recorder.open()
    _keep_running(stack, states, keys, instance, refusals, wake_ups, valkey)

    api_origin = _origin(settings.public_api_url)
    limiter = LocalLimiter() if settings.rate_limits else None
    guard = Guard(OwnPlaces(lambda: gate.listener.ports, api_origin))
    gate_addons = in_order(
        limits=Limits(settings.limits),
        certificate=Certificate(Authority(settings.authority_dir, settings.public_dir).certificate_file.read_bytes),
        identify=Identify(keys=keys, states=states, clock=clock, api_origin=api_origin, limiter=limiter),
        guard=guard,
        streaming=Streaming(),
        enforce=Enforce(
            gate=call_gate,
            catalogue=load_catalogues(),
            guard=guard,
            ends=ends,
            limiter=limiter,
            clock=clock,
            monotonic=time.monotonic,
        ),
        others=[Measure(refusals)],
    )
    return gate_addons, holds


def _keep_running(
    stack: AsyncExitStack,
    states: OrganizationStates,
    keys: KeyRing,
    instance: Instance,
    refusals: RefusalCounts,
    wake_ups: WakeUps,
    valkey: Redis | None,
) -> None:
    tasks = TaskSet(lambda name, error: _log.critical("proxy_loop_ended", loop=name, error=repr(error)))
    stack.push_async_callback(tasks.close)
    tasks.start(states.keep_warm(), name="states")
    tasks.start(keys.keep_touched(), name="keys")
    tasks.start(instance.keep_beating(), name="heartbeat")
    tasks.start(refusals.keep_writing(), name="refusals")
    tasks.start(wake_ups.poll(), name="wake-up poll")
    tasks.start(_report(wake_ups), name="metrics")
    stack.callback(flush_tallies)
    if valkey is not None:
        tasks.start(wake_ups.listen(valkey), name="wake-up channel")


async def _report(wake_ups: WakeUps) -> None:
    while True:
        HELD.set(wake_ups.held)
        flush_tallies()
        await asyncio.sleep(FLUSH_SECONDS)


def _origin(url: str) -> tuple[str, int] | None:
    parts = urlsplit(url)
    if parts.hostname is None:
        return None
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
