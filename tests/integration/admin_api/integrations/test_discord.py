"""Discord: asked with buttons, decided by who is linked, told in a thread."""

import asyncio
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from headgate.organizations.model import Role
from tests.integration.admin_api.integrations.conftest import Board
from tests.integration.admin_api.integrations.fake_discord import FakeDiscord, pressed, signed
from tests.integration.outgoing.fake_platform import Answered, start

ADA = "80351110224678912"


@pytest.fixture
async def discord(world, board: Board) -> FakeDiscord:
    made = await start(world, FakeDiscord)
    ada = await board.user("ada")
    await board.set("discord", made.document({ADA: ada}))
    return made


async def _asked(board: Board, discord: FakeDiscord, **params: Any) -> tuple[Any, dict[str, Any]]:
    asked = await board.ask(**params)
    assert await board.work() == []
    (message,) = discord.asking
    return asked, message


async def test_asked_decided_and_told_in_the_thread(board: Board, discord: FakeDiscord) -> None:
    asked, message = await _asked(board, discord, note="``` @everyone [x](https://evil.example)")
    assert message["content"].count("```") == 2
    labels = [one["label"] for one in message["components"][0]["components"]]
    assert labels == ["Approve", "Deny…", "Open"]
    answer = await board.send(*signed(pressed(f"approve:{asked.approval_id}")))
    assert answer.status_code == 200
    said = answer.json()
    assert (said["type"], said["data"]["flags"], said["data"]["content"]) == (4, 64, "The approval is approved.")
    assert await asked.status() == "approved"
    assert await board.work() == []
    assert message["components"] == []
    assert "Approved: write.file" in discord.texts(message)[0]
    audit = (await board.gate.person().get("/admin/audit", params={"event_type": "integration.decided"})).json()
    assert audit["data"][0]["data"]["account"] == ADA


async def test_what_discord_would_refuse_for_its_length_is_cut(board: Board, discord: FakeDiscord) -> None:
    """Marks that are kept apart in a block of code make it longer: an agent must not write what is refused."""
    _, message = await _asked(board, discord, note="`" * 1500, long_name="_" * 600)
    assert len(message["content"]) <= 2000
    assert message["content"].count("```") == 2
    assert message["content"].endswith("(cut: Headgate shows all)\n```")
    assert "sha256:" in message["content"]
    assert "/links/" not in message["content"]


async def test_a_denial_asks_for_its_reason(board: Board, discord: FakeDiscord) -> None:
    asked, message = await _asked(board, discord)
    modal = (await board.send(*signed(pressed(f"deny:{asked.approval_id}")))).json()
    assert (modal["type"], modal["data"]["custom_id"]) == (9, f"deny:{asked.approval_id}")
    assert await asked.status() == "pending"
    empty = (await board.send(*signed(pressed(f"deny:{asked.approval_id}", reason=" ")))).json()
    assert "A reason is required" in empty["data"]["content"]
    await board.send(*signed(pressed(f"deny:{asked.approval_id}", reason="not now")))
    assert await asked.status() == "denied"
    await board.work()
    assert "not now" in discord.texts(message)[0]


async def test_a_ping_is_answered(board: Board, discord: FakeDiscord) -> None:
    assert (await board.send(*signed({"type": 1}))).json() == {"type": 1}


@pytest.mark.parametrize(
    "signing", [{"key": Ed25519PrivateKey.generate()}, {"age_seconds": 301}, {"age_seconds": -3_000}]
)
async def test_forged_and_stale_are_refused(board: Board, discord: FakeDiscord, signing: dict[str, Any]) -> None:
    asked, _ = await _asked(board, discord)
    assert (await board.send(*signed({"type": 1}, **signing))).status_code == 401
    assert (await board.send(*signed(pressed(f"approve:{asked.approval_id}"), **signing))).status_code == 401
    body, headers = signed(pressed(f"approve:{asked.approval_id}"))
    assert (await board.send(body + b" ", headers)).status_code == 401
    assert (await board.send(body, {**headers, "X-Signature-Ed25519": "zz"})).status_code == 401
    assert (await board.send(body, {})).status_code == 401
    assert await asked.status() == "pending"


async def test_who_may_not_decides_nothing_and_is_told(board: Board, discord: FakeDiscord, new_gate) -> None:
    asked, _ = await _asked(board, discord)
    stranger = (await board.send(*signed(pressed(f"approve:{asked.approval_id}", "1")))).json()
    assert "not linked to a Headgate user" in stranger["data"]["content"]
    await board.user("ada", Role.VIEWER)
    viewer = (await board.send(*signed(pressed(f"approve:{asked.approval_id}")))).json()
    assert "may not decide" in viewer["data"]["content"]
    other = Board(await new_gate(), board.worker, board.clock)
    theirs = await other.ask()
    foreign = (await board.send(*signed(pressed(f"approve:{theirs.approval_id}")))).json()
    assert "not sent to this channel" in foreign["data"]["content"]
    assert (await asked.status(), await theirs.status()) == ("pending", "pending")


async def test_pressed_twice_counts_once(board: Board, discord: FakeDiscord) -> None:
    asked, _ = await _asked(board, discord)
    body, headers = signed(pressed(f"approve:{asked.approval_id}"))
    both = await asyncio.gather(board.send(body, headers), board.send(body, headers))
    contents = sorted(one.json()["data"]["content"] for one in both)
    assert contents[1] == "The approval is approved."
    assert contents[0].startswith("Nothing was decided")
    assert len(await board.receipts()) == 1


async def test_lost_answers_make_nothing_twice(board: Board, discord: FakeDiscord) -> None:
    asked = await board.ask()
    discord.lost = 1
    assert len(await board.work()) == 1
    discord.forgets_nonces, discord.others = True, 3
    assert await board.work() == []
    (message,) = discord.asking
    await board.decide(asked)
    discord.others = 0
    await board.relay()
    answer = discord.respond

    def lose(request: Any) -> Answered:
        if request.path.endswith(f"/channels/{message['id']}/messages") and request.method == "POST":
            discord.lost = 1
        return answer(request)

    discord.respond = lose  # type: ignore[method-assign]
    assert len(await board.work()) == 1
    discord.respond = answer  # type: ignore[method-assign]
    assert await board.work() == []
    assert len(discord.texts(message)) == 1
    assert message["components"] == []


async def test_limits_are_kept(board: Board, discord: FakeDiscord) -> None:
    await board.ask()
    discord.scripted = [
        Answered(429, {"message": "limited", "retry_after": 77.5, "global": False}, ("Retry-After: 77",))
    ]
    (later,) = await board.work()
    assert later.after_seconds == pytest.approx(77, abs=1)


async def test_the_connection_is_tested(board: Board, discord: FakeDiscord) -> None:
    tested = (await board.gate.person().post("/admin/settings/discord/test")).json()
    assert (tested["ok"], tested["account"]) == (True, "headgate")
