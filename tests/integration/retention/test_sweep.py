"""What the clock does with bodies: put away encrypted, dropped by policy, and stopped by a hold."""

import asyncio
import base64
import json
import os

import pytest

from headgate.audit.model import SYSTEM, EventFilter, payload_text
from headgate.audit.store import list_events
from headgate.journal.apply import apply_before_reading
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import NotFoundError, UnavailableError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.change import begin_change
from headgate.retention.action_bodies import open_bodies
from headgate.retention.holds import lift_hold, place_hold
from headgate.retention.model import HoldScope
from headgate.retention.settings import load_policy, put_policy
from headgate.vault.service import Vault
from headgate.workflows.keep_within_limits import RetentionSweep
from headgate.workflows.retained_kinds import KINDS
from tests.integration.audit.verify_range import verify_range
from tests.integration.retention.conftest import REQUEST, RESULT


async def _set(database, change, **document) -> None:
    async with begin_change(database, change) as changing:
        await put_policy(changing, document, KINDS)


def _row(superuser, action_id: str) -> tuple[object, ...]:
    return superuser.execute(
        "SELECT a.body_state, a.request, e.result, (SELECT count(*) FROM body_keys k WHERE k.action_id = a.action_id),"
        " (SELECT count(*) FROM kept_bodies b WHERE b.action_id = a.action_id)"
        " FROM actions a JOIN executions e USING (org_id, action_id) WHERE a.action_id = %s",
        [action_id],
    ).fetchone()


async def _events(database, org_id: str, event_type: str) -> list[dict]:
    await apply_before_reading(database, org_id)
    async with database.transaction(org_id) as connection:
        page = await list_events(connection, org_id, EventFilter(event_type=event_type))
    return [one.data for one in page.events]


async def test_bodies_are_put_away_encrypted_and_open_again(
    superuser, api_database, make_action, sweep_after, vault, organization
) -> None:
    action_id, running = await make_action(), await make_action("executing")
    assert await sweep_after(29).sweep(organization.org_id) == 0
    assert await sweep_after(31).sweep(organization.org_id) == 1
    assert _row(superuser, action_id) == ("kept", '{"body":"kept","params":{}}', None, 1, 1)
    assert _row(superuser, running)[:2] == ("clear", REQUEST)
    [(stored,)] = superuser.execute("SELECT ciphertext FROM kept_bodies WHERE action_id = %s", [action_id]).fetchall()
    assert b"bob" not in stored
    async with api_database.transaction(organization.org_id) as connection:
        bodies = await open_bodies(connection, organization.org_id, action_id, vault)
    assert bodies is not None
    assert (bodies.request, [*bodies.results.values()]) == (REQUEST, [RESULT])
    # What was in use is looked at again, and put away when it has ended.
    superuser.execute("UPDATE actions SET status = 'failed' WHERE action_id = %s", [running])
    assert await sweep_after(31).sweep(organization.org_id) == 1
    assert _row(superuser, running)[0] == "kept"
    assert await sweep_after(31).sweep(organization.org_id) == 0


async def test_what_a_retry_brings_is_put_away_with_the_rest(
    superuser, api_database, make_action, sweep_after, vault, organization
) -> None:
    action_id = await make_action("failed", result='{"status":500}')
    [(execution_id,)] = superuser.execute(
        "UPDATE executions SET status = 'failed' WHERE action_id = %s RETURNING execution_id", [action_id]
    ).fetchall()
    superuser.execute(
        "INSERT INTO execution_calls (org_id, action_id, execution_id, agent_id, tool, operation, state, destination,"
        " repeatable) VALUES (%s, %s, %s, %s, 'mail', 'send', 'failed', 'mail.example:443', true)",
        [organization.org_id, action_id, execution_id, organization.agent_id],
    )
    assert await sweep_after(31).sweep(organization.org_id) == 1
    before = superuser.execute("SELECT wrapped_key FROM body_keys WHERE action_id = %s", [action_id]).fetchone()
    payload = payload_text(SYSTEM, {"execution_id": execution_id})
    retried = superuser.execute(
        "SELECT retry_execution(%s, %s, now(), false, %s)", [organization.org_id, execution_id, payload]
    ).fetchone()
    assert retried == ("queued",)
    assert await sweep_after(31).sweep(organization.org_id) == 0
    superuser.execute("DELETE FROM execution_calls WHERE action_id = %s", [action_id])
    superuser.execute(
        "UPDATE executions SET status = 'succeeded', result = %s WHERE action_id = %s", [RESULT, action_id]
    )
    superuser.execute("UPDATE actions SET status = 'completed' WHERE action_id = %s", [action_id])
    assert await sweep_after(31).sweep(organization.org_id) == 1
    assert _row(superuser, action_id) == ("kept", '{"body":"kept","params":{}}', None, 1, 1)
    assert superuser.execute("SELECT wrapped_key FROM body_keys WHERE action_id = %s", [action_id]).fetchone() != before
    async with api_database.transaction(organization.org_id) as connection:
        bodies = await open_bodies(connection, organization.org_id, action_id, vault)
    assert bodies is not None
    assert (bodies.request, dict(bodies.results)) == (REQUEST, {execution_id: RESULT})
    assert superuser.execute("SELECT 1 FROM retention_waiting WHERE action_id = %s", [action_id]).fetchall() == []
    assert await sweep_after(31).sweep(organization.org_id) == 0


