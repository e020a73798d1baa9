"""Commands take names and parts of ids: of each kind of thing, the only one that fits, and never one of several."""

import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from headgate.cli.main import headgate
from headgate.kernel.errors import NotFoundError, ValidationError
from tests.http_server import any_server

ONE, TWO = "01a2b3c4-0000-7000-8000-00000000aaaa", "01a2b3c4-0000-7000-8000-00000000bbbb"


class Asked(NamedTuple):
    method: str
    path: str


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Asked]]:
    """An API with two of everything; what it was asked besides lists."""
    found: list[Asked] = []
    prefixes = {
        "/admin/webhooks": "whk", "/admin/grants": "grt", "/admin/break-glass": "brk", "/admin/audit/reports": "rep",
        "/admin/keys": "key", "/v1/connections": "con", "/admin/retention/holds": "hld", "/admin/users": "usr",
        "/admin/traffic": "exc", "/v1/actions": "act", "/admin/audit": "evt", "/admin/notifications": "dlv",
        f"/admin/webhooks/whk_{ONE}/deliveries": "dlv", "/admin/organizations": "org",
        f"/admin/organizations/org_{ONE}/members": "usr",
    }  # fmt: skip

    def answer(method: str, target: str, body: bytes) -> tuple[int, str, bytes]:
        path = target.partition("?")[0]
        query = target.partition("?")[2]
        asks = [one for one in query.split("&") if one.startswith(("action_id=", "ids="))]
        if method == "GET" and not asks and (prefix := prefixes.get(path)) is not None:
            same = {"operation": "pay", "reason": "x", "type": "access", "host": "h", "event": "e", "event_type": "e"}
            data = [
                {"id": f"{prefix}_{ONE}", "name": "first", "url": "https://a.example", "email": "ann@example.com"},
                {"id": f"{prefix}_{TWO}", "name": "twin", "url": "https://b.example", "email": "bob@example.com"},
                {"id": f"{prefix}_{ONE[:-4]}cccc", "name": "twin", "url": "https://c.example", "email": None},
            ]
            document: object = {"data": [{**same, **one} for one in data], "pagination": {"next_cursor": None}}
            return 200, "application/json", json.dumps(document).encode()
        found.append(Asked(method, "?".join([path, *asks])))
        refusal = {"error": {"code": "NOT_FOUND", "message": "the API was asked"}}
        return 404, "application/json", json.dumps(refusal).encode()

    with any_server(answer) as url:
        monkeypatch.setenv("HEADGATE_API_URL", url)
        monkeypatch.setenv("HEADGATE_TOKEN", "t")
        monkeypatch.delenv("HEADGATE_RUNTIME_FILE", raising=False)
        yield found


def _call(*words: str) -> None:
    headgate.main(list(words), prog_name="headgate", standalone_mode=False)


