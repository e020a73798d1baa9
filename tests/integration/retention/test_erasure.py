"""Erasing an action: its bodies are gone, the chain and its proof pack still verify, and say so."""

import io
import zipfile
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from headgate.deliveries.model import TargetKind
from headgate.deliveries.store import get_delivery, reopen
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.pack import make_pack
from headgate.evidence.pack_archive import write_archive
from headgate.evidence.pack_verifier import InvalidError, describe, parse_key, verify_pack
from headgate.evidence.signed_memory import SignedMemory
from headgate.evidence.signing_keys import SigningKeySource
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import ConflictError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.change import begin_change
from headgate.retention.action_bodies import open_bodies
from headgate.retention.erasure import erase_actions
from headgate.retention.holds import place_hold
from headgate.retention.model import ErasureDepth, ErasureOutcome, HoldScope
from headgate.retention.settings import put_policy
from headgate.workflows.retained_kinds import BESIDE_ACTIONS, KINDS
from tests.integration.audit.verify_range import verify_range
from tests.integration.retention.conftest import REQUEST


@pytest.fixture
def checkpointer(worker_database, tmp_path: Path) -> Checkpointer:
    keys = SigningKeySource(tmp_path / "signing-keys")
    keys.create("log.example")
    return Checkpointer(worker_database, keys, SignedMemory(tmp_path / "signed"), timedelta(0), 1)


@pytest.fixture
def erase(api_database, change):
    async def erase_now(*action_ids: str, depth: ErasureDepth = ErasureDepth.BODIES) -> list[ErasureOutcome]:
        await apply_before_reading(api_database, change.org_id)
        async with begin_change(api_database, change) as changing:
            found = await erase_actions(changing, action_ids, depth, "article 17", BESIDE_ACTIONS)
        await apply_before_reading(api_database, change.org_id)
        return [*found.values()]

    return erase_now


@pytest.fixture
def pack(api_database, change, checkpointer, vault):
    async def make(action_id: str) -> tuple[dict[str, bytes], dict]:
        await apply_before_reading(api_database, change.org_id)
        await checkpointer.checkpoint(change.org_id)
        made = await make_pack(api_database, change.org_id, action_id, {}, vault, checkpointer.keys, wait_seconds=0)
        key = parse_key(checkpointer.keys.load().verifier_keys("log.example")[0].text)
        with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        return members, verify_pack(made.content, [key])

    return make


def _everywhere(superuser, org_id: str) -> str:
    """All that the tables still say of the organization, in one text."""
    tables = superuser.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id'"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
    ).fetchall()
    found = ""
    for (name,) in tables:
        rows = superuser.execute(b"SELECT t::text FROM " + name.encode() + b" t WHERE org_id = %s", [org_id])
        found += "\n".join(row[0] for row in rows.fetchall())
    return found


@pytest.mark.parametrize("put_away", [False, True], ids=["clear", "kept"])
async def test_what_was_sent_and_got_is_gone_and_the_pack_says_so(
    superuser, api_database, make_action, sweep_after, vault, organization, erase, pack, put_away: bool
) -> None:
    action_id = await make_action()
    if put_away:
        await sweep_after(31).sweep(organization.org_id)
    members, report = await pack(action_id)
    assert (members["request.json"], report["forgotten"]) == (REQUEST.encode(), None)
    if not put_away:
        assert "bob@example.com" in _everywhere(superuser, organization.org_id)

    assert await erase(action_id, "act_00000000-0000-7000-8000-00000000dead") == [
        ErasureOutcome.ERASED,
        ErasureOutcome.UNKNOWN,
    ]
    assert await erase(action_id) == [ErasureOutcome.ALREADY_ERASED]
    assert "bob@example.com" not in _everywhere(superuser, organization.org_id)
    assert superuser.execute("SELECT 1 FROM body_keys WHERE action_id = %s", [action_id]).fetchall() == []
    async with api_database.transaction(organization.org_id) as connection:
        assert await open_bodies(connection, organization.org_id, action_id, vault) is None
    members, report = await pack(action_id)
    assert "request.json" not in members
    told = report["forgotten"]
    assert (told["how"], told["depth"], told["reason"], told["by"]) == ("erased", "bodies", "article 17", "usr_ann")
    assert any("erased      bodies" in line for line in describe(report))
    assert (report["tool"], report["decision"], report["status"]) == ("mail", "allow", "completed")
    found = await verify_range(api_database, organization.org_id)
    assert (found.fault, found.payloads_erased) == (None, 0)


