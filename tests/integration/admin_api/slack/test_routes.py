"""Buttons pressed in Slack: whose they are, what they may, and everything that is not Slack's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from headgate.organizations.model import Role
from tests.integration.admin_api.links.test_routes import Asked, user_of
from tests.integration.notifications.fake_slack import (
    ENTERPRISE,
    SIGNING_SECRET,
    TOKEN,
    FakeSlack,
    pressed,
    start_slack,
)
from tests.integration.outgoing.receivers import receivers


@dataclass
class Chat:
    """An organization whose approvals are asked for in a Slack channel."""

    gate: Any
    slack: FakeSlack
    path: str
    channel: dict[str, Any]

    async def ask(self) -> Asked:
        body = {"tool": "write", "operation": "file", "params": {}}
        submitted = await self.gate.as_agent.post("/v1/actions", json=body)
        return Asked(self.gate, submitted.json()["approval_id"])

    def payload(self, action: str, approval_id: str, user: str = "U1") -> dict[str, Any]:
        return {
            "type": "block_actions", "user": {"id": user}, "trigger_id": "T1", "response_url": self.slack.response_url,
            "actions": [{"action_id": action, "value": approval_id}],
        }  # fmt: skip

    def submission(self, approval_id: str, reason: str, user: str = "U1") -> dict[str, Any]:
        return {
            "type": "view_submission", "user": {"id": user},
            "view": {"private_metadata": approval_id, "state": {"values": {"reason": {"reason": {"value": reason}}}}},
        }  # fmt: skip

    async def press(self, payload: dict[str, Any], **signing: Any) -> httpx.Response:
        body, headers = pressed(payload, **signing)
        return await self.gate.client().post(self.path, content=body, headers=headers)

    async def said(self) -> str:
        """What was said to the person alone, once it has been."""
        async with asyncio.timeout(10):
            while not (found := [arguments for name, arguments in self.slack.calls if name.startswith("/actions/")]):
                await asyncio.sleep(0.02)
        assert found[-1]["response_type"] == "ephemeral"
        return str(found[-1]["text"])


@pytest.fixture
async def chat(gate) -> AsyncIterator[Chat]:
    async with receivers() as world:
        slack = await start_slack(world)
        slack.add_member("U1", "ada@example.com")
        admin = gate.person()
        allowed = {"destinations": [{"host": "127.0.0.1", "private": True}], "tools": []}
        assert (await admin.put("/admin/settings/allowlist", json=allowed)).status_code == 200
        channel = {
            "kind": "slack", "channel": "C0123", "token": TOKEN, "signing_secret": SIGNING_SECRET,
            "api_url": slack.api_url,
        }  # fmt: skip
        shown = await admin.put("/admin/settings/notifications", json={"channels": {"security": channel}})
        yield Chat(gate, slack, shown.json()["channels"]["security"]["interactivity_path"], channel)


async def test_a_button_decides_as_the_user_behind_the_account(chat: Chat, gate) -> None:
    ada, asked = await user_of(gate, "ada"), await chat.ask()
    answer = await chat.press(chat.payload("approve", asked.approval_id))
    assert (answer.status_code, answer.content) == (200, b"")
    assert await asked.status() == "approved"
    approval = (await gate.person().get(f"/v1/approvals/{asked.approval_id}", params={"shape": "camel"})).json()
    assert [one["userId"] for one in approval["decisions"]] == [ada]
    assert (await chat.press(chat.payload("approve", asked.approval_id))).status_code == 200
    assert "approved" in await chat.said()


async def test_a_denial_asks_for_its_reason_first(chat: Chat, gate) -> None:
    await user_of(gate, "ada")
    asked = await chat.ask()
    assert (await chat.press(chat.payload("deny", asked.approval_id))).status_code == 200
    assert await asked.status() == "pending"
    (opened,) = chat.slack.arguments_of("views.open")
    assert (opened["trigger_id"], opened["view"]["private_metadata"]) == ("T1", asked.approval_id)
    empty = await chat.press(chat.submission(asked.approval_id, " "))
    assert "reason" in empty.json()["errors"]
    assert await asked.status() == "pending"
    assert (await chat.press(chat.submission(asked.approval_id, "not now"))).content == b""
    assert await asked.status() == "denied"


async def test_who_left_their_provider_and_not_slack_decides_nothing(chat: Chat, gate, superuser) -> None:
    ada, asked = await user_of(gate, "ada"), await chat.ask()
    superuser.execute("UPDATE users SET last_seen_at = now() - interval '31 days' WHERE user_id = %s", [ada])
    await chat.press(chat.payload("approve", asked.approval_id))
    assert "Sign in" in await chat.said()
    assert await asked.status() == "pending"


async def test_a_person_of_an_issuer_that_is_not_trusted_any_more_decides_nothing(chat: Chat, gate, superuser) -> None:
    ada, asked = await user_of(gate, "ada"), await chat.ask()
    superuser.execute("UPDATE users SET issuer = 'https://gone.example' WHERE user_id = %s", [ada])
    await chat.press(chat.payload("approve", asked.approval_id))
    assert "no longer trusted" in await chat.said()
    assert await asked.status() == "pending"


type Change = Callable[[Chat], Awaitable[None]]


async def _unknown_address(chat: Chat) -> None:
    chat.slack.add_member("U1", "stranger@example.com")


async def _unconfirmed(chat: Chat) -> None:
    chat.slack.add_member("U1", "ada@example.com", is_email_confirmed=False)


async def _deactivated(chat: Chat) -> None:
    chat.slack.add_member("U1", "ada@example.com", deleted=True)


async def _bot(chat: Chat) -> None:
    chat.slack.add_member("U1", "ada@example.com", is_bot=True)


async def _no_address(chat: Chat) -> None:
    chat.slack.add_member("U1", None)


async def _of_another_workspace(chat: Chat) -> None:
    """In a channel that two companies share: its own administrators say what the account's address is."""
    chat.slack.add_member("U1", "ada@example.com", team_id="T0OTHER", enterprise_user={"enterprise_id": "E0OTHER"})


