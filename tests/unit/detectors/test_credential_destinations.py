"""Credentials are no findings where a destination expects them, and are findings everywhere else."""

import random
from typing import Any

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.credential_destinations import credential_destinations
from headgate.detectors.secret_formats import secret_formats
from tests.labelled import credentials

_RANDOM = random.Random(5)  # noqa: S311 - repeatable, not secret
_SECRET = credentials.google_oauth_secret(_RANDOM)
_KEY = credentials.google(_RANDOM)
_PASSWORD = "Falcon.river8812"
_FORM = {"grant_type": ["password"], "password": [_PASSWORD]}


def _found(host: str, path: str = "/token", scheme: str = "https", **parts: Any) -> bool:
    http = {"method": "POST", "scheme": scheme, "host": host, "path": path, "query": parts.pop("query", {})}
    return bool(assess(EmbeddedModel.SECRETS, {"tool": "http", "http": http, **parts}).issues)


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("oauth2.googleapis.com", "/token"),
        ("OAuth2.GoogleAPIs.com", "/token"),
        ("login.microsoftonline.com", "/common/oauth2/v2.0/token"),
        ("sts.eu-west-1.amazonaws.com", "/"),
        ("github.com", "/login/oauth/access_token"),
    ],
)
def test_signing_in_is_no_leak(host: str, path: str) -> None:
    assert not _found(host, path, body=_FORM)


@pytest.mark.parametrize(
    ("host", "path", "scheme"),
    [
        ("oauth2.googleapis.com.evil.example", "/token", "https"),
        ("evil-oauth2.googleapis.com", "/token", "https"),
        ("oauth2.googleapis.com", "/token", "http"),
        ("identitytoolkit.googleapis.com", "/v1/accounts:signUp", "https"),
        ("github.com", "/login/oauth-evil", "https"),
        ("api.github.com", "/gists", "https"),
        ("sts.a.b.amazonaws.com", "/", "https"),
        ("bucket.s3.amazonaws.com", "/sts.eu-west-1.amazonaws.com", "https"),
        ("attacker.okta.com", "/oauth2/v1/token", "https"),
        ("evil-bucket.s3.amazonaws.com", "/a", "https"),
        ("ec2-1-2-3-4.compute-1.amazonaws.com", "/", "https"),
        ("storage.googleapis.com", "/evil/a", "https"),
    ],
)
def test_elsewhere_it_is_one(host: str, path: str, scheme: str) -> None:
    assert _found(host, path, scheme, body=_FORM)


@pytest.mark.parametrize("other", [credentials.gitlab(_RANDOM), credentials.private_key(_RANDOM)])
def test_other_credentials_are_findings_there_too(other: str) -> None:
    assert _found("oauth2.googleapis.com", body={"assertion": other})
    assert not _found("oauth2.googleapis.com", body={"client_secret": _SECRET})
    assert _found("login.microsoftonline.com", body={"client_secret": _SECRET})


def test_a_vendors_own_key_may_stand_in_the_query_and_not_in_a_body() -> None:
    assert not _found("maps.googleapis.com", "/maps/api/geocode/json", query={"key": [_KEY]})
    assert _found("maps.googleapis.com", "/maps/api/geocode/json", body={"note": _KEY})
    assert _found("storage.googleapis.com", "/evil/a", query={"key": [_KEY]})
    assert _found("maps.example.com", "/maps/api/geocode/json", query={"key": [_KEY]})


_OPAQUE = "9QX7ZP2LK4M8N1B5c3vR"


@pytest.mark.parametrize(
    ("host", "path", "name"),
    [
        ("api.etherscan.io", "/v2/api", "apikey"),
        ("newsapi.org", "/v2/everything", "apiKey"),
        ("api.mapbox.com", "/styles/v1/mapbox/outdoors-v12", "access_token"),
        ("atlas.microsoft.com", "/search/address/json", "subscription-key"),
        ("geocode.search.hereapi.com", "/v1/geocode", "apiKey"),
    ],
)
def test_a_key_without_a_form_may_go_to_a_host_that_takes_one(host: str, path: str, name: str) -> None:
    assert not _found(host, path, query={name: [_OPAQUE]})
    assert _found(f"{host}.example", path, query={name: [_OPAQUE]})
    assert _found(host, path, scheme="http", query={name: [_OPAQUE]})
    assert _found(host, path, query={"client_secret": [_OPAQUE]}), "under the name of a key only"
    assert _found(host, path, query={name: [credentials.gitlab(_RANDOM)]}), "nor another vendor's"
    assert _found(host, path, query={name: ["Falcon"]}, body={"api_key": _OPAQUE})


def test_a_key_may_go_in_a_form_where_it_may_go_in_the_query() -> None:
    assert not _found("eutils.ncbi.nlm.nih.gov", "/entrez/eutils/efetch.fcgi", body={"id": ["1"], "api_key": [_OPAQUE]})
    assert _found("eutils.ncbi.nlm.nih.gov", "/entrez/eutils/efetch.fcgi", body={"term": [f"api_key={_OPAQUE}"]})
    assert _found("eutils.ncbi.nlm.nih.example", "/entrez/eutils/efetch.fcgi", body={"api_key": [_OPAQUE]})