@pytest.mark.parametrize(("state", "kept"), [("kept", True), ("dropped", False), ("erased", False)])
async def test_what_an_agent_reports_later_is_kept_as_the_rest_is(
    superuser, api_database, make_action, sweep_after, vault, organization, state: str, kept: bool
) -> None:
    action_id, execution_id = await make_action("allowed", result=None), new_id(IdPrefix.EXECUTION)
    superuser.execute("DELETE FROM executions WHERE action_id = %s", [action_id])
    assert await sweep_after(31).sweep(organization.org_id) == 1
    if not kept:
        superuser.execute("SELECT forget_bodies(%s, %s, %s, false)", [organization.org_id, [action_id], state])
    payload = payload_text(SYSTEM, {"execution_id": execution_id})
    reported = superuser.execute(
        "SELECT report_outcome(%s, %s, %s, %s, now(), false, 'to bob@example.com: refused', %s, %s, %s)",
        [organization.org_id, action_id, organization.agent_id, execution_id, RESULT, payload, payload],
    ).fetchone()
    assert reported == ("reported",)
    assert await sweep_after(31).sweep(organization.org_id) == int(kept)
    [(result, error)] = superuser.execute(
        "SELECT result, error FROM executions WHERE action_id = %s", [action_id]
    ).fetchall()
    assert (result, "bob" in error) == (None, state != "erased")
    async with api_database.transaction(organization.org_id) as connection:
        bodies = await open_bodies(connection, organization.org_id, action_id, vault)
    assert (None if bodies is None else dict(bodies.results)) == ({execution_id: RESULT} if kept else None)


async def test_a_body_moved_to_another_action_does_not_open(
    superuser, api_database, make_action, sweep_after, vault, organization
) -> None:
    one, other = await make_action(), await make_action()
    await sweep_after(31).sweep(organization.org_id)
    for table in (b"body_keys", b"kept_bodies"):
        superuser.execute(b"DELETE FROM " + table + b" WHERE action_id = %s", [other])
        superuser.execute(b"UPDATE " + table + b" SET action_id = %s WHERE action_id = %s", [other, one])
    async with api_database.transaction(organization.org_id) as connection:
        with pytest.raises(UnavailableError, match="cannot be decrypted"):
            await open_bodies(connection, organization.org_id, other, vault)


async def test_without_a_master_key_nothing_is_moved(
    superuser, make_action, sweep_after, vault, organization, monkeypatch
) -> None:
    action_id = await make_action()
    vault.keys_file.write_text("not keys")
    vault.keys_file.chmod(0o600)
    with pytest.raises(UnavailableError, match="master keys"):
        await sweep_after(31).sweep(organization.org_id)
    assert _row(superuser, action_id)[:2] == ("clear", REQUEST)


async def test_what_is_too_old_is_dropped_and_the_drop_is_an_event(
    superuser, api_database, make_action, sweep_after, change, organization
) -> None:
    clear, kept = await make_action(), await make_action()
    await _set(api_database, change, encrypt_after_days=None, drop_after_days={"bodies": 90})
    assert await sweep_after(89).sweep(organization.org_id) == 0
    superuser.execute("UPDATE actions SET status = 'executing' WHERE action_id = %s", [kept])
    assert await sweep_after(91).sweep(organization.org_id) == 1
    assert _row(superuser, clear) == ("dropped", '{"body":"dropped","params":{}}', None, 0, 0)
    superuser.execute("UPDATE actions SET status = 'completed' WHERE action_id = %s", [kept])
    assert await sweep_after(91).sweep(organization.org_id) == 1
    assert await sweep_after(91).sweep(organization.org_id) == 0
    told = await _events(api_database, organization.org_id, "body.dropped")
    assert [(one["kind"], one["count"], one["first_action_id"], one["last_action_id"]) for one in told] == [
        ("bodies", 1, kept, kept),
        ("bodies", 1, clear, clear),
    ]
    found = await verify_range(api_database, organization.org_id)
    assert (found.fault, found.payloads_erased) == (None, 0)