async def _of_no_workspace(chat: Chat) -> None:
    chat.slack.add_member("U1", "ada@example.com", team_id=None)


async def _not_in_slack(chat: Chat) -> None:
    chat.slack.members.clear()


@pytest.mark.parametrize(
    "change",
    [
        _unknown_address,
        _unconfirmed,
        _deactivated,
        _bot,
        _no_address,
        _of_another_workspace,
        _of_no_workspace,
        _not_in_slack,
    ],
)
async def test_who_is_nobodys_user_decides_nothing(chat: Chat, gate, change: Change) -> None:
    await user_of(gate, "ada")
    asked = await chat.ask()
    await change(chat)
    assert (await chat.press(chat.payload("approve", asked.approval_id))).status_code == 200
    assert await chat.said()
    refused = await chat.press(chat.submission(asked.approval_id, "no"))
    assert "errors" in refused.json()
    assert await asked.status() == "pending"


async def test_another_workspace_of_the_same_enterprise_is_no_stranger(chat: Chat, gate) -> None:
    await user_of(gate, "ada")
    asked = await chat.ask()
    chat.slack.add_member("U1", "ada@example.com", team_id="T0SISTER", enterprise_user={"enterprise_id": ENTERPRISE})
    await chat.press(chat.payload("approve", asked.approval_id))
    assert await asked.status() == "approved"


async def test_the_users_rights_count_not_slacks(chat: Chat, gate) -> None:
    await user_of(gate, "ada", Role.VIEWER)
    asked = await chat.ask()
    await chat.press(chat.payload("approve", asked.approval_id))
    assert "may not decide" in await chat.said()
    assert await asked.status() == "pending"