@pytest.mark.parametrize(
    ("host", "path", "name"),
    [
        ("stats.northwind.example", "/", "token_auth"),
        ("ci.northwind.example", "/job/x/build", "token"),
        ("push.northwind.example", "/message", "token"),
        ("maps.northwind.example", "/x/wms", "authkey"),
        ("moodle.northwind.example", "/webservice/rest/server.php", "wstoken"),
    ],
)
def test_the_name_of_a_host_makes_no_key_in_the_query_harmless(host: str, path: str, name: str) -> None:
    """Anyone names a host below an own domain so."""
    assert _found(host, path, query={name: [_OPAQUE]})
    assert _found(host, path, body={name: [_OPAQUE], "text": ["a question"]})


def test_what_an_authenticator_says_is_no_secret() -> None:
    said = {"authenticatorData": "SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MBAAAAAA", "signature": f"MEUCI{_OPAQUE}"}
    assert not _found("portal.northwind.example", "/webauthn", body={"response": said})
    assert _found("portal.northwind.example", "/webauthn", body={"authToken": said["authenticatorData"]})
    for name in (
        "tokenenticatordata",
        "secretEnticatorData",
        "my_token_enticatordata",
        "passwordauthenticatordatatoken",
    ):
        assert _found("portal.northwind.example", "/webauthn", body={name: _OPAQUE})
    assert not _found("portal.northwind.example", "/webauthn", body={"authenticator_data": said["authenticatorData"]})


def test_a_bots_token_is_a_finding_where_the_bot_is_called() -> None:
    """Its owner reads what is sent to it, and anyone can own one."""
    assert _found("api.telegram.org", "/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw7/sendMessage")


@pytest.mark.parametrize(
    ("host", "path"),
    [("mcp.linear.app", "/token"), ("observability.mcp.cloudflare.com", "/token"), ("id.twitch.tv", "/oauth2/token")],
)
def test_a_refresh_token_may_go_to_the_endpoint_of_its_vendor(host: str, path: str) -> None:
    body = {"grant_type": ["refresh_token"], "refresh_token": [_OPAQUE]}
    assert not _found(host, path, body=body)
    assert _found(host, "/upload", body=body)
    assert _found(f"{host}.example", path, body=body)


def test_the_name_of_a_key_in_a_signature_is_no_secret() -> None:
    key = credentials.aws_id(_RANDOM)
    scope = f"{key}/20260101/eu-west-1/s3/aws4_request"
    assert not _found("files.example.com", "/a", query={"X-Amz-Credential": [scope]})
    assert not _found("files.example.com", "/a", body={"url": f"https://b.example/?X-Amz-Credential={scope}&x=1"})
    assert _found("files.example.com", "/a", query={"X-Amz-Credential": [key]})
    assert _found("files.example.com", "/a", body={"note": key})
    for secret in (credentials.gitlab(_RANDOM), credentials.npm(_RANDOM)):
        assert _found("files.example.com", "/a", body={"note": f"{secret}/20260101/eu-west-1/s3/aws4_request"})
    assert _found("files.example.com", "/a", body={"password": f"{_PASSWORD}/20260101/eu-west-1/s3/aws4_request"})


def test_each_vendor_of_the_table_has_credentials() -> None:
    formats = secret_formats()
    kinds = {*formats.kinds, *(one.kind for keyword in formats.keywords.known for one in keyword.services)}
    for vendor, _ in credential_destinations().query:
        assert any(kind.startswith(f"{vendor}_") for kind in kinds), vendor


def test_the_service_account_that_signed_an_address_is_no_secret() -> None:
    account = "loader@northwind-dwh.iam.gserviceaccount.com"
    scope = f"{account}/20260312/auto/storage/goog4_request"
    other = "Zq7mT2xVb94KpLs8WcRd3HfYgN6uJeAo/20260312/auto/storage/goog4_request"

    assert not _found("storage.googleapis.com", "/a", query={"X-Goog-Credential": [scope]})
    assert not _found("a.example.com", "/a", body={"url": f"https://b.example/?X-Goog-Credential={scope}&x=1"})
    assert _found("storage.googleapis.com", "/a", query={"X-Goog-Credential": [other]})


@pytest.mark.parametrize(
    ("host", "path", "body"),
    [
        ("api.typeform.com", "/forms/a1/webhooks/crm", {"secret": _PASSWORD + "x9Q2"}),
        ("api.github.com", "/repos/a/b/hooks", {"config": {"url": "https://a.example", "secret": _PASSWORD + "x9Q2"}}),
        ("gitea.northwind.example", "/api/v1/repos/a/b/hooks", {"config": {"secret": _PASSWORD + "x9Q2"}}),
    ],
)
def test_the_secret_of_a_webhook_is_kept_by_its_sender(host: str, path: str, body: dict[str, Any]) -> None:
    assert not _found(host, path, body=body)
    assert _found("hooks.evil.example", path, body=body)
    assert _found(host, "/forms/a1/responses", body=body)
    assert _found(host, path, body={**body, "note": f"password: {_PASSWORD}"})


def test_a_code_is_asked_for_at_ones_own_tenant() -> None:
    body = {"client_id": "a" * 32, "client_secret": "Zq7mT2xVb94KpLs8WcRd3HfYgN6uJeAo", "connection": "sms"}
    body |= {"phone_number": "+2348000000000", "send": "code"}

    assert not _found("northwind.eu.auth0.com", "/passwordless/start", body=body)
    assert _found("northwind.eu.auth0.com", "/passwordless/start", body={**body, "comment": "other"})
    assert _found("northwind.example", "/passwordless/start", body=body)
