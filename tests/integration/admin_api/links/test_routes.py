"""The page behind a link: a GET never decides, and a POST only from the page, by its person, in its time."""

import html
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest

from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.clock import system_clock
from headgate.notifications.links import Link, sign
from headgate.notifications.service import link_key
from headgate.organizations.model import Role

_OWN = {"Sec-Fetch-Site": "same-origin"}
_MAIL = {"kind": "apprise", "url": "ntfy://topic"}


@dataclass
class Asked:
    """A held action, and what makes links to it."""

    gate: Any
    approval_id: str

    async def link(self, user_id: str | None, *, seconds: float = 600, **changes: str) -> str:
        dependencies = self.gate.api.dependencies
        async with dependencies.database.transaction(self.gate.org_id) as connection:
            key = await link_key(connection, self.gate.org_id, dependencies.vault)
        assert key is not None
        claims = {"org_id": self.gate.org_id, "approval_id": self.approval_id, "channel": "on-call", **changes}
        link = Link(user_id=user_id, expires_at=system_clock() + timedelta(seconds=seconds), **claims)
        return f"/links/{sign(link, key)}"

    async def status(self) -> str:
        answer = await self.gate.person().get(f"/v1/approvals/{self.approval_id}")
        return str(answer.json()["status"])


async def ask(gate, **params: str) -> Asked:
    put = await gate.person().put("/admin/settings/notifications", json={"channels": {"on-call": _MAIL}})
    assert put.status_code == 200
    body = {"tool": "write", "operation": "file", "params": params or {"path": "/srv/report.txt"}}
    submitted = await gate.as_agent.post("/v1/actions", json=body)
    return Asked(gate, submitted.json()["approval_id"])


async def user_of(gate, name: str, role: Role = Role.APPROVER) -> str:
    """A person who has signed in; their id."""
    await gate.person(name, role).get("/v1/approvals")
    async with gate.api.dependencies.database.transaction(gate.org_id) as connection:
        row = await (
            await connection.execute(
                "SELECT user_id FROM users WHERE org_id = %s AND subject = %s", [gate.org_id, name]
            )
        ).fetchone()
    return str(row["user_id"])


@pytest.fixture
async def browser(gate) -> httpx.AsyncClient:
    """Without any credential."""
    return gate.client()


