"""What the owner of the database does to the tables that lists show is found, column by column, and told by
``headgate audit verify`` and POST /admin/audit/verify."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from headgate.cli.audit_database import verify_database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.secrets import Secret
from headgate.reconciliation.model import ActionRow, ApprovalRow, Difference, ExecutionRow, VoteRow
from headgate.reconciliation.reconcile import MOST_DIFFERENCES, reconcile

type Owner = psycopg.AsyncConnection[DictRow]

_OTHER: dict[str, str] = {
    "timestamptz": "{0} + interval '1 hour'",
    "bytea": "decode(repeat('0f', 32), 'hex')",
    "integer": "{0} + 1",
    "boolean": "NOT {0}",
}
_OTHERWISE: dict[str, str] = {
    "status": "'expired'",
    "source": "'proxy'",
    "requirements": "'[]'",
    "standing": "'[]'",
    "request": """'{"params":{"n":2}}'""",
    "edited_request": """'{"params":{"n":9}}'""",
    "edited_decision": "'{}'",
    "decision": "'{}'",
    "result": "'{}'",
    "body_state": "'erased'",
}
_ELSE: dict[tuple[str, str], str] = {
    ("actions", "status"): "'completed'",
    ("executions", "status"): "'succeeded'",
    ("approvals", "status"): "'denied'",
    ("approval_votes", "decision"): "'deny'",
}
_COLUMNS = {
    "actions": ActionRow._fields[:-1],
    "approvals": ApprovalRow._fields[1:],
    "executions": ExecutionRow._fields[1:],
    "approval_votes": VoteRow._fields[2:],
}


@dataclass(frozen=True)
class Story:
    """``used``: approved by two people and carried out by its agent; ``denied`` by one; ``pending`` still."""

    used: str
    denied: str
    pending: str
    allowed: str


@pytest.fixture
async def story(new_gate):
    rego = """package gate
allow if input.tool == "read"
require_approval if input.tool == "write"
approval := {"required_approvals": 2, "escalate_after_seconds": 600,
             "assignees": ["alice@example.com", "bob@example.com", "carol@example.com"]}