async def test_everything_that_the_record_said_goes_as_well(
    superuser, api_database, make_action, organization, erase, pack, checkpointer
) -> None:
    """Digests too: a guess at what was asked for cannot be held against anything that is left."""
    own = '{"params":{"to":"carol@example.com"}}'
    action_id, other = await make_action(request=own), await make_action()
    superuser.execute(
        "INSERT INTO idempotency_keys (org_id, agent_id, idempotency_key, request_digest, action_id)"
        " VALUES (%s, %s, 'k', sha256(%s::bytea), %s)",
        [organization.org_id, organization.agent_id, own.encode(), action_id],
    )
    guess = sha256(own.encode()).hexdigest()
    [(digest,)] = superuser.execute("SELECT encode(digest, 'hex') FROM actions WHERE action_id = %s", [action_id])
    assert _everywhere(superuser, organization.org_id).count(guess) == 2
    assert await erase(action_id, depth=ErasureDepth.EVERYTHING) == [ErasureOutcome.ERASED]
    left = _everywhere(superuser, organization.org_id)
    assert (guess in left, digest in left, "carol" in left) == (False, False, False)
    assert await erase(action_id, depth=ErasureDepth.EVERYTHING) == [ErasureOutcome.ALREADY_ERASED]
    left = superuser.execute(
        "SELECT event_type, payload, salt FROM audit_events WHERE action_id = %s AND payload IS NOT NULL", [action_id]
    ).fetchall()
    assert [row[0] for row in left] == ["body.erased"]
    found = await verify_range(api_database, organization.org_id)
    assert (found.fault, found.payloads_erased) == (None, 3)
    members, report = await pack(action_id)
    assert (report["forgotten"]["depth"], report["tool"], report["decision"]) == ("everything", None, None)
    assert members["policy.rego"].startswith(b"# Which policies spoke was erased")
    _, report = await pack(other)
    assert (report["forgotten"], report["tool"]) == (None, "mail")


async def test_a_pack_without_a_request_is_not_valid_where_no_event_says_why(
    superuser, make_action, organization, pack, checkpointer, api_database, vault
) -> None:
    """Neither a maker of packs who leaves something out, nor a superuser who erases without a word."""
    action_id = await make_action()
    members, _ = await pack(action_id)
    key = parse_key(checkpointer.keys.load().verifier_keys("log.example")[0].text)
    del members["request.json"]
    with pytest.raises(InvalidError):
        verify_pack(write_archive(members), [key])
    superuser.execute(
        "UPDATE audit_events SET salt = NULL, payload = NULL WHERE action_id = %s AND event_type = 'decision.made'",
        [action_id],
    )
    made = await make_pack(api_database, organization.org_id, action_id, {}, vault, checkpointer.keys, wait_seconds=0)
    with pytest.raises(InvalidError, match="its payload is missing, and no event says"):
        verify_pack(made.content, [key])


async def test_a_pack_of_what_was_dropped_names_the_drop(
    api_database, make_action, sweep_after, change, organization, pack
) -> None:
    first, second = await make_action(), await make_action()
    async with begin_change(api_database, change) as changing:
        await put_policy(changing, {"drop_after_days": {"bodies": 9}}, KINDS)
    await sweep_after(10).sweep(organization.org_id)
    for action_id in (first, second):
        members, report = await pack(action_id)
        assert "request.json" not in members
        assert (report["forgotten"]["how"], report["forgotten"]["by"]) == ("dropped", "headgate")
    younger = await make_action()
    _, report = await pack(younger)
    assert report["forgotten"] is None


async def test_a_hold_and_an_action_in_use_are_left_alone(
    superuser, api_database, make_action, change, organization, erase
) -> None:
    held, running = await make_action(), await make_action("executing")
    async with begin_change(api_database, change) as changing:
        await place_hold(changing, HoldScope.ACTION, held, "Smith v. Example")
    for depth in ErasureDepth:
        assert await erase(held, running, depth=depth) == [ErasureOutcome.HELD, ErasureOutcome.NOT_AT_REST]
    # The function itself looks, whoever calls it.
    superuser.execute("SET ROLE headgate_api")
    for depth in (True, False):
        [(done,)] = superuser.execute(
            "SELECT forget_bodies(%s, %s, 'erased', %s)", [organization.org_id, [held, running], depth]
        ).fetchall()
        assert done == []
    superuser.execute("RESET ROLE")
    assert "bob@example.com" in _everywhere(superuser, organization.org_id)


async def test_messages_that_were_sent_are_emptied_and_not_sent_again(
    superuser, api_database, make_action, organization, erase
) -> None:
    org_id, action_id, ids = organization.org_id, await make_action(), {}
    for status in ("delivered", "parked", "pending", "collected"):
        ids[status] = new_id(IdPrefix.DELIVERY)
        superuser.execute(
            "INSERT INTO deliveries (org_id, delivery_id, target_kind, target_id, event, subject_id, payload, status,"
            " created_at, give_up_at)"
            " VALUES (%s, %s, 'webhook', 'whk_1', 'approval.requested', %s, %s, %s, now(), now())",
            [org_id, ids[status], action_id, REQUEST, status],
        )
        superuser.execute(
            "INSERT INTO delivery_attempts (org_id, delivery_id, attempt, started_at, excerpt)"
            " VALUES (%s, %s, 1, now(), 'bob')",
            [org_id, ids[status]],
        )
    assert await erase(action_id) == [ErasureOutcome.ERASED]
    rows = superuser.execute(
        "SELECT d.status, d.payload, t.excerpt FROM deliveries d JOIN delivery_attempts t USING (org_id, delivery_id)"
        " WHERE d.org_id = %s",
        [org_id],
    ).fetchall()
    assert {status: (payload, excerpt) for status, payload, excerpt in rows} == {
        "delivered": ("{}", None),
        "parked": ("{}", None),
        "pending": (REQUEST, "bob"),
        "collected": (REQUEST, "bob"),
    }
    now = datetime.now(UTC)
    async with api_database.transaction(org_id) as connection:
        parked = await get_delivery(connection, org_id, TargetKind.WEBHOOK, ids["parked"], lock=True)
        with pytest.raises(ConflictError, match="cannot be sent again"):
            await reopen(connection, parked, now, now)
