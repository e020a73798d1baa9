"""Teams by a workflow's webhook, and Slack by its own settings."""

from typing import Any

import jsonschema
import pytest

from headgate.deliveries.model import DeliveryStatus
from tests.integration.admin_api.integrations.conftest import Board
from tests.integration.notifications.fake_slack import SIGNING_SECRET, TOKEN, FakeSlack, pressed, start_slack
from tests.integration.outgoing.fake_platform import Answered, Asked, FakePlatform, start

# https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using and the
# explorer of https://adaptivecards.io: the members that are used, and no others.
_RUN = {
    "type": "object",
    "required": ["type", "text"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "TextRun"},
        "text": {"type": "string"},
        "weight": {"enum": ["Default", "Lighter", "Bolder"]},
        "size": {"enum": ["Default", "Small", "Medium", "Large", "ExtraLarge"]},
        "fontType": {"enum": ["Default", "Monospace"]},
    },
}
_CARD = {
    "type": "object",
    "required": ["type", "version", "body"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"},
        "type": {"const": "AdaptiveCard"},
        "version": {"const": "1.4"},
        "body": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "inlines"],
                "additionalProperties": False,
                "properties": {
                    "type": {"const": "RichTextBlock"},
                    "inlines": {"type": "array", "items": _RUN},
                    "spacing": {"enum": ["Default", "None", "Small", "Medium", "Large", "ExtraLarge", "Padding"]},
                },
            },
        },
        "actions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "title", "url"],
                "properties": {"type": {"const": "Action.OpenUrl"}, "url": {"format": "uri"}},
            },
        },
    },
}
_MESSAGE = {
    "type": "object",
    "required": ["type", "attachments"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "message"},
        "attachments": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "required": ["contentType", "content"],
                "properties": {
                    "contentType": {"const": "application/vnd.microsoft.card.adaptive"},
                    "contentUrl": {"type": "null"},
                    "content": _CARD,
                },
            },
        },
    },
}


class FakeTeams(FakePlatform):
    """A workflow: 202 and nothing else; a signature in its address."""

    def respond(self, asked: Asked) -> Answered:
        if asked.query.get("sig") != "s3cret":
            return Answered(401, {"error": {"code": "DirectApiAuthorizationRequired"}})
        assert len(asked.raw) <= 28 * 1024
        jsonschema.validate(asked.body, _MESSAGE)
        return Answered(202)

    def cards(self) -> list[dict[str, Any]]:
        return [one.body["attachments"][0]["content"] for one in self.asked]


def _text(card: dict[str, Any]) -> str:
    return "\n".join(run["text"] for block in card["body"] for run in block["inlines"])


@pytest.fixture
async def teams(world, board: Board) -> FakeTeams:
    made = await start(world, FakeTeams)
    url = f"{made.base_url}/workflows/abc/triggers/manual/paths/invoke?api-version=1&sig=s3cret"
    await board.set("teams", {"enabled": True, "webhook_url": url})
    return made


async def test_a_card_asks_with_a_signed_link_and_another_tells(board: Board, teams: FakeTeams) -> None:
    asked = await board.ask(note="[x](https://evil.example) **b**")
    assert await board.work() == []
    (card,) = teams.cards()
    assert "Approval needed: write.file (high risk)" in _text(card)
    link = card["actions"][0]["url"]
    page = await board.gate.client().get(link.removeprefix("https://gate.example.com"))
    assert page.status_code == 200
    assert "write" in page.text
    await board.decide(asked, "deny", reason="no")
    assert await board.work() == []
    assert "Denied: write.file" in _text(teams.cards()[1])
    assert asked.approval_id in _text(teams.cards()[1])
    assert (await board.send(b"{}", {})).status_code == 404


async def test_a_card_of_many_lines_is_one_that_teams_takes(board: Board, teams: FakeTeams) -> None:
    await board.ask(numbers=list(range(900)), text="\U0001f4b6" * 3000)
    assert await board.work() == []
    (card,) = teams.cards()
    assert _text(card).rstrip().endswith("(cut: Headgate shows all)")
    assert card["actions"][0]["url"] not in _text(card)


async def test_the_link_alone_decides_nothing(board: Board, teams: FakeTeams) -> None:
    asked = await board.ask()
    await board.work()
    path = teams.cards()[0]["actions"][0]["url"].removeprefix("https://gate.example.com")
    body = {"decision": "approve"}
    refused = await board.gate.client().post(path, data=body, headers={"Sec-Fetch-Site": "same-origin"})
    assert refused.status_code >= 400
    assert await asked.status() == "pending"


