"""What signs the record, and hands checkpoints to others."""

import asyncio
from contextlib import AsyncExitStack

from headgate.db.database import Database
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.exporter import Exporter
from headgate.evidence.key_chronicle import KeyChronicle
from headgate.evidence.senders import open_export_client
from headgate.kernel.clock import Clock
from headgate.outgoing.trust import trusted_roots
from headgate.worker.loop import WATCHED_SECONDS, Loop
from headgate.worker.settings import WorkerSettings


def evidence_loops(settings: WorkerSettings, database: Database, clock: Clock, stack: AsyncExitStack) -> list[Loop]:
    """Empty without ``settings.evidence``: this worker signs nothing. ``stack`` closes the client."""
    evidence = settings.evidence
    if evidence is None:
        return []
    client = open_export_client(trusted_roots(settings.upstream_ca_file), settings.upstream_proxy)
    stack.push_async_callback(client.aclose)
    checkpointer = Checkpointer(database, evidence.keys, evidence.memory, evidence.every, evidence.events)
    chronicle = KeyChronicle(database, evidence.keys, clock)
    loops = [
        Loop("checkpoint", checkpointer.run, busy_seconds=0.5, idle_seconds=WATCHED_SECONDS, wake=asyncio.Event()),
        Loop("signing keys", chronicle.run, busy_seconds=0.5, idle_seconds=2.0),
    ]
    for target in evidence.targets:
        exporter = Exporter(database, client, target, clock)
        loops.append(Loop(f"export {target.name}", exporter.run, busy_seconds=0.2, idle_seconds=1.0))
    return loops
