"""Slack's native messages: sent, changed when the approval ends, and tried again when Slack says so."""

import pytest

from headgate.approvals.decide import DecideApproval
from headgate.approvals.model import VoteDecision
from headgate.approvals.voting import Voter
from headgate.deliveries.model import DeliveryStatus
from headgate.kernel.clock import system_clock
from headgate.queue.model import RetryLater
from tests.integration.notifications.fake_slack import SIGNING_SECRET, TOKEN, FakeSlack, start_slack


@pytest.fixture
async def slack(people, world) -> FakeSlack:
    made = await start_slack(world)
    channel = {
        "kind": "slack", "channel": "C0123", "token": TOKEN, "signing_secret": SIGNING_SECRET, "api_url": made.api_url,
    }  # fmt: skip
    await people.put({"channels": {"security": channel}})
    return made


async def _asked(people, organization, hold):
    held = await hold(organization, tool="mail")
    await people.relay()
    (message,) = await people.messages()
    return held, message


async def test_asked_with_buttons_and_changed_to_what_became_of_it(people, slack, organization, hold) -> None:
    held, message = await _asked(people, organization, hold)
    await people.run(message.delivery_id)
    (posted,) = slack.arguments_of("chat.postMessage")
    assert posted["channel"] == "C0123"
    buttons = {one["action_id"]: one for one in posted["blocks"][-1]["elements"]}
    assert buttons["approve"]["value"] == buttons["deny"]["value"] == held.approval_id
    assert buttons["open"]["url"].startswith("https://gate.example.com/links/")

    decide = DecideApproval(people.api, None, system_clock)
    voter = Voter(user_id="usr_1", email="ada@example.com", is_admin=True)
    await decide.decide(people.org_id, held.approval_id, voter, VoteDecision.DENY, "not now")
    await people.relay()
    update = (await people.messages())[-1]
    await people.run(update.delivery_id)
    (changed,) = slack.arguments_of("chat.update")
    assert changed["ts"] == "1700000000.000001"
    assert all(block["type"] != "actions" for block in changed["blocks"])
    text = str(changed["blocks"])
    assert "Denied: mail.send" in text
    assert "ada@example.com" in text
    assert "not now" in text


async def test_slack_says_when_to_come_back(people, slack, organization, hold) -> None:
    slack.answers["chat.postMessage"] = [(429, {"ok": False, "error": "ratelimited"}, ("Retry-After: 77",))]
    _, message = await _asked(people, organization, hold)
    with pytest.raises(RetryLater) as later:
        await people.run(message.delivery_id)
    assert later.value.after_seconds == pytest.approx(77, abs=1)
    await people.run(message.delivery_id)
    assert (await people.messages())[0].status is DeliveryStatus.DELIVERED


async def test_what_no_waiting_mends_is_parked_at_once(people, slack, organization, hold) -> None:
    slack.answers["chat.postMessage"] = [(200, {"ok": False, "error": "channel_not_found"}, ())]
    _, message = await _asked(people, organization, hold)
    await people.run(message.delivery_id)
    (attempt,) = await people.attempts(message.delivery_id)
    assert ((await people.messages())[0].status, attempt.failure) == (DeliveryStatus.PARKED, "channel_not_found")


async def test_a_message_that_never_arrived_is_not_changed(people, slack, organization, hold) -> None:
    slack.answers["chat.postMessage"] = [(200, {"ok": False, "error": "is_archived"}, ())]
    held, message = await _asked(people, organization, hold)
    await people.run(message.delivery_id)
    voter = Voter(user_id="usr_1", email="ada@example.com", is_admin=True)
    decide = DecideApproval(people.api, None, system_clock)
    await decide.decide(people.org_id, held.approval_id, voter, VoteDecision.APPROVE, None)
    await people.relay()
    await people.run((await people.messages())[-1].delivery_id)
    assert slack.arguments_of("chat.update") == []
