"""The bytes of a held call's body: who reads them, in parts and as a file, and what a browser may do with them."""

import base64
import hashlib

import psycopg
import pytest

from headgate.actions.recorded_request import recorded_request
from headgate.actions.unparsed_body import with_unparsed_body
from headgate.organizations.model import Role
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues
from tests.integration.conftest import Hold, Organization

_HOSTILE = b"<!doctype html><script>alert(1)</script>\0\xff"
_SECRET = b"sk_live_" + b"4eC39HqLyjWDarjtT1zdp7dc"


def record(body: bytes, content_type: str) -> str:
    headers = ((b"content-type", content_type.encode()),)
    call = HttpCall("POST", "https", "files.example.com", 443, "/upload", "", headers, body)
    return with_unparsed_body(recorded_request(interpret(call, load_catalogues())), call).decode()


@pytest.fixture
def uploaded(gate, hold: Hold, superuser: psycopg.Connection[tuple[object, ...]]):
    """A held call with this body: its action's id and its approval's."""

    async def upload(body: bytes, content_type: str = "application/octet-stream") -> tuple[str, str]:
        async with gate.api.dependencies.database.transaction(gate.org_id) as connection:
            row = await (await connection.execute("SELECT generation FROM org_state")).fetchone()
        organization = Organization(gate.org_id, gate.agent_id)
        held = await hold(organization, source="proxy", tool="http", generation=int(row["generation"]))
        superuser.execute(
            "UPDATE actions SET request = %s WHERE org_id = %s AND action_id = %s",
            [record(body, content_type), gate.org_id, held.action_id],
        )
        return held.action_id, held.approval_id

    return upload


async def test_parts_join_to_what_was_sent(gate, uploaded) -> None:
    sent = bytes(range(256)) * 64
    action_id, approval_id = await uploaded(sent)
    person = gate.person("vera", Role.VIEWER)
    parts = [
        (await person.get(f"/v1/actions/{action_id}/body?offset={at}&limit=5000")).json()
        for at in range(0, len(sent) + 5000, 5000)
    ]
    assert b"".join(base64.b64decode(one["content"]) for one in parts) == sent
    digest = "sha256:" + hashlib.sha256(sent).hexdigest()
    assert {(one["sha256"], one["is_exact"], one["size"]) for one in parts} == {(digest, True, len(sent))}
    shown = (await person.get(f"/v1/actions/{action_id}?expand=all")).json()["request"]
    assert shown["http"]["body_sha256"] == shown["unparsed_body"]["sha256"] == digest
    assert "content" not in shown["unparsed_body"]
    context = (await person.get(f"/v1/approvals/{approval_id}")).json()["context"]
    assert context["unparsed_body"] == shown["unparsed_body"]
    assert "unparsed_body" not in context["request"]


async def test_a_download_is_a_file_that_no_browser_renders(gate, uploaded) -> None:
    action_id, _ = await uploaded(_HOSTILE, "text/html; charset=odd")
    answer = await gate.person("vera", Role.VIEWER).get(f"/v1/actions/{action_id}/body/content")
    assert answer.content == _HOSTILE
    headers = answer.headers
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-disposition"] == f'attachment; filename="{action_id}.body.bin"'
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'; sandbox"
    assert headers["repr-digest"] == f"sha-256=:{base64.b64encode(hashlib.sha256(_HOSTILE).digest()).decode()}:"


async def test_secrets_are_masked_for_everybody(gate, uploaded) -> None:
    action_id, _ = await uploaded(b"\0" + _SECRET + b"\xff")
    for role in (Role.ADMIN, Role.AUDITOR, Role.APPROVER):
        answer = await gate.person(role.value, role).get(f"/v1/actions/{action_id}/body/content")
        assert _SECRET not in answer.content and answer.content.startswith(b"\0")
    told = (await gate.person().get(f"/v1/actions/{action_id}/body")).json()
    assert (told["masked_places"], told["is_exact"]) == (1, False)


