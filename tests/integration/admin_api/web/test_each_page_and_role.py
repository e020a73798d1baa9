"""Each page and form of the table of routes: for each role, and with what belongs to another organization.

The walk is over admin_api.access.ACCESS, so that a page cannot be forgotten; the forms are those that the pages show.
"""

import asyncio
import re
from typing import Any, Final

import pytest

from admin_api.access import ACCESS, Audience
from headgate.agents.scopes import ROLE_SCOPES, Scope, require_scope
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.model import Role
from tests.integration.admin_api.test_other_organizations import _REGO, _belongings
from tests.integration.admin_api.web.page_forms import forms_of

PAGES: Final = sorted(
    (method, path, one.scope) for (method, path), one in ACCESS.items() if one.audience == Audience.PAGES
)
# By the beginning of a page's path, the longest first: what its parameter names.
NAMES: Final = {
    "/inbox": "approval",
    "/grants": "grant",
    "/break-glass": "glass",
    "/calls": "action",
    "/executions": "execution",
    "/policies": "policy",
    "/policies/content": "nlp",
    "/agents": "agent",
    "/settings/members": "user",
    "/settings/groups": "group",
    "/settings/notifications/channels": "channel",
    "/settings/notifications/rules": "rule",
    "/settings/notifications/messages": "notification",
    "/settings/integrations": "integration",
    "/settings/webhooks": "webhook",
    "/connections": "connection",
    "/traffic": "exchange",
    "/audit/holds": "hold",
    "/audit": "event",
    "/reports": "report",
    "/account/absences": "absence",
}
# Names of a product or a place in a list, which each organization has.
NOBODYS: Final = {"integration", "rule"}
ROLES: Final = [None, *Role]
_OF_THE_OPENER: Final = "/break-glass/{}/end"


@pytest.fixture(scope="module")
def api_changes() -> dict[str, Any]:
    """Where nobody could accept an invitation, none is made."""
    return {"public_url": "https://gate.example.com"}


def _kind(path: str) -> str:
    return NAMES[max((one for one in NAMES if path.startswith(f"{one}/")), key=len)]


def _filled(path: str, names: dict[str, str]) -> str:
    if path == "/traffic/compare":
        return f"{path}?a={names['exchange']}&b={names['exchange']}"
    return path.replace("{}", names[_kind(path)]) if "{}" in path else path


def _may(role: Role | None, scope: Scope | None) -> bool:
    if role is None or scope is None:
        return role is not None
    try:
        require_scope(ROLE_SCOPES[role], scope)
    except ForbiddenError:
        return False
    return True


async def _names(gate: Any, superuser: Any) -> dict[str, str]:
    made = await _belongings(gate, superuser)
    await gate.person().put(
        "/admin/settings/notifications",
        json={
            "channels": {"their-channel": {"kind": "apprise", "url": "ntfys://example.com/topic"}},
            "routes": [{"channels": ["their-channel"]}],
        },
    )
    return {**made, "channel": "their-channel", "rule": "1", "integration": "jira"}


def _everything(superuser: Any, org_id: str) -> dict[str, Any]:
    """A digest of every row of every table that belongs to the organization, its record included. When a key was used
    last is written later than it was used."""
    tables = superuser.execute(
        "SELECT c.table_name FROM information_schema.columns c JOIN information_schema.tables t"
        " USING (table_schema, table_name) WHERE c.column_name = 'org_id' AND c.table_schema = 'public'"
        " AND t.table_type = 'BASE TABLE'"
    ).fetchall()
    assert len(tables) > 40
    return {
        name: superuser.execute(
            "SELECT count(*), md5(string_agg(r, '' ORDER BY r)) FROM"  # noqa: S608 - names of tables
            f" (SELECT (to_jsonb(t) - 'last_used_at')::text r, org_id FROM {name} t) s WHERE org_id = %s",
            [org_id],
        ).fetchone()
        for (name,) in tables
    }


async def _everything_settled(superuser: Any, org_id: str) -> dict[str, Any]:
    """Once the events of what came before are attested, which takes a second."""
    found: dict[str, Any] = {}
    while found != (now := _everything(superuser, org_id)):
        found = now
        await asyncio.sleep(2.0)
    return found


