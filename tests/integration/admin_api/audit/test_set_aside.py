"""Entries that were set aside: listed with the reasons, and applied by an administrator after the cause is mended."""

from collections.abc import AsyncIterator

import httpx
import psycopg
import pytest

from headgate.actions.entry_lane import EntryLane
from headgate.actions.recorded_entry import ActionRow, action_entry, outcome_entry
from headgate.db.database import Database
from headgate.journal.apply import require_applied
from headgate.kernel.ids import IdPrefix, new_id
from tests.entry_codes import CODES
from tests.integration.audit.verify_range import verify_range
from tests.integration.conftest import Organization
from tests.integration.journal.test_apply import _action, _append, _append_signed, _count, _outcome

type Superuser = psycopg.Connection[tuple[object, ...]]

_PATH = "/admin/audit/set-aside"


@pytest.fixture
async def gate(new_gate):
    return await new_gate("package gate\nallow if true\n")


@pytest.fixture
async def admin(gate) -> AsyncIterator[httpx.AsyncClient]:
    return gate.person()


@pytest.fixture
def organization(gate) -> Organization:
    return Organization(gate.org_id, gate.agent_id)


class _Refused:
    """A constraint that refuses rows, and that a person mends."""

    def __init__(self, superuser: Superuser, table: str, check: str) -> None:
        self._superuser = superuser
        self._table = table
        superuser.execute(f"ALTER TABLE {table} ADD CONSTRAINT refused CHECK ({check}) NOT VALID".encode())

    def mend(self) -> None:
        self._superuser.execute(f"ALTER TABLE {self._table} DROP CONSTRAINT IF EXISTS refused".encode())


def _status(superuser: Superuser, row: ActionRow) -> object:
    query = "SELECT status FROM actions WHERE org_id = %s AND action_id = %s"
    return superuser.execute(query, [row.org_id, row.action_id]).fetchall()[0][0]


async def _one(admin: httpx.AsyncClient) -> dict:
    [found] = (await admin.get(_PATH)).json()["data"]
    return found


def _applied_events(superuser: Superuser, org_id: str) -> list[tuple[object, ...]]:
    return superuser.execute(
        "SELECT payload::json #>> '{data,entry}', payload::json #>> '{data,kind}', payload::json #>> '{actor,type}'"
        " FROM audit_events WHERE org_id = %s AND event_type = 'journal_entry.applied' ORDER BY seq",
        [org_id],
    ).fetchall()


