"""/connections in a browser: consent there and back, states that are not theirs, secrets that never come back."""

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from headgate.organizations.model import Role
from tests.integration.admin_api.connections.authorization_server import REDIRECT, SECRET

DAY: Final = timedelta(days=1)
_HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture
def form(platform) -> dict[str, object]:
    return {
        "platform": "generic",
        "way": "oauth",
        "name": "code",
        "client_id": "headgate",
        "client_secret": SECRET,
        "hosts": platform.host,
        "scopes": "repo\r\nread:org",
        "authorization_url": f"{platform.url}/authorize",
        "token_url": f"{platform.url}/token",
        "agents": ["*"],
    }


def _consent_link(page: str) -> str:
    """Where the page leads to; the platform knows another redirect URI than the one of this server's port."""
    shown = html.unescape(re.findall(r'<a class="btn primary" href="([^"]+)"', page)[0])
    assert "redirect_uri=http" in shown and "%2Fconnections%2Fcallback" in shown
    query = dict(parse_qsl(urlsplit(shown).query))
    return shown.partition("?")[0] + "?" + urlencode(query | {"redirect_uri": REDIRECT})


async def test_the_platforms_lead_to_their_forms(admin) -> None:
    listed = (await admin.get("/connections/new")).text
    paths = re.findall(r'href="(/connections/new\?platform=[a-z0-9_-]+)"', listed)
    assert len(paths) == len((await admin.get("/v1/connections/platforms")).json()["data"])
    for path in paths:
        shown = await admin.get(path)
        assert shown.status_code == 200, path
        for way in re.findall(r'href="(/connections/new[?]platform=[^"]+way=[^"]+)"', shown.text):
            assert 'aria-current="true"' in (await admin.get(html.unescape(way))).text, way
    assert (await admin.get("/connections/new?platform=carrier-pigeon")).status_code == 404


async def test_what_the_platform_says_no_to_is_shown(admin, platform, form) -> None:
    begun = await admin.post("/connections/new", data=form)
    assert begun.status_code == 201, html.unescape(begun.text)
    assert SECRET not in begun.text and "repo, read:org" in begun.text
    back = await platform.consent(_consent_link(begun.text), deny=True)
    refused = await admin.get("/connections/callback", params=back)
    assert (refused.status_code, "the platform refused consent" in refused.text) == (400, True)
    (kept,) = (await admin.get("/v1/connections")).json()["data"]
    shown = (await admin.get(f"/connections/{kept['id']}")).text
    assert "Start consent" in shown and "Calls that need this connection are refused" in shown
    again = await admin.post(f"/connections/{kept['id']}", data={"act": "consent"})
    assert (again.status_code, "Continue to generic" in again.text) == (201, True)


async def test_a_state_counts_once_and_for_who_began(gate, admin, platform, form) -> None:
    begun = await admin.post("/connections/new", data=form)
    back = await platform.consent(_consent_link(begun.text))
    for person, given in (
        (gate.person("mallory"), back),
        (admin, back | {"state": "unknown-state-of-somebody"}),
        (admin, {"code": back["code"]}),
        (admin, {}),
        (admin, {"state": _HOSTILE, "error": _HOSTILE}),
    ):
        answer = await person.get("/connections/callback", params=given)
        assert (answer.status_code, "<script>alert" in answer.text) == (400, False), given
    (kept,) = (await admin.get("/v1/connections")).json()["data"]
    assert kept["status"] == "pending"


async def test_consent_leads_to_a_connection_that_works(admin, platform, start_body) -> None:
    begun = (await admin.post("/v1/connections/oauth/initiate", json=start_body)).json()
    back = await platform.consent(begun["authorization_url"])
    done = await admin.get("/connections/callback", params=back | {"unknown": "ignored"})
    path = f"/connections/{begun['connection']['id']}"
    assert (done.status_code, done.headers.get("location")) == (303, path), html.unescape(done.text)
    tested = await admin.post(path, data={"act": "test"})
    assert "The platform accepts the credential" in tested.text and "Renew consent" in tested.text
    assert (await admin.post(path, data={"act": "refresh"})).headers["location"] == path
    assert (await admin.get("/connections/callback", params=back)).status_code == 400


async def test_a_key_is_connected_tested_bound_and_removed(admin, platform) -> None:
    values = {"platform": "generic", "way": "key", "kind": "bearer", "name": "stripe", "hosts": platform.host}
    made = await admin.post("/connections/new", data=values | {"secret": "sk-stays-secret"})
    path = made.headers["location"]
    assert re.fullmatch(r"/connections/con_[0-9a-f-]+", path)
    shown = (await admin.get(path)).text
    assert "hg_placeholder_stripe" in shown and "No call has used this" in shown and "stays-secret" not in shown
    tested = await admin.post(path, data={"act": "test"})
    assert (tested.status_code, "Test result" in tested.text or "accepts the credential" in tested.text) == (200, True)
    version = re.findall(r'name="version" value="([^"]+)"', shown)[0]
    bound = {"act": "bind", "version": html.unescape(version), "agents": ["*"], "tools": "github\r\n"}
    assert (await admin.post(path, data=bound)).status_code == 303
    kept = (await admin.get(path.replace("/connections", "/v1/connections"))).json()
    assert (kept["agents"], kept["tools"]) == (["*"], ["github"])
    assert (await admin.post(path, data=bound)).status_code == 412
    assert (await admin.post(path, data={"act": "dance"})).status_code == 400
    assert (await admin.post(path, data={"act": "delete"})).headers["location"] == "/connections"
    assert (await admin.get(path)).status_code == 404


