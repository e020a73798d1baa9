"""Consent, its attacks, and tokens that are refreshed by one at a time; the other side is Authlib's server."""

import asyncio
import sys
import time
from datetime import datetime
from urllib.parse import parse_qsl, urlsplit

import pytest

from headgate.connections.attend import AttendConnections
from headgate.connections.check import CheckConnection
from headgate.connections.open_credential import OpenCredentials
from headgate.connections.refresh import RefreshConnection
from headgate.connections.service import kept_secrets
from headgate.connections.store import get_connection
from headgate.db.database import Database
from headgate.kernel.clock import system_clock
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.trust import trusted_roots
from headgate.vault.service import Vault


async def begin(admin, start_body, **changes):
    answer = await admin.post("/v1/connections/oauth/initiate", json=start_body | changes)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def secrets_of(gate, connection_id: str):
    vault, database = gate.api.dependencies.vault, gate.api.dependencies.database
    async with database.transaction(gate.org_id) as db:
        return await kept_secrets(db, await get_connection(db, gate.org_id, connection_id), vault)


async def test_consent_makes_a_connection_that_works(gate, admin, platform, start_body) -> None:
    begun = await begin(admin, start_body)
    asked = dict(parse_qsl(urlsplit(begun["authorization_url"]).query))
    assert begun["scopes"] == ["repo", "read:org"] and asked["scope"] == "repo read:org"
    assert asked["code_challenge_method"] == "S256" and len(asked["code_challenge"]) == 43
    assert asked["state"] == begun["state"] and len(begun["state"]) >= 43
    assert begun["connection"]["status"] == "pending"
    done = await admin.post("/v1/connections/oauth/callback", json=await platform.consent(begun["authorization_url"]))
    made = done.json()
    assert (done.status_code, made["status"], made["scopes"]) == (200, "active", ["repo", "read:org"])
    assert datetime.fromisoformat(made["expires_at"]).timestamp() == pytest.approx(time.time() + 3600, abs=60)
    tested = await admin.post(f"/v1/connections/{made['id']}/test", json={})
    assert tested.json()["outcome"] == "works" and tested.json()["status"] == 200, tested.text
    kept = await secrets_of(gate, made["id"])
    for answer in (done, tested, await admin.get("/v1/connections"), await admin.get(f"/v1/connections/{made['id']}")):
        assert kept.need("access_token").reveal() not in answer.text
        assert kept.need("refresh_token").reveal() not in answer.text and "client-secret" not in answer.text


async def test_a_callback_works_once(admin, platform, start_body) -> None:
    begun = await begin(admin, start_body)
    back = await platform.consent(begun["authorization_url"])
    answers = await asyncio.gather(*(admin.post("/v1/connections/oauth/callback", json=back) for _ in range(5)))
    assert sorted(one.status_code for one in answers) == [200, 400, 400, 400, 400]
    assert len(platform.state.seen) == 1
    again = await admin.post("/v1/connections/oauth/callback", json=back)
    assert again.status_code == 400 and again.json()["error"]["details"]["field"] == "state"


async def test_a_state_is_who_began_its_own(gate, admin, new_gate, platform, start_body) -> None:
    begun = await begin(admin, start_body)
    back = await platform.consent(begun["authorization_url"])
    other = await new_gate()
    for stranger in (gate.person("mallory"), other.person("alice")):
        answer = await stranger.post("/v1/connections/oauth/callback", json=back)
        assert answer.status_code == 400 and answer.json()["error"]["details"]["field"] == "state"
    assert platform.state.seen == []
    # Trying did not burn it.
    assert (await admin.post("/v1/connections/oauth/callback", json=back)).status_code == 200


async def test_a_state_has_an_end(admin, superuser, gate, platform, start_body) -> None:
    begun = await begin(admin, start_body)
    back = await platform.consent(begun["authorization_url"])
    superuser.execute("UPDATE connection_flows SET expires_at = now() WHERE org_id = %s", [gate.org_id])
    assert (await admin.post("/v1/connections/oauth/callback", json=back)).status_code == 400
    assert platform.state.seen == []


