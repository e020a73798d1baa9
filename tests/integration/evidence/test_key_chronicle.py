"""That another key signs, or one does not any more, is in every record that it signs: once, by its identifier."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from headgate.audit.model import EventFilter
from headgate.audit.store import list_events
from headgate.db.database import Database
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.key_chronicle import KeyChronicle
from headgate.evidence.note import VerifierKey
from headgate.evidence.signing_keys import SigningKeySource
from headgate.journal.apply import apply_before_reading
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import system_clock

type Told = Callable[[], Awaitable[list[tuple[str, JsonObject]]]]


@pytest.fixture
def chronicle(checkpointer: Checkpointer) -> KeyChronicle:
    return KeyChronicle(checkpointer.database, checkpointer.keys, system_clock)


@pytest.fixture
def told(api_database: Database, organization) -> Told:
    """What the record says about keys, the oldest first."""

    async def events() -> list[tuple[str, JsonObject]]:
        await apply_before_reading(api_database, organization.org_id)
        async with api_database.transaction(organization.org_id) as connection:
            page = await list_events(connection, organization.org_id, EventFilter())
        assert all(one.actor is not None and one.actor.id == "headgate" for one in page.events)
        found = [(one.event_type, one.data) for one in page.events if one.event_type.startswith("signing_key.")]
        return found[::-1]

    return events


def _named(checkpointer: Checkpointer, org_id: str, key_id: str) -> str:
    keys = checkpointer.keys.load()
    pairs = zip(keys.verifier_keys("log.example"), keys.verifier_keys(f"log.example/{org_id}"), strict=True)
    return next(of_log.text for in_file, of_log in pairs if in_file.key_id.hex() == key_id)


def _ids(checkpointer: Checkpointer) -> list[str]:
    return [VerifierKey("log.example", one.public_key).key_id.hex() for one in checkpointer.keys.load().signers]


async def test_rotating_and_retiring_are_told_once_whoever_looks(
    chronicle: KeyChronicle, checkpointer: Checkpointer, record, organization, told: Told
) -> None:
    org_id, keys = organization.org_id, checkpointer.keys
    await record(1)
    await chronicle.run()
    assert await checkpointer.checkpoint(org_id)
    (old,) = _ids(checkpointer)
    await chronicle.run()
    assert await told() == [], "the first key is nobody's rotation"

    keys.rotate()
    new = _ids(checkpointer)[0]
    restarted = replace(chronicle)
    await asyncio.gather(*(one.tell(org_id, keys.load()) for one in (chronicle, restarted) * 3))
    await chronicle.run()
    rotated = ("signing_key.rotated", {"key_id": new, "signing_key_ids": [new, old],
                "verifier_key": _named(checkpointer, org_id, new)})  # fmt: skip
    assert await told() == [rotated], "no checkpoint was signed in between: the record says it all the same"
    assert await checkpointer.checkpoint(org_id)
    await restarted.run()
    assert await told() == [rotated]

    keys.retire(old)
    await restarted.run()
    await record(1)
    assert await checkpointer.checkpoint(org_id)
    await chronicle.run()
    retired = ("signing_key.retired", {"key_id": old, "signing_key_ids": [new],
                "verifier_key": _named(checkpointer, org_id, old)})  # fmt: skip
    assert await told() == [rotated, retired]


async def test_keys_that_were_changed_while_nobody_ran_are_told_from_what_was_signed(
    chronicle: KeyChronicle, checkpointer: Checkpointer, record, organization, told: Told
) -> None:
    await record(1)
    assert await checkpointer.checkpoint(organization.org_id)
    (old,) = _ids(checkpointer)
    checkpointer.keys.rotate()
    checkpointer.keys.retire(old)
    (new,) = _ids(checkpointer)
    await chronicle.run()
    assert [(name, data["key_id"]) for name, data in await told()] == [
        ("signing_key.rotated", new),
        ("signing_key.retired", old),
    ]


async def test_the_key_itself_is_never_told(
    chronicle: KeyChronicle, checkpointer: Checkpointer, record, organization, superuser: psycopg.Connection
) -> None:
    await record(1)
    assert await checkpointer.checkpoint(organization.org_id)
    checkpointer.keys.rotate()
    await chronicle.run()
    rows = superuser.execute(
        "SELECT payload FROM journal WHERE org_id = %(org)s UNION ALL SELECT payload FROM audit_events"
        " WHERE org_id = %(org)s UNION ALL SELECT signing_keys::text FROM audit_trees WHERE org_id = %(org)s",
        {"org": organization.org_id},
    ).fetchall()
    for line in checkpointer.keys.file.read_text().split():
        material = line.split("+", 4)[4]
        assert len(material) > 40
        assert not any(material in payload for (payload,) in rows)


async def test_a_foreign_key_is_no_rotation_and_a_missing_or_broken_one_is_left_to_the_checkpointer(
    chronicle: KeyChronicle, checkpointer: Checkpointer, record, organization, told: Told, tmp_path: Path
) -> None:
    await record(1)
    assert await checkpointer.checkpoint(organization.org_id)
    stranger = SigningKeySource(tmp_path / "others")
    stranger.create("log.example")
    broken = tmp_path / "broken"
    broken.write_text("nothing of the kind")
    broken.chmod(0o600)
    for source in (stranger, SigningKeySource(tmp_path / "none"), SigningKeySource(broken)):
        await replace(chronicle, keys=source).run()
    assert await told() == []
    assert not (tmp_path / "none").exists()
