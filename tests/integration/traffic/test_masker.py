"""From the spool to the database, with the proxy's own role, and whatever goes wrong on the way."""

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ConflictError, NotFoundError, UnavailableError
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.retention.erasure import erase_actions
from headgate.retention.model import ErasureDepth, ErasureOutcome
from headgate.traffic import spool_reader
from headgate.traffic.mask_exchange import mask_exchange
from headgate.traffic.masker import Masker
from headgate.traffic.model import Captured, Loss
from headgate.traffic.retention import drop_captures, erase_captures, rewrap_captures
from headgate.traffic.sealed_exchange import open_exchange
from headgate.traffic.spool_writer import SpoolWriter
from headgate.traffic.store import (
    TrafficFilter,
    count_losses,
    erase_exchange,
    exchanges_with_content,
    get_exchange,
    list_exchanges,
)
from headgate.traffic.wire import encode_captured
from headgate.vault.master_keys import load_master_keys, store_master_keys
from headgate.vault.service import Vault
from headgate.workflows.retained_kinds import BESIDE_ACTIONS
from tests.unit.traffic.samples import sample, vault_in

ROOT = Path(__file__).parents[3]
ANY = TrafficFilter()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_reader, "_SETTLING_SECONDS", -1.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "captures"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return vault_in(tmp_path)


@pytest.fixture
def masker(folder: Path, proxy_database: Database, vault: Vault) -> Masker:
    return Masker(folder, proxy_database, vault)


def spool(folder: Path, vault: Vault, *exchanges: Captured) -> None:
    """Written and finished by a process that has ended in order."""
    writer = SpoolWriter(folder, vault, system_clock)
    for one in exchanges:
        writer.begin(one.org_id)
    writer.write([(one.org_id, encode_captured(one)) for one in exchanges])
    writer.close()


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def of(organization: Any, **changes: Any) -> Captured:
    return sample(org_id=organization.org_id, agent_id=organization.agent_id, **changes)


async def test_what_was_captured_is_masked_sealed_and_there_once(
    folder: Path, vault: Vault, masker: Masker, organization: Any, api_database: Database
) -> None:
    captured = of(organization)
    spool(folder, vault, captured)
    assert await masker.run() == 1
    assert await masker.run() == 0
    assert files_in(folder) == []
    async with api_database.transaction(organization.org_id) as connection:
        kept = await get_exchange(connection, organization.org_id, captured.exchange_id)
        page = await list_exchanges(connection, organization.org_id, ANY, limit=10)
    assert (page.total, page.exchanges[0].exchange_id) == (1, captured.exchange_id)
    assert page.exchanges[0].content is None
    assert (kept.target, kept.duration_ms, kept.status) == ("/send?to=[masked]&token=[masked]", 250.0, 200)
    document = open_exchange(kept, vault)
    assert document == mask_exchange(captured).document
    assert "eva.muster" not in json.dumps(document)
    assert b"eva.muster" not in (kept.content or b"")


async def test_another_organization_sees_erases_and_opens_nothing(
    folder: Path, vault: Vault, masker: Masker, new_organization: Any, api_database: Database, superuser: Any
) -> None:
    mine, other = new_organization(), new_organization()
    captured = of(mine)
    spool(folder, vault, captured)
    await masker.run()
    async with api_database.transaction(other.org_id) as connection:
        for org_id in (mine.org_id, other.org_id):
            assert (await list_exchanges(connection, org_id, ANY, limit=10)).total == 0
            with pytest.raises(NotFoundError):
                await get_exchange(connection, org_id, captured.exchange_id)
            with pytest.raises(NotFoundError):
                await erase_exchange(connection, org_id, captured.exchange_id, system_clock())
    # Somebody who can write the table copies the row: it does not open there.
    superuser.execute(
        "UPDATE traffic_exchanges SET org_id = %s WHERE exchange_id = %s", [other.org_id, captured.exchange_id]
    )
    async with api_database.transaction(other.org_id) as connection:
        kept = await get_exchange(connection, other.org_id, captured.exchange_id)
    with pytest.raises(UnavailableError):
        open_exchange(kept, vault)