async def test_the_codes_of_others_are_not_redeemed(admin, platform, start_body) -> None:
    """Code injection: the platform compares the verifier with the challenge of the flow that the code is from."""
    mine, theirs = await begin(admin, start_body), await begin(admin, start_body, name="other")
    stolen = await platform.consent(theirs["authorization_url"])
    answer = await admin.post("/v1/connections/oauth/callback", json={"state": mine["state"], "code": stolen["code"]})
    assert answer.status_code == 400 and "invalid_grant" in answer.json()["error"]["message"]


async def test_the_redirect_address_is_compared_to_the_letter(admin, platform, start_body) -> None:
    begun = await begin(admin, start_body)
    back = await platform.consent(begun["authorization_url"])
    other = back | {"redirect_uri": start_body["redirect_uri"] + "/"}
    answer = await admin.post("/v1/connections/oauth/callback", json=other)
    assert answer.status_code == 400 and answer.json()["error"]["details"]["field"] == "redirect_uri"
    assert platform.state.seen == []


@pytest.mark.parametrize(
    "uri",
    ["http://headgate.example/x", "https://a@headgate.example/", "https://headgate.example/#x", "/x", "javascript:1"],
)
async def test_redirect_addresses_are_safe_ones(admin, start_body, uri: str) -> None:
    answer = await admin.post("/v1/connections/oauth/initiate", json=start_body | {"redirect_uri": uri})
    assert answer.status_code == 400 and answer.json()["error"]["details"]["field"] == "redirect_uri"


async def test_another_issuers_answer_is_refused(admin, platform, start_body) -> None:
    begun = await begin(admin, start_body, issuer=platform.url)
    back = await platform.consent(begun["authorization_url"])
    answer = await admin.post("/v1/connections/oauth/callback", json=back | {"iss": "https://evil.example"})
    assert answer.status_code == 400 and answer.json()["error"]["details"]["field"] == "iss"
    assert platform.state.seen == []


async def test_a_person_who_says_no(admin, platform, start_body) -> None:
    begun = await begin(admin, start_body)
    back = await platform.consent(begun["authorization_url"], deny=True)
    assert back["error"] == "access_denied"
    answer = await admin.post("/v1/connections/oauth/callback", json=back)
    assert answer.status_code == 400 and "access_denied" in answer.json()["error"]["message"]
    shown = (await admin.get(f"/v1/connections/{begun['connection']['id']}")).json()
    assert shown["status"] == "pending" and "access_denied" in shown["status_reason"]


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (
            200,
            {"error": "bad_verification_code", "error_description": "The code is incorrect or expired."},
            400,
        ),  # GitHub
        (200, {"ok": False, "error": "invalid_grant"}, 400),  # Slack
        (400, {"error": "invalid_client"}, 400),
        (401, {}, 400),
        (500, {"error": "server_error"}, 503),
        (200, {"access_token": "x y"}, 503),
        (200, {"token_type": "mac", "access_token": "0123456789"}, 400),
        (200, {}, 503),
    ],
)
async def test_error_answers_of_the_token_endpoint(admin, platform, start_body, status, body, expected) -> None:
    begun = await begin(admin, start_body)
    back = await platform.consent(begun["authorization_url"])
    platform.state.answers = [(status, body)]
    answer = await admin.post("/v1/connections/oauth/callback", json=back)
    assert answer.status_code == expected, answer.text
    shown = (await admin.get(f"/v1/connections/{begun['connection']['id']}")).json()
    assert shown["status"] == "pending" and shown["status_reason"]


async def test_a_platform_that_hangs(admin, platform, start_body, monkeypatch) -> None:
    from headgate.connections import refresh as refresh_connection  # noqa: PLC0415 - the same
    from headgate.outgoing.model import OutgoingLimits  # noqa: PLC0415 - beside its one use

    monkeypatch.setattr(refresh_connection, "REQUEST_LIMITS", OutgoingLimits(deadline_seconds=0.5))
    begun = await begin(admin, start_body)
    back = await platform.consent(begun["authorization_url"])
    platform.state.hang_seconds = 3
    began = time.monotonic()
    answer = await admin.post("/v1/connections/oauth/callback", json=back)
    assert answer.status_code == 503 and time.monotonic() - began < 2.5
    assert "did not answer" in answer.json()["error"]["message"]


