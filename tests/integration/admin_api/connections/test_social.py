"""Bluesky and Mastodon, against fakes made from their published descriptions."""

from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from tests.integration.admin_api.connections.authorization_server import REDIRECT
from tests.integration.admin_api.connections.social_fakes import (
    APP_PASSWORD,
    Bluesky,
    Mastodon,
    bluesky_application,
    mastodon_application,
)
from tests.integration.admin_api.connections.tls_server import tls_server


@pytest.fixture
def bluesky(tls):
    state = Bluesky()
    with tls_server(bluesky_application(state), tls.server) as port:
        state.port = port
        yield state


@pytest.fixture
def mastodon(tls):
    state = Mastodon()
    with tls_server(mastodon_application(state), tls.server) as port:
        yield state, f"127.0.0.1:{port}"


def body_for(bluesky: Bluesky, **changes: object) -> dict[str, object]:
    service = f"https://127.0.0.1:{bluesky.port}"
    given = {"name": "sky", "identifier": "@robot.test", "app_password": APP_PASSWORD, "service": service}
    return given | {"agents": ["*"]} | changes


async def test_bluesky_signs_in_refreshes_and_is_updated(admin, bluesky) -> None:
    made = await admin.post("/v1/connections/bluesky", json=body_for(bluesky))
    assert made.status_code == 201, made.text
    shown = made.json()
    assert (shown["status"], shown["account"], shown["kind"]) == ("active", "robot.test", "bluesky")
    # Where it was asked for, and where the account's DID document says that it lives.
    assert shown["hosts"] == [f"127.0.0.1:{bluesky.port}", f"localhost:{bluesky.port}"]
    assert shown["expires_at"] is not None and APP_PASSWORD not in made.text and "eyJh" not in made.text
    path = f"/v1/connections/{shown['id']}"
    assert (await admin.post(f"{path}/test", json={})).json()["success"]
    assert (await admin.post(f"{path}/refresh", json={})).status_code == 200
    assert bluesky.seen == ["createSession", "refreshSession"]
    bluesky.refresh.clear()  # the session ended: the app password makes another
    assert (await admin.post(f"{path}/refresh", json={})).status_code == 200
    assert bluesky.seen[-2:] == ["refreshSession", "createSession"]
    assert (await admin.post(f"{path}/test", json={})).json()["success"]
    bluesky.password = "aaaa-bbbb-cccc-dddd"
    updated = await admin.put(f"{path}/bluesky", json={"app_password": "aaaa-bbbb-cccc-dddd", "tools": ["http"]})
    assert updated.status_code == 200 and updated.json()["tools"] == ["http"]
    assert (await admin.post(f"{path}/test", json={})).json()["success"]


async def test_bluesky_says_no(admin, bluesky) -> None:
    answer = await admin.post("/v1/connections/bluesky", json=body_for(bluesky, app_password="wrong-password"))
    assert answer.status_code == 400 and "AuthenticationRequired" in answer.json()["error"]["message"]
    assert (await admin.get("/v1/connections")).json()["data"] == []
    made = (await admin.post("/v1/connections/bluesky", json=body_for(bluesky))).json()
    bluesky.refresh.clear()
    bluesky.password = "another-password"  # the app password was revoked
    assert (await admin.post(f"/v1/connections/{made['id']}/refresh", json={})).status_code == 400
    assert (await admin.get(f"/v1/connections/{made['id']}")).json()["status"] == "broken"


async def test_mastodon_by_registration(admin, mastodon, tls) -> None:
    state, instance = mastodon
    body = {"name": "toots", "instance": instance, "redirect_uri": REDIRECT, "scopes": ["read"], "agents": ["*"]}
    begun = await admin.post("/v1/connections/mastodon/register", json=body)
    assert begun.status_code == 201, begun.text
    assert (state.registrations, state.scopes, begun.json()["scopes"]) == (1, "read", ["read"])
    import ssl  # noqa: PLC0415 - beside its one use

    async with httpx.AsyncClient(verify=ssl.create_default_context(cafile=tls.roots), trust_env=False) as browser:
        location = (await browser.get(begun.json()["authorization_url"])).headers["location"]
    done = await admin.post("/v1/connections/oauth/callback", json=dict(parse_qsl(urlsplit(location).query)))
    assert done.status_code == 200 and done.json()["status"] == "active", done.text
    path = f"/v1/connections/{done.json()['id']}"
    status = (await admin.get(f"{path}/mastodon/status")).json()
    assert (status["account"], status["title"], status["version"]) == ("robot@127.0.0.1", "A small instance", "4.4.1")
    batch = (await admin.post(f"{path}/mastodon/batch", json={"ids": ["7", "8"]})).json()
    assert [one["id"] for one in batch["data"]] == ["7", "8"]
    assert (await admin.post(f"{path}/mastodon/batch", json={"ids": ["7;drop"]})).status_code == 400
    assert (await admin.put(f"{path}/mastodon", json={"access_token": "another-token"})).status_code == 409
    assert (await admin.post(f"{path}/refresh", json={})).status_code == 409  # its tokens do not expire


async def test_mastodon_by_a_token(admin, mastodon) -> None:
    state, instance = mastodon
    body = {"name": "toots", "instance": f"https://{instance}/", "access_token": "not-the-token", "agents": ["*"]}
    refused = await admin.post("/v1/connections/mastodon", json=body)
    assert refused.status_code == 400 and "401" in refused.json()["error"]["message"]
    made = await admin.post("/v1/connections/mastodon", json=body | {"access_token": state.token})
    assert (made.status_code, made.json()["account"]) == (201, "robot@127.0.0.1"), made.text
    path = f"/v1/connections/{made.json()['id']}"
    state.token = "a-new-token-of-theirs"
    assert (await admin.get(f"{path}/mastodon/status")).status_code == 400
    updated = await admin.put(f"{path}/mastodon", json={"access_token": state.token, "needs_placeholder": True})
    assert updated.status_code == 200 and updated.json()["needs_placeholder"]
    assert (await admin.get(f"{path}/mastodon/status")).json()["statuses_count"] == 3


async def test_a_route_of_another_platform_is_none(admin, mastodon, bluesky) -> None:
    made = (await admin.post("/v1/connections/bluesky", json=body_for(bluesky))).json()
    assert (await admin.get(f"/v1/connections/{made['id']}/mastodon/status")).status_code == 409
