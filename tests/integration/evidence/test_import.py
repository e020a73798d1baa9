"""Somebody else's packs in an instance of their own: verified first, nothing beside them, and nothing changes there."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from headgate.actions.store import ActionFilter, list_actions
from headgate.audit.model import SYSTEM, Event, EventFilter, EventType
from headgate.audit.store import append, list_events
from headgate.cli.audit_export import write_bundle, write_folder
from headgate.cli.audit_import import import_export
from headgate.db.database import Database
from headgate.evidence.pack_archive import write_archive
from headgate.evidence.pack_verifier import Key, parse_key
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ConflictError, ValidationError
from headgate.kernel.secrets import Secret
from tests.unit.evidence.conftest import ACTION, ORG, MadePack, denied_pack, made_pack

__all__ = ["denied_pack", "made_pack"]


@pytest.fixture
def keys(made_pack: MadePack) -> list[Key]:
    return [parse_key(one) for one in made_pack.keys]


@pytest.fixture
def empty(postgres_server):
    """A database that holds no organization."""
    urls = postgres_server.create_database()
    yield urls
    postgres_server.drop_database(urls.name)


def _export(made: MadePack, path: Path, *, bundle: bool = False, spoil: bool = False) -> Path:
    content = write_archive({**made.members, **({"decision.json": b"{}"} if spoil else {})})
    (write_bundle if bundle else write_folder)(iter([(f"{ACTION}.zip", content)]), path, {"from": None, "to": None})
    return path


@pytest.mark.parametrize("bundle", [False, True])
async def test_what_was_imported_can_be_read_and_not_changed(
    made_pack: MadePack, keys, empty, tmp_path: Path, bundle: bool
) -> None:
    path = _export(made_pack, tmp_path / "export", bundle=bundle)
    record = await asyncio.to_thread(import_export, path, keys, Secret(empty.owner))
    assert (record.org_id, len(record.actions), len(record.events)) == (ORG, 1, 9)
    api = Database(Secret(empty.api))
    await api.open()
    try:
        async with api.transaction(ORG) as connection:
            [action] = (await list_actions(connection, ORG, ActionFilter())).actions
            events = (await list_events(connection, ORG, EventFilter())).events
            [organization] = await (
                await connection.execute("SELECT name, inspected_since FROM organizations")
            ).fetchall()
        assert (action.action_id, action.tool, action.status, action.request.params) == (
            ACTION, "mail", "completed", {"to": "x@example.com"},
        )  # fmt: skip
        assert [event.seq for event in events] == [one.seq for one in reversed(record.events)]
        assert organization["inspected_since"] is not None
        assert organization["name"] == f"Inspection of {ORG}"
        # Looking leaves no trace in another's record, and everything else is refused.
        async with api.transaction(ORG) as connection:
            await append(connection, ORG, [Event(EventType.USER_CREATED, system_clock(), SYSTEM)])
            await append(connection, ORG, [Event(EventType.PROOF_PACK_EXPORTED, system_clock(), SYSTEM)])
        with pytest.raises(ConflictError, match="for inspection only"):
            async with api.transaction(ORG) as connection:
                await append(connection, ORG, [Event(EventType.POLICY_CREATED, system_clock(), SYSTEM)])
    finally:
        await api.close()
    with psycopg.connect(empty.administrator, autocommit=True) as superuser:
        assert superuser.execute("SELECT count(*) FROM journal").fetchall() == [(0,)]
        for statement in (
            "DELETE FROM audit_chain",
            "UPDATE actions SET status = 'denied'",
            "INSERT INTO agents (org_id, agent_id, name) VALUES ('o', 'a', 'n')",
            "INSERT INTO organizations (org_id, name) VALUES ('o', 'n')",
            "DELETE FROM api_keys",
        ):
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="for inspection only"):
                superuser.execute(statement.encode())
    with pytest.raises(ConflictError, match="not empty"):
        await asyncio.to_thread(import_export, path, keys, Secret(empty.owner))


async def test_an_instance_that_is_in_use_takes_nothing(made_pack: MadePack, keys, empty, tmp_path: Path) -> None:
    with psycopg.connect(empty.administrator, autocommit=True) as superuser:
        superuser.execute("INSERT INTO organizations (org_id, name) VALUES ('org_1', 'In use')")
        with pytest.raises(ConflictError, match="not empty"):
            await asyncio.to_thread(import_export, _export(made_pack, tmp_path / "x"), keys, Secret(empty.owner))
        superuser.execute("DELETE FROM organizations")  # it was not closed either


async def test_one_pack_that_is_not_valid_keeps_all_out(
    made_pack: MadePack, denied_pack: MadePack, keys, empty, tmp_path: Path
) -> None:
    spoiled = _export(made_pack, tmp_path / "spoiled", spoil=True)
    changed = _export(made_pack, tmp_path / "changed")
    (changed / f"{ACTION}.zip").write_bytes(write_archive(denied_pack.members))
    foreign = [parse_key("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")]
    for path, trusted, reason in (
        (spoiled, keys, "nothing was imported"),
        (changed, keys, "differs from the pack that the manifest names"),
        (_export(made_pack, tmp_path / "good"), foreign, "no key of yours"),
    ):
        with pytest.raises(ValidationError, match=reason):
            await asyncio.to_thread(import_export, path, trusted, Secret(empty.owner))
    with psycopg.connect(empty.administrator, autocommit=True) as superuser:
        assert superuser.execute("SELECT count(*) FROM organizations").fetchall() == [(0,)]