async def test_no_role_but_the_worker_deletes_and_the_proxy_reads_nothing(cluster: Any, organization: Any) -> None:
    statements = {
        "headgate_proxy": ["SELECT FROM traffic_exchanges", "INSERT INTO traffic_losses VALUES ('a')"],
        "headgate_api": ["DELETE FROM traffic_exchanges", "UPDATE traffic_exchanges SET action_id = NULL"],
        "headgate_auditor": ["DELETE FROM traffic_losses", "UPDATE traffic_exchanges SET target = NULL"],
    }
    for role, refused in statements.items():
        for statement in refused:
            with (
                psycopg.connect(cluster.dsn(role), autocommit=True) as connection,
                pytest.raises(psycopg.errors.InsufficientPrivilege),
            ):
                connection.execute(statement.encode())


async def test_read_again_after_a_kill_nothing_is_there_twice_and_what_was_erased_stays_erased(
    folder: Path, vault: Vault, masker: Masker, organization: Any, api_database: Database
) -> None:
    first, second = of(organization), of(organization)
    spool(folder, vault, first, second)
    (path,) = spool_reader.finished_segments(folder)
    data = path.read_bytes()
    await masker.run()
    async with api_database.transaction(organization.org_id) as connection:
        assert await erase_exchange(connection, organization.org_id, first.exchange_id, system_clock())
        assert not await erase_exchange(connection, organization.org_id, first.exchange_id, system_clock())
    path.write_bytes(data)  # as if it had been killed before it took the file away
    await masker.run()
    async with api_database.transaction(organization.org_id) as connection:
        assert (await list_exchanges(connection, organization.org_id, ANY, limit=10)).total == 2
        kept = await get_exchange(connection, organization.org_id, first.exchange_id)
        readable = await exchanges_with_content(connection, organization.org_id, ANY, limit=10)
    assert (kept.target, kept.content, kept.wrapped_key) == (None, None, None)
    with pytest.raises(NotFoundError):
        open_exchange(kept, vault)
    assert [one.exchange_id for one in readable] == [second.exchange_id]


async def test_killed_at_any_point_it_begins_again(
    folder: Path, vault: Vault, cluster: Any, organization: Any, masker: Masker, api_database: Database
) -> None:
    """A masker in a process of its own, killed after ever more time, until it has done everything."""
    exchanges = [of(organization, body=json.dumps({"n": n, "mail": "a@example.com"}).encode()) for n in range(150)]
    spool(folder, vault, *exchanges)
    program = f"""
import asyncio
from pathlib import Path
from headgate.db.database import Database
from headgate.kernel.secrets import Secret
from headgate.traffic.masker import Masker
from headgate.vault.service import Vault
async def main():
    database = Database(Secret({cluster.dsn("headgate_proxy")!r}))
    await database.open()
    print("started", flush=True)
    await Masker(Path({str(folder)!r}), database, Vault(Path({str(vault.keys_file)!r}))).run()
    await database.close()
asyncio.run(main())
"""
    for pause in (0.1, 0.6, 1.2):
        process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(pause)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    await masker.run()
    async with api_database.transaction(organization.org_id) as connection:
        page = await list_exchanges(connection, organization.org_id, ANY, limit=200, exact_total=True)
        losses = await count_losses(connection, organization.org_id, start=None, end=None)
    assert {one.exchange_id for one in page.exchanges} == {one.exchange_id for one in exchanges}
    assert page.total == 150
    assert losses == []


async def test_a_file_over_which_it_dies_each_time_is_given_up_and_told(
    folder: Path, vault: Vault, masker: Masker, organization: Any, api_database: Database
) -> None:
    spool(folder, vault, of(organization), of(organization))
    (path,) = spool_reader.finished_segments(folder)
    for _ in range(spool_reader.TRIES_MAX):
        spool_reader.begin_try(path)
    await masker.run()
    assert files_in(folder) == []
    async with api_database.transaction(organization.org_id) as connection:
        losses = await count_losses(connection, organization.org_id, start=None, end=None)
        assert (await list_exchanges(connection, organization.org_id, ANY, limit=10)).total == 0
    assert [(one.cause, one.exchanges) for one in losses] == [(Loss.NOT_MASKED, 2)]


