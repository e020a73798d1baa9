"""Jira, end to end: a ticket for an approval, mirrors of what became of it, and transitions that decide."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from headgate.deliveries.model import DeliveryStatus
from headgate.organizations.model import Role
from tests.integration.admin_api.integrations.conftest import Board
from tests.integration.admin_api.integrations.fake_jira import EMAIL, OURS, SECRET, TOKEN, FakeJira, moved
from tests.integration.admin_api.links.test_routes import Asked
from tests.integration.movable_clock import MovableClock
from tests.integration.outgoing.fake_platform import Answered, start


def document(jira: FakeJira, **changes: Any) -> dict[str, Any]:
    return {
        "enabled": True, "base_url": jira.base_url, "email": EMAIL, "project_key": "GATE",
        "approve_statuses": ["Approved"], "deny_statuses": ["Rejected"],
        "api_token": TOKEN, "webhook_secret": SECRET, **changes,
    }  # fmt: skip


@pytest.fixture
async def jira(world, board: Board) -> FakeJira:
    made = await start(world, FakeJira)
    made.add_user("ada", "ada@example.com")
    made.add_user(OURS, "decider@example.com")
    await board.set("jira", document(made))
    return made


def _only(jira: FakeJira) -> dict[str, Any]:
    (issue,) = jira.issues.values()
    return issue


async def _opened(board: Board, jira: FakeJira, **params: Any) -> tuple[Any, dict[str, Any]]:
    asked = await board.ask(**params)
    assert await board.work() == []
    return asked, _only(jira)


async def test_an_approval_opens_a_ticket_that_shows_what_is_asked(board: Board, jira: FakeJira) -> None:
    asked, issue = await _opened(board, jira, path="/etc/\u202ehosts", note="[~accountid:1] {code}")
    assert issue["fields"]["summary"] == "Approval needed: write.file (high risk)"
    assert issue["fields"]["labels"] == ["headgate", f"headgate-{asked.approval_id}"]
    text = jira.description(issue["id"])
    assert "/etc/\\u{202e}hosts" in text
    assert "Open in Headgate" in text
    assert '"href": "https://gate.example.com/links/' in json.dumps(issue["fields"]["description"])
    assert "Digest of the action: sha256:" in text
    assert (await board.work(), len(jira.issues)) == ([], 1)
    (listed,) = (await board.gate.person().get("/admin/settings/jira/deliveries")).json()["data"]
    assert (listed["status"], listed["subject_id"]) == ("delivered", asked.approval_id)


async def test_a_transition_decides_as_the_user_behind_the_account(board: Board, jira: FakeJira) -> None:
    ada = await board.user("ada")
    asked, issue = await _opened(board, jira)
    answer = await board.send(*moved(issue, "Approved", "ada"))
    assert (answer.status_code, answer.json()) == (200, {"outcome": "decided"})
    assert await asked.status() == "approved"
    approval = (await board.gate.person().get(f"/v1/approvals/{asked.approval_id}", params={"shape": "camel"})).json()
    assert [one["userId"] for one in approval["decisions"]] == [ada]
    audit = await board.gate.person().get("/admin/audit", params={"event_type": "integration.decided"})
    (event,) = audit.json()["data"]
    assert (event["data"]["account"], event["data"]["user_id"], event["data"]["item"]) == ("ada", ada, issue["key"])


async def test_a_denial_carries_what_was_written_with_it(board: Board, jira: FakeJira) -> None:
    await board.user("ada")
    asked, issue = await _opened(board, jira)
    await board.send(*moved(issue, "REJECTED", "ada", comment="not before Monday"))
    approval = (await board.gate.person().get(f"/v1/approvals/{asked.approval_id}", params={"shape": "camel"})).json()
    assert (approval["status"], approval["decisions"][0]["reason"]) == ("denied", "not before Monday")
    assert await board.work() == []
    assert "not before Monday" in jira.texts(issue["id"])[-1]


async def test_a_denial_without_words_names_the_transition(board: Board, jira: FakeJira) -> None:
    await board.user("ada")
    asked, issue = await _opened(board, jira)
    await board.send(*moved(issue, "Rejected", "ada"))
    approval = (await board.gate.person().get(f"/v1/approvals/{asked.approval_id}", params={"shape": "camel"})).json()
    assert approval["decisions"][0]["reason"] == "moved to Rejected in Jira GATE-1"


async def test_what_is_decided_elsewhere_is_mirrored_and_comes_back_as_nothing(board: Board, jira: FakeJira) -> None:
    asked, issue = await _opened(board, jira)
    await board.decide(asked, "deny", reason="too \u200bmuch @everyone")
    assert await board.work() == []
    assert issue["status"] == "Rejected"
    (said,) = jira.texts(issue["id"])
    assert said.startswith("Denied: write.file")
    assert "decider@example.com" in said
    assert "too \\u{200b}much" in said
    echo = await board.send(*moved(issue, "Rejected", OURS))
    assert echo.json() == {"outcome": "no_change"}
    assert await board.work() == []
    assert len(jira.texts(issue["id"])) == 1
    assert [one["outcome"] for one in await board.receipts()] == ["no_change"]


async def test_two_transitions_at_once_decide_once_and_the_loser_is_told(board: Board, jira: FakeJira) -> None:
    await board.user("ada")
    await board.user("bob")
    jira.add_user("bob", "bob@example.com")
    asked, issue = await _opened(board, jira)
    first, second = await asyncio.gather(
        board.send(*moved(issue, "Approved", "ada")), board.send(*moved(issue, "Rejected", "bob"))
    )
    outcomes = {first.json()["outcome"], second.json()["outcome"]}
    assert outcomes == {"decided", "refused"}
    status = await asked.status()
    assert status == ("approved" if first.json()["outcome"] == "decided" else "denied")
    await board.work()
    assert sum("Nothing was decided" in one for one in jira.texts(issue["id"])) == 1


async def test_an_edited_ticket_approves_nothing_and_says_so(board: Board, jira: FakeJira) -> None:
    await board.user("ada")
    asked, issue = await _opened(board, jira)
    issue["fields"]["description"]["content"][0]["content"][0]["text"] = "Please approve: it only reads."
    answer = await board.send(*moved(issue, "Approved", "ada"))
    assert answer.json() == {"outcome": "refused"}, answer.text
    assert await board.work() == []
    assert await asked.status() == "pending"
    assert "edited since" in jira.texts(issue["id"])[-1]


async def test_the_same_webhook_again_changes_nothing(board: Board, jira: FakeJira) -> None:
    await board.user("ada")
    asked, issue = await _opened(board, jira)
    body, headers = moved(issue, "Approved", "ada")
    both = await asyncio.gather(board.send(body, headers), board.send(body, headers))
    assert sorted(one.json()["outcome"] for one in both) in (["decided", "repeated"], ["decided", "no_change"])
    # Its identifier is not signed: under another one it is the same delivery.
    again = await board.send(body, headers | {"X-Atlassian-Webhook-Identifier": "another"})
    assert again.json() == {"outcome": "repeated"}
    assert await asked.status() == "approved"
    await board.work()
    assert [one for one in jira.texts(issue["id"]) if "Nothing was decided" in one] == []


TWO = """package gate

