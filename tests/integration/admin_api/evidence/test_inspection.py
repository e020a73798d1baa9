"""The API on an imported record: it shows what was imported, and changes nothing."""

import asyncio
from pathlib import Path

import pytest

from headgate.cli.audit_export import write_folder
from headgate.cli.audit_import import import_export
from headgate.evidence.pack_archive import write_archive
from headgate.evidence.pack_verifier import parse_key
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role
from tests.unit.evidence.conftest import ACTION, AGENT, ORG, MadePack, made_pack

__all__ = ["made_pack"]


@pytest.fixture
def imported(made_pack: MadePack, postgres_server, tmp_path: Path):
    urls = postgres_server.create_database()
    packs = iter([(f"{ACTION}.zip", write_archive(made_pack.members))])
    write_folder(packs, tmp_path / "export", {"from": None, "to": None})
    keys = [parse_key(one) for one in made_pack.keys]
    asyncio.run(asyncio.to_thread(import_export, tmp_path / "export", keys, Secret(urls.owner)))
    yield urls
    postgres_server.drop_database(urls.name)


async def test_it_is_read_and_not_changed(imported, start_api) -> None:
    api = await start_api(database_dsn=Secret(imported.api))
    async with api.as_admin(ORG) as admin:
        [action] = (await admin.get("/v1/actions?expand=all")).json()["data"]
        assert (action["id"], action["agent_id"], action["tool"]) == (ACTION, AGENT, "mail")
        shown = (await admin.get(f"/v1/actions/{ACTION}")).json()
        assert shown["request"]["params"] == {"to": "x@example.com"}
        listed = (await admin.get("/admin/audit", params={"event_type": "approval.approved"})).json()
        assert [one["action_id"] for one in listed["data"]] == [ACTION]
        for method, path, body in (
            ("POST", "/admin/agents", {"name": "Robot"}),
            ("PUT", "/admin/settings/retention", {}),
            ("POST", "/admin/retention/holds", {"scope": "organization", "reason": "a reason"}),
            ("POST", "/admin/retention/erasures", {"action_ids": [ACTION], "reason": "a reason"}),
        ):
            refused = await admin.request(method, path, json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONFLICT"), path
            assert "for inspection only" in refused.json()["error"]["message"]
    async with api.as_role(ORG, Role.AUDITOR) as auditor:
        assert (await auditor.get("/admin/audit")).json()["pagination"]["total"] == 9
