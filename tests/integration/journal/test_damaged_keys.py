"""The file of master keys is damaged under processes that run or start, and mended: nothing is lost or missed."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headgate.actions.recording_store import RecordingOutcome
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Database
from headgate.gate.attest_entries import AttestEntries
from headgate.gate.record_batch import Recorder
from headgate.journal.apply import apply_due, require_applied
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.errors import UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.vault.master_keys import create_master_keys
from headgate.vault.service import Vault
from tests.integration.conftest import Cluster, Organization
from tests.integration.journal.test_apply import Superuser, _action, _count, _outcome

type Damage = Callable[[Path], object]


def _without_member(path: Path) -> None:
    path.write_text('{"current": "k1"}')


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])


def _open_to_others(path: Path) -> None:
    path.write_bytes(path.read_bytes())  # a change that is seen
    path.chmod(0o644)


_DAMAGES: list[tuple[Damage, str]] = [
    (_without_member, "the member 'keys' is missing"),
    (_truncated, "it is not JSON (line 1, column"),
    (_open_to_others, "can be read by others"),
    (Path.unlink, "does not exist"),
]


@pytest.fixture
def cluster(postgres_server, database_urls) -> Cluster:
    """Whether any process signs entries is a question over all organizations."""
    return Cluster(postgres_server, database_urls.name)


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    path = tmp_path / "master-keys.json"
    create_master_keys(path)
    return path


class Process:
    """One process of an installation, which reads the file of keys as a part does."""

    def __init__(self, cluster: Cluster, keys_file: Path) -> None:
        codes = EntryCodes(Vault(keys_file).master_keys)
        self.recorder = Recorder(Secret(cluster.dsn("headgate_proxy")), codes)
        self.database = Database(Secret(cluster.dsn("headgate_api")), entry_codes=codes)
        self.worker = Database(Secret(cluster.dsn("headgate_worker")), entry_codes=codes)
        self._attest_entries = AttestEntries(self.database, self.recorder.lanes, codes)

    async def open(self) -> "Process":
        await self.recorder.open()
        await self.database.open()
        await self.worker.open()
        return self

    async def close(self) -> None:
        await self.recorder.close()
        await self.database.close()
        await self.worker.close()

    async def record(self, organization: Organization) -> None:
        """A call with its outcome, and an event of a transaction; attested."""
        row = _action(organization, new_id(IdPrefix.EXECUTION))
        assert await self.recorder.submit_action(row) is RecordingOutcome.RECORDED
        await self.recorder.submit_outcome(_outcome(row))
        await self.change_setting(organization)
        await self.attest()

    async def change_setting(self, organization: Organization) -> None:
        async with self.database.transaction(organization.org_id) as connection:
            event = Event(EventType.SETTING_CHANGED, datetime.now(UTC), SYSTEM, {"name": "retention"})
            await append(connection, organization.org_id, [event])

    async def attest(self) -> None:
        for _ in range(2):
            await self._attest_entries.attest()


@pytest.fixture
def intact(keys_file: Path) -> bytes:
    return keys_file.read_bytes()


@pytest.fixture
async def processes(cluster: Cluster, keys_file: Path) -> AsyncIterator[list[Process]]:
    """The first is there from the start; the second starts when it is opened."""
    made = [Process(cluster, keys_file), Process(cluster, keys_file)]
    for one in made:
        await one.open()
    yield made
    for one in made:
        await one.close()


def _mend(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)


def _is_whole(superuser: Superuser, org_id: str, *, calls: int) -> None:
    """Everything is applied, and nothing is set aside or missed."""
    events = dict(
        superuser.execute(
            "SELECT event_type, count(*) FROM audit_events WHERE org_id = %s GROUP BY event_type", [org_id]
        ).fetchall()
    )
    expected = ("action.submitted", "decision.made", "execution.completed", "execution.started", "setting.changed")
    assert events == dict.fromkeys(expected, calls)
    assert (_count(superuser, "journal", org_id), _count(superuser, "journal_set_aside", org_id)) == (0, 0)


@pytest.mark.parametrize(("damage", "said"), _DAMAGES)
async def test_a_running_applier_goes_on(
    processes: list[Process],
    keys_file: Path,
    intact: bytes,
    superuser: Superuser,
    organization: Organization,
    damage: Damage,
    said: str,
) -> None:
    running, _ = processes
    await running.record(organization)
    assert await apply_due(running.worker) > 0
    damage(keys_file)
    await running.record(organization)
    while await apply_due(running.worker):
        pass
    _is_whole(superuser, organization.org_id, calls=2)
    _mend(keys_file, intact)
    await running.record(organization)
    while await apply_due(running.worker):
        pass
    _is_whole(superuser, organization.org_id, calls=3)


@pytest.mark.parametrize(("damage", "said"), _DAMAGES)
async def test_an_applier_that_starts_waits_until_the_file_is_mended(
    processes: list[Process],
    keys_file: Path,
    intact: bytes,
    superuser: Superuser,
    organization: Organization,
    capsys: pytest.CaptureFixture[str],
    damage: Damage,
    said: str,
) -> None:
    """Other processes still have the keys, and attest events: one that was applied without its code would be missed."""
    running, starting = processes
    await running.record(organization)
    await require_applied(running.database, organization.org_id)
    damage(keys_file)
    await running.change_setting(organization)
    waiting = _count(superuser, "journal", organization.org_id)
    capsys.readouterr()
    for database in (starting.worker, starting.database):
        with pytest.raises(UnavailableError):
            await apply_due(database)
        with pytest.raises(UnavailableError) as refused:
            await require_applied(database, organization.org_id)
        assert said in refused.value.message and str(keys_file) in refused.value.message
    assert _count(superuser, "journal", organization.org_id) == waiting == 1
    out = capsys.readouterr().out
    assert "journal_not_applied" in out and str(keys_file) in out and said in out
    await running.attest()
    row = _action(organization, new_id(IdPrefix.EXECUTION))
    assert await running.recorder.submit_action(row) is RecordingOutcome.RECORDED
    await running.recorder.submit_outcome(_outcome(row))
    await running.attest()
    with pytest.raises(UnavailableError):
        await apply_due(starting.worker)
    _mend(keys_file, intact)
    while await apply_due(starting.worker):
        pass
    _is_whole(superuser, organization.org_id, calls=2)


async def test_where_no_process_has_signed_anything_events_need_no_keys(
    processes: list[Process], keys_file: Path, superuser: Superuser, organization: Organization
) -> None:
    """As in an installation that has no keys yet."""
    running, starting = processes
    _without_member(keys_file)
    await running.change_setting(organization)
    assert await apply_due(starting.worker) == 1
    await require_applied(running.database, organization.org_id)
    assert _count(superuser, "journal", organization.org_id) == 0