require_approval if input.tool == "pay"

approval := {"required_approvals": 2}
"""


async def _pay(new_gate, worker_database, world) -> tuple[Board, FakeJira, Any]:
    board = Board(await new_gate(TWO), worker_database, MovableClock())
    allowed = {"destinations": [{"host": "127.0.0.1", "private": True}], "tools": []}
    await board.gate.person().put("/admin/settings/allowlist", json=allowed)
    jira = await start(world, FakeJira)
    jira.add_user("ada", "ada@example.com")
    await board.user("ada")
    await board.set("jira", document(jira))
    body = {"tool": "pay", "operation": "invoice", "params": {"to": "ACME", "amount": 400}}
    submitted = await board.gate.as_agent.post("/v1/actions", json=body)
    assert await board.work() == []
    return board, jira, Asked(board.gate, submitted.json()["approval_id"])


async def test_a_transition_is_one_vote_of_several(new_gate, worker_database, world) -> None:
    board, jira, asked = await _pay(new_gate, worker_database, world)
    issue = _only(jira)
    assert (await board.send(*moved(issue, "Approved", "ada"))).json() == {"outcome": "decided"}
    assert await asked.status() == "pending"
    assert await board.work() == []
    assert "Vote: approve, 1 of 2 so far" in jira.texts(issue["id"])[-1]
    # The same person once more is no second vote.
    assert (await board.send(*moved(issue, "Approved", "ada", age_seconds=1))).json() == {"outcome": "no_change"}
    assert await asked.status() == "pending"
    await board.decide(asked)
    assert await asked.status() == "approved"


async def test_what_was_edited_since_is_not_approved_from_its_ticket(new_gate, worker_database, world) -> None:
    board, jira, asked = await _pay(new_gate, worker_database, world)
    issue = _only(jira)
    edited = await board.gate.person("bob", Role.APPROVER).post(
        f"/v1/approvals/{asked.approval_id}/approve", json={"params": {"to": "EVIL", "amount": 1}}
    )
    assert edited.json()["status"] == "pending", edited.text
    assert (await board.send(*moved(issue, "Approved", "ada"))).json() == {"outcome": "refused"}
    assert await asked.status() == "pending"
    assert await board.work() == []
    said = "\n".join(jira.texts(issue["id"]))
    assert "The action was edited" in said
    assert "The action has changed" in said


type Change = Callable[[Board, FakeJira], Awaitable[None]]


async def _stranger(board: Board, jira: FakeJira) -> None:
    jira.add_user("ada", "stranger@example.com")


async def _says_no_address(board: Board, jira: FakeJira) -> None:
    jira.add_user("ada", None)


async def _app(board: Board, jira: FakeJira) -> None:
    jira.add_user("ada", "ada@example.com", accountType="app")


async def _customer(board: Board, jira: FakeJira) -> None:
    jira.add_user("ada", "ada@example.com", accountType="customer")


async def _inactive(board: Board, jira: FakeJira) -> None:
    jira.add_user("ada", "ada@example.com", active=False)


async def _gone(board: Board, jira: FakeJira) -> None:
    del jira.users["ada"]


async def _not_matched(board: Board, jira: FakeJira) -> None:
    await board.set("jira", document(jira, match_by_email=False))


async def _may_not(board: Board, jira: FakeJira) -> None:
    await board.user("ada", Role.VIEWER)


@pytest.mark.parametrize(
    "change", [_stranger, _says_no_address, _app, _customer, _inactive, _gone, _not_matched, _may_not]
)
async def test_who_may_not_decides_nothing_and_the_ticket_says_so(board: Board, jira: FakeJira, change: Change) -> None:
    await board.user("ada")
    asked, issue = await _opened(board, jira)
    await change(board, jira)
    answer = await board.send(*moved(issue, "Approved", "ada"))
    assert answer.json() == {"outcome": "refused"}
    assert await asked.status() == "pending"
    assert await board.work() == []
    (said,) = jira.texts(issue["id"])
    assert said.startswith("Nothing was decided\nAda L. moved this to Approved.")
    (receipt,) = await board.receipts()
    assert (receipt["outcome"], receipt["account"]) == ("refused", "ada")
    audit = await board.gate.person().get("/admin/audit", params={"event_type": "integration.refused"})
    assert len(audit.json()["data"]) == 1


async def test_an_account_can_be_linked_by_hand(board: Board, jira: FakeJira) -> None:
    bob = await board.user("bob")
    await board.set("jira", document(jira, people={"ada": bob}))
    asked, issue = await _opened(board, jira)
    assert (await board.send(*moved(issue, "Approved", "ada"))).json() == {"outcome": "decided"}
    assert jira.of("GET", "/user") == []
    assert await asked.status() == "approved"


async def test_duties_are_kept_apart_as_for_any_vote(board: Board, jira: FakeJira, superuser) -> None:
    ada = await board.user("ada")
    superuser.execute("UPDATE agents SET created_by = %s WHERE org_id = %s", [ada, board.gate.org_id])
    rego = (
        'package gate\n\nrequire_approval if input.tool == "write"\n\n'
        'approval := {"separation_of_duties": ["agent_owner"]}\n'
    )
    listed = (await board.gate.person().get("/admin/policies")).json()["data"]
    saved = await board.gate.person().put(
        f"/admin/policies/{listed[0]['id']}", json={"name": "gate", "rego_policy": rego}
    )
    assert saved.status_code == 200, saved.text
    asked, issue = await _opened(board, jira)
    assert (await board.send(*moved(issue, "Approved", "ada"))).json() == {"outcome": "refused"}
    assert await asked.status() == "pending"
    await board.work()
    assert "another person must decide this" in jira.texts(issue["id"])[-1]


@pytest.mark.parametrize("forgery", [{"secret": "another"}, {"age_seconds": 7500}, {"age_seconds": -600}])
async def test_forged_and_old_webhooks_are_refused(board: Board, jira: FakeJira, forgery: dict[str, Any]) -> None:
    await board.user("ada")
    asked, issue = await _opened(board, jira)
    assert (await board.send(*moved(issue, "Approved", "ada", **forgery))).status_code == 401
    body, headers = moved(issue, "Approved", "ada")
    assert (await board.send(body.replace(b"Approved", b"Rejected"), headers)).status_code == 401
    assert (await board.send(body, {})).status_code == 401
    assert await asked.status() == "pending"
    assert await board.receipts() == []


async def test_a_late_retry_of_jiras_is_taken(board: Board, jira: FakeJira) -> None:
    await board.user("ada")
    _, issue = await _opened(board, jira)
    assert (await board.send(*moved(issue, "Approved", "ada", age_seconds=4500))).json() == {"outcome": "decided"}


async def test_another_organizations_ticket_is_out_of_reach(board: Board, jira: FakeJira, new_gate) -> None:
    """Its address with our signature, our address with its ticket, and an address of another integration."""
    other = Board(await new_gate(), board.worker, board.clock)
    await other.gate.person().put(
        "/admin/settings/allowlist", json={"destinations": [{"host": "127.0.0.1", "private": True}], "tools": []}
    )
    await other.set("jira", document(jira, webhook_secret="theirs"))
    await other.user("ada")
    await board.user("ada")
    theirs = await other.ask()
    await other.work()
    issue = _only(jira)
    assert (await board.send(*moved(issue, "Approved", "ada"), path=other.path)).status_code == 401
    assert (await board.send(*moved(issue, "Approved", "ada"))).json() == {"outcome": "ignored"}
    assert (
        await board.send(*moved(issue, "Approved", "ada"), path=board.path.replace("jira", "linear"))
    ).status_code == 404
    unknown = "/webhooks/jira/con_01a1fea6-b756-7a46-9ff4-412cec3a741f"
    assert (await board.send(*moved(issue, "Approved", "ada"), path=unknown)).status_code == 404
    assert await theirs.status() == "pending"
    assert (await board.gate.person().get("/admin/settings/jira/deliveries")).json()["data"] == []


async def test_an_hours_outage_opens_one_ticket_in_the_end(board: Board, jira: FakeJira) -> None:
    asked = await board.ask()
    jira.scripted = [Answered(503, {"errorMessages": ["down"]}) for _ in range(3)]
    for minutes in (0, 20, 40):
        board.clock.ahead = timedelta(minutes=minutes)
        assert len(await board.work()) == 1
    board.clock.ahead = timedelta(minutes=61)
    assert await board.work() == []
    assert len(jira.issues) == 1
    assert _only(jira)["fields"]["labels"][1] == f"headgate-{asked.approval_id}"
    (delivery,) = await board.deliveries()
    assert [one.status_code for one in await board.attempts(delivery.delivery_id)] == [503, 503, 503, None]


async def test_an_answer_that_was_lost_makes_no_second_ticket(board: Board, jira: FakeJira) -> None:
    """The ticket is there, nobody knows; the search does not find it for a while, and its page is not the first."""
    asked = await board.ask()
    jira.lost = 1
    assert len(await board.work()) == 1
    assert len(jira.issues) == 1
    jira.unindexed, jira.others = 1, 2
    (settling,) = await board.work()
    assert "settling" in str(settling)
    board.clock.ahead = timedelta(seconds=30)
    assert await board.work() == []
    assert len(jira.issues) == 1
    assert (await board.send(*moved(_only(jira), "Approved", OURS))).json()["outcome"] == "refused"
    await board.user("decider")
    assert (await board.send(*moved(_only(jira), "Approved", OURS))).json() == {"outcome": "decided"}
    assert await asked.status() == "approved"


async def test_somebody_elses_ticket_with_the_label_is_not_taken_for_ours(board: Board, jira: FakeJira) -> None:
    """Whoever may write there, an agent for example, would have its own words decide about the action."""
    asked = await board.ask()
    labels = ["headgate", f"headgate-{asked.approval_id}"]
    jira.issues["1"] = {
        "id": "1", "key": "GATE-1", "status": "To Do", "comments": [], "creator": "agent",
        "fields": {"labels": labels, "summary": "Harmless"},
    }  # fmt: skip
    jira.scripted = [Answered(503, {"errorMessages": ["down"]})]
    assert len(await board.work()) == 1
    board.clock.ahead = timedelta(minutes=5)
    assert await board.work() == []
    assert [one.get("creator") for one in jira.issues.values()] == ["agent", None]
    await board.user("ada")
    assert (await board.send(*moved(jira.issues["1"], "Approved", "ada"))).status_code == 503
    assert await asked.status() == "pending"


async def test_a_worker_that_dies_before_the_record_makes_no_second_ticket(
    board: Board, jira: FakeJira, superuser
) -> None:
    """As if killed between Jira's answer and the transaction: attempt begun, nothing remembered. Whoever moves the
    ticket before it is known is asked to come again."""
    await board.user("ada")
    asked, issue = await _opened(board, jira)
    superuser.execute("DELETE FROM integration_items WHERE org_id = %s", [board.gate.org_id])
    superuser.execute(
        "UPDATE deliveries SET status = 'pending', reference = NULL WHERE org_id = %s", [board.gate.org_id]
    )
    superuser.execute(
        "UPDATE delivery_attempts SET finished_at = NULL, succeeded = NULL WHERE org_id = %s", [board.gate.org_id]
    )
    body, headers = moved(issue, "Approved", "ada")
    early = await board.send(body, headers)
    assert (early.status_code, early.headers["retry-after"]) == (503, "60")
    assert await board.work() == []
    assert len(jira.issues) == 1
    assert (await board.send(body, headers)).json() == {"outcome": "decided"}
    assert await asked.status() == "approved"


async def test_a_comment_whose_answer_was_lost_is_not_written_twice(board: Board, jira: FakeJira) -> None:
    asked, issue = await _opened(board, jira)
    issue["comments"] += [{"id": "0", "body": {"content": []}} for _ in range(3)]
    await board.decide(asked)
    jira.lost = 1
    assert len(await board.work()) == 1
    issue["comments"] += [{"id": "0", "body": {"content": []}} for _ in range(3)]
    assert await board.work() == []
    assert sum("Approved: write.file" in one for one in jira.texts(issue["id"])) == 1
    assert issue["status"] == "Approved"


async def test_jira_says_when_to_come_back(board: Board, jira: FakeJira) -> None:
    await board.ask()
    jira.scripted = [Answered(429, {"errorMessages": ["Rate limit exceeded"]}, ("Retry-After: 77",))]
    (later,) = await board.work()
    assert later.after_seconds == pytest.approx(77, abs=1)
    assert await board.work() == []
    assert len(jira.issues) == 1


async def test_what_no_waiting_mends_is_parked_with_jiras_words(board: Board, jira: FakeJira) -> None:
    await board.set("jira", document(jira, project_key="WRONG"))
    await board.ask()
    assert await board.work() == []
    (delivery,) = await board.deliveries()
    (attempt,) = await board.attempts(delivery.delivery_id)
    assert (delivery.status, attempt.status_code) == (DeliveryStatus.PARKED, 400)
    assert "valid project is required" in (attempt.excerpt or "")


async def test_what_was_mended_is_delivered_once_more(board: Board, jira: FakeJira, new_gate) -> None:
    await board.set("jira", document(jira, project_key="WRONG"))
    await board.ask()
    await board.work()
    (delivery,) = await board.deliveries()
    path = f"/admin/settings/jira/deliveries/{delivery.delivery_id}/redeliver"
    assert (await (await new_gate()).person().post(path)).status_code == 404
    assert (await board.gate.person().post(path.replace("/jira/", "/linear/"))).status_code == 404
    await board.set("jira", document(jira))
    again = await board.gate.person().post(path)
    assert (again.status_code, again.json()["status"], len(again.json()["attempts"])) == (202, "pending", 1)
    assert (await board.gate.person().post(path)).status_code == 409
    assert await board.work() == []
    assert len(jira.issues) == 1


async def test_jira_that_does_not_say_who_it_was_is_asked_again(board: Board, jira: FakeJira) -> None:
    await board.user("ada")
    asked, issue = await _opened(board, jira)
    body, headers = moved(issue, "Approved", "ada")
    jira.scripted = [Answered(500, {})]
    assert (await board.send(body, headers)).status_code == 503
    assert await asked.status() == "pending"
    assert (await board.send(body, headers)).json() == {"outcome": "decided"}


async def test_only_the_risks_that_were_asked_for(board: Board, jira: FakeJira) -> None:
    await board.set("jira", document(jira, risk_levels=["critical"]))
    asked = await board.ask()
    await board.work()
    await board.decide(asked)
    await board.work()
    assert (jira.issues, await board.deliveries()) == ({}, [])


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({"webhookEvent": "jira:issue_created"}, 200),
        ({"changelog": {}}, 200),
        ({"user": {}}, 200),
        ({"timestamp": "x"}, 401),
    ],
)
async def test_other_events_decide_nothing(board: Board, jira: FakeJira, change: dict[str, Any], outcome: int) -> None:
    await board.user("ada")
    asked, issue = await _opened(board, jira)
    assert (await board.send(*moved(issue, "Approved", "ada", **change))).status_code == outcome
    assert await asked.status() == "pending"


async def test_switched_off_takes_nothing_and_sends_nothing(board: Board, jira: FakeJira) -> None:
    await board.user("ada")
    asked, issue = await _opened(board, jira)
    await board.set("jira", document(jira, enabled=False))
    assert (await board.send(*moved(issue, "Approved", "ada"))).status_code == 404
    await board.decide(asked)
    await board.work()
    assert jira.texts(issue["id"]) == []


async def test_the_connection_is_tested(board: Board, jira: FakeJira) -> None:
    admin = board.gate.person()
    tested = (await admin.post("/admin/settings/jira/test")).json()
    assert (tested["ok"], tested["account"]) == (True, "Headgate")
    await board.set("jira", document(jira, api_token="wrong"))
    tested = (await admin.post("/admin/settings/jira/test")).json()
    assert (tested["ok"], tested["status_code"]) == (False, 401)
    assert "not authenticated" in tested["message"]
