"""One proxy process, put together: the decision point, the addons around it, and the loops that keep both warm."""

import asyncio
import signal
import time
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import structlog
from redis.asyncio import Redis

from addons.call_reading import CallReader
from addons.capture import Capture
from addons.certificate import Certificate
from addons.credentials import Credentials
from addons.enforce import Enforce
from addons.guard import Guard, OwnPlaces
from addons.identify import Identify
from addons.inspection import Inspector
from addons.limits import Limits
from addons.measure import Measure
from addons.metrics import (
    BUFFERED_REQUEST_BYTES,
    CAPTURE_SPOOL_BYTES,
    HELD,
    POLICIES,
    flush_tallies,
    observe_batch,
    observe_decision,
)
from addons.order import in_order
from addons.refused_certificate import RefusedCertificates
from addons.streaming import Streaming
from addons.tally import FLUSH_SECONDS
from headgate.agent_sessions.memory import STREAM, SessionMemory
from headgate.agent_sessions.model import PAUSE_SECONDS
from headgate.agents.authenticate import KeyRing
from headgate.approvals.gate_store import MOST_OPEN_APPROVALS
from headgate.approvals.wake_ups import WakeUps
from headgate.audit.count_refusals import RefusalCounts
from headgate.connections.count_connection_uses import ConnectionUses
from headgate.connections.open_credential import OpenCredentials
from headgate.db.database import Database
from headgate.db.valkey import open_valkey
from headgate.detectors.prepare import prepare
from headgate.gate.attest_entries import AttestEntries
from headgate.gate.caller import Callers
from headgate.gate.cancellations import Cancellations
from headgate.gate.decision_point import decision_point
from headgate.gate.hold_call import Holds, HoldTimes, unwatched
from headgate.gate.pipeline import Decided
from headgate.gate.preconditions import stopped
from headgate.gate.process import MarkedThreads, open_deciding
from headgate.gate.recall_session import session_call
from headgate.gate.recall_usage import read_usage
from headgate.gate.record_batch import GateRecorder
from headgate.gate.shadow_calls import ShadowCalls
from headgate.kernel.allocator import give_back, keep_little
from headgate.kernel.clock import system_clock
from headgate.kernel.descriptors import raise_descriptor_limit
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.errors import HeadgateError
from headgate.kernel.sealed_stream import SealedStream
from headgate.kernel.tasks import TaskSet
from headgate.llm_usage import memory as llm_usage
from headgate.llm_usage.memory import UsageMemory
from headgate.mcp_tools.pins import ToolPins
from headgate.monitor.port import MonitorPort, Readiness
from headgate.policies.marker import SHADOW_THREAD, SLOW_THREAD
from headgate.policies.quarantine import quarantine_suspects
from headgate.provenance.memory import ValueMemory, index_key
from headgate.provenance.sharing import SharedMemory
from headgate.ratelimits.local import LocalLimiter
from headgate.vault.service import vault_of
from proxy.budget import BufferBudget
from proxy.capture_queue import CaptureQueue
from proxy.captures import open_captures
from proxy.listener import Listener
from proxy.master import Gate, ProxySettings
from proxy.settings import GateSettings
from proxy.trust import write_upstream_roots

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from addons.trace import CallTraces

_log = structlog.get_logger(__name__)

_CONNECTIONS: Final = 6
_DRAIN_SECONDS: Final = 10.0
_FORGET_SECONDS: Final = 300.0
_USAGE_SECONDS: Final = 10.0
_USAGE_PAUSE_SECONDS: Final = 0.2
"""Seconds between a row that asks for a read of the record and the read: further rows share it."""
_GIVEN_BACK_BYTES: Final = 32 << 20
"""Of bodies that were held a moment ago: their memory goes back to the system."""


async def serve(settings: GateSettings, tracer: "Tracer | None" = None) -> None:
    """Serve until SIGTERM or SIGINT. ``tracer`` None: telemetry is off.

    Held calls are then told to come back, requests in flight are given ten seconds, and their outcomes are written.
    """
    raise_descriptor_limit()
    keep_little()
    async with AsyncExitStack() as stack:
        gate = Gate(_mitmproxy_settings(settings))
        gate_addons, holds, ready = await _build(settings, gate, stack, _traces(tracer))
        monitor = MonitorPort(settings.monitor, ready)
        await monitor.open()
        stack.push_async_callback(monitor.close)
        stopping = TaskSet(lambda name, error: _log.critical("proxy_not_stopped", error=repr(error)))

        async def stop() -> None:
            await monitor.drain()
            holds.release()
            gate.stop()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, lambda: stopping.start(stop(), name="stop"))
        await gate.run(gate_addons, ready=_ready)


def _ready(listener: Listener) -> None:
    _log.info("proxy_ready", addresses=listener.addresses)


