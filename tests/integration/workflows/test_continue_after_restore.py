"""What is open in a restored database ends. That tables and record agree after it: ``tests/e2e/test_backup.py``."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.evidence.recorded_restores import recorded_restores
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.workflows.continue_after_restore import Restored, Withdrawn, continue_organization, seal_all
from tests.entry_codes import CODES
from tests.integration.conftest import Cluster, Execute, Hold, Organization, Superuser

_NOW = datetime.now(UTC)


@pytest.fixture
async def owner_database(cluster: Cluster) -> AsyncIterator[Database]:
    database = Database(Secret(cluster.dsn("headgate_owner")), entry_codes=CODES)
    await database.open()
    yield database
    await database.close()


async def _continue(database: Database, org_id: str) -> Withdrawn:
    await seal_all(database)
    restored = Restored(org_id, "bkp_1", _NOW, "ada@gate", 3, "ee" * 32, 0, None)
    async with begin_change(database, Change(org_id, SYSTEM, None, datetime.now(UTC))) as change:
        withdrawn = await continue_organization(change, restored)
    await seal_all(database)
    return withdrawn


async def test_a_running_execution_and_a_held_action_end(
    owner_database: Database, superuser: Superuser, organization: Organization, execute: Execute, hold: Hold
) -> None:
    org_id = organization.org_id
    running = await execute(organization, "ins_dead")
    await hold(organization)
    withdrawn = await _continue(owner_database, org_id)
    assert (withdrawn.running_executions, withdrawn.approvals) == (1, 1)
    row = superuser.execute(
        "SELECT e.status, a.status, e.error LIKE 'outcome unknown: it ran when the backup was made%%' FROM executions e"
        " JOIN actions a USING (org_id, action_id) WHERE e.org_id = %s AND e.execution_id = %s",
        [org_id, running.execution_id],
    ).fetchone()
    assert row == ("failed", "failed", True)
    assert superuser.execute("SELECT status FROM approvals WHERE org_id = %s", [org_id]).fetchall() == [("expired",)]
    async with owner_database.transaction(org_id) as connection:
        [restore] = await recorded_restores(connection, org_id)
    assert (restore.head_seq, restore.backup_id, restore.restored_by) == (3, "bkp_1", "ada@gate")


async def test_everybody_signs_in_again_and_no_cache_is_current(
    owner_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id, later = organization.org_id, datetime.now(UTC) + timedelta(hours=1)
    superuser.execute(
        "INSERT INTO users (org_id, user_id, issuer, subject) VALUES (%s, 'usr_1', 'https://idp', 'ada')", [org_id]
    )
    superuser.execute(
        "INSERT INTO sessions (org_id, session_id, user_id, token_hash, address, created_at, last_seen_at, expires_at)"
        " VALUES (%s, 'ses_1', 'usr_1', sha256('x'), '::1', %s, %s, %s)",
        [org_id, _NOW, _NOW, later],
    )
    superuser.execute(
        "INSERT INTO invitations (org_id, invitation_id, email, roles, secret_hash, created_at, expires_at)"
        " VALUES (%s, 'inv_1', 'a@example.com', '{approver}', sha256('y'), %s, %s)",
        [org_id, _NOW, later],
    )
    superuser.execute(
        "INSERT INTO break_glass (org_id, pass_id, action_id, agent_id, tool, operation, digest, reason, opened_by,"
        " created_at, expires_at) VALUES (%s, 'brk_1', 'act_1', %s, 'http', 'post', sha256('z'), 'r', 'usr_1', %s, %s)",
        [org_id, organization.agent_id, _NOW, later],
    )
    withdrawn = await _continue(owner_database, org_id)
    assert (withdrawn.sessions, withdrawn.break_glass) == (1, 1)
    [row] = superuser.execute(
        "SELECT s.ended_at IS NOT NULL, i.revoked_at IS NOT NULL, b.expires_at <= now(), c.issued_before <= now(),"
        " o.generation FROM sessions s JOIN invitations i USING (org_id) JOIN break_glass b USING (org_id)"
        " JOIN closed_sessions c USING (org_id) JOIN org_state o USING (org_id) WHERE org_id = %s",
        [org_id],
    ).fetchall()
    assert row[:4] == (True, True, True, True)
    assert int(str(row[4])) >= 2**32