async def test_one_address_with_two_users_is_nobodys(chat: Chat, gate, superuser) -> None:
    await user_of(gate, "ada")
    superuser.execute(
        "INSERT INTO users (org_id, user_id, issuer, subject, email, roles) VALUES (%s, 'usr_2', 'other', 'x', %s, %s)",
        [gate.org_id, "Ada@example.com", ["admin"]],
    )
    asked = await chat.ask()
    await chat.press(chat.payload("approve", asked.approval_id))
    assert "not linked to a Headgate user" in await chat.said()
    assert await asked.status() == "pending"


async def test_an_account_can_be_linked_by_hand(chat: Chat, gate) -> None:
    bob, asked = await user_of(gate, "bob"), await chat.ask()
    document = {"channels": {"security": {"kind": "slack", "channel": "C0123", "api_url": chat.slack.api_url}}}
    linked = document | {"people": {"slack:U1": bob}}
    assert (await gate.person().put("/admin/settings/notifications", json=linked)).status_code == 200
    await chat.press(chat.payload("approve", asked.approval_id))
    assert await asked.status() == "approved"
    assert chat.slack.arguments_of("users.info") == []


@pytest.mark.parametrize("signing", [{"secret": "another"}, {"age_seconds": 301}, {"age_seconds": -360}])
async def test_forged_and_old_signatures_are_refused(chat: Chat, gate, signing: dict[str, Any]) -> None:
    await user_of(gate, "ada")
    asked = await chat.ask()
    refused = await chat.press(chat.payload("approve", asked.approval_id), **signing)
    assert refused.status_code == 401
    assert await asked.status() == "pending"
    assert chat.slack.calls == []


async def test_a_changed_body_and_a_missing_signature_are_refused(chat: Chat, gate) -> None:
    await user_of(gate, "ada")
    asked, other = await chat.ask(), await chat.ask()
    body, headers = pressed(chat.payload("approve", asked.approval_id))
    changed = body.replace(asked.approval_id.encode(), other.approval_id.encode())
    assert changed != body
    client = gate.client()
    assert (await client.post(chat.path, content=changed, headers=headers)).status_code == 401
    assert (await client.post(chat.path, content=body)).status_code == 401
    assert (await asked.status(), await other.status()) == ("pending", "pending")


async def test_another_organizations_approval_is_out_of_reach(chat: Chat, gate, new_gate) -> None:
    await user_of(gate, "ada")
    other = await new_gate()
    submitted = await other.as_agent.post("/v1/actions", json={"tool": "write", "operation": "file", "params": {}})
    theirs = Asked(other, submitted.json()["approval_id"])
    await chat.press(chat.payload("approve", theirs.approval_id))
    assert await chat.said()
    assert await theirs.status() == "pending"


async def test_answers_go_to_slack_and_nowhere_else(chat: Chat, gate) -> None:
    asked = await chat.ask()
    payload = chat.payload("approve", asked.approval_id) | {"response_url": "https://elsewhere.example/collect"}
    assert (await chat.press(payload)).status_code == 200
    assert {name for name, _ in chat.slack.calls} <= {"users.info", "auth.test"}


async def test_slack_away_decides_nothing_and_says_so(chat: Chat, gate) -> None:
    await user_of(gate, "ada")
    asked = await chat.ask()
    chat.slack.answers["users.info"] = [(500, {}, ())]
    await chat.press(chat.payload("approve", asked.approval_id))
    assert "nothing was decided" in await chat.said()
    assert await asked.status() == "pending"


@pytest.mark.parametrize("path", ["/webhooks/slack/con_01a1fea6-b756-7a46-9ff4-412cec3a741f"])
async def test_an_unknown_connection(gate, path: str) -> None:
    body, headers = pressed({"type": "block_actions", "user": {"id": "U1"}})
    assert (await gate.client().post(path, content=body, headers=headers)).status_code == 404