async def test_a_private_address_is_not_asked_unless_it_is_allowed(gate, platform, start_body) -> None:
    person = gate.person()
    begun = await begin(person, start_body)
    back = await platform.consent(begun["authorization_url"])
    answer = await person.post("/v1/connections/oauth/callback", json=back)
    assert answer.status_code == 503 and "allowlist" in answer.json()["error"]["message"]
    assert platform.state.seen == []


async def test_refreshing_rotates_and_keeps_the_token_before(gate, admin, platform, connected) -> None:
    first = await secrets_of(gate, connected["id"])
    answer = await admin.post(f"/v1/connections/{connected['id']}/refresh", json={})
    assert answer.status_code == 200, answer.text
    second = await secrets_of(gate, connected["id"])
    assert second.need("access_token") != first.need("access_token")
    assert second.need("previous_refresh_token") == first.need("refresh_token")
    assert platform.state.works(second.need("access_token").reveal())


def _another_process(cluster, gate, tls, role: str) -> tuple[Database, RefreshConnection, AttendConnections]:
    """With a pool, a client and a vault of its own, as another process has."""
    from headgate.kernel.secrets import Secret  # noqa: PLC0415 - beside its one use

    database = Database(Secret(cluster.dsn(role)))
    vault = Vault(gate.api.dependencies.vault.keys_file)
    client = OutgoingClient(trusted_roots(tls.roots), SystemResolver())
    refreshes = RefreshConnection(database, vault, client, system_clock)
    checks = CheckConnection(database, OpenCredentials(database, vault, system_clock), client, system_clock)
    return database, refreshes, AttendConnections(database, refreshes, checks, system_clock)


async def test_of_many_who_refresh_one_asks(gate, admin, platform, connected, cluster, tls) -> None:
    """In two processes: the API's way in and a worker's. A second use of the token would end the consent."""
    database, refreshes, _ = _another_process(cluster, gate, tls, "headgate_worker")
    await database.open()
    platform.state.hang_seconds = 0.5
    asked = len(platform.state.seen)
    try:
        mine = [admin.post(f"/v1/connections/{connected['id']}/refresh", json={}) for _ in range(4)]
        theirs = [refreshes.refresh(gate.org_id, connected["id"], seen_version=2) for _ in range(4)]
        answers = await asyncio.gather(*mine, *theirs)
    finally:
        await database.close()
    assert all(one.status_code == 200 for one in answers[:4]), [one.text for one in answers[:4]]
    assert len(platform.state.seen) == asked + 1
    assert all(one.secret_version == 3 for one in answers[4:])
    assert platform.state.works((await secrets_of(gate, connected["id"])).need("access_token").reveal())


async def test_of_two_processes_one_asks(gate, admin, platform, connected, cluster, tls) -> None:
    platform.state.hang_seconds = 3.0  # both have started by then
    asked = len(platform.state.seen)
    words = (
        *(cluster.dsn("headgate_worker"), str(gate.api.dependencies.vault.keys_file), str(tls.roots)),
        *(gate.org_id, connected["id"], "2"),
    )
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.integration.admin_api.connections.refresh_process", *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        for _ in range(2)
    ]
    said = await asyncio.gather(*(one.communicate() for one in processes))
    assert [one.returncode for one in processes] == [0, 0], said
    assert [int(output) for output, _ in said] == [3, 3]
    assert len(platform.state.seen) == asked + 1
    assert platform.state.works((await secrets_of(gate, connected["id"])).need("access_token").reveal())