async def test_what_a_role_opens(new_gate, superuser) -> None:
    gate = await new_gate(_REGO)
    names = await _names(gate, superuser)
    wrong: dict[object, object] = {}
    for role in ROLES:
        client = _as(gate, role)
        for method, path, scope in PAGES:
            if method == "GET":
                answer = await client.get(_filled(path, names))
                away = answer.headers.get("location", "")
                if role is None:
                    right = answer.status_code == 303 and away.startswith("/auth/login?return_to=%2F")
                elif _may(role, scope):
                    # Nobody comes back to the callback here: its page says that the state is missing.
                    shown = 400 if path == "/connections/callback" else 200
                    right = answer.status_code == shown or (answer.status_code == 303 and not away.startswith("/auth"))
                else:
                    right = answer.status_code == 403 and "Headgate cannot show this page" in answer.text
                if not right:
                    wrong[role, path] = (answer.status_code, away)
    assert wrong == {}


async def test_a_form_that_a_role_may_not_send_changes_nothing(new_gate, superuser) -> None:
    """Every form that an administrator is shown, with each of its buttons, and each route with none of its fields."""
    gate = await new_gate(_REGO)
    names = await _names(gate, superuser)
    forms = await _shown(gate, names)
    bare = [(path, _filled(path, names), {}) for method, path, _ in PAGES if method == "POST"]
    await _sign_in_all(gate)
    before = await _everything_settled(superuser, gate.org_id)
    wrong: dict[object, object] = {}
    for role in ROLES:
        client = _as(gate, role)
        for path, address, body in [*forms, *bare]:
            if not _may(role, ACCESS["POST", path].scope):
                answer = await client.post(address, data=body)
                away = answer.headers.get("location", "")
                right = away.startswith("/auth/login?") if role is None else answer.status_code == 403
                if not right:
                    wrong[role, address, str(body)] = (answer.status_code, away)
    assert wrong == {}
    assert _everything(superuser, gate.org_id) == before


def _as(gate: Any, role: Role | None) -> Any:
    return gate.client() if role is None else gate.person(role.value, role)


async def _sign_in_all(gate: Any) -> None:
    """A person's first request makes their user."""
    for role in Role:
        await _as(gate, role).get("/account")


async def _shown(gate: Any, names: dict[str, str]) -> list[tuple[str, str, dict[str, list[str]]]]:
    """Every form of every page, with each of its buttons: the route, the address and what is sent."""
    admin = gate.person()
    found = []
    for method, page, _ in PAGES:
        if method == "GET":
            address = _filled(page, names)
            html = (await admin.get(address, follow_redirects=True)).text
            for form in forms_of(address, html):
                to = form.action.partition("#")[0]
                routes = [
                    path
                    for verb, path, _ in PAGES
                    if verb == "POST" and re.fullmatch(path.replace("{}", "[^/?]+"), to.partition("?")[0])
                ]
                if routes:
                    route = min(routes, key=lambda one: one.count("{}"))
                    found += [(route, to, body) for body in form.ways]
    return found


async def test_another_organizations_pages_and_forms(new_gate, superuser) -> None:
    theirs, ours = await new_gate(_REGO), await new_gate(_REGO)
    names = await _names(theirs, superuser)
    identifying = {one for kind, one in names.items() if kind not in NOBODYS | {"version", "document", "module"}}
    forms = [
        (path, address, body)
        for path, address, body in await _shown(theirs, names)
        if any(one in address or [one] in body.values() for one in identifying)
    ]
    # Only the person who opened a use sees its form.
    forms.append((_OF_THE_OPENER, _filled(_OF_THE_OPENER, names), {}))
    before = await _everything_settled(superuser, theirs.org_id)
    wrong: dict[object, object] = {}
    admin, frida = ours.person(), ours.person("frida", Role.BREAK_GLASS)
    for method, path, _ in PAGES:
        if method == "GET" and (path == "/traffic/compare" or ("{}" in path and _kind(path) not in NOBODYS)):
            answer = await admin.get(_filled(path, names))
            if answer.status_code != 404:
                wrong[path] = answer.status_code
    for path, address, body in forms:
        answer = await (frida if path == _OF_THE_OPENER else admin).post(address, data=body)
        # 400: what the form lacks is said before anything is looked for. The inbox says of each request how it went.
        expected = (400, 409) if path == "/inbox" else (400, 404)
        if answer.status_code not in expected:
            wrong[path, address, str(body)] = (answer.status_code, answer.headers.get("location"))
    assert wrong == {}
    assert _everything(superuser, theirs.org_id) == before
    with_ids = {path for method, path, _ in PAGES if method == "POST" and "{}" in path and _kind(path) not in NOBODYS}
    assert with_ids - {path for path, _, _ in forms} == set()