async def test_teams_limits_and_refusals(board: Board, teams: FakeTeams) -> None:
    await board.ask()
    teams.scripted = [Answered(429, {}, ("Retry-After: 77",))]
    (later,) = await board.work()
    assert later.after_seconds == pytest.approx(77, abs=1)
    assert await board.work() == []
    assert len(teams.cards()) == 2
    tested = (await board.gate.person().post("/admin/settings/teams/test")).json()
    assert tested["ok"] is True
    teams.scripted = [Answered(404, {"error": {"code": "WorkflowNotFound"}})]
    await board.ask(other=1)
    assert await board.work() == []
    last = (await board.deliveries())[-1]
    assert last.status is DeliveryStatus.PARKED
    assert "s3cret" not in str(await board.attempts(last.delivery_id))


@pytest.fixture
async def slack(world, board: Board) -> FakeSlack:
    made = await start_slack(world)
    made.add_member("U1", "ada@example.com")
    await board.set(
        "slack",
        {
            "enabled": True, "base_url": made.api_url, "channel": "C0123", "token": TOKEN,
            "signing_secret": SIGNING_SECRET,
        },
    )  # fmt: skip
    return made


async def test_slack_asks_takes_the_button_and_tells_in_the_thread(board: Board, slack: FakeSlack) -> None:
    await board.user("ada")
    asked = await board.ask(path="/etc/hosts")
    assert await board.work() == []
    (posted,) = slack.arguments_of("chat.postMessage")
    assert posted["metadata"]["event_payload"] == {"approval_id": asked.approval_id}
    assert "/etc/hosts" in str(posted["blocks"])
    payload = {
        "type": "block_actions", "user": {"id": "U1"}, "trigger_id": "T1", "response_url": slack.response_url,
        "actions": [{"action_id": "approve", "value": asked.approval_id}],
    }  # fmt: skip
    body, headers = pressed(payload)
    assert (await board.send(body, headers)).status_code == 200
    assert await asked.status() == "approved"
    forged, headers = pressed(payload, secret="another")
    assert (await board.send(forged, headers)).status_code == 401
    assert await board.work() == []
    reply = slack.arguments_of("chat.postMessage")[1]
    assert reply["thread_ts"] == "1700000000.000001"
    assert "Approved: write.file" in str(reply["blocks"])
    (closed,) = slack.arguments_of("chat.update")
    assert all(block["type"] != "actions" for block in closed["blocks"])


async def test_slack_shows_parameters_as_they_are_written(board: Board, slack: FakeSlack) -> None:
    """In a block of their own, over the message's width; what agents wrote forms no mention there."""
    await board.ask(path="/etc/hosts", note="<!here> <https://evil.example|x>", text="a" * 5000)
    assert await board.work() == []
    (posted,) = slack.arguments_of("chat.postMessage")
    (preformatted,) = [one for one in posted["blocks"] if one["type"] == "rich_text"]
    (element,) = preformatted["elements"]
    (run,) = element["elements"]
    assert (element["type"], run["type"]) == ("rich_text_preformatted", "text")
    assert '"note": "<!here> <https://evil.example|x>"' in run["text"]
    assert len(run["text"]) <= 3000
    assert run["text"].endswith("(cut: Headgate shows all)")
    fields = str([one for one in posted["blocks"] if one["type"] == "section"])
    assert "sha256:" in fields
    assert "/links/" not in fields


async def test_slacks_lost_answer_makes_no_second_message(board: Board, slack: FakeSlack) -> None:
    asked = await board.ask()
    slack.answers["chat.postMessage"] = [(500, {}, ())]
    assert len(await board.work()) == 1
    message = {"ts": "17.1", "metadata": {"event_payload": {"approval_id": asked.approval_id}}}
    slack.answers["conversations.history"] = [
        (200, {"ok": True, "messages": [{"ts": "18.0"}], "response_metadata": {"next_cursor": "c2"}}, ()),
        (200, {"ok": True, "messages": [message], "response_metadata": {"next_cursor": ""}}, ()),
    ]
    assert await board.work() == []
    assert len(slack.arguments_of("chat.postMessage")) == 1
    assert [one.get("cursor") for one in slack.arguments_of("conversations.history")] == [None, "c2"]
    await board.decide(asked)
    await board.work()
    assert slack.arguments_of("chat.postMessage")[-1]["thread_ts"] == "17.1"


async def test_slacks_connection_is_tested(board: Board, slack: FakeSlack) -> None:
    assert (await board.gate.person().post("/admin/settings/slack/test")).json()["ok"] is True
    slack.answers["auth.test"] = [(200, {"ok": False, "error": "invalid_auth"}, ())]
    tested = (await board.gate.person().post("/admin/settings/slack/test")).json()
    assert (tested["ok"], tested["error"]) == (False, "invalid_auth")