def _pair() -> dict[str, str]:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agent")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + DAY)
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return {
        "certificate": builder.sign(key, hashes.SHA256()).public_bytes(pem).decode(),
        "private_key": key.private_bytes(pem, form, serialization.NoEncryption()).decode(),
    }


CLIENT = {"client_id": "headgate", "token_url": "https://login.example.com/token", "client_authentication": "body"}


@pytest.mark.parametrize(
    ("way", "settings", "credentials"),
    [
        ("basic", {}, {"user": "robot", "password": "stays-secret"}),
        ("client_credentials", CLIENT, {"client_secret": "stays-secret"}),
        (
            "aws_sigv4",
            {"region": "eu-central-1", "service": "s3"},
            {"access_key_id": "AKIAIOSFODNN7EXAMPLE", "secret_access_key": "stays-secret"},
        ),
        ("mtls", {}, _pair()),
    ],
)
async def test_every_kind_is_connected_and_given_another_credential(
    admin, platform, way, settings, credentials
) -> None:
    values = {"platform": "generic", "way": way, "name": "one", "hosts": platform.host, "agents": ["*"]}
    made = await admin.post("/connections/new", data=values | settings | credentials)
    assert made.status_code == 303, html.unescape(made.text)
    path = made.headers["location"]
    kept = (await admin.get(path.replace("/connections", "/v1/connections"))).json()
    assert (kept["kind"], kept["settings"]) == (way, settings)
    shown = (await admin.get(path)).text
    version = html.unescape(re.findall(r'name="version" value="([^"]+)"', shown)[0])
    assert "Replace credential" in shown and "stays-secret" not in shown and "PRIVATE KEY" not in shown
    other = _pair() if way == "mtls" else credentials | dict.fromkeys(list(credentials)[-1:], "another-secret")
    given = {"act": "replace", "version": version}
    refused = await admin.post(path, data=given | dict.fromkeys(credentials, ""))
    assert (refused.status_code, "is required" in refused.text) == (400, True)
    assert (await admin.post(path, data=given | other)).status_code == 303
    assert (await admin.post(path, data=given | other)).status_code == 412


async def test_a_consented_credential_is_replaced_by_consent_only(admin, platform, form) -> None:
    await admin.post("/connections/new", data=form)
    (kept,) = (await admin.get("/v1/connections")).json()["data"]
    path = f"/connections/{kept['id']}"
    assert "Replace credential" not in (await admin.get(path)).text
    refused = await admin.post(path, data={"act": "replace", "secret": "another-secret"})
    assert (refused.status_code, "use OAuth" in refused.text) == (400, True)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"platform": "generic", "way": "key", "kind": "bearer", "name": "Not A Name", "hosts": "a.example"}, "name"),
        ({"platform": "generic", "way": "key", "kind": "bearer", "name": "ok", "hosts": ""}, "hosts"),
        ({"platform": "generic", "way": "app-password", "name": "ok"}, "does not support the method"),
        ({"platform": "github", "way": "oauth", "name": "ok"}, "client_id"),
        ({"platform": "bluesky", "way": "app-password", "name": "ok", "identifier": ""}, "identifier"),
        ({"platform": "mastodon", "way": "register", "name": "ok", "instance": ""}, "instance"),
        ({"platform": "mastodon", "way": "token", "name": "ok", "instance": "127.0.0.1:9"}, ""),
    ],
)
async def test_a_refused_form_says_why_and_gives_no_secret_back(admin, values, said) -> None:
    secrets = dict.fromkeys(("secret", "client_secret", "app_password", "access_token"), "stays-secret-here")
    answer = await admin.post("/connections/new", data=secrets | values)
    assert answer.status_code >= 400, answer.headers
    shown = html.unescape(answer.text)
    assert said in shown and "stays-secret" not in shown


@pytest.mark.parametrize("role", [Role.APPROVER, Role.AUDITOR, Role.VIEWER])
async def test_only_administrators_connect(gate, role: Role) -> None:
    person = gate.person(role.value, role)
    for path in ("/connections/new", "/connections/callback?state=x"):
        assert (await person.get(path)).status_code == 403
    assert (await person.post("/connections/new", data={"platform": "github"})).status_code == 403