@pytest.mark.parametrize("scope", HoldScope)
async def test_a_hold_stops_dropping_until_it_is_lifted(
    superuser, api_database, make_action, sweep_after, change, organization, scope: HoldScope
) -> None:
    held, free = await make_action(), await make_action()
    target = {HoldScope.ORGANIZATION: None, HoldScope.AGENT: organization.agent_id, HoldScope.ACTION: held}[scope]
    await _set(api_database, change, encrypt_after_days=0, drop_after_days={"bodies": 1})
    async with begin_change(api_database, change) as changing:
        hold = await place_hold(changing, scope, target, "Smith v. Example")
    for _ in range(3):
        await sweep_after(2).sweep(organization.org_id)
    assert _row(superuser, held)[0] == "kept", "encrypting forgets nothing"
    assert _row(superuser, free)[0] == ("dropped" if scope is HoldScope.ACTION else "kept")
    async with begin_change(api_database, change) as changing:
        with pytest.raises(ValidationError, match="reason to lift the hold"):
            await lift_hold(changing, hold.hold_id, " smith V. example")
        await lift_hold(changing, hold.hold_id, "settled")
    for _ in range(3):
        await sweep_after(2).sweep(organization.org_id)
    assert {_row(superuser, one)[0] for one in (held, free)} == {"dropped"}
    [placed] = await _events(api_database, organization.org_id, "legal_hold.placed")
    [lifted] = await _events(api_database, organization.org_id, "legal_hold.lifted")
    assert (placed["reason"], lifted["reason"], lifted["placed_for"]) == (
        "Smith v. Example", "settled", "Smith v. Example",
    )  # fmt: skip


async def test_a_hold_on_nobody_is_refused(api_database, change) -> None:
    async with begin_change(api_database, change) as changing:
        for scope in (HoldScope.AGENT, HoldScope.ACTION):
            with pytest.raises(NotFoundError):
                await place_hold(changing, scope, "agt_nobody", "a reason")


async def test_a_changed_master_key_reaches_the_keys_of_bodies(
    superuser, api_database, make_action, sweep_after, vault, organization
) -> None:
    action_id = await make_action()
    await sweep_after(31).sweep(organization.org_id)
    document = json.loads(vault.keys_file.read_text())
    first = document["current"]
    document["keys"]["k2"], document["current"] = base64.b64encode(os.urandom(32)).decode(), "k2"
    vault.keys_file.write_text(json.dumps(document))
    changed = Vault(vault.keys_file)
    sweep = sweep_after(31)
    sweep = type(sweep)(sweep.database, changed, sweep.clock)
    assert await sweep.sweep(organization.org_id) == 1
    del document["keys"][first]
    vault.keys_file.write_text(json.dumps(document))
    async with api_database.transaction(organization.org_id) as connection:
        bodies = await open_bodies(connection, organization.org_id, action_id, Vault(vault.keys_file))
    assert bodies is not None
    assert bodies.request == REQUEST


async def test_a_policy_that_cannot_be_read_drops_nothing(
    superuser, api_database, make_action, sweep_after, change, organization
) -> None:
    action_id = await make_action()
    superuser.execute(
        "INSERT INTO settings (org_id, name, document) VALUES (%s, 'retention', '{\"drop_after_days\":{\"all\":1}}')",
        [organization.org_id],
    )
    with pytest.raises(ValidationError, match="unknown kind"):
        await sweep_after(400).sweep(organization.org_id)
    assert _row(superuser, action_id)[0] == "clear"
    assert await sweep_after(0).run() >= 0, "the others are served"
    superuser.execute("DELETE FROM settings WHERE org_id = %s", [organization.org_id])
    async with api_database.transaction(organization.org_id) as connection:
        assert (await load_policy(connection, organization.org_id, KINDS)).encrypt_after_days == 30


async def test_the_first_master_key_is_there_before_a_proxy_needs_it(
    worker_database, api_database, organization, change, tmp_path
) -> None:
    """A policy alone may have calls captured: nobody has set anything, and bodies are never put away."""
    await _set(api_database, change, encrypt_after_days=None)
    vaults = [Vault(tmp_path / "new" / "master-keys.json") for _ in range(4)]
    sweeps = [RetentionSweep(worker_database, one, system_clock) for one in vaults]
    await asyncio.gather(*(one.sweep(organization.org_id) for one in sweeps))
    assert len({one.current_key_id for one in vaults}) == 1
    assert (tmp_path / "new" / "master-keys.json").stat().st_mode & 0o777 == 0o600


async def test_a_worker_serves_a_few_organizations_a_round_and_in_the_end_all(
    worker_database, superuser, vault
) -> None:
    """A worker that is told to stop finishes its round: one over thousands of organizations kept it for its ten
    seconds, and was then broken off."""
    superuser.execute(
        "INSERT INTO organizations (org_id, name) SELECT 'org_' || gen_random_uuid(), 'n' FROM generate_series(1, 45)"
    )
    served: list[str] = []

    class Noted(RetentionSweep):
        async def sweep(self, org_id: str) -> int:
            served.append(org_id)
            return 0

    sweep = Noted(worker_database, vault, system_clock)
    rounds = []
    left = 1
    while left:
        before = len(served)
        left = await sweep.run()
        rounds.append(served[before:])
    assert [len(one) for one in rounds[:-1]] == [20] * (len(rounds) - 1)
    there = [row[0] for row in superuser.execute("SELECT org_id FROM organizations").fetchall()]
    assert len(served) == len(set(served))
    assert set(there) == set(served)
    await sweep.run()
    assert served[-20:] == rounds[0], "and from the first again"