async def test_an_action_is_applied_after_its_cause_is_mended(
    admin: httpx.AsyncClient, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id = organization.org_id
    refused = _Refused(superuser, "actions", "tool <> 'strange'")
    row = _action(organization, new_id(IdPrefix.EXECUTION), tool="strange")
    try:
        _append(superuser, org_id, action_entry(row))
        await require_applied(api_database, org_id)
        found = await _one(admin)
        assert (found["kind"], found["action_id"]) == ("action", row.action_id)
        assert "refused" in found["failure"]
        still = await admin.post(f"{_PATH}/{found['id']}/apply")
        assert still.status_code == 409, still.text
        assert "still cannot be applied" in still.json()["error"]["message"]
        assert (_count(superuser, "journal_set_aside", org_id), _applied_events(superuser, org_id)) == (1, [])
    finally:
        refused.mend()
    done = await admin.post(f"{_PATH}/{found['id']}/apply")
    assert (done.status_code, done.json()) == (200, found)
    assert (await admin.get(_PATH)).json() == {"data": []}
    assert _status(superuser, row) == "executing"
    await require_applied(api_database, org_id)
    assert _applied_events(superuser, org_id) == [(found["id"], "action", "user")]
    again = await admin.post(f"{_PATH}/{found['id']}/apply")
    assert (again.status_code, again.json()["error"]["message"]) == (404, f"no entry {found['id']} is set aside")
    sealed = superuser.execute(
        "SELECT event_type FROM audit_events WHERE org_id = %s AND action_id = %s ORDER BY seq", [org_id, row.action_id]
    ).fetchall()
    assert sealed == [("action.submitted",), ("decision.made",), ("execution.started",)]
    assert (await verify_range(api_database, org_id)).fault is None


async def test_an_event_is_applied_after_its_cause_is_mended(
    admin: httpx.AsyncClient, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id = organization.org_id
    refused = _Refused(superuser, "audit_events", "event_type <> 'setting.changed'")
    try:
        answer = await admin.put("/admin/settings/retention", json={"encrypt_after_days": 9})
        assert answer.status_code == 200, answer.text
        await require_applied(api_database, org_id)
        found = await _one(admin)
        assert (found["kind"], found["action_id"]) == ("event", None)
    finally:
        refused.mend()
    assert (await admin.post(f"{_PATH}/{found['id']}/apply")).status_code == 200
    listed = (await admin.get("/admin/audit", params={"event_type": "setting.changed"})).json()["data"]
    assert len(listed) == 1
    assert (await admin.post("/admin/audit/verify")).json()["valid"]


async def test_an_outcome_of_an_execution_that_has_ended_is_not_applied(
    admin: httpx.AsyncClient, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id, row = organization.org_id, _action(organization, new_id(IdPrefix.EXECUTION))
    refused = _Refused(superuser, "executions", "result IS DISTINCT FROM '{\"n\":1}'")
    try:
        _append(superuser, org_id, action_entry(row))
        _append(superuser, org_id, outcome_entry(_outcome(row)._replace(result=b'{"n":1}')))
        await require_applied(api_database, org_id)
        found = await _one(admin)
        assert found["kind"] == "outcome"
    finally:
        refused.mend()
    _append(superuser, org_id, outcome_entry(_outcome(row, succeeded=False)))
    late = await admin.post(f"{_PATH}/{found['id']}/apply")
    assert late.status_code == 409, late.text
    assert "that has ended" in late.json()["error"]["message"]
    assert _status(superuser, row) == "failed"
    assert _count(superuser, "journal_set_aside", org_id) == 1


async def test_an_outcome_is_applied_after_its_cause_is_mended(
    admin: httpx.AsyncClient, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id, row = organization.org_id, _action(organization, new_id(IdPrefix.EXECUTION))
    refused = _Refused(superuser, "executions", "result IS DISTINCT FROM '{\"n\":1}'")
    try:
        _append(superuser, org_id, action_entry(row))
        _append(superuser, org_id, outcome_entry(_outcome(row)._replace(result=b'{"n":1}')))
        await require_applied(api_database, org_id)
        found = await _one(admin)
    finally:
        refused.mend()
    assert (await admin.post(f"{_PATH}/{found['id']}/apply")).status_code == 200
    assert _status(superuser, row) == "completed"


async def test_what_no_process_wrote_so_is_never_applied(
    admin: httpx.AsyncClient, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    """Changed, of another organization, torn, an attestation, or applied before."""
    org_id, row = organization.org_id, _action(organization)
    [signed] = _append(superuser, org_id, action_entry(row))
    await require_applied(api_database, org_id)
    changed = _action(organization)
    [other] = EntryLane(CODES).sign([("org_other", action_entry(changed))])
    _append_signed(superuser, org_id, EntryLane(CODES).sign([(org_id, action_entry(changed))])[0] + b"rest")
    for entry in (signed, other, signed[:-3] + b"xyz"):
        _append_signed(superuser, org_id, entry)
    await require_applied(api_database, org_id)
    found = (await admin.get(_PATH)).json()["data"]
    assert [one["kind"] for one in found][:1] == ["unreadable"]
    said = []
    for one in found:
        answer = await admin.post(f"{_PATH}/{one['id']}/apply")
        assert answer.status_code == 409, answer.text
        said.append(answer.json()["error"]["message"])
    assert sum("cannot be read" in one for one in said) >= 1
    assert sum("fits none of the master keys" in one for one in said) >= 1
    assert sum("actions_pkey" in one for one in said) == 1, "it is there already"
    assert (len(found), _applied_events(superuser, org_id)) == (_count(superuser, "journal_set_aside", org_id), [])


@pytest.mark.parametrize("name", ["1-0", "99999999999999999-1", "x", "1", "1-", "-1-0", "1-0-0", "1%2F0"])
async def test_what_is_not_set_aside_is_not_found(admin: httpx.AsyncClient, name: str) -> None:
    assert (await admin.post(f"{_PATH}/{name}/apply")).status_code == 404


async def test_only_administrators_apply(gate, admin: httpx.AsyncClient) -> None:
    for person, status in ((gate.as_agent, 403),):
        assert (await person.get(_PATH)).status_code == status
        assert (await person.post(f"{_PATH}/1-0/apply")).status_code == status
