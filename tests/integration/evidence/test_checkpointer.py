"""Trees and checkpoints on a real server: what is signed, and what is refused and why."""

import asyncio
import subprocess
import sys
import time
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace
from psycopg import sql

from headgate.db.database import Database
from headgate.evidence.checkpoint import Checkpoint, parse_checkpoint
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.merkle import leaf_hash, verify_consistency
from headgate.evidence.note import VerifierKey, parse_note, verify_note
from headgate.evidence.pack_verifier import tree_root
from headgate.evidence.prove import prove_consistency, prove_inclusion
from headgate.evidence.signed_memory import SignedMemory
from headgate.evidence.signing_keys import SigningKeySource
from headgate.evidence.tiles import TreeBuilder
from headgate.evidence.tree_store import Tree, latest_checkpoint, list_checkpoints, load_tree

type Superuser = psycopg.Connection[tuple[object, ...]]


async def _latest(database: Database, checkpointer: Checkpointer, org_id: str) -> Checkpoint:
    async with database.transaction(org_id) as connection:
        stored = await latest_checkpoint(connection, org_id)
    assert stored is not None
    note = parse_note(stored.note)
    assert verify_note(note, checkpointer.keys.load().verifier_keys(f"log.example/{org_id}"))
    return parse_checkpoint(note)


async def _tree(database: Database, org_id: str) -> Tree:
    async with database.transaction(org_id) as connection:
        return await load_tree(connection, org_id)


async def test_the_root_is_that_of_the_records_hashes_and_every_event_is_proved(
    api_database: Database, checkpointer: Checkpointer, record, organization, superuser: Superuser
) -> None:
    org_id = organization.org_id
    heads: list[Checkpoint] = []
    for count in (1, 32, 40, 1000):
        await record(count)
        assert await checkpointer.checkpoint(org_id)
        heads.append(await _latest(api_database, checkpointer, org_id))
    assert [one.size for one in heads] == [1, 33, 73, 1073]
    rows = superuser.execute("SELECT hash FROM audit_chain WHERE org_id = %s ORDER BY seq", [org_id]).fetchall()
    leaves = [leaf_hash(bytes(row[0])) for row in rows]  # type: ignore[arg-type] - a bytea
    whole = TreeBuilder(0, {})
    whole.append(leaves)
    assert heads[-1].root == whole.frontier().root()
    async with api_database.transaction(org_id) as connection:
        paths = await prove_inclusion(connection, org_id, range(1073), 1073)
        for index, path in enumerate(paths):
            assert tree_root(leaves[index], index, 1073, path, f"leaf {index}") == heads[-1].root
        for old, new in pairwise(heads):
            way = await prove_consistency(connection, org_id, old.size, new.size)
            verify_consistency(old_size=old.size, old_root=old.root, new_size=new.size, new_root=new.root, path=way)
    assert not await checkpointer.checkpoint(org_id), "nothing new: nothing to sign"


async def test_only_what_has_grown_is_due(checkpointer: Checkpointer, record, organization, api_database) -> None:
    await record(3)
    assert await checkpointer.run() >= 1
    assert await checkpointer.run() == 0
    patient = replace(checkpointer, every=timedelta(hours=1), events=5)
    await record(4)
    assert await patient.run() == 0
    await record(1)
    assert await patient.run() == 1
    assert (await _latest(api_database, checkpointer, organization.org_id)).size == 8


async def test_two_workers_sign_one_line_of_checkpoints(
    api_database: Database, checkpointer: Checkpointer, record, organization, tmp_path: Path
) -> None:
    other = replace(checkpointer, memory=SignedMemory(tmp_path / "other"))
    for _ in range(5):
        await record(7)
        await asyncio.gather(*(one.checkpoint(organization.org_id) for one in (checkpointer, other) * 3))
    await checkpointer.checkpoint(organization.org_id)
    async with api_database.transaction(organization.org_id) as connection:
        stored = await list_checkpoints(connection, organization.org_id)
    sizes = [one.size for one in stored]
    assert (sizes[-1], sizes) == (35, sorted(set(sizes)))
    assert (await _tree(api_database, organization.org_id)).problem is None


