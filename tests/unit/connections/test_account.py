"""Whose account a credential opens, as each platform says it (the pages are named in config/platforms.yaml)."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from headgate.connections.account import account_request, account_since, read_account
from headgate.connections.model import AUTHORIZATION, Connection, ConnectionKind, ConnectionStatus, Host
from headgate.connections.platforms import find_platform
from headgate.kernel.secrets import Secret
from headgate.outgoing.model import OutgoingResponse

_MADE = datetime(2026, 11, 21, tzinfo=UTC)
_LATER = _MADE + timedelta(days=1)


def _connection(platform: str) -> Connection:
    found = find_platform(platform)
    return Connection(
        org_id="org_1", connection_id="con_1", name="svc", platform=platform, kind=ConnectionKind.OAUTH2,
        status=ConnectionStatus.ACTIVE, status_reason=None, hosts=found.hosts or (Host("social.example", 443),),
        place=AUTHORIZATION, agents=frozenset(), tools=frozenset(), needs_placeholder=False, account="ada 7", scopes=(),
        settings={} if found.check_path is None else {"check_path": found.check_path}, revision=1, secret_version=1,
        expires_at=None, refresh_at=None, check_at=None, checked_at=None, failures=0, owner_id=None,
        account_since=_MADE, created_at=_MADE, updated_at=_MADE,
    )  # fmt: skip


def _said(document: object, status: int = 200) -> OutgoingResponse:
    return OutgoingResponse(status, (), json.dumps(document).encode(), is_truncated=False, latency_ms=1.0)


@pytest.mark.parametrize(
    ("platform", "document", "account"),
    [
        ("github", {"login": "ada", "id": 7}, "ada 7"),
        ("gitlab", {"username": "ada", "id": 7}, "ada 7"),
        ("google", {"sub": "1234"}, "1234"),
        ("google", {"email": "ada@example.com", "sub": "1234"}, "ada@example.com 1234"),
        ("slack", {"ok": True, "team": "T", "user": "ada", "team_id": "T1", "user_id": "U1"}, "T ada T1 U1"),
        ("notion", {"name": None, "id": "b-1"}, "b-1"),
        ("mastodon", {"acct": "ada", "id": "9"}, "ada 9"),
        ("github", {"login": "ada"}, None),
        ("github", {"login": "ada", "id": True}, None),
        ("github", [], None),
        ("slack", {"ok": False, "error": "invalid_auth"}, None),
    ],
)
def test_it_is_what_the_platform_says_for_ever(platform: str, document: object, account: str | None) -> None:
    assert read_account(find_platform(platform), _said(document)) == account
    assert read_account(find_platform(platform), _said(document, 401)) is None


def test_it_is_asked_with_what_the_platform_wants_besides() -> None:
    request = account_request(_connection("notion"), find_platform("notion"), Secret("a-new-token"))
    assert request is not None and request.url == "https://api.notion.com:443/v1/users/me"
    assert ("Notion-Version", "2022-06-28") in request.headers
    assert ("authorization", "Bearer a-new-token") in request.headers


@pytest.mark.parametrize("platform", ["linear", "atlassian", "generic"])
def test_some_have_no_address_that_says_it(platform: str) -> None:
    assert account_request(_connection(platform), find_platform(platform), Secret("a-new-token")) is None


def test_what_is_not_known_to_be_the_same_is_another() -> None:
    connection = _connection("github")
    assert account_since(connection, "ada 7", _LATER) == _MADE
    assert account_since(connection, "eve 8", _LATER) == _LATER
    assert account_since(connection, None, _LATER) == _LATER
    assert account_since(replace(connection, account=None), None, _LATER) == _LATER
    assert connection.covered == "con_1" and replace(connection, account_since=_LATER).covered != "con_1"