COMMANDS = [
    (("webhooks", "test", "{}"), "whk", "/admin/webhooks/{}/test"),
    (("webhooks", "delete", "{}", "--yes"), "whk", "/admin/webhooks/{}"),
    (("webhooks", "disable", "{}"), "whk", "/admin/webhooks/{}"),
    (("webhooks", "rotate-secret", "{}"), "whk", "/admin/webhooks/{}/rotate-secret"),
    (("grants", "show", "{}"), "grt", "/admin/grants/{}"),
    (("grants", "revoke", "{}", "--reason", "x"), "grt", "/admin/grants/{}"),
    (("break-glass", "end", "{}"), "brk", "/admin/break-glass/{}/end"),
    (("break-glass", "review", "{}", "--outcome", "justified"), "brk", "/admin/break-glass/{}/review"),
    (("reports", "show", "{}"), "rep", "/admin/audit/reports/{}"),
    (("reports", "download", "{}"), "rep", "/admin/audit/reports/{}"),
    (("reports", "delete", "{}", "--yes"), "rep", "/admin/audit/reports/{}"),
    (("keys", "revoke", "{}"), "key", "/admin/keys/{}"),
    (("keys", "take-over", "{}"), "key", "/admin/keys/{}/take-over"),
    (("connections", "test", "{}"), "con", "/v1/connections/{}/test"),
    (("connections", "delete", "{}", "--yes"), "con", "/v1/connections/{}"),
    (("retention", "lift", "{}", "--reason", "x"), "hld", "/admin/retention/holds/{}/lift"),
    (("users", "deactivate", "{}"), "usr", "/admin/users/{}/deactivate"),
    (("users", "sessions", "{}"), "usr", "/admin/users/{}/sessions"),
    (("users", "sign-out", "{}"), "usr", "/admin/users/{}/sessions"),
    (("users", "unlock", "{}"), "usr", "/admin/users/{}/unlock"),
    (("users", "reset-factors", "{}"), "usr", "/admin/users/{}/factors"),
    (("traffic", "show", "{}"), "exc", "/admin/traffic/{}"),
    (("traffic", "note", "{}", "odd"), "exc", "/admin/traffic/{}/annotation"),
    (("audit", "pack", "{}"), "act", "/admin/audit/actions/{}/proof-pack"),
    (("audit", "show", "{}"), "evt", "/admin/audit/{}"),
    (("notifications", "redeliver", "{}"), "dlv", "/admin/notifications/{}/redeliver"),
    (("webhooks", "redeliver", ONE, "{}"), "dlv", f"/admin/webhooks/whk_{ONE}/deliveries/{{}}/redeliver"),
    (("audit", "list", "--action", "{}"), "act", "/admin/audit?action_id={}"),
    (("audit", "export-events", "--action", "{}"), "act", "/admin/audit/export?action_id={}"),
    (("traffic", "list", "--action", "{}"), "act", "/admin/traffic?action_id={}"),
    (("traffic", "tail", "--action", "{}"), "act", "/admin/traffic?action_id={}"),
    (("traffic", "export", "--id", "{}"), "exc", "/admin/traffic/export?ids={}"),
    (("org", "members", "{}"), "org", "/admin/organizations/{}/members"),
    (("org", "invitations", "{}"), "org", "/admin/organizations/{}/invitations"),
    (("org", "invite", "{}", "ann@example.com", "--role", "admin"), "org", "/admin/organizations/{}/invitations"),
    (("org", "private-destinations", "{}"), "org", "/admin/organizations/{}/private-destinations"),
    (("org", "roles", f"org_{ONE}", "{}"), "usr", f"/admin/organizations/org_{ONE}/members/{{}}/roles"),
]
_TABLE = pytest.mark.parametrize(("words", "prefix", "path"), COMMANDS, ids=lambda one: "-".join(one[:2])[:40])


@_TABLE
@pytest.mark.parametrize("typed", ["{prefix}_01a2b3c4-…bbbb", "bbbb", "{prefix}_" + TWO])
def test_a_part_of_an_id(asked: list[Asked], words: tuple[str, ...], prefix: str, path: str, typed: str) -> None:
    typed = typed.format(prefix=prefix)
    words = tuple(f"whk_{ONE}" if one == ONE else one for one in words)
    with pytest.raises(NotFoundError, match="the API was asked"):
        _call(*(one.format(typed) for one in words))
    assert [one.path for one in asked] == [path.format(f"{prefix}_{TWO}")]


@_TABLE
def test_a_part_of_several_ids(asked: list[Asked], words: tuple[str, ...], prefix: str, path: str) -> None:
    words = tuple(f"whk_{ONE}" if one == ONE else one for one in words)
    with pytest.raises(ValidationError, match=f"matches 3 .*\n  {prefix}_{ONE}"):
        _call(*(one.format(f"{prefix}_01a2") for one in words))
    assert asked == []


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("webhooks", "delete", "https://b.example", "--yes"), f"/admin/webhooks/whk_{TWO}"),
        (("connections", "delete", "first", "--yes"), f"/v1/connections/con_{ONE}"),
        (("keys", "revoke", "first"), f"/admin/keys/key_{ONE}"),
        (("users", "deactivate", "bob@example.com"), f"/admin/users/usr_{TWO}/deactivate"),
        (("org", "invitations", "first"), f"/admin/organizations/org_{ONE}/invitations"),
        (("org", "roles", "first", "bob@example.com"), f"/admin/organizations/org_{ONE}/members/usr_{TWO}/roles"),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else "",
)
def test_a_name(asked: list[Asked], words: tuple[str, ...], path: str) -> None:
    with pytest.raises(NotFoundError, match="the API was asked"):
        _call(*words)
    assert [one.path for one in asked] == [path]


@pytest.mark.parametrize("group", ["keys revoke", "connections delete", "users deactivate"])
def test_a_name_of_several(asked: list[Asked], group: str) -> None:
    with pytest.raises(ValidationError, match="twin matches 2"):
        _call(*group.split(), "twin")
    with pytest.raises(NotFoundError, match=r"no .* nothing"):
        _call(*group.split(), "nothing")
    assert asked == []