async def test_who_reads_it(new_gate, gate, uploaded) -> None:
    action_id, _ = await uploaded(b"\0")
    stranger, other_agent = await new_gate(), await gate.person().post("/admin/agents", json={"name": "Other"})
    paths = [f"/v1/actions/{action_id}/body", f"/v1/actions/{action_id}/body/content"]
    for path in paths:
        assert (await gate.as_agent.get(path)).status_code == 200
        assert (await stranger.person().get(path)).status_code == 404
        assert (await stranger.as_agent.get(path)).status_code == 404
        key = other_agent.json()["api_key"]["key"]
        async with gate.api.client(X_Agent_Key=key) as other:
            assert (await other.get(path)).status_code == 404
        async with gate.api.client() as nobody:
            assert (await nobody.get(path)).status_code == 401
    assert (await stranger.person().get(f"/calls/{action_id}/body")).status_code == 404


async def test_what_is_not_kept(gate, uploaded, superuser: psycopg.Connection[tuple[object, ...]]) -> None:
    explicit = (
        await gate.as_agent.post("/v1/actions", json={"tool": "mail", "operation": "send", "params": {}})
    ).json()
    answer = await gate.person().get(f"/v1/actions/{explicit['id']}/body")
    assert answer.status_code == 404
    assert "keeps no separate body" in answer.json()["error"]["message"]
    action_id, _ = await uploaded(b"\0")
    superuser.execute(
        "UPDATE actions SET body_state = 'erased', request = '{}' WHERE org_id = %s AND action_id = %s",
        [gate.org_id, action_id],
    )
    answer = await gate.person().get(f"/v1/actions/{action_id}/body/content")
    assert (answer.status_code, answer.json()["error"]["message"]) == (404, f"The body of {action_id} was erased.")


@pytest.mark.parametrize("query", ["?offset=-1", "?limit=0", "?limit=65537", "?offset=x"])
async def test_a_part_that_is_none(gate, uploaded, query: str) -> None:
    action_id, _ = await uploaded(b"\0")
    assert (await gate.person().get(f"/v1/actions/{action_id}/body{query}")).status_code == 400


async def test_pages_lead_to_the_bytes(gate, uploaded) -> None:
    action_id, approval_id = await uploaded(_HOSTILE + bytes(5000))
    person = gate.person("ann", Role.APPROVER)
    for path in (f"/inbox/{approval_id}", f"/calls/{action_id}"):
        page = (await person.get(path)).text
        assert f'href="/calls/{action_id}/body"' in page and f'href="/v1/actions/{action_id}/body/content"' in page
        assert "Complete." in page
    first = (await person.get(f"/calls/{action_id}/body")).text
    assert "3c 21 64 6f 63 74 79 70" in first and "&lt;!doctype html" in first
    assert "<script>alert" not in first
    assert "offset=4096" in first
    last = (await person.get(f"/calls/{action_id}/body?view=hex&offset=4096")).text
    assert "00001000" in last and "0000138" in last and 'rel="next"' not in last
    beyond = (await person.get(f"/calls/{action_id}/body?offset=0x100000")).text
    assert "The body ends before this offset." in beyond
    assert (await person.get(f"/calls/{action_id}/body?offset=six")).status_code == 400


async def test_a_long_text_is_read_in_parts_with_hidden_characters_visible(gate, uploaded) -> None:
    text = ("a\u202eb日本" * 10_000).encode()
    action_id, _ = await uploaded(text, "text/plain")
    person = gate.person("ann", Role.APPROVER)
    page = (await person.get(f"/calls/{action_id}/body")).text
    assert "U+202E" in page and "\u202e" not in page and "\ufffd" not in page
    second = (await person.get(f"/calls/{action_id}/body?view=text&offset=16384")).text
    assert "日本" in second and "\ufffd" not in second
