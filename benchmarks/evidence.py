"""The record's evidence: sealing, trees, proofs, packs and verification, on a PostgreSQL of its own.

``python -m benchmarks.evidence [--events 200000] [--leaves 1000000] [--actions 100000]``. The tree of
``--leaves`` is made of random hashes, so that a proof's cost is measured at that size without sealing a million events
first.
"""

import argparse
import asyncio
import os
import resource
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import psycopg

from benchmarks.load.record_database import RecordDatabase, record_database
from benchmarks.load.recorded_actions import record_actions
from headgate.audit.chain_store import range_of
from headgate.audit.model import SYSTEM, Actor, ActorType, payload_text
from headgate.db.database import Connection, Database
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.merkle import leaf_hash
from headgate.evidence.pack import make_pack
from headgate.evidence.pack_verifier import Key, parse_key, tree_root, verify_pack
from headgate.evidence.prove import prove_inclusion
from headgate.evidence.signed_memory import SignedMemory
from headgate.evidence.signing_keys import SigningKeySource
from headgate.evidence.tiles import TreeBuilder
from headgate.evidence.tree_store import list_checkpoints, save_tree
from headgate.evidence.verify_with_checkpoints import verify_against
from headgate.journal.apply import apply_due
from headgate.kernel.canonical_json import JsonObject, sha256_hex
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.reconciliation.reconcile import reconcile
from headgate.vault.service import Vault
from tests.entry_codes import CODES

_TILES_AT_ONCE = 5_000


async def seal(database: Database, events: int) -> float:
    sealed, started = 0, time.perf_counter()
    while sealed < events:
        sealed += await apply_due(database)
    return events / (time.perf_counter() - started)


async def grow_tree(made: RecordDatabase, checkpointer: Checkpointer, events: int) -> float:
    started = time.perf_counter()
    assert await checkpointer.checkpoint(made.org_id)
    return events / (time.perf_counter() - started)


async def verify(made: RecordDatabase, database: Database, checkpointer: Checkpointer) -> tuple[float, float]:
    """Events a second of time, and of this process' processor."""
    async with database.transaction(made.org_id) as connection:
        wall, cpu = time.perf_counter(), time.process_time()
        notes = [one.note for one in await list_checkpoints(connection, made.org_id)]
        keys = checkpointer.keys.load().verifier_keys(f"benchmark/{made.org_id}")
        found = await verify_against(connection, made.org_id, notes, keys)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert found.chain.valid
    assert found.checkpoints_verified
    return found.chain.events_verified / wall, found.chain.events_verified / cpu


async def hold_tables(database: Database, org_id: str, actions: int) -> tuple[float, float, int]:
    """Actions a second of time, and of this process' processor, held against the record; bytes that it grew by."""
    async with database.transaction(org_id) as connection:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        wall, cpu = time.perf_counter(), time.process_time()
        found = await reconcile(connection, org_id)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert (found.actions, found.differences) == (actions, ())
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return actions / wall, actions / cpu, grown


async def large_tree(made: RecordDatabase, database: Database, leaves: int) -> tuple[str, bytes, float]:
    """An organization with nothing but a tree; its identifier, its root, leaves a second."""
    org_id = new_id(IdPrefix.ORGANIZATION)
    with psycopg.connect(made.dsn("postgres"), autocommit=True) as connection:
        connection.execute("INSERT INTO organizations (org_id, name) VALUES (%s, 'Large')", [org_id])
    builder = TreeBuilder(0, {})
    spent = 0.0
    for first in range(0, leaves, 100_000):
        hashes = [leaf(number) for number in range(first, min(first + 100_000, leaves))]
        started = time.perf_counter()
        builder.append(hashes)
        spent += time.perf_counter() - started
    tiles = list(builder.changed.items())
    for at in range(0, len(tiles), _TILES_AT_ONCE):
        async with database.transaction(org_id) as open_connection:
            await save_tree(
                open_connection, org_id, builder.frontier(), bytes(32), dict(tiles[at : at + _TILES_AT_ONCE])
            )
    return org_id, builder.frontier().root(), leaves / spent


def leaf(number: int) -> bytes:
    return leaf_hash(number.to_bytes(8, "big"))


async def prove(connection: Connection, org_id: str, root: bytes, leaves: int) -> tuple[float, float, int]:
    """Milliseconds to make a proof (reading included) and to check one; bytes of its hashes."""
    made, checked, size = [], [], 0
    for _ in range(300):
        index = int.from_bytes(os.urandom(6)) % leaves
        started = time.perf_counter()
        (path,) = await prove_inclusion(connection, org_id, [index], leaves)
        made.append(time.perf_counter() - started)
        started = time.perf_counter()
        assert tree_root(leaf(index), index, leaves, path, "a leaf") == root
        checked.append(time.perf_counter() - started)
        size = max(size, 32 * len(path))
    return statistics.median(made) * 1000, statistics.median(checked) * 1000, size


