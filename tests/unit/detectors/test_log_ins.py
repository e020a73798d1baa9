"""A password or token in the body of a log-in is no finding at the service that the call addresses, and is one at any
other place. The same for values that a store of secrets keeps.
"""

import json
from base64 import b64encode
from typing import Any

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.log_ins import log_ins
from headgate.kernel.canonical_json import JsonObject

_PASSWORD = "Falcon.river8812"
_TOKEN = "9QX7ZP2LK4M8N1B5c3vR7tWq"


def _found(host: str, path: str, body: Any, method: str = "POST", scheme: str = "https", **parts: Any) -> bool:
    http: JsonObject = {"method": method, "scheme": scheme, "host": host, "path": path, "query": parts}
    return bool(assess(EmbeddedModel.SECRETS, {"tool": "http", "http": http, "body": body}).issues)


_JWT = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJ3ZWIiLCJleHAiOjE3OTMwMDAwMDB9.4fQ9xZr7Lm2Wv8Kc1Tn6Yb3Hs5Jd0Pq"
_USER = {"username": "ops@northwind.example", "password": _PASSWORD}
_REFRESH = {"grant_type": ["refresh_token"], "refresh_token": [_TOKEN], "client_id": ["cli"]}
_LOG_INS = [
    ("northwind.okta.com", "/api/v1/authn", {**_USER, "options": {"multiOptionalFactorEnroll": True}}),
    ("northwind.okta.com", "/oauth2/aus1x2y3/v1/token", _REFRESH),
    ("grafana.northwind.example", "/login", {"user": "ops", "password": _PASSWORD}),
    ("argocd-eu1.northwind.example", "/api/v1/session", _USER),
    ("sso.northwind.example", "/realms/main/protocol/openid-connect/token", _REFRESH),
    ("ha.lindner.example", "/auth/token", _REFRESH),
    ("metabase.northwind.example", "/api/session", _USER),
    ("shop.northwind.example", "/rest/V1/integration/admin/token", _USER),
    ("gitlab.northwind.example", "/oauth/token", {"client_id": "a1b2", "client_secret": _TOKEN, "grant_type": "x"}),
    ("sso.northwind.example", "/as/token.oauth2", {**_REFRESH, "client_secret": [_TOKEN[::-1]]}),
    ("idp.northwind.example", "/connect/token", {"client_assertion": [_JWT], "client_assertion_type": ["urn:x"]}),
    ("idp.northwind.example", "/oauth2/token", {**_USER, "client_id": "cli", "client_secret": _TOKEN, "totp": 123456}),
    ("sso.northwind.example", "/oauth/token", {**_USER, "client_secret": "changeme"}),
    ("northwind.my.salesforce.com", "/services/oauth2/token", {**_REFRESH, "client_secret": [_TOKEN[::-1]]}),
    ("northwind.okta.com", "/oauth2/v1/token", {**_REFRESH, "refresh_token": "short", "client_secret": _TOKEN}),
    ("vault.northwind.example", "/v1/auth/kubernetes/login", {"role": "web", "jwt": _JWT}),
    ("jenkins.northwind.example", "/j_spring_security_check", {"j_username": ["ops"], "j_password": [_PASSWORD]}),
    (
        "erp.northwind.example",
        "/web/session/authenticate",
        {"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"db": "a", "login": "ops", "password": _PASSWORD}},
    ),
]


@pytest.mark.parametrize(("host", "path", "body"), _LOG_INS, ids=[one[0] for one in _LOG_INS])
def test_a_log_in_at_ones_own_service_is_no_leak(host: str, path: str, body: Any) -> None:
    assert not _found(host, path, body)
    assert _found(host, f"{path}/import", body)
    assert _found(host, path, body, scheme="http")
    assert _found(host, path, body, method="PUT")
    assert _found(host, path, body, next=["/"])
    assert _found("collector.example", path, body)
    assert _found(f"{host}.com.collector.example", path, body)
    assert _found(f"{host.partition('.')[0]}.ngrok-free.app", path, body)


_STATE = "02.id.9QX7ZP2LK4M8N1B5c3vR7tWq~c.8N1B5c3vR7tWq"
_SNOWFLAKE = {
    "CLIENT_APP_ID": "Go",
    "ACCOUNT_NAME": "xy1",
    "LOGIN_NAME": "SVC",
    "SESSION_PARAMETERS": {"TIMEZONE": "UTC"},
}
_STEPS: list[tuple[str, str, Any, dict[str, Any]]] = [
    (
        "northwind.okta.com",
        "/api/v1/authn/factors/opf1/verify",
        {"stateToken": f"00{_TOKEN}", "passCode": "123456"},
        {},
    ),
    (
        "northwind.okta.com",
        "/idp/idx/challenge/answer",
        {"credentials": {"passcode": _PASSWORD}, "stateHandle": _STATE},
        {},
    ),
    (
        "auth.northwind.example",
        "/realms/main/protocol/openid-connect/token",
        {"subject_token": [_JWT], "subject_token_type": ["urn:x"], "audience": ["claims"], "grant_type": ["urn:y"]},
        {},
    ),
    ("bmc-r3.northwind.example", "/redfish/v1/SessionService/Sessions", {"UserName": "ops", "Password": _PASSWORD}, {}),
    ("couch.northwind.example", "/_session", {"name": "ops", "password": _PASSWORD}, {}),
    ("lms.northwind.example", "/login/token.php", {**_USER, "service": "moodle_mobile_app"}, {}),
    (
        "matrix.northwind.example",
        "/_matrix/client/v3/login",
        {"type": "m.login.password", "identifier": {"type": "m.id.user", "user": "ops"}, "password": _PASSWORD},
        {},
    ),
    (
        "xy1.eu-west-1.aws.snowflakecomputing.com",
        "/session/v1/login-request",
        {"data": {**_SNOWFLAKE, "PASSWORD": _PASSWORD}},
        {"request_id": ["1"]},
    ),
    (
        "xy1.snowflakecomputing.com",
        "/session/v1/login-request",
        {"data": {**_SNOWFLAKE, "TOKEN": _JWT}},
        {"warehouse": ["w"]},
    ),
    (
        "abcdefgh.supabase.co",
        "/auth/v1/token",
        {"email": "a@b.example", "password": _PASSWORD},
        {"grant_type": ["password"]},
    ),
    (
        "identitytoolkit.googleapis.com",
        "/v1/accounts:signInWithPassword",
        {"email": "a@b.example", "password": _PASSWORD, "returnSecureToken": True},
        {"key": ["AIzaSyB3vJkq7Lm2Wv8Kc1Tn6Yb3Hs5Jd0Pq9Lm"]},
    ),
    (
        "keystone.northwind.example",
        "/v3/auth/tokens",
        {
            "auth": {
                "identity": {
                    "methods": ["password"],
                    "password": {"user": {"name": "ops", "domain": {"id": "default"}, "password": _PASSWORD}},
                }
            }
        },
        {},
    ),
    (
        "mese.webuntis.com",
        "/WebUntis/jsonrpc.do",
        {"id": 1, "method": "authenticate", "params": {**_USER, "client": "x"}},
        {"school": ["n"]},
    ),
    ("vault.northwind.example", "/v1/auth/userpass/login/ops", {"password": _PASSWORD}, {}),
    ("id.northwind.example", "/oauth2/token", {"refresh_token": [_TOKEN], "client_secret": [_TOKEN[::-1]]}, {}),
    ("sso.northwind.example", "/as/par.oauth2", {"client_id": ["web"], "request": [_JWT]}, {}),
    ("northwind.auth0.com", "/oauth/token", {"mfa_token": _JWT, "otp": "123456", "client_secret": _TOKEN}, {}),
    ("nw.auth.eu-west-1.amazoncognito.com", "/oauth2/token", {"client_id": ["web"], "client_secret": [_TOKEN]}, {}),
    (
        "gitlab.northwind.example",
        "/users/sign_in",
        {"authenticity_token": ["f3a1"], "user[login]": ["ops"], "user[password]": [_PASSWORD]},
        {},
    ),
    ("northwind.zendesk.com", "/oauth/tokens", {"code": _TOKEN, "client_id": "web", "client_secret": _TOKEN[::-1]}, {}),
]


@pytest.mark.parametrize(("host", "path", "body", "query"), _STEPS, ids=[f"{one[0]}{one[1]}" for one in _STEPS])
def test_each_step_of_a_sign_in_is_no_leak_where_it_belongs(
    host: str, path: str, body: Any, query: dict[str, Any]
) -> None:
    assert not _found(host, path, body, **query)
    assert _found(host, f"{path}/import", body, **query)
    assert _found("collector.example", path, body, **query)
    assert _found(f"{host}.com.collector.example", path, body, **query)
    assert _found(host, path, body, **query, note=["of the bank"])
    assert _found(host, path, {**body, "note": "of the bank"}, **query)
    assert _found(host, path, {**body, "more": {"note": "of the bank"}}, **query)


@pytest.mark.parametrize(
    ("host", "path", "user"),
    [
        ("portal.northwind.example", "/login", {"email": "ops@northwind.example"}),
        ("dir.northwind.example", "/bind", {"dn": "cn=ops,dc=northwind,dc=example"}),
        ("8.8.8.8", "/login", {"email": "ops@8.8.8.8"}),
        ("login.northwind.co.uk", "/session", {"user": "ops@co.uk"}),
    ],
)
def test_a_user_of_the_hosts_own_domain_makes_it_no_ones_service(host: str, path: str, user: Any) -> None:
    """Who makes an agent sign in chooses the user, too."""
    assert _found(host, path, {**user, "password": _PASSWORD})


@pytest.mark.parametrize(
    "host",
    ["134744072", "0x08080808", "8.8", "010.8.8.8", "[2001:0:808:808::1]", "[2002:808:808::1]", "[64:ff9b::808:808]"],
)
def test_an_address_in_another_form_is_not_of_the_own_network(host: str) -> None:
    """What ``inet_aton`` reads, and IPv4 in Teredo, 6to4 and NAT64."""
    assert _found(host, "/login", {"user": "ops", "password": _PASSWORD})


@pytest.mark.parametrize("name", ["state", "nonce", "csrf_token", "authenticity_token"])
def test_no_second_credential_goes_as_the_state(name: str) -> None:
    log_in = {"user": "ops", "password": _PASSWORD}
    for text in (_JWT, "the plan of the bank " * 30):
        assert _found("grafana.northwind.example", "/login", {**log_in, name: text}), text
    assert not _found("grafana.northwind.example", "/login", {**log_in, name: "f3a1"})


def test_a_web_token_is_no_password() -> None:
    assert _found("grafana.northwind.example", "/login", {"user": "ops", "password": _JWT})


def test_a_state_alone_says_nobody() -> None:
    assert _found("auth.northwind.example", "/self-service/login", {"state": "s", "password": _PASSWORD})


@pytest.mark.parametrize("path", ["/oauth/introspect", "/oauth2/revoke", "/realms/main/protocol/openid-connect/revoke"])
def test_a_token_is_revoked_and_asked_about_only_where_it_was_issued(path: str) -> None:
    """Any token may be sent so to any host."""
    for text in (_TOKEN, _JWT):
        assert _found("auth.northwind.example", path, {"token": text})
        assert _found("northwind.auth0.com", path, {"token": text, "client_id": "web", "client_secret": _TOKEN[::-1]})


@pytest.mark.parametrize(
    "domain",
    ["pythonanywhere.com", "requestcatcher.com", "appspot.com", "r2.dev", "azurecontainerapps.io", "hf.space",
     "app.github.dev", "ts.net", "hooks.n8n.cloud", "eu.org", "zrok.io", "ply.gg"],
)  # fmt: skip
def test_a_free_host_is_nobodys_own_service(domain: str) -> None:
    assert _found(f"grafana.a1.{domain}", "/login", {"user": "ops", "password": _PASSWORD})
    assert _found(f"grafana.{domain}", "/login", {"user": "ops", "password": _PASSWORD})


@pytest.mark.parametrize(
    ("host", "path"),
    [("admin.northwind.example", "/admin/login"), ("panel.northwind.example", "/admin/login"),
     ("learn.northwind.example", "/login/token.php"), ("mon.northwind.example", "/main/check_mk/login.py"),
     ("cloud.northwind.example", "/v3/auth/tokens"), ("maps.northwind.example", "/tokens/generateToken")],
)  # fmt: skip
def test_a_word_of_many_hosts_names_no_product(host: str, path: str) -> None:
    assert _found(host, path, {"username": "ops", "password": _PASSWORD})


@pytest.mark.parametrize("host", ["10.0.0.7", "[fd00::7]", "grafana", "grafana.ops.internal", "x1.svc"])
def test_in_the_own_network_no_name_is_asked_for(host: str) -> None:
    body = {"user": "ops", "password": _PASSWORD}
    assert not _found(host, "/login", body)
    assert _found("8.8.8.8", "/login", body)
    assert _found(host, "/notes", body)


@pytest.mark.parametrize(
    "host", ["login.bank.pl.check-account.example", "sso.bank.de.out.example", "sso.vendor.com.out.example"]
)
def test_a_host_that_begins_with_another_ones_name_is_no_service_of_ones_own(host: str) -> None:
    assert _found(host, "/oauth/token", {**_USER, "client_id": "web"})
    assert not _found("sso.de.vendor.example", "/oauth/token", {**_USER, "client_id": "web"})


@pytest.mark.parametrize(
    "body",
    [
        {"user": "ops", "password": _PASSWORD, "note": "of the bank"},
        {"user": "ops and all the others " * 20, "password": _PASSWORD},
        {"user": "ops", "password": _PASSWORD, "email": "Falcon", "login": {"text": "Falcon"}},
        {"user": "ops", "password": _PASSWORD, "refresh_token": _TOKEN},
        {"user": "ops", "bank_password": _PASSWORD},
        {"password": _PASSWORD},
        {"user": "ops", "password": [_PASSWORD, "Silver.lake4410"]},
        [{"user": "ops", "password": _PASSWORD}],
        {"user": "ops", "password": "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"},
        {"user": "ops", "password": _PASSWORD, "Password": "Silver.lake4410"},
        {"refresh_token": _TOKEN, "client_secret": _TOKEN[::-1], "client_assertion": _JWT},
        {"jsonrpc": "2.0", "params": {"user": "ops", "password": _PASSWORD}, "note": "of the bank"},
        {"jsonrpc": "2.0", "id": "of the bank " * 40, "params": {"user": "ops", "password": _PASSWORD}},
        {"jsonrpc": "2.0", "id": {"of": "the bank"}, "params": {"user": "ops", "password": _PASSWORD}},
        {"user": "ops", "password": " ".join([_PASSWORD] * 20)},
        {"user": "ops", "password": f"{_PASSWORD}\nDB_HOST=db4"},
        {"user": "ops", "password": _PASSWORD, "client_secret": f"{_TOKEN}\n{_TOKEN[::-1]}"},
        {"user": "ops", "password": _PASSWORD, "params": {"user": "ops", "password": "Silver.lake4410"}},
    ],
)
def test_more_than_a_log_in_is_a_leak(body: Any) -> None:
    assert _found("grafana.northwind.example", "/login", body)


@pytest.mark.parametrize("between", ["\n", " ", ",", ";", "&"])
def test_a_list_of_tokens_is_no_token(between: str) -> None:
    host, path = "sso.northwind.example", "/oauth/token"
    tokens = between.join((_TOKEN, _TOKEN[::-1]))
    assert not _found(host, path, _REFRESH)
    assert _found(host, path, {**_REFRESH, "refresh_token": tokens})
    assert _found(host, path, {**_REFRESH, "client_secret": tokens})


def test_each_product_has_places() -> None:
    for one in log_ins().products:
        assert one.paths and (one.hosts or one.named)
        assert not any(name != name.lower() for name in one.query)


_KEPT = [
    ("vault.northwind.example", "/v1/kv/data/web/shop", {"data": {"SMTP_PASSWORD": _PASSWORD}, "options": {"cas": 1}}),
    ("northwind.vault.azure.net", "/secrets/smtp", {"value": f"password={_PASSWORD}"}),
    ("secretsmanager.eu-west-1.amazonaws.com", "/", {"Name": "a", "SecretString": f'{{"password":"{_PASSWORD}"}}'}),
]


@pytest.mark.parametrize(("host", "path", "body"), _KEPT, ids=[one[0] for one in _KEPT])
def test_a_store_keeps_secrets(host: str, path: str, body: Any) -> None:
    assert not _found(host, path, body)
    assert _found("collector.example", path, body)
    assert _found(host, path, body, scheme="http")
    assert _found(host, path, {**body, "Description": f"password: {_PASSWORD}x"})


def test_a_store_is_no_place_for_everything() -> None:
    many = {f"service_{number}_password": f"Falcon.river88{number}" for number in range(8)}
    assert _found("vault.northwind.example", "/v1/kv/data/all", {"data": many})
    pem = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7" * 4
    assert _found("vault.northwind.example", "/v1/kv/data/all", {"data": {"key": f"{pem}\n-----END PRIVATE KEY-----"}})


_VALUES = {"web": f"password={_PASSWORD}", "API_TOKEN": _TOKEN, "db": "pwd: Silver.lake4410"}
_SILVER = [f"Silver.lake44{number}" for number in range(40)]


@pytest.mark.parametrize(
    "host",
    ["vault-x1.vercel.app", "vault.a1.ngrok.io", "vault-x1.workers.dev", "my-vault.webhook.site", "vault.oast.fun",
     "openbao.trycloudflare.com", "vault.bank.com.collector.example", "vault.8.8.8.8", "vault.example"],
)  # fmt: skip
def test_a_host_that_anyone_can_have_is_no_store(host: str) -> None:
    assert _found(host, "/v1/secret/data/shop", {"data": _VALUES})


@pytest.mark.parametrize(
    "host",
    ["vault.northwind.example", "web-vault.northwind.example", "openbao2.northwind.example", "vault.ops.internal"],
)
def test_ones_own_store_keeps_up_to_three_values(host: str) -> None:
    assert not _found(host, "/v1/secret/data/shop", {"data": _VALUES})
    assert _found(host, "/v1/secret/data/shop", {"data": {**_VALUES, "more": "password=Amber.field2207"}})


@pytest.mark.parametrize("between", [",", "|", ";", " ", "\n", "\t", ", "])
def test_a_list_of_values_is_not_one_value(between: str) -> None:
    host, path, many = "vault.northwind.example", "/v1/secret/data/shop", between.join(_SILVER)
    assert _found(host, path, {"data": {"web": f"password={many}"}})
    assert _found(host, path, {"data": {"password": many}})
    assert _found(host, path, {"data": {"web": b64encode(f"password={many}".encode()).decode()}})
    assert _found(host, path, {"data": {"web": json.dumps({"password": many})}})


def test_nothing_stands_beside_a_value() -> None:
    host, path = "vault.northwind.example", "/v1/secret/data/shop"
    assert _found(host, path, {"data": {"web": f"password={''.join(_SILVER)}"}})
    assert _found(host, path, {"data": {f"password={_PASSWORD}": "x"}})
    assert _found(host, path, {"data": {"web": json.dumps([{"password": _PASSWORD}])}})
    assert _found(host, path, {"data": {"web": json.dumps({"password": _PASSWORD, "note": "of the bank"})}})
    assert _found(host, path, {"data": {"web": f"USER=ops\npassword={_PASSWORD}"}})


def test_a_value_may_be_encoded_once() -> None:
    host, path = "secretmanager.googleapis.com", "/v1/projects/web/secrets/db:addVersion"
    text = b64encode(f"password={_PASSWORD}".encode())
    assert not _found(host, path, {"payload": {"data": text.decode()}})
    assert _found(host, path, {"payload": {"data": b64encode(text).decode()}})


def test_a_user_pool_takes_its_users_password_and_no_more() -> None:
    host, body = "cognito-idp.eu-west-1.amazonaws.com", {"USERNAME": "ops", "PASSWORD": _PASSWORD}
    assert not _found(host, "/", {"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": "a1", "AuthParameters": body})
    assert _found(host, "/", {"AuthFlow": "USER_PASSWORD_AUTH", "AuthParameters": {**body, "NOTE": "of the bank"}})
    assert _found("x.execute-api.eu-west-1.amazonaws.com", "/", {"AuthParameters": body})