def _mitmproxy_settings(settings: GateSettings) -> ProxySettings:
    settings.authority.open(system_clock())
    upstream_roots = settings.data_dir / "upstream-roots.pem"
    write_upstream_roots(upstream_roots, settings.upstream_ca_file)
    return ProxySettings(
        host=settings.host,
        port=settings.port,
        authority_dir=settings.data.authority,
        upstream_roots=upstream_roots,
        limits=settings.limits,
        drain_seconds=_DRAIN_SECONDS,
        public_api_url=settings.public_api_url,
        upstream_proxy=settings.upstream_proxy,
    )


def _traces(tracer: "Tracer | None") -> "CallTraces | None":
    if tracer is None:
        return None
    from addons.trace import CallTraces  # noqa: PLC0415 - of an extra, which is there where telemetry is on

    return CallTraces(tracer)


async def _open_database(settings: GateSettings, stack: AsyncExitStack) -> tuple[Database, EntryCodes]:
    codes = EntryCodes(vault_of(settings).master_keys)
    database = Database(settings.database_dsn, max_connections=_CONNECTIONS, entry_codes=codes)
    await database.open()
    stack.push_async_callback(database.close)
    return database, codes


async def _build(
    settings: GateSettings, gate: Gate, stack: AsyncExitStack, traces: "CallTraces | None"
) -> tuple[list[object], Holds, Readiness]:
    """The addons, the held calls, and whether this process can decide and record; what they stand on is closed by
    ``stack``, in the opposite order of opening."""
    clock = system_clock
    database, codes = await _open_database(settings, stack)
    valkey = open_valkey(settings.valkey_url)
    if valkey is not None:
        stack.push_async_callback(valkey.aclose)

    recorder = GateRecorder(settings.database_dsn, codes, observe=observe_batch)
    attest_entries = AttestEntries(database, recorder.lanes, codes, recorder.written)
    await quarantine_suspects(database, settings.data.evaluating)
    wake_ups = WakeUps(database)
    usage, usage_loops = _open_usage(settings, database, valkey)
    deciding = await stack.enter_async_context(
        open_deciding(
            settings,
            database,
            valkey,
            clock,
            MarkedThreads("", SLOW_THREAD, SHADOW_THREAD),
            observe_nlp=POLICIES.observe_nlp,
            # Held calls look at once whether it is they that were stopped.
            loaded=lambda state: wake_ups.wake_all() if state.stops else None,
            read_usage=partial(read_usage, database, usage),
        )
    )
    states, vault = deciding.states, deciding.vault
    shared = None if valkey is None else SharedMemory(valkey, settings.database_dsn)
    key = index_key(settings.database_dsn)
    cancellations = Cancellations(settings.database_dsn)
    sessions, session_loops = _open_sessions(settings, valkey)
    memory = ValueMemory(key) if shared is None else ValueMemory(key, share=shared.tell)

    refusals = RefusalCounts(database, clock)
    uses = ConnectionUses(database, clock)
    keys = KeyRing(database, clock=clock)
    shadow_calls = ShadowCalls(states, database, observe=POLICIES.observe_shadow)
    point = decision_point(
        database,
        recorder,
        deciding.pipeline(stopped, is_shared=True, observe=observe_decision),
        Callers(states, keys, clock),
        wake_ups=wake_ups,
        times=HoldTimes(settings.hold_seconds, settings.approval_expires_seconds, settings.public_api_url),
        most_open_approvals=MOST_OPEN_APPROVALS if settings.rate_limits else None,
        shadow=partial(_recorded, shadow_calls, sessions),
        watch=unwatched if traces is None else traces.held,
    )

    stack.push_async_callback(attest_entries.close)
    stack.push_async_callback(point.instance.end)
    stack.push_async_callback(refusals.close)
    stack.push_async_callback(uses.close)
    stack.push_async_callback(shadow_calls.close)
    stack.push_async_callback(recorder.close)
    stack.push_async_callback(point.close)
    await recorder.open()
    captures = open_captures(settings, vault, clock, stack)
    loops = {
        "states": states.keep_warm(),
        "prepare detectors": asyncio.to_thread(prepare),
        "keys": keys.keep_touched(),
        "attest entries": attest_entries.keep_attesting(),
        "heartbeat": point.instance.keep_beating(),
        "refusals": refusals.keep_writing(),
        "connection uses": uses.keep_writing(),
        "shadow policies": shadow_calls.keep_asking(),
        "wake-up poll": wake_ups.poll(),
        "provenance window": _forget(memory),
        "metrics": _report(wake_ups, gate.budget, captures),
    }
    if valkey is not None:
        loops["wake-up channel"] = wake_ups.listen(valkey)
        loops["cancellations sender"] = cancellations.keep_telling(valkey)
        loops["cancellations channel"] = cancellations.keep_listening(valkey)
    loops |= session_loops | usage_loops
    if shared is not None:
        loops["provenance sender"] = shared.keep_sending()
        loops["provenance channel"] = shared.keep_listening(memory)
    _keep_running(stack, loops)

    api_origin = _origin(settings.public_api_url)
    limiter = LocalLimiter(settings.quotas) if settings.rate_limits else None
    capture = Capture(captures)
    guard = Guard(OwnPlaces(lambda: gate.listener.ports, api_origin))
    call_gate, before, after = (point.gate, [], []) if traces is None else traces.around(point.gate)
    gate_addons = in_order(
        limits=Limits(settings.limits),
        certificate=Certificate(settings.authority.certificate_file.read_bytes),
        identify=Identify(keys=keys, states=states, clock=clock, api_origin=api_origin, limiter=limiter),
        guard=guard,
        streaming=Streaming(),
        trace=before,
        enforce=Enforce(
            gate=call_gate,
            reader=CallReader(deciding.catalogue, gate.budget, time.monotonic),
            guard=guard,
            ends=point.ends,
            inspector=Inspector(deciding.evaluator, settings.answers),
            limiter=limiter,
            clock=clock,
            monotonic=time.monotonic,
            capture=capture,
            memory=memory,
            sessions=sessions,
            usage=usage,
            cancellations=cancellations,
            rules=deciding.rules,
            pins=ToolPins(database, clock),
            public_api_url=settings.public_api_url,
        ),
        others=[
            *after,
            Credentials(OpenCredentials(database, vault, clock), uses, clock),
            Measure(refusals),
            RefusedCertificates(refusals),
            capture,
        ],
    )

    async def is_ready() -> bool:
        return recorder.ready and point.instance.is_heard and bool(gate.listener.ports)

    return gate_addons, point.holds, is_ready


