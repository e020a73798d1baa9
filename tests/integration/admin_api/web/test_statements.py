"""A page's number of SQL statements does not grow with what it shows."""

import asyncio
from collections import Counter
from typing import Any, Final

import psycopg
import pytest

from admin_api.access import ACCESS, Audience
from headgate.organizations.model import Role
from tests.integration.admin_api.test_other_organizations import _REGO, _belongings, _submitted

_PAGES: Final = sorted(
    path
    for (method, path), one in ACCESS.items()
    if method == "GET" and one.audience == Audience.PAGES and "{" not in path and path != "/traffic/compare"
)
_FEW: Final = 2
"""With them the audit log goes on behind its first page, and its events are counted."""
_MANY: Final = 6
_TIMES: Final = 5
_GRANT: Final = {"tool": "grants", "conditions": [], "max_uses": 1, "expires_in_seconds": 600, "reason": "x"}
_RULE: Final = 'package more\n\nrequire_approval contains "writes wait" if input.tool == "write"\n'


@pytest.fixture(scope="module")
def api_changes() -> dict[str, Any]:
    """Where nobody could accept an invitation, none is made."""
    return {"public_url": "https://gate.example.com"}


@pytest.fixture
def tasks(monkeypatch) -> list[Any]:
    """The task of each statement that is executed in this process."""
    seen: list[Any] = []
    execute = psycopg.AsyncCursor.execute

    async def noted(self: Any, query: Any, *given: Any, **named: Any) -> Any:
        seen.append(asyncio.current_task())
        return await execute(self, query, *given, **named)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", noted)
    return seen


async def test_no_page_asks_more_for_more_rows(new_gate, superuser, tasks) -> None:
    gate = await new_gate(_REGO)
    await _belongings(gate, superuser)
    for number in range(_FEW):
        await _add(gate, number)
    before = await _asked_by(gate, tasks)
    for number in range(_FEW, _MANY):
        await _add(gate, number)
    after = await _asked_by(gate, tasks)
    assert {path: (before[path], count) for path, count in after.items() if count > before[path]} == {}


async def _asked_by(gate: Any, tasks: list[Any]) -> dict[str, int]:
    """By page. The request and its call are new ones, which all current policies have looked at."""
    held = await _submitted(gate, "write", text="x")
    pages = {one: one for one in _PAGES} | {"one": f"/inbox/{held['approval_id']}", "call": f"/calls/{held['id']}"}
    return {page: await _asked(gate, path, tasks) for page, path in pages.items()}


async def _asked(gate: Any, path: str, tasks: list[Any]) -> int:
    """Of the task that executed most, which is the page's. The fewest of some times: once in a second the session is
    looked at again."""
    counts = []
    for _ in range(_TIMES):
        tasks.clear()
        assert (await gate.person().get(path)).status_code in (200, 400), path
        counts.append(max(Counter(tasks).values()))
    return min(counts)


async def _add(gate: Any, number: int) -> None:
    """One more of what the lists show."""
    admin = gate.person()
    name = f"more{number}"
    key = {"kind": "bearer", "hosts": ["api.example.com"], "credentials": {"secret": "0123456789"}}
    for path, body in (
        ("/admin/policies", {"name": name, "rego_policy": _RULE.replace("more", name)}),
        ("/admin/nlp-policies", {"name": name, "type": "pii_detection", "threshold": 0.6}),
        ("/admin/agents", {"name": name}),
        ("/admin/approver-groups", {"name": name, "members": [f"{name}@example.com"]}),
        ("/admin/webhooks", {"url": f"https://example.com/{name}", "events": ["approval.created"]}),
        ("/v1/connections", {"name": name, **key}),
        ("/admin/invitations", {"email": f"{name}@example.com", "roles": ["viewer"]}),
        ("/admin/retention/holds", {"scope": "organization", "reason": name}),
        ("/admin/grants", _GRANT | {"agent_id": gate.agent_id, "operation": name}),
    ):
        answer = await admin.post(path, json=body)
        assert answer.status_code == 201, (path, answer.text)
    channels = {
        f"mail{one}": {"kind": "apprise", "url": "ntfys://example.com/topic", "recipient": f"mail{one}@example.com"}
        for one in range(number + 1)
    }
    assert (await admin.put("/admin/settings/notifications", json={"channels": channels})).status_code == 200
    denied = await _submitted(gate, "wipe", text=name)
    glass = {"action_id": denied["id"], "reason": name}
    opened = await gate.person("frida", Role.BREAK_GLASS).post("/admin/break-glass", json=glass)
    assert opened.status_code == 201, opened.text
    await _submitted(gate, "write", text=name)
    await _submitted(gate, "http", url=f"https://example.com/{name}")