async def test_looking_decides_nothing_however_often(gate, browser) -> None:
    asked = await ask(gate)
    path = await asked.link(await user_of(gate, "ada"))
    for _ in range(3):
        shown = await browser.get(path)
        await browser.head(path)
    assert (shown.status_code, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "/srv/report.txt" in html.unescape(shown.text)
    assert 'value="approve"' in shown.text
    assert await asked.status() == "pending"


async def test_the_page_lets_nothing_in_that_is_not_ours(gate, browser) -> None:
    asked = await ask(gate)
    shown = await browser.get(await asked.link(await user_of(gate, "ada")))
    policy = shown.headers["content-security-policy"]
    for part in ("default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert (shown.headers["referrer-policy"], shown.headers["cache-control"]) == ("same-origin", "no-store")
    assert "style=" not in shown.text
    loaded = re.findall(r'(?:src|href)="([^"]+)"', shown.text)
    assert len(loaded) == 4
    for address in loaded:
        answer = await browser.get(address)
        assert answer.headers["content-type"].startswith(("text/css", "text/javascript", "image/svg+xml"))
        assert "immutable" in answer.headers["cache-control"]


async def test_the_page_says_what_the_terminal_says_and_less_of_it_to_a_channel(gate, browser, superuser) -> None:
    asked, ada = await ask(gate), await user_of(gate, "ada")
    http = {"method": "POST", "scheme": "https", "host": "api.example.com", "port": 443, "path": "/people/7"}
    superuser.execute(
        "UPDATE actions SET tool = 'http', operation = 'post', request = %s WHERE approval_id = %s",
        [canonical_bytes({"params": {"text": "x"}, "http": http}).decode(), asked.approval_id],
    )
    shown = (await gate.person().get(f"/v1/approvals/{asked.approval_id}")).json()["context"]["summary"]
    assert shown.endswith(" wants to send POST https://api.example.com/people/7.")
    assert shown in html.unescape((await browser.get(await asked.link(ada))).text)
    to_a_channel = html.unescape((await browser.get(await asked.link(None))).text)
    assert " wants to send POST https://api.example.com." in to_a_channel
    assert "/people/7" not in to_a_channel


async def test_what_an_agent_wrote_is_text_with_its_characters_visible(gate, browser) -> None:
    asked = await ask(gate, path="<script>alert(1)</script>", note="safe\u202egnp.exe")
    shown = (await browser.get(await asked.link(await user_of(gate, "ada")))).text
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "\u202e" not in shown
    assert "\\u{202e}" in shown


async def test_the_pages_form_decides_as_its_person_once(gate, browser) -> None:
    asked, ada = await ask(gate), await user_of(gate, "ada")
    path = await asked.link(ada)
    sent = await browser.post(path, data={"decision": "approve", "reason": ""}, headers=_OWN)
    assert (sent.status_code, sent.headers["location"]) == (303, path)
    assert await asked.status() == "approved"
    approval = (await gate.person().get(f"/v1/approvals/{asked.approval_id}", params={"shape": "camel"})).json()
    assert [one["userId"] for one in approval["decisions"]] == [ada]
    after = await browser.get(path)
    assert "ada@example.com" in after.text
    assert "<form" not in after.text
    replayed = await browser.post(path, data={"decision": "deny", "reason": "no"}, headers=_OWN)
    assert replayed.status_code == 409
    assert "already approved" in replayed.text
    assert await asked.status() == "approved"


async def test_a_denial_needs_its_reason_and_keeps_what_was_typed(gate, browser) -> None:
    asked = await ask(gate)
    path = await asked.link(await user_of(gate, "ada"))
    without = await browser.post(path, data={"decision": "deny", "reason": " "}, headers=_OWN)
    assert (without.status_code, await asked.status()) == (400, "pending")
    assert 'role="alert"' in without.text
    sent = await browser.post(path, data={"decision": "deny", "reason": "not on a Friday"}, headers=_OWN)
    assert (sent.status_code, await asked.status()) == (303, "denied")
    assert "not on a Friday" in (await browser.get(path)).text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
    ],
)
async def test_a_form_of_somebody_elses_decides_nothing(gate, browser, headers: dict[str, str]) -> None:
    asked = await ask(gate)
    path = await asked.link(await user_of(gate, "ada"))
    refused = await browser.post(path, data={"decision": "approve"}, headers=headers)
    assert (refused.status_code, await asked.status()) == (403, "pending")


async def test_a_browser_without_fetch_metadata_is_known_by_its_origin(gate, browser) -> None:
    asked = await ask(gate)
    path = await asked.link(await user_of(gate, "ada"))
    own = {"Origin": str(browser.base_url).rstrip("/")}
    assert (await browser.post(path, data={"decision": "approve"}, headers=own)).status_code == 303


async def test_a_channels_link_shows_no_params_and_lets_nobody_decide(gate, browser) -> None:
    asked = await ask(gate, path="/srv/confidential.txt")
    path = await asked.link(None)
    shown = await browser.get(path)
    assert shown.status_code == 200
    assert "confidential" not in shown.text
    assert "<form" not in shown.text
    assert (await browser.post(path, data={"decision": "approve"}, headers=_OWN)).status_code == 403
    assert await asked.status() == "pending"


async def test_an_expired_link_is_gone(gate, browser) -> None:
    asked = await ask(gate)
    path = await asked.link(await user_of(gate, "ada"), seconds=-1)
    assert (await browser.get(path)).status_code == 410
    assert (await browser.post(path, data={"decision": "approve"}, headers=_OWN)).status_code == 410
    assert await asked.status() == "pending"


