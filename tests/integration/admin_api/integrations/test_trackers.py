"""Linear and ServiceNow: what every tracker promises, at a fake of each (Jira's own file has more of the edges)."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from headgate.deliveries.model import DeliveryStatus
from headgate.integrations.linear.api import id_of
from headgate.organizations.model import Role
from tests.integration.admin_api.integrations.conftest import Board
from tests.integration.admin_api.integrations.fake_linear import FakeLinear
from tests.integration.admin_api.integrations.fake_servicenow import FakeServiceNow
from tests.integration.outgoing.fake_platform import Answered, Asked, start

type Fake = FakeLinear | FakeServiceNow
NAMES = {FakeLinear: "linear", FakeServiceNow: "servicenow"}
LATE = {FakeLinear: 8 * 3600 + 60, FakeServiceNow: 16 * 60}


@pytest.fixture(params=[FakeLinear, FakeServiceNow], ids=["linear", "servicenow"])
async def fake(request, world, board: Board) -> Fake:
    made: Fake = await start(world, request.param)
    made.add_user("ada", "ada@example.com")
    await board.set(NAMES[request.param], made.document())
    return made


def _only(fake: Fake) -> dict[str, Any]:
    (ticket,) = fake.tickets.values()
    return ticket


async def _opened(board: Board, fake: Fake, **params: Any) -> tuple[Any, dict[str, Any]]:
    asked = await board.ask(**params)
    assert await board.work() == []
    return asked, _only(fake)


async def test_opened_decided_there_and_confirmed(board: Board, fake: Fake) -> None:
    ada = await board.user("ada")
    asked, ticket = await _opened(board, fake, path="/etc/hosts", note="![x](https://evil.example) @all")
    text = ticket["description"]
    assert "/etc/hosts" in text
    assert "Digest of the action: sha256:" in text
    # What an agent wrote stands in a block of code; ServiceNow shows plain text.
    assert "![x](https" not in text.partition("```json")[0] or isinstance(fake, FakeServiceNow)
    answer = await board.send(*fake.moved(ticket, "Approved", "ada"))
    assert (answer.status_code, answer.json()) == (200, {"outcome": "decided"}), answer.text
    approval = (await board.gate.person().get(f"/v1/approvals/{asked.approval_id}", params={"shape": "camel"})).json()
    assert (approval["status"], [one["userId"] for one in approval["decisions"]]) == ("approved", [ada])
    assert await board.work() == []
    assert "Approved: write.file" in fake.texts(ticket)[-1]


async def test_decided_elsewhere_is_mirrored_and_the_echo_is_nothing(board: Board, fake: Fake) -> None:
    asked, ticket = await _opened(board, fake)
    await board.decide(asked, "deny", reason="too much")
    assert await board.work() == []
    assert fake.state(ticket) == "Rejected"
    assert "too much" in fake.texts(ticket)[-1]
    assert (await board.send(*fake.moved(ticket, "Rejected", "ada"))).json() == {"outcome": "no_change"}
    assert await board.work() == []
    assert len(fake.texts(ticket)) == 1


@pytest.mark.parametrize("email", ["stranger@example.com", None])
async def test_nobodys_user_decides_nothing_and_is_told(board: Board, fake: Fake, email: str | None) -> None:
    await board.user("ada")
    fake.add_user("ada", email)
    asked, ticket = await _opened(board, fake)
    assert (await board.send(*fake.moved(ticket, "Approved", "ada"))).json() == {"outcome": "refused"}
    assert await board.work() == []
    assert await asked.status() == "pending"
    assert "Nothing was decided" in fake.texts(ticket)[-1]


@pytest.mark.parametrize("field", ["title", "description"])
async def test_an_edited_ticket_approves_nothing_and_says_so(board: Board, fake: Fake, field: str) -> None:
    """Whoever moves it has read another text than Headgate wrote. Denying by it harms nobody."""
    await board.user("ada")
    asked, ticket = await _opened(board, fake, path="/etc/passwd")
    name = "short_description" if field == "title" and isinstance(fake, FakeServiceNow) else field
    written = ticket[name]
    ticket[name] = written.replace("e", "3", 1)
    assert (await board.send(*fake.moved(ticket, "Approved", "ada"))).json() == {"outcome": "refused"}
    assert await board.work() == []
    assert await asked.status() == "pending"
    assert "edited since" in fake.texts(ticket)[-1]
    [refused] = [one for one in await board.receipts() if one["outcome"] == "refused"]
    assert "edited since" in refused["message"]
    ticket[name] = written
    assert (await board.send(*fake.moved(ticket, "Approved", "ada", age_seconds=9))).json() == {"outcome": "decided"}
    assert await asked.status() == "approved"


async def test_an_edited_ticket_can_be_denied(board: Board, fake: Fake) -> None:
    await board.user("ada")
    asked, ticket = await _opened(board, fake)
    ticket["description"] = "harmless"
    assert (await board.send(*fake.moved(ticket, "Rejected", "ada"))).json() == {"outcome": "decided"}
    assert await asked.status() == "denied"


async def test_a_ticket_that_cannot_be_read_is_asked_about_again(board: Board, fake: Fake, monkeypatch) -> None:
    await board.user("ada")
    asked, ticket = await _opened(board, fake)
    body, headers = fake.moved(ticket, "Approved", "ada")
    answers, is_down = fake.respond, [True]

    def respond(request: Asked) -> Answered:
        reads_text = b"Texts" in request.raw or "short_description" in request.query.get("sysparm_fields", "")
        return Answered(503, {}) if is_down and reads_text else answers(request)

    monkeypatch.setattr(fake, "respond", respond)
    assert (await board.send(body, headers)).status_code == 503
    assert await asked.status() == "pending"
    is_down.clear()
    assert (await board.send(body, headers)).json() == {"outcome": "decided"}


async def test_who_left_or_may_not_decides_nothing(board: Board, fake: Fake) -> None:
    await board.user("ada")
    fake.add_user("ada", "ada@example.com", active=False)
    asked, ticket = await _opened(board, fake)
    assert (await board.send(*fake.moved(ticket, "Approved", "ada"))).json() == {"outcome": "refused"}
    fake.add_user("ada", "ada@example.com")
    await board.user("ada", Role.VIEWER)
    assert (await board.send(*fake.moved(ticket, "Approved", "ada", age_seconds=60))).json() == {"outcome": "refused"}
    assert await asked.status() == "pending"


async def test_forged_stale_and_repeated(board: Board, fake: Fake) -> None:
    await board.user("ada")
    asked, ticket = await _opened(board, fake)
    assert (await board.send(*fake.moved(ticket, "Approved", "ada", secret="x"))).status_code == 401
    late = fake.moved(ticket, "Approved", "ada", age_seconds=LATE[type(fake)])
    assert (await board.send(*late)).status_code == 401
    body, headers = fake.moved(ticket, "Approved", "ada")
    assert (await board.send(body + b" ", headers)).status_code == 401
    assert (await board.send(body, {})).status_code == 401
    assert await asked.status() == "pending"
    first = await asyncio.gather(board.send(body, headers), board.send(body, headers))
    assert "decided" in {one.json()["outcome"] for one in first}
    assert (await board.send(body, headers)).json() == {"outcome": "repeated"}
    assert sum(one["outcome"] == "decided" for one in await board.receipts()) == 1


async def test_a_lost_answer_makes_no_second_ticket(board: Board, fake: Fake) -> None:
    asked = await board.ask()
    fake.lost = 1
    assert len(await board.work()) == 1
    assert len(fake.tickets) == 1
    assert await board.work() == []
    assert len(fake.tickets) == 1
    await board.user("ada")
    assert (await board.send(*fake.moved(_only(fake), "Approved", "ada"))).json() == {"outcome": "decided"}
    assert await asked.status() == "approved"


@pytest.mark.parametrize("change", [("wait", "w8"), ("/etc", "/ etc"), ("-5", "5")], ids=str)
async def test_what_was_edited_before_it_was_found_again_approves_nothing(
    board: Board, fake: Fake, change: tuple[str, str]
) -> None:
    """The answer to what made it was lost, and somebody was quicker than the next attempt."""
    await board.user("ada")
    asked = await board.ask(path="/etc/passwd", days="-5", note="wait")
    fake.lost = 1
    assert len(await board.work()) == 1
    ticket = _only(fake)
    assert change[0] in ticket["description"]
    ticket["description"] = ticket["description"].replace(*change)
    assert await board.work() == []
    assert (await board.send(*fake.moved(ticket, "Approved", "ada"))).json() == {"outcome": "refused"}
    assert await asked.status() == "pending"
    assert (await board.send(*fake.moved(ticket, "Rejected", "ada", age_seconds=9))).json() == {"outcome": "decided"}


async def test_another_approvals_record_is_not_taken_for_ours(board: Board, fake: Fake) -> None:
    """After an attempt that never arrived, among another approval's tickets."""
    first, ticket = await _opened(board, fake)
    await board.ask()
    fake.scripted = [Answered(503, {})]
    assert len(await board.work()) == 1
    assert await board.work() == []
    assert len(fake.tickets) == 2
    await board.decide(first)
    await board.work()
    assert fake.state(ticket) == "Approved"