def append_action(made: RecordDatabase) -> str:
    """An action that was denied because no policy spoke, as the gate records one."""
    action_id, request = new_id(IdPrefix.ACTION), b'{"params":{"n":1}}'
    actor = Actor(ActorType.AGENT, new_id(IdPrefix.AGENT), "Robot")
    submitted: JsonObject = {
        "source": "api", "tool": "database", "operation": "read", "digest": "sha256:" + "ab" * 32,
        "request_digest": sha256_hex(request), "key_id": new_id(IdPrefix.KEY),
    }  # fmt: skip
    decided: JsonObject = {
        "decision": "deny", "reason": "no policy allows this action", "risk_level": "high", "policy_id": None,
        "evaluation_time_ms": 0.1, "policies": [], "generation": 1,
    }  # fmt: skip
    with psycopg.connect(made.dsn("postgres"), autocommit=True) as connection:
        connection.execute(
            "INSERT INTO actions (org_id, action_id, agent_id, source, tool, operation, status, digest, request,"
            " decision, risk_level, created_at, updated_at) VALUES (%s, %s, %s, 'api', 'database', 'read', 'denied',"
            " sha256(''), %s, '{}', 'high', now(), now())",
            [made.org_id, action_id, actor.id, request.decode()],
        )
        for event_type, who, data in (("action.submitted", actor, submitted), ("decision.made", SYSTEM, decided)):
            connection.execute(
                "INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)"
                " VALUES (%s, %s, %s, %s, now(), %s)",
                [made.org_id, event_type, action_id, actor.id, payload_text(who, data)],
            )
    return action_id


async def packs(
    made: RecordDatabase, database: Database, keys: SigningKeySource, key: Key, action_id: str
) -> tuple[float, float, int]:
    """Milliseconds to make a pack and to verify it; its bytes."""
    took, checked, size = [], [], 0
    vault = Vault(Path("unused"))  # nothing is put away
    for _ in range(50):
        started = time.perf_counter()
        pack = await make_pack(database, made.org_id, action_id, {}, vault, keys, wait_seconds=0)
        took.append(time.perf_counter() - started)
        started = time.perf_counter()
        assert verify_pack(pack.content, [key])["valid"]
        checked.append(time.perf_counter() - started)
        size = len(pack.content)
    return statistics.median(took) * 1000, statistics.median(checked) * 1000, size


async def measure(made: RecordDatabase, folder: Path, events: int, leaves: int, actions: int) -> None:
    worker, api = (Database(Secret(made.dsn(f"headgate_{part}")), entry_codes=CODES) for part in ("worker", "api"))
    await worker.open()
    await api.open()
    keys = SigningKeySource(folder / "keys")
    keys.create("benchmark")
    checkpointer = Checkpointer(worker, keys, SignedMemory(folder / "signed"), timedelta(0), 1)
    print(f"load average {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores")
    print(f"sealing                     {await seal(worker, events):>10,.0f} events/s")
    print(f"growing and signing         {await grow_tree(made, checkpointer, events):>10,.0f} events/s")
    async with api.transaction(made.org_id) as connection:
        assert await range_of(connection, made.org_id, None, None) == (1, events)
    for _ in range(3):
        wall, cpu = await verify(made, api, checkpointer)
        print(f"verifying, with the tree    {wall:>10,.0f} events/s; {cpu:,.0f} a second of its own processor time")
    org_id = record_actions(made, actions)
    await seal(worker, 4 * actions)
    for _ in range(2):
        wall, cpu, grown = await hold_tables(api, org_id, actions)
        print(f"tables against the record   {wall:>10,.0f} actions/s; {cpu:,.0f} a second of its own processor time;"
              f" {grown / 2**20:.0f} MiB more")  # fmt: skip
    action_id = append_action(made)
    await seal(worker, 2)
    assert await checkpointer.checkpoint(made.org_id)
    key = parse_key(keys.load().verifier_keys("benchmark")[0].text)
    took, checked, pack_bytes = await packs(made, api, keys, key, action_id)
    print(f"proof pack                  {took:>10.1f} ms, {checked:.1f} ms to verify, {pack_bytes:,} bytes")
    org_id, root, rate = await large_tree(made, worker, leaves)
    print(f"tree in memory              {rate:>10,.0f} leaves/s")
    async with api.transaction(org_id) as connection:
        made_ms, checked_ms, size = await prove(connection, org_id, root, leaves)
    print(f"proof of {leaves:,} leaves  {made_ms:>10.2f} ms with its read, {checked_ms:.3f} ms to check, {size} bytes")
    await worker.close()
    await api.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--leaves", type=int, default=1_000_000)
    parser.add_argument("--actions", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, record_database(Path(name)) as made:
        made.append(arguments.events)
        asyncio.run(measure(made, Path(name), arguments.events, arguments.leaves, arguments.actions))


if __name__ == "__main__":
    main()