async def test_a_database_that_is_away_costs_nothing(
    folder: Path, vault: Vault, masker: Masker, organization: Any, api_database: Database
) -> None:
    captured = of(organization)
    spool(folder, vault, captured)
    away = Database(Secret("postgresql://nobody@127.0.0.1:1/none"), timeout_seconds=0.3)
    await away.open()
    for _ in range(spool_reader.TRIES_MAX + 2):
        with pytest.raises(UnavailableError):
            await Masker(folder, away, vault).run()
    await away.close()
    assert await masker.run() == 1
    async with api_database.transaction(organization.org_id) as connection:
        await get_exchange(connection, organization.org_id, captured.exchange_id)


async def test_what_the_database_refuses_costs_itself_and_is_told(
    folder: Path, vault: Vault, masker: Masker, organization: Any, api_database: Database
) -> None:
    stranger = sample(org_id=organization.org_id, agent_id="agt_of_nobody")
    good = of(organization)
    spool(folder, vault, stranger, good)
    await masker.run()
    async with api_database.transaction(organization.org_id) as connection:
        page = await list_exchanges(connection, organization.org_id, ANY, limit=10)
        losses = await count_losses(connection, organization.org_id, start=None, end=None)
    assert [one.exchange_id for one in page.exchanges] == [good.exchange_id]
    assert [(one.cause, one.exchanges) for one in losses] == [(Loss.REFUSED, 1)]


@pytest.mark.parametrize(
    ("changes", "omitted"),
    [
        ({"body": b"\x89PNG\x00\xff", "content_type": b"image/png"}, {"request.body": "not text"}),
        ({"answer": None, "error": "reset by eva.muster@example.com \0"}, {}),
        ({"path": "/\0?\xff=\x1b"}, {}),
    ],
)
async def test_odd_exchanges_are_kept_as_far_as_they_can_be(
    folder: Path, vault: Vault, masker: Masker, organization: Any, api_database: Database, changes, omitted
) -> None:
    captured = of(organization, **changes)
    spool(folder, vault, captured)
    assert await masker.run() == 1
    async with api_database.transaction(organization.org_id) as connection:
        kept = await get_exchange(connection, organization.org_id, captured.exchange_id)
    assert json.loads(kept.omitted) == omitted
    assert "eva.muster" not in str(kept)


async def test_what_is_old_is_dropped_and_only_that_of_the_organization(
    folder: Path, vault: Vault, masker: Masker, new_organization: Any, worker_database: Database
) -> None:
    mine, other = new_organization(), new_organization()
    now = system_clock()
    earlier = now.replace(year=now.year - 1)
    spool(folder, vault, of(mine), of(mine, created_at=earlier), of(other, created_at=earlier))
    await masker.run()
    async with worker_database.transaction(mine.org_id) as connection:
        assert (await drop_captures(connection, mine.org_id, now - timedelta(days=1))).count == 1
        assert (await drop_captures(connection, mine.org_id, now - timedelta(days=1))).count == 0
    async with worker_database.transaction(other.org_id) as connection:
        assert (await drop_captures(connection, other.org_id, now - timedelta(days=1))).count == 1


async def test_what_is_under_a_legal_hold_stays(
    folder: Path, vault: Vault, masker: Masker, organization: Any, worker_database: Database, superuser: Any
) -> None:
    captured = of(organization, created_at=system_clock() - timedelta(days=400))
    spool(folder, vault, captured)
    await masker.run()
    superuser.execute(
        "INSERT INTO legal_holds (org_id, hold_id, scope, target, reason, placed_by, placed_at)"
        " VALUES (%s, 'hld_1', 'agent', %s, 'a lawsuit', 'usr_1', now())",
        [organization.org_id, organization.agent_id],
    )
    async with worker_database.transaction(organization.org_id) as connection:
        assert (await drop_captures(connection, organization.org_id, system_clock())).count == 0
        assert await erase_captures(connection, organization.org_id, [str(captured.action_id)]) == 0
        with pytest.raises(ConflictError):
            await erase_exchange(connection, organization.org_id, captured.exchange_id, system_clock())