def _open_sessions(
    settings: GateSettings, valkey: Redis | None
) -> tuple[SessionMemory, dict[str, Coroutine[object, object, None]]]:
    """With what has to run, so that the processes learn of each other's calls."""
    if valkey is None:
        return SessionMemory(), {}
    purpose = b"headgate sessions of agents"
    stream = SealedStream(valkey, settings.database_dsn, STREAM, purpose, window_seconds=PAUSE_SECONDS)
    memory = SessionMemory(share=stream.tell)
    return memory, {
        "sessions sender": stream.keep_sending(),
        "sessions channel": stream.keep_listening(memory.absorb),
    }


def _open_usage(
    settings: GateSettings, database: Database, valkey: Redis | None
) -> tuple[UsageMemory, dict[str, Coroutine[object, object, None]]]:
    """With what has to run, so that its counters are those of the record and of all processes."""
    is_stale = asyncio.Event()
    if valkey is None:
        memory = UsageMemory(stale=is_stale.set)
        return memory, {"usage of models": _keep_reading_usage(database, memory, is_stale)}
    stream = SealedStream(
        valkey,
        settings.database_dsn,
        llm_usage.STREAM,
        b"headgate use of language models",
        window_seconds=llm_usage.WINDOW_SECONDS,
    )
    memory = UsageMemory(share=stream.tell, is_heard=lambda: stream.is_heard, stale=is_stale.set)
    return memory, {
        "usage sender": stream.keep_sending(),
        "usage channel": stream.keep_listening(memory.absorb),
        "usage of models": _keep_reading_usage(database, memory, is_stale),
    }


async def _keep_reading_usage(database: Database, memory: UsageMemory, is_stale: asyncio.Event) -> None:
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(is_stale.wait(), _USAGE_SECONDS)
        await asyncio.sleep(_USAGE_PAUSE_SECONDS)
        is_stale.clear()
        for org_id in memory.organizations:
            try:
                await read_usage(database, memory, org_id)
            except HeadgateError as error:
                _log.warning("llm_usage_not_read", org_id=org_id, error=error.message)


def _recorded(
    shadow_calls: ShadowCalls, sessions: SessionMemory, decided: Decided, action_id: str, at: datetime
) -> None:
    """Once a decision is on record."""
    if decided.state.reads_sessions:
        sessions.note(decided.state.org_id, decided.candidate.agent_id, session_call(decided, at.timestamp()))
    shadow_calls.recorded(decided, action_id, at)


def _keep_running(stack: AsyncExitStack, loops: Mapping[str, Coroutine[object, object, object]]) -> None:
    tasks = TaskSet(lambda name, error: _log.critical("proxy_loop_ended", loop=name, error=repr(error)))
    stack.push_async_callback(tasks.close)
    for name, loop in loops.items():
        tasks.start(loop, name=name)
    stack.callback(flush_tallies)


async def _report(wake_ups: WakeUps, budget: BufferBudget, captures: CaptureQueue) -> None:
    highest = 0
    while True:
        CAPTURE_SPOOL_BYTES.set(captures.spool_bytes)
        HELD.set(wake_ups.held)
        BUFFERED_REQUEST_BYTES.set(budget.used_bytes)
        flush_tallies()
        highest = max(highest, budget.used_bytes)
        if highest - budget.used_bytes > _GIVEN_BACK_BYTES:
            highest = budget.used_bytes
            await asyncio.to_thread(give_back)
        await asyncio.sleep(FLUSH_SECONDS)


async def _forget(memory: ValueMemory) -> None:
    while True:
        await asyncio.sleep(_FORGET_SECONDS)
        memory.forget_old()


def _origin(url: str) -> tuple[str, int] | None:
    parts = urlsplit(url)
    if parts.hostname is None:
        return None
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