async def test_a_checkpoint_that_the_database_lost_after_signing_is_signed_again_the_same(
    api_database: Database, checkpointer: Checkpointer, record, organization, superuser: Superuser
) -> None:
    await record(5)
    await checkpointer.checkpoint(organization.org_id)
    before = await _latest(api_database, checkpointer, organization.org_id)
    superuser.execute("DELETE FROM audit_checkpoints WHERE org_id = %s", [organization.org_id])
    assert await checkpointer.checkpoint(organization.org_id)
    assert await _latest(api_database, checkpointer, organization.org_id) == before


@pytest.mark.parametrize(
    ("tampering", "reason"),
    [
        ("DELETE FROM audit_chain WHERE org_id = %s AND seq > 8", "events at the end are missing"),
        ("DELETE FROM audit_chain WHERE org_id = %s", "events at the end are missing"),
        (
            "UPDATE audit_trees SET head_hash = sha256('x'::bytea) WHERE org_id = %s",
            "event 11 does not follow event 10 as it was",
        ),
        (
            "UPDATE audit_tiles SET hashes = sha256('x'::bytea) || substr(hashes, 33) WHERE org_id = %s",
            "its tiles have another root than its frontier",
        ),
        ("DELETE FROM audit_tiles WHERE org_id = %s", "the stored tree is damaged"),
        (
            "UPDATE audit_trees SET size = 0, frontier = '', head_hash ="
            " sha256(convert_to('headgate audit genesis v1 ' || org_id, 'UTF8')) WHERE org_id = %s",
            None,  # the same tree again
        ),
    ],
)
async def test_a_record_that_does_not_continue_is_not_signed(
    api_database: Database,
    checkpointer: Checkpointer,
    record,
    organization,
    superuser: Superuser,
    tampering: str,
    reason: str | None,
) -> None:
    await record(10)
    assert await checkpointer.checkpoint(organization.org_id)
    superuser.execute(tampering.encode(), [organization.org_id])
    if "audit_chain" not in tampering:
        await record(1)
    assert await checkpointer.checkpoint(organization.org_id) is (reason is None)
    problem = (await _tree(api_database, organization.org_id)).problem
    assert (problem is None) if reason is None else (reason in (problem or ""))


async def test_a_rewritten_history_is_not_signed_even_where_the_whole_database_agrees(
    api_database: Database, checkpointer: Checkpointer, record, organization, superuser: Superuser
) -> None:
    """What a superuser can do at most: forget tree and checkpoints, and let everything be built from another chain."""
    await record(10)
    assert await checkpointer.checkpoint(organization.org_id)
    for table in ("audit_trees", "audit_tiles", "audit_checkpoints", "audit_chain", "audit_events"):
        statement = sql.SQL("DELETE FROM {} WHERE org_id = %s").format(sql.Identifier(table))
        superuser.execute(statement, [organization.org_id])
    await record(12)
    assert not await checkpointer.checkpoint(organization.org_id)
    problem = (await _tree(api_database, organization.org_id)).problem
    assert "does not continue the checkpoint of 10 events" in (problem or "")


async def test_a_missing_key_is_said_and_recording_goes_on(
    api_database: Database, checkpointer: Checkpointer, record, organization
) -> None:
    await record(1)
    assert await checkpointer.checkpoint(organization.org_id)
    kept = checkpointer.keys.file.read_bytes()
    checkpointer.keys.file.unlink()
    await record(2)
    assert not await checkpointer.checkpoint(organization.org_id)
    tree = await _tree(api_database, organization.org_id)
    assert "the signing key is missing" in (tree.problem or "")
    assert tree.frontier.size == 3, "the tree grows all the same"
    checkpointer.keys.file.write_bytes(kept)
    checkpointer.keys.file.chmod(0o600)
    assert await checkpointer.checkpoint(organization.org_id)
    assert (await _tree(api_database, organization.org_id)).problem is None


