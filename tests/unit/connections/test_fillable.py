"""A placeholder stands once, literally, in its connection's place, whichever tool reads the call."""

from datetime import UTC, datetime

import pytest

from headgate.connections.errors import NoConnectionError
from headgate.connections.inject import check_fillable
from headgate.connections.model import Connection, ConnectionKind, ConnectionStatus, Host, Location, Place
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

_MADE = datetime(2026, 11, 21, tzinfo=UTC)
_CALLS = [
    ("api.github.com", "/repos/a/b/issues", b'{"title":"%s","body":"x"}', "github"),
    ("slack.com", "/api/chat.postMessage", b'{"channel":"C0123456789","text":"%s"}', "slack"),
    ("api.example.com", "/things", b'{"headers":{"x-acme-key":"%s"}}', "http"),
]
_PLACEHOLDER = b"hg_placeholder_svc"
_SPELLINGS = [b"\\u0068g_placeholder_svc", _PLACEHOLDER]


def _connection(host: str) -> Connection:
    return Connection(
        org_id="org_1", connection_id="con_1", name="svc", platform="generic", kind=ConnectionKind.API_KEY,
        status=ConnectionStatus.ACTIVE, status_reason=None, hosts=(Host(host, 443),),
        place=Place(Location.HEADER, "x-acme-key"), agents=frozenset(), tools=frozenset(), needs_placeholder=True,
        account=None, scopes=(), settings={}, revision=1, secret_version=1, expires_at=None, refresh_at=None,
        check_at=None, checked_at=None, failures=0, owner_id=None, account_since=_MADE, created_at=_MADE,
        updated_at=_MADE,
    )  # fmt: skip


def _call(host: str, path: str, body: bytes) -> HttpCall:
    headers = (
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-acme-key", _PLACEHOLDER),
    )
    return HttpCall("POST", "https", host, 443, path, "", headers, body)


@pytest.mark.parametrize(("host", "path", "body", "tool"), _CALLS)
def test_alone_in_its_header_it_is_filled(host: str, path: str, body: bytes, tool: str) -> None:
    draft = interpret(_call(host, path, body % b"hello"), load_catalogues())
    assert draft.tool == tool
    check_fillable(_connection(host), draft)


@pytest.mark.parametrize("spelling", _SPELLINGS)
@pytest.mark.parametrize(("host", "path", "body", "tool"), _CALLS)
def test_a_second_one_in_the_body_is_refused(host: str, path: str, body: bytes, tool: str, spelling: bytes) -> None:
    draft = interpret(_call(host, path, body % spelling), load_catalogues())
    with pytest.raises(NoConnectionError, match="must appear once"):
        check_fillable(_connection(host), draft)