async def test_somebody_elses_ticket_with_our_mark_is_not_taken_for_ours(board: Board, fake: Fake) -> None:
    asked = await board.ask()
    if isinstance(fake, FakeLinear):
        forged = {"id": id_of(asked.approval_id), "identifier": "GATE-1", "state": "Todo", "creator": "agent"}
    else:
        forged = {
            "sys_id": "f" * 32, "number": "CHG1", "approval": "requested", "correlation_id": asked.approval_id,
            "correlation_display": "Headgate", "sys_created_by": "agent",
        }  # fmt: skip
    fake.tickets[next(iter(forged.values()))] = forged
    fake.scripted = [Answered(503, {})]
    assert len(await board.work()) == 1
    await board.work()
    await board.user("ada")
    assert (await board.send(*fake.moved(forged, "Approved", "ada"))).json().get("outcome") != "decided"
    assert await asked.status() == "pending"


async def test_a_comment_is_not_written_twice(board: Board, fake: Fake) -> None:
    asked, ticket = await _opened(board, fake)
    await board.decide(asked)
    await board.relay()
    (waiting,) = await board.deliveries(DeliveryStatus.PENDING)
    fake.lost = 1
    assert len(await board.work()) == 1
    assert len(fake.texts(ticket)) == 1
    assert await board.work() == []
    assert len(fake.texts(ticket)) == 1
    assert fake.state(ticket) == "Approved"
    assert len(await board.attempts(waiting.delivery_id)) == 2


async def test_limits_are_kept_and_refusals_end_it(board: Board, fake: Fake) -> None:
    await board.ask()
    fake.scripted = [fake.limited()]
    (later,) = await board.work()
    assert later.after_seconds == pytest.approx(77, abs=2)
    board.clock.ahead = timedelta(seconds=80)
    assert await board.work() == []
    assert len(fake.tickets) == 1
    await board.ask(another=True)
    fake.scripted = [fake.rejected()]
    assert await board.work() == []
    assert [one.status for one in await board.deliveries()] == [DeliveryStatus.DELIVERED, DeliveryStatus.PARKED]


async def test_the_connection_is_tested(board: Board, fake: Fake) -> None:
    admin, name = board.gate.person(), NAMES[type(fake)]
    assert (await admin.post(f"/admin/settings/{name}/test")).json()["ok"] is True
    secret = "api_key" if isinstance(fake, FakeLinear) else "password"
    await board.set(name, fake.document(**{secret: "wrong"}))
    tested = (await admin.post(f"/admin/settings/{name}/test")).json()
    assert (tested["ok"], tested["status_code"]) == (False, 401)