async def test_what_was_still_on_its_way_when_its_action_was_erased_is_kept_without_its_contents(
    folder: Path, vault: Vault, masker: Masker, organization: Any, api_database: Database, hold: Any, superuser: Any
) -> None:
    """Between the gate and the masker there may be minutes; a person's right does not end in the spool."""
    held, other = await hold(organization), await hold(organization)
    superuser.execute(
        "UPDATE actions SET status = 'denied' WHERE org_id = %s AND action_id = %s",
        [organization.org_id, held.action_id],
    )
    spool(folder, vault, of(organization, action_id=held.action_id), of(organization, action_id=other.action_id))
    change = Change(organization.org_id, SYSTEM, None, system_clock())
    async with begin_change(api_database, change) as changing:
        found = await erase_actions(changing, [held.action_id], ErasureDepth.BODIES, "article 17", BESIDE_ACTIONS)
    assert [*found.values()] == [ErasureOutcome.ERASED]
    assert await masker.run() == 2
    async with api_database.transaction(organization.org_id) as connection:
        page = await list_exchanges(connection, organization.org_id, ANY, limit=10)
        (readable,) = await exchanges_with_content(connection, organization.org_id, ANY, limit=10)
    (erased,) = [one for one in page.exchanges if one.action_id == held.action_id]
    assert erased.erased_at is not None and (erased.target, erased.error) == (None, None)
    assert readable.action_id == other.action_id


async def test_a_rotation_of_the_master_key_reaches_captures(
    folder: Path, vault: Vault, masker: Masker, organization: Any, worker_database: Database
) -> None:
    captured = of(organization)
    spool(folder, vault, captured)
    await masker.run()
    keys, key_id = load_master_keys(vault.keys_file).with_new_key()
    store_master_keys(vault.keys_file, keys.with_current(key_id))
    async with worker_database.transaction(organization.org_id) as connection:
        assert await rewrap_captures(connection, organization.org_id, vault) == 1
        assert await rewrap_captures(connection, organization.org_id, vault) == 0
        kept = await get_exchange(connection, organization.org_id, captured.exchange_id)
    assert kept.key_id == key_id
    assert open_exchange(kept, vault)


def test_partitions_of_months_that_are_over_go_when_nobody_has_anything_in_them(
    superuser: Any, cluster: Any, organization: Any
) -> None:
    for month, following in (("2024-01", "2024-02"), ("2024-02", "2024-03")):
        superuser.execute(
            f"CREATE TABLE traffic_exchanges_{month.replace('-', '_')} PARTITION OF traffic_exchanges"
            f" FOR VALUES FROM ('{month}-01 00:00Z') TO ('{following}-01 00:00Z')"
        )
        superuser.execute(f"ALTER TABLE traffic_exchanges_{month.replace('-', '_')} OWNER TO headgate_owner")
    superuser.execute(
        "INSERT INTO traffic_exchanges (org_id, exchange_id, created_at, agent_id, tool, operation, decision, level,"
        " method, scheme, host, port, request_bytes, response_bytes, masking, omitted, erased_at)"
        " VALUES (%s, 'exc_old', '2024-02-10 00:00Z', 'a', 't', 'o', 'allow', 'heads', 'GET', 'https', 'h', 1, 0, 0,"
        " '{}', '{}', now())",
        [organization.org_id],
    )
    with psycopg.connect(cluster.dsn("headgate_worker"), autocommit=True) as worker:
        assert worker.execute("SELECT drop_empty_traffic_partitions()").fetchone() == (1,)
    left = superuser.execute(
        "SELECT to_regclass('traffic_exchanges_2024_01'), to_regclass('traffic_exchanges_2024_02')"
    )
    assert left.fetchone() == (None, "traffic_exchanges_2024_02")
    superuser.execute("DROP TABLE traffic_exchanges_2024_02")