async def test_the_worker_refreshes_before_the_end(gate, admin, platform, connected, cluster, tls, superuser) -> None:
    database, _, attend = _another_process(cluster, gate, tls, "headgate_worker")
    await database.open()
    before = await secrets_of(gate, connected["id"])
    superuser.execute("UPDATE connections SET refresh_at = now() WHERE connection_id = %s", [connected["id"]])
    try:
        assert await attend.run() >= 1
    finally:
        await database.close()
    after = await secrets_of(gate, connected["id"])
    assert after.need("access_token") != before.need("access_token")
    [(refresh_at,)] = superuser.execute(
        "SELECT refresh_at > now() FROM connections WHERE connection_id = %s", [connected["id"]]
    ).fetchall()
    assert refresh_at


async def test_a_consent_that_was_withdrawn_is_seen_and_told(admin, platform, connected) -> None:
    platform.state.revoke_all()
    answer = await admin.post(f"/v1/connections/{connected['id']}/refresh", json={})
    assert answer.status_code == 400 and "invalid_grant" in answer.json()["error"]["message"]
    health = (await admin.get(f"/v1/connections/{connected['id']}/health")).json()
    assert (health["status"], health["is_usable"]) == ("broken", False) and "invalid_grant" in health["message"]
    told = (await admin.get("/admin/audit", params={"limit": 50})).json()["data"]
    assert "connection.broken" in [one["event_type"] for one in told]


async def test_a_platform_that_is_down_breaks_nothing(gate, admin, platform, connected) -> None:
    platform.state.answers = [(503, {})]
    answer = await admin.post(f"/v1/connections/{connected['id']}/refresh", json={})
    assert answer.status_code == 503
    health = (await admin.get(f"/v1/connections/{connected['id']}/health")).json()
    assert (health["status"], health["is_usable"], health["failures"]) == ("active", True, 1)
    assert (await admin.post(f"/v1/connections/{connected['id']}/refresh", json={})).status_code == 200


async def test_a_token_that_the_platform_refuses_breaks_it_until_it_is_taken_again(
    gate, admin, platform, connected
) -> None:
    platform.state.tokens[-1].is_revoked = True
    tested = (await admin.post(f"/v1/connections/{connected['id']}/test", json={})).json()
    assert (tested["outcome"], tested["success"], tested["status"]) == ("refused", False, 401)
    assert (await admin.get(f"/v1/connections/{connected['id']}")).json()["status"] == "broken"
    platform.state.tokens[-1].is_revoked = False
    assert (await admin.post(f"/v1/connections/{connected['id']}/test", json={})).json()["success"]
    assert (await admin.get(f"/v1/connections/{connected['id']}")).json()["status"] == "active"


async def test_consenting_again_mends_it(admin, platform, connected, start_body) -> None:
    platform.state.revoke_all()
    await admin.post(f"/v1/connections/{connected['id']}/refresh", json={})
    body = {"platform": "github", "redirect_uri": start_body["redirect_uri"], "connection_id": connected["id"]}
    begun = (await admin.post("/v1/connections/oauth/initiate", json=body)).json()
    done = await admin.post("/v1/connections/oauth/callback", json=await platform.consent(begun["authorization_url"]))
    assert (done.status_code, done.json()["id"], done.json()["status"]) == (200, connected["id"], "active")


async def test_client_credentials(gate, admin, platform) -> None:
    body = {
        "name": "machine",
        "kind": "client_credentials",
        "hosts": [platform.host],
        "agents": ["*"],
        "settings": {"client_id": "headgate", "token_url": f"{platform.url}/token", "check_path": "/user"},
        "credentials": {"client_secret": "client-secret-of-these-tests"},
    }
    made = (await admin.post("/v1/connections", json=body)).json()
    assert made["status"] == "active", made
    assert platform.state.seen[-1]["grant_type"] == "client_credentials"
    assert (await admin.post(f"/v1/connections/{made['id']}/test", json={})).json()["success"]
    wrong = body | {"name": "wrong", "credentials": {"client_secret": "not the secret".replace(" ", "-")}}
    made = (await admin.post("/v1/connections", json=wrong)).json()
    assert made["status"] == "broken" and "invalid_client" in made["status_reason"]
