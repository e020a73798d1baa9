"""The record against the real database: what one agent sends large must not cost the others their calls."""

import asyncio
import base64
import os
from datetime import UTC, datetime

import psycopg
import pytest

from headgate.actions.recorded_entry import ActionRow
from headgate.actions.recording_store import RecordingOutcome
from headgate.audit.model import SYSTEM, payload_text
from headgate.gate.record_batch import LARGE_BYTES, GateRecorder, Recorder
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from tests.entry_codes import CODES
from tests.integration.conftest import Cluster, Organization


def _row(organization: Organization, text: str) -> ActionRow:
    payload = payload_text(SYSTEM, {})
    return ActionRow(
        organization.org_id, 1, new_id(IdPrefix.ACTION), organization.agent_id, None, "proxy", "mail", "send", "denied",
        os.urandom(32), canonical_bytes({"params": {"text": text}}), b"{}", "low", None, datetime.now(UTC),
        None, None, None, None, payload, payload, None,
    )  # fmt: skip


async def test_large_requests_cost_small_ones_nothing(cluster: Cluster, organization: Organization) -> None:
    # Compressed and written together these take longer than a record may.
    large = base64.b64encode(os.urandom(6 << 20)).decode()
    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")), CODES)
    await recorder.open()
    try:
        slow = [recorder.submit_action(_row(organization, large)) for _ in range(12)]
        quick = [recorder.submit_action(_row(organization, "x")) for _ in range(50)]
        async with asyncio.timeout(30):
            assert set(await asyncio.gather(*quick)) == {RecordingOutcome.RECORDED}
        assert not all(future.done() for future in slow)
        assert set(await asyncio.gather(*slow)) == {RecordingOutcome.RECORDED}
    finally:
        await recorder.close()


async def test_the_connection_of_large_requests_is_opened_with_the_first_of_them(
    cluster: Cluster, organization: Organization, superuser: psycopg.Connection[tuple[object, ...]]
) -> None:
    """An idle one takes 1.5 MB of the server, in every process."""
    name = f"recorder-{new_id(IdPrefix.ACTION)}"
    statement = "SELECT pid FROM pg_stat_activity WHERE application_name = %s"

    def servers() -> set[object]:
        return {row[0] for row in superuser.execute(statement, [name])}

    recorder = GateRecorder(Secret(f"{cluster.dsn('headgate_proxy')}&application_name={name}"), CODES)
    await recorder.open()
    try:
        assert await recorder.submit_action(_row(organization, "x")) is RecordingOutcome.RECORDED
        assert (recorder.ready, len(servers())) == (True, 2)
        for _ in range(2):
            large = recorder.submit_action(_row(organization, "x" * LARGE_BYTES))
            assert await large is RecordingOutcome.RECORDED
            assert len(servers()) == 3

        ended = servers()
        superuser.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", [name])
        async with asyncio.timeout(30):
            while len(servers() - ended) < 3 or not recorder.ready:
                await asyncio.sleep(0.01)
    finally:
        await recorder.close()


async def test_a_connection_that_dies_between_the_rows_and_the_commit_records_nothing_and_says_so(
    cluster: Cluster, organization: Organization, superuser: psycopg.Connection[tuple[object, ...]]
) -> None:
    """Whoever is told of no record forwards nothing; and nothing of the call is left that would tell of one."""
    superuser.execute(
        "CREATE FUNCTION die_at_commit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN"
        f" IF NEW.org_id = '{organization.org_id}' THEN PERFORM pg_terminate_backend(pg_backend_pid());"
        " PERFORM pg_sleep(10); END IF; RETURN NULL; END $$".encode()
    )
    superuser.execute(
        "CREATE CONSTRAINT TRIGGER dies_at_commit AFTER INSERT ON journal DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION die_at_commit()"
    )
    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")), CODES)
    await recorder.open()
    try:
        with pytest.raises(UnavailableError):
            await recorder.submit_action(_row(organization, "x"))
        for table in (b"actions", b"journal", b"audit_chain"):
            left = superuser.execute(
                b"SELECT 1 FROM " + table + b" WHERE org_id = %s", [organization.org_id]
            ).fetchall()
            assert left == []
        superuser.execute("DROP FUNCTION die_at_commit CASCADE")
        async with asyncio.timeout(30):
            while not recorder.ready:
                await asyncio.sleep(0.05)
        assert await recorder.submit_action(_row(organization, "x")) is RecordingOutcome.RECORDED
    finally:
        superuser.execute("DROP FUNCTION IF EXISTS die_at_commit CASCADE")
        await recorder.close()