async def test_another_key_does_not_go_on_where_the_first_one_stopped(
    api_database: Database, checkpointer: Checkpointer, record, organization, tmp_path: Path
) -> None:
    await record(1)
    assert await checkpointer.checkpoint(organization.org_id)
    stranger = replace(checkpointer, keys=SigningKeySource(tmp_path / "others"), memory=SignedMemory(tmp_path / "x"))
    stranger.keys.create("log.example")
    await record(1)
    assert not await stranger.checkpoint(organization.org_id)
    problem = (await _tree(api_database, organization.org_id)).problem
    assert "not signed by a key that is known here" in (problem or "")


async def test_after_a_rotation_both_keys_verify(
    api_database: Database, checkpointer: Checkpointer, record, organization
) -> None:
    origin = f"log.example/{organization.org_id}"
    old = checkpointer.keys.load().signers[0].public_key
    await record(1)
    assert await checkpointer.checkpoint(organization.org_id)
    rotated = checkpointer.keys.rotate()
    await record(1)
    assert await checkpointer.checkpoint(organization.org_id)
    async with api_database.transaction(organization.org_id) as connection:
        first, second = [parse_note(one.note) for one in await list_checkpoints(connection, organization.org_id)]
    new = rotated.signers[0].public_key
    assert len(verify_note(second, [VerifierKey(origin, key) for key in (old, new)])) == 2
    assert len(verify_note(first, [VerifierKey(origin, key) for key in (old, new)])) == 1
    checkpointer.keys.retire(VerifierKey("log.example", old).key_id.hex())
    await record(1)
    assert await checkpointer.checkpoint(organization.org_id)


async def test_a_worker_that_is_killed_at_any_moment_leaves_a_tree_that_goes_on(
    cluster, api_database: Database, checkpointer: Checkpointer, record, organization, tmp_path: Path
) -> None:
    """kill -9 between any two statements: what was signed is remembered, what was not is done again."""
    program = (
        "import asyncio, sys\n"
        "from datetime import timedelta\n"
        "from pathlib import Path\n"
        "from headgate.db.database import Database\n"
        "from headgate.kernel.secrets import Secret\n"
        "from headgate.evidence.checkpointer import Checkpointer\n"
        "from headgate.evidence.signed_memory import SignedMemory\n"
        "from headgate.evidence.signing_keys import SigningKeySource\n"
        "async def main():\n"
        "    database = Database(Secret(sys.argv[1])); await database.open()\n"
        "    one = Checkpointer(database, SigningKeySource(Path(sys.argv[2])), SignedMemory(Path(sys.argv[3])),"
        " timedelta(0), 1)\n"
        "    print('ready', flush=True)\n"
        "    while True: await one.checkpoint(sys.argv[4])\n"
        "asyncio.run(main())\n"
    )
    arguments = [cluster.dsn("headgate_worker"), str(checkpointer.keys.file), str(tmp_path / "signed")]
    for round_number in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", program, *arguments, organization.org_id], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + 0.05 + 0.037 * round_number
        while time.monotonic() < deadline:
            await record(11)
        child.kill()
        child.wait()
        child.stdout.close()
    await record(1)
    while not await checkpointer.checkpoint(organization.org_id):
        await asyncio.sleep(0.05)  # the killed one's session may hold the lock for a moment
    tree = await _tree(api_database, organization.org_id)
    assert tree.problem is None
    head = await _latest(api_database, checkpointer, organization.org_id)
    assert head.size == tree.frontier.size
    async with api_database.transaction(organization.org_id) as connection:
        stored = await list_checkpoints(connection, organization.org_id)
        for one in stored:
            older = parse_checkpoint(parse_note(one.note))
            way = await prove_consistency(connection, organization.org_id, older.size, head.size)
            verify_consistency(
                old_size=older.size, old_root=older.root, new_size=head.size, new_root=head.root, path=way
            )