async def test_a_person_without_the_role_any_more_decides_nothing(gate, browser, superuser) -> None:
    asked, ada = await ask(gate), await user_of(gate, "ada")
    path = await asked.link(ada)
    superuser.execute("UPDATE users SET roles = '{viewer}' WHERE user_id = %s", [ada])
    assert (await browser.post(path, data={"decision": "approve"}, headers=_OWN)).status_code == 403
    superuser.execute("DELETE FROM users WHERE user_id = %s", [ada])
    assert (await browser.post(path, data={"decision": "approve"}, headers=_OWN)).status_code == 403
    assert "no longer a member" in (await browser.get(path)).text
    assert await asked.status() == "pending"


async def test_who_has_not_signed_in_for_long_decides_nothing_until_they_do(gate, browser, superuser) -> None:
    asked, ada = await ask(gate), await user_of(gate, "ada")
    path = await asked.link(ada)
    superuser.execute("UPDATE users SET last_seen_at = now() - interval '31 days' WHERE user_id = %s", [ada])
    shown = await browser.get(path)
    assert "Sign in" in shown.text and "<form" not in shown.text
    assert (await browser.post(path, data={"decision": "approve"}, headers=_OWN)).status_code == 403
    assert await asked.status() == "pending"
    superuser.execute("UPDATE users SET last_seen_at = now() - interval '29 days' WHERE user_id = %s", [ada])
    assert (await browser.post(path, data={"decision": "approve"}, headers=_OWN)).status_code == 303
    assert await asked.status() == "approved"


async def test_a_person_of_an_issuer_that_is_not_trusted_any_more_decides_nothing(gate, browser, superuser) -> None:
    asked, ada = await ask(gate), await user_of(gate, "ada", Role.ADMIN)
    path = await asked.link(ada)
    superuser.execute("UPDATE users SET issuer = 'https://gone.example' WHERE user_id = %s", [ada])
    shown = await browser.get(path)
    assert "no longer trusted" in shown.text and "<form" not in shown.text
    assert (await browser.post(path, data={"decision": "approve"}, headers=_OWN)).status_code == 403
    assert await asked.status() == "pending"


async def test_a_link_does_not_reach_into_another_organization(gate, new_gate, browser) -> None:
    asked, other = await ask(gate), await new_gate()
    theirs = await ask(other)
    ada = await user_of(gate, "ada")
    # Ours to sign, and naming what is theirs.
    path = await asked.link(ada, approval_id=theirs.approval_id)
    assert (await browser.get(path)).status_code == 404
    # Theirs to verify, and signed with our key.
    forged = await asked.link(ada, org_id=other.org_id, approval_id=theirs.approval_id)
    assert (await browser.get(forged)).status_code == 404
    assert (await browser.post(forged, data={"decision": "approve"}, headers=_OWN)).status_code == 404
    assert await theirs.status() == "pending"


@pytest.mark.parametrize("token", ["x", "eyJ9.abc", "a" * 2000, "%00", "..%2f..%2fetc"])
async def test_what_is_no_link_leads_nowhere(browser, token: str) -> None:
    assert (await browser.get(f"/links/{token}")).status_code == 404


async def test_who_was_shut_out_is_shown_nothing_and_decides_nothing(gate, browser) -> None:
    asked, ada = await ask(gate), await user_of(gate, "ada")
    path = await asked.link(ada)
    assert "/srv/report.txt" in html.unescape((await browser.get(path)).text)
    assert (await gate.person().post(f"/admin/users/{ada}/deactivate")).status_code == 200
    shown = await browser.get(path)
    assert "no longer a member" in shown.text
    assert "/srv/report.txt" not in html.unescape(shown.text) and "<form" not in shown.text
    assert (await browser.post(path, data={"decision": "approve"}, headers=_OWN)).status_code == 403
    assert await asked.status() == "pending"