"""
    gate = await new_gate(rego)

    async def act(tool: str, **more: object) -> dict:
        body = {"tool": tool, "operation": "rows", "params": {"n": 1}, **more}
        answer = await gate.as_agent.post("/v1/actions", json=body)
        assert answer.status_code in (201, 202), answer.text
        return answer.json()

    allowed = await act("read")
    used, denied, pending = [await act("write") for _ in range(3)]
    await gate.person().post(f"/v1/approvals/{used['approval_id']}/reassign", json={
        "assignees": ["alice@example.com", "bob@example.com"], "comment": "carol is away"})  # fmt: skip
    for name in ("alice", "bob"):
        answer = await gate.person(name).post(f"/v1/approvals/{used['approval_id']}/approve", json={"comment": name})
        assert answer.status_code == 200, answer.text
    answer = await gate.person().post(f"/v1/approvals/{denied['approval_id']}/deny", json={"reason": "not today"})
    assert answer.status_code == 200, answer.text
    for one in (used, allowed):
        answer = await gate.as_agent.post(
            f"/v1/actions/{one['id']}/outcome", json={"status": "failed", "error": "no", "result": {"rows": 3}}
        )
        assert answer.status_code == 200, answer.text
    return gate, Story(used["id"], denied["id"], pending["id"], allowed["id"])


@pytest.fixture
async def owner(cluster) -> AsyncIterator[Owner]:
    """As the owner of the database: row-level security and grants are no matter to it."""
    async with await psycopg.AsyncConnection.connect(
        cluster.dsn("postgres"), row_factory=dict_row, prepare_threshold=None
    ) as connection:
        yield connection


async def _found(owner: Owner, org_id: str, change: sql.Composable, *, rows: int | None = None) -> list[Difference]:
    """What is found where ``change`` was made; it is undone afterwards."""
    cursor = await owner.execute(change)
    assert cursor.rowcount == rows if rows is not None else cursor.rowcount > 0, change.as_string(owner)
    found = await reconcile(owner, org_id)
    await owner.rollback()
    return list(found.differences)


async def _types(owner: Owner, table: str) -> dict[str, str]:
    cursor = await owner.execute(
        "SELECT attname, atttypid::regtype::text AS type FROM pg_attribute WHERE attrelid = %s::regclass", [table]
    )
    rows = await cursor.fetchall()
    return {row["attname"]: row["type"].replace("timestamp with time zone", "timestamptz") for row in rows}


def _change(table: str, column: str, type_name: str, org_id: str, action_id: str) -> sql.Composed:
    """Another value of its type in the rows of the action."""
    other = _ELSE.get((table, column)) or _OTHERWISE.get(column) or _OTHER.get(type_name, "coalesce({0}, '') || 'x'")
    if type_name == "timestamptz":  # it may be null
        other = f"coalesce({other}, now())"
    whose = "" if table == "approval_votes" else " AND action_id = {action}"
    other = other.replace("{0}", column).replace("{", "{{").replace("}", "}}")
    text = f"UPDATE {table} SET {{column}} = {other} WHERE org_id = {{org}}{whose}"  # noqa: S608 - this test's own names
    return sql.SQL(text).format(column=sql.Identifier(column), org=org_id, action=action_id)


async def test_what_was_recorded_is_as_the_record_tells_it(story, owner: Owner) -> None:
    gate, _ = story
    found = await reconcile(owner, gate.org_id)
    assert (found.actions, found.differences) == (4, ())
    await apply_before_reading(gate.api.dependencies.database, gate.org_id)
    found = await reconcile(owner, gate.org_id)
    assert (found.actions, found.differences) == (4, ())


@pytest.mark.parametrize("is_sealed", [False, True], ids=["unsealed", "sealed"])
async def test_every_column_that_a_list_shows_is_compared(story, owner: Owner, is_sealed: bool) -> None:
    gate, made = story
    if is_sealed:
        await apply_before_reading(gate.api.dependencies.database, gate.org_id)
    for table, columns in _COLUMNS.items():
        types = await _types(owner, table)
        for column in columns:
            found = await _found(owner, gate.org_id, _change(table, column, types[column], gate.org_id, made.used))
            named = {(one.table, one.column) for one in found}
            # An identifier of another row: what it leads to is not there, or is another's.
            assert (table, column) in named or (column == "action_id" and named), (table, column, found)


async def test_rows_that_are_gone_or_were_added_are_named(story, owner: Owner) -> None:
    gate, made = story
    org = gate.org_id
    await apply_before_reading(gate.api.dependencies.database, org)
    for table, statement in (
        ("actions", "DELETE FROM actions WHERE org_id = {org} AND action_id = {used}"),
        ("approvals", "DELETE FROM approvals WHERE org_id = {org} AND action_id = {used}"),
        ("executions", "DELETE FROM executions WHERE org_id = {org} AND action_id = {used}"),
        ("approval_votes", "DELETE FROM approval_votes WHERE org_id = {org} AND reason = 'bob'"),
        ("executions", "INSERT INTO executions (org_id, execution_id, action_id, status, attempts, started_at) VALUES"
                       " ({org}, 'exe_forged', {used}, 'succeeded', 1, now())"),
        ("executions", "INSERT INTO executions (org_id, execution_id, action_id, status, attempts, started_at) VALUES"
                       " ({org}, 'exe_forged', 'act_forged', 'running', 1, now())"),
        ("approval_votes", "INSERT INTO approval_votes (org_id, approval_id, user_id, decision, decided_at) SELECT"
                           " {org}, approval_id, 'usr_forged', 'approve', now() FROM approvals"
                           " WHERE action_id = {used}"),
        ("approval_votes", "INSERT INTO approval_votes (org_id, approval_id, user_id, decision, decided_at) VALUES"
                           " ({org}, 'apr_forged', 'usr_forged', 'approve', now())"),
        ("approvals", "INSERT INTO approvals SELECT (jsonb_populate_record(p, '{{\"approval_id\": \"apr_forged\"}}')).*"
                      " FROM approvals p WHERE p.org_id = {org} AND p.action_id = {used}"),
        ("audit_events", "INSERT INTO actions SELECT (jsonb_populate_record(a, '{{\"action_id\": \"act_forged\"}}')).*"
                         " FROM actions a WHERE a.org_id = {org} AND a.action_id = {used}"),
    ):  # fmt: skip
        change = sql.SQL(statement).format(org=org, used=made.used)
        found = await _found(owner, org, change)
        assert table in {one.table for one in found}, (statement, found)


async def test_deleted_events_are_missed(story, owner: Owner, cluster) -> None:
    gate, made = story
    await apply_before_reading(gate.api.dependencies.database, gate.org_id)
    for event_type, table in (
        ("action.submitted", "audit_events"), ("decision.made", "audit_events"), ("approval.requested", "actions"),
        ("approval.voted", "approval_votes"), ("approval.approved", "approvals"), ("execution.started", "executions"),
        ("execution.failed", "executions"), ("approval.reassigned", "approvals"),
    ):  # fmt: skip
        change = sql.SQL("DELETE FROM audit_events WHERE org_id = {} AND action_id = {} AND event_type = {}").format(
            gate.org_id, made.used, event_type
        )
        found = await _found(owner, gate.org_id, change)
        assert table in {one.table for one in found}, (event_type, found)


async def test_deleted_events_that_were_not_sealed_are_missed(story, owner: Owner) -> None:
    """Of a held call, and of an outcome that its agent reports: the rows are written at once, and in the journal there
    are only their events."""
    gate, _ = story
    held = (await gate.as_agent.post("/v1/actions", json={"tool": "write", "operation": "rows", "params": {}})).json()
    for event_type in ("action.submitted", "decision.made", "approval.requested"):
        change = sql.SQL("DELETE FROM journal WHERE org_id = {} AND action_id = {} AND event_type = {}").format(
            gate.org_id, held["id"], event_type
        )
        assert await _found(owner, gate.org_id, change, rows=1), event_type
    # What an agent reports is written to the rows at once, too.
    answer = await gate.as_agent.post("/v1/actions", json={"tool": "read", "operation": "rows", "params": {}})
    await gate.as_agent.post(f"/v1/actions/{answer.json()['id']}/outcome", json={"status": "failed", "error": "no"})
    change = sql.SQL("DELETE FROM journal WHERE org_id = {} AND event_type = 'execution.failed'").format(gate.org_id)
    assert "executions" in {one.table for one in await _found(owner, gate.org_id, change, rows=1)}


async def test_both_ways_to_verify_tell_of_a_changed_tool(story, owner: Owner, cluster) -> None:
    gate, made = story
    admin = gate.person()
    before = (await admin.post("/admin/audit/verify")).json()
    assert (before["valid"], before["actions_reconciled"], before["differences"]) == (True, 4, [])
    await owner.execute("UPDATE actions SET tool = 'password=hunter2hunter2' WHERE action_id = %s", [made.used])
    await owner.commit()
    after = (await admin.post("/admin/audit/verify")).json()
    assert (after["valid"], after["fault"]["reason"], after["fault"]["seq"]) == (False, "tables_differ", 0)
    (difference,) = after["differences"]
    assert (difference["table"], difference["id"], difference["column"]) == ("actions", made.used, "tool")
    assert difference["expected"] == "write"
    assert "hunter2hunter2" not in json.dumps(after)
    dsn = Secret(cluster.dsn("headgate_auditor"))
    at_database = await asyncio.to_thread(verify_database, dsn, gate.org_id, [], [], None, None)
    assert at_database["differences"] == after["differences"]


async def test_a_range_of_time_is_of_its_actions(story, owner: Owner) -> None:
    gate, made = story
    admin = gate.person()
    await owner.execute("UPDATE actions SET tool = 'other' WHERE action_id = %s", [made.used])
    await owner.commit()
    day = {"start_date": "2020-01-01", "end_date": "2020-01-02"}
    earlier = (await admin.post("/admin/audit/verify", json=day)).json()
    assert (earlier["valid"], earlier["actions_reconciled"]) == (True, 0)
    since = (await admin.post("/admin/audit/verify", json={"start_date": "2020-01-01"})).json()
    assert (since["valid"], since["actions_reconciled"], len(since["differences"])) == (False, 4, 1)


async def test_the_differences_that_are_told_are_bounded(story, owner: Owner) -> None:
    gate, _ = story
    await owner.execute(
        "INSERT INTO actions SELECT (jsonb_populate_record(a, jsonb_build_object('action_id', 'act_' || n))).*"
        " FROM actions a, generate_series(1, 3000) n WHERE a.org_id = %s AND a.tool = 'read'",
        [gate.org_id],
    )
    found = await reconcile(owner, gate.org_id)
    await owner.rollback()
    assert len(found.differences) == MOST_DIFFERENCES
    assert found.actions < 2000, "nobody reads on"


async def test_a_call_that_is_deleted_before_it_is_applied_is_missed(story, owner: Owner) -> None:
    gate, _ = story
    admin = gate.person()
    assert (await admin.post("/admin/audit/verify")).json()["valid"]  # applies what the story left in the journal
    body = {"tool": "read", "operation": "rows", "params": {"n": 1}}
    lost = (await gate.as_agent.post("/v1/actions", json=body)).json()
    gone = await owner.execute("DELETE FROM journal WHERE org_id = %s AND entries IS NOT NULL", [gate.org_id])
    await owner.commit()
    assert (gone.rowcount, (await admin.get(f"/v1/actions/{lost['id']}")).status_code) == (1, 404)
    async with asyncio.timeout(10):
        while (found := (await admin.post("/admin/audit/verify")).json())["valid"]:
            await asyncio.sleep(0.1)
    [difference] = found["differences"]
    assert (difference["table"], difference["column"]) == ("journal", "entries")
    assert int(difference["expected"]) == int(difference["found"]) + 1


async def test_events_that_were_not_sealed_are_missed_without_a_row(story, owner: Owner) -> None:
    """Before they are applied: events that no row depends on, and events that were changed together with their rows."""
    gate, _ = story
    admin = gate.person()
    assert (await admin.post("/admin/audit/verify")).json()["valid"]
    answer = await admin.put("/admin/settings/retention", json={"encrypt_after_days": 9})
    assert answer.status_code == 200, answer.text
    gone = await owner.execute(
        "DELETE FROM journal WHERE org_id = %s AND event_type = 'setting.changed'", [gate.org_id]
    )
    assert gone.rowcount == 1
    await owner.commit()
    body = {"tool": "write", "operation": "rows", "params": {"n": 1}}
    later = (await gate.as_agent.post("/v1/actions", json=body)).json()
    for table, column in (("actions", "tool"), ("approvals", "tool"), ("journal", "payload")):
        other = "'other'" if column == "tool" else 'replace(payload, \'"tool":"write"\', \'"tool":"other"\')'
        await owner.execute(
            sql.SQL(f"UPDATE {table} SET {column} = {other} WHERE org_id = {{}} AND action_id = {{}}").format(  # noqa: S608
                gate.org_id, later["id"]
            )
        )
    await owner.commit()
    assert (await admin.get(f"/v1/actions/{later['id']}")).json()["tool"] == "other"
    expected = {("setting.changed", False), ("action.submitted", True)}
    async with asyncio.timeout(10):
        while True:
            found = (await admin.post("/admin/audit/verify")).json()
            missed = {(one["column"], one["id"] == later["id"]) for one in found["differences"]}
            if expected <= missed:
                break
            await asyncio.sleep(0.1)
    assert not found["valid"]
