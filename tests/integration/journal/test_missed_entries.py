"""What the owner of the database does to the journal before it is applied is found, and nothing is lost for it."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from headgate.actions.recording_store import RecordingOutcome
from headgate.db.database import Database
from headgate.gate.attest_entries import AttestEntries
from headgate.gate.record_batch import Recorder
from headgate.journal.apply import require_applied
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.reconciliation.reconcile import reconcile
from headgate.vault.master_keys import MasterKeys
from tests.entry_codes import CODES
from tests.integration.audit.verify_range import verify_range
from tests.integration.conftest import Cluster, Organization
from tests.integration.journal.journal_rows import change_action, has_attestation, rows_about
from tests.integration.journal.test_apply import Superuser, _action, _append_signed, _count, _outcome

type Row = tuple[object, ...]


@pytest.fixture
async def recorder(cluster: Cluster, proxy_database: Database, organization: Organization) -> AsyncIterator[Recorder]:
    """Of a process that attests what it wrote, as the proxy does."""
    made = Recorder(Secret(cluster.dsn("headgate_proxy")), CODES)
    await made.open()
    attesting = asyncio.create_task(AttestEntries(proxy_database, made.lanes, CODES).keep_attesting())
    yield made
    attesting.cancel()
    await made.close()


async def _record(recorder: Recorder, organization: Organization) -> str:
    row = _action(organization, new_id(IdPrefix.EXECUTION))
    assert await recorder.submit_action(row) is RecordingOutcome.RECORDED
    await recorder.submit_outcome(_outcome(row))
    return row.action_id


async def _attested(superuser: Superuser, org_id: str) -> None:
    """Waits until the process has said what it wrote."""
    async with asyncio.timeout(10):
        while not has_attestation(superuser, org_id):
            await asyncio.sleep(0.05)


def _missed(superuser: Superuser, org_id: str) -> list[Row]:
    return superuser.execute(
        "SELECT payload::json #>> '{data,written}', payload::json #>> '{data,applied}' FROM audit_events"
        " WHERE org_id = %s AND event_type = 'journal_entry.missed' ORDER BY seq",
        [org_id],
    ).fetchall()


async def _two_are_missed(database: Database, superuser: Superuser, org_id: str) -> None:
    """Both lanes need not be attested in one round."""
    async with asyncio.timeout(10):
        while len(_missed(superuser, org_id)) < 2:
            await require_applied(database, org_id)
            await asyncio.sleep(0.05)


async def _differences(database: Database, org_id: str) -> list[tuple[str, str | None, str | None]]:
    async with database.transaction(org_id) as connection:
        found = await reconcile(connection, org_id)
    # The rows of these tests are not what their events say; only the journal's is looked at.
    return [(one.table, one.expected, one.found) for one in found.differences if one.table == "journal"]


async def test_a_call_that_was_deleted_is_missed_within_a_second(
    recorder: Recorder, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    """Also where nothing is written after it: its process attests what it wrote."""
    org_id = organization.org_id
    for _ in range(2):
        await _record(recorder, organization)
    await require_applied(api_database, org_id)
    assert await _differences(api_database, org_id) == []
    action_id = await _record(recorder, organization)
    _delete(superuser, org_id, action_id)
    await _two_are_missed(api_database, superuser, org_id)
    assert _missed(superuser, org_id) == [("3", "2"), ("3", "2")], "the call, and its outcome"
    assert await _differences(api_database, org_id) == [("journal", "3", "2"), ("journal", "3", "2")]
    lag = superuser.execute("SELECT missing FROM journal_lag()").fetchall()
    assert lag == [(2,)]
    # It is said once, and what comes later is complete again.
    await _record(recorder, organization)
    await require_applied(api_database, org_id)
    assert len(_missed(superuser, org_id)) == 2


async def test_an_attestation_that_was_deleted_is_repeated(
    recorder: Recorder,
    proxy_database: Database,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    org_id = organization.org_id
    await _record(recorder, organization)
    await _attested(superuser, org_id)
    superuser.execute("DELETE FROM journal WHERE org_id = %s", [org_id])
    monkeypatch.setattr("headgate.gate.attest_entries._STANDING_SECONDS", 0.0)
    await AttestEntries(proxy_database, recorder.lanes, CODES).attest()
    await require_applied(api_database, org_id)
    assert _missed(superuser, org_id) == [("1", "0"), ("1", "0")]


async def test_after_a_rotation_of_the_master_keys_the_counts_are_under_the_new_key(
    cluster: Cluster,
    proxy_database: Database,
    superuser: Superuser,
    organization: Organization,
) -> None:
    keys = MasterKeys("k1", {"k1": bytes(32)})
    codes = EntryCodes(lambda: keys)
    applier = Database(Secret(cluster.dsn("headgate_api")), entry_codes=codes)
    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")), codes)
    attest_entries = AttestEntries(proxy_database, recorder.lanes, codes)
    await applier.open()
    await recorder.open()
    await _record(recorder, organization)
    for current in (keys, MasterKeys("k2", {"k1": bytes(32), "k2": bytes([1]) * 32})):
        keys = current
        await attest_entries.attest()
        await require_applied(applier, organization.org_id)
    marks = superuser.execute(
        "SELECT DISTINCT mark FROM journal_writers WHERE org_id = %s", [organization.org_id]
    ).fetchall()
    keys = MasterKeys("k2", {"k2": bytes([1]) * 32})
    assert marks == [(codes.signer().mark,)]
    await _record(recorder, organization)
    await require_applied(applier, organization.org_id)
    assert _missed(superuser, organization.org_id) == []
    await recorder.close()
    await applier.close()


async def test_an_entry_that_was_changed_is_set_aside_and_missed(
    recorder: Recorder, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id = organization.org_id
    action_id = await _record(recorder, organization)
    other = new_id(IdPrefix.ACTION)
    change_action(superuser, org_id, action_id, other)
    await _two_are_missed(api_database, superuser, org_id)
    assert _count(superuser, "actions", org_id) == 0
    assert len(_missed(superuser, org_id)) == 2
    aside = superuser.execute("SELECT failure FROM journal_set_aside WHERE org_id = %s", [org_id]).fetchall()
    assert [str(failure).count("fits none of the master keys") for (failure,) in aside] == [1, 1]


async def test_an_entry_that_was_applied_before_does_not_stand_for_another(
    recorder: Recorder, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id = organization.org_id
    await _record(recorder, organization)
    kept = superuser.execute("SELECT entries FROM journal WHERE org_id = %s ORDER BY journal_id", [org_id]).fetchall()
    await require_applied(api_database, org_id)
    await _record(recorder, organization)
    superuser.execute("DELETE FROM journal WHERE org_id = %s", [org_id])
    for (entries,) in kept:
        assert isinstance(entries, bytes)
        _append_signed(superuser, org_id, entries)
    await _attested(superuser, org_id)
    await require_applied(api_database, org_id)
    assert len(_missed(superuser, org_id)) == 2
    aside = superuser.execute("SELECT failure FROM journal_set_aside WHERE org_id = %s", [org_id]).fetchall()
    assert [str(failure).count("was applied before") for (failure,) in aside] == [1, 1]


@pytest.mark.parametrize("change", ["UPDATE journal_writers SET applied = applied + 1", "DELETE FROM journal_writers"])
async def test_a_count_that_the_owner_changed_counts_nothing(
    recorder: Recorder, api_database: Database, superuser: Superuser, organization: Organization, change: str
) -> None:
    org_id = organization.org_id
    await _record(recorder, organization)
    await require_applied(api_database, org_id)
    await _record(recorder, organization)
    superuser.execute("DELETE FROM journal WHERE org_id = %s", [org_id])
    superuser.execute(f"{change} WHERE org_id = %s".encode(), [org_id])
    await _attested(superuser, org_id)
    await require_applied(api_database, org_id)
    assert _missed(superuser, org_id) == [("2", "0"), ("2", "0")]


async def test_entries_are_missed_where_the_entry_that_reveals_it_is_refused(
    cluster: Cluster, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id = organization.org_id
    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")), CODES)
    await recorder.open()
    first, lost = (_action(organization, new_id(IdPrefix.EXECUTION)) for _ in range(2))
    await recorder.submit_action(first)
    await require_applied(api_database, org_id)
    await recorder.submit_action(lost)
    superuser.execute("DELETE FROM journal WHERE org_id = %s", [org_id])
    await recorder.submit_action(first)  # its row is there
    await require_applied(api_database, org_id)
    await recorder.close()
    assert _count(superuser, "journal_set_aside", org_id) == 1
    assert _missed(superuser, org_id) == [("2", "1")]


async def test_nobody_writes_an_entry_without_the_keys(
    api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id = organization.org_id
    _append_signed(superuser, org_id, bytes(200))
    await require_applied(api_database, org_id)
    assert (_count(superuser, "actions", org_id), _count(superuser, "journal_set_aside", org_id)) == (0, 1)


async def test_a_session_that_the_owner_ends_does_not_hide_a_deletion(
    recorder: Recorder, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    """The process attests as soon as it is connected again."""
    org_id = organization.org_id
    await _record(recorder, organization)
    superuser.execute("DELETE FROM journal WHERE org_id = %s", [org_id])
    superuser.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE query LIKE '%record_%' AND pid <> pg_backend_pid() AND datname = current_database()"
    )
    await _attested(superuser, org_id)
    await require_applied(api_database, org_id)
    assert _missed(superuser, org_id) == [("1", "0"), ("1", "0")]


async def test_a_process_without_keys_applies_nothing(
    recorder: Recorder, cluster: Cluster, superuser: Superuser, organization: Organization
) -> None:
    await _record(recorder, organization)
    keyless = Database(Secret(cluster.dsn("headgate_api")))
    await keyless.open()
    with pytest.raises(Exception, match="without the master keys"):
        await require_applied(keyless, organization.org_id)
    await keyless.close()
    assert _count(superuser, "journal", organization.org_id) == 2


def test_the_proxy_does_not_reach_the_counts(cluster: Cluster) -> None:
    with psycopg.connect(cluster.dsn("headgate_proxy")) as connection:
        for statement in (
            "SELECT FROM journal_writers",
            "SELECT count_entries('o', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(statement.encode())


async def _killed(cluster: Cluster, organization: Organization, *, calls: int) -> list[str]:
    """The calls of a process that ended before it attested anything."""
    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")), CODES)
    await recorder.open()
    action_ids = [await _record(recorder, organization) for _ in range(calls)]
    await recorder.close()
    return action_ids


def _delete(superuser: Superuser, org_id: str, action_id: str) -> None:
    gone = superuser.execute(
        "DELETE FROM journal WHERE org_id = %s AND journal_id = ANY (%s)",
        [org_id, rows_about(superuser, org_id, action_id)],
    )
    assert gone.rowcount == 2, "the call, and its outcome"


async def test_of_a_killed_process_a_call_before_its_last_one_is_missed(
    cluster: Cluster, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    """The entries behind it say so: no attestation is needed."""
    org_id = organization.org_id
    first, second, _ = await _killed(cluster, organization, calls=3)
    _delete(superuser, org_id, first)
    _delete(superuser, org_id, second)
    await require_applied(api_database, org_id)
    assert _missed(superuser, org_id) == [("2", "0"), ("2", "0")]


async def test_the_last_call_of_a_killed_process_is_not_missed_before_it_is_applied(
    cluster: Cluster, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    """Nothing that is left says that there was one. SECURITY.md says so, too."""
    org_id = organization.org_id
    _, last = await _killed(cluster, organization, calls=2)
    _delete(superuser, org_id, last)
    await require_applied(api_database, org_id)
    assert _missed(superuser, org_id) == []
    assert await _differences(api_database, org_id) == []


async def test_the_last_call_of_a_killed_process_is_in_the_chain_once_it_is_applied(
    cluster: Cluster, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    """Its process need not live: the chain proves it from the next round of the applier on."""
    org_id = organization.org_id
    [last] = await _killed(cluster, organization, calls=1)
    await require_applied(api_database, org_id)
    superuser.execute("DELETE FROM audit_events WHERE org_id = %s AND action_id = %s", [org_id, last])
    assert (await verify_range(api_database, org_id)).fault is not None


async def test_a_lane_whose_later_entries_are_all_deleted_is_not_missed(
    cluster: Cluster,
    proxy_database: Database,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
) -> None:
    """As long as its owner goes on deleting: one attestation that is left tells."""
    org_id = organization.org_id
    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")), CODES)
    await recorder.open()
    attest_entries = AttestEntries(proxy_database, recorder.lanes, CODES)
    for _ in range(3):
        await _record(recorder, organization)
        await attest_entries.attest()
        superuser.execute("DELETE FROM journal WHERE org_id = %s", [org_id])
    await require_applied(api_database, org_id)
    assert _missed(superuser, org_id) == []
    await _record(recorder, organization)
    await attest_entries.attest()
    await require_applied(api_database, org_id)
    await recorder.close()
    assert _missed(superuser, org_id) == [("3", "0"), ("3", "0")]
