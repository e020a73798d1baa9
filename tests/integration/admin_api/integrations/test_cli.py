"""``headgate integrations`` against the API as it runs."""

import asyncio
import json
import os
import sys
from typing import Any

from headgate.organizations.model import Role
from tests.integration.admin_api.integrations.conftest import Board
from tests.integration.admin_api.integrations.fake_linear import FakeLinear
from tests.integration.outgoing.fake_platform import start


async def _headgate(board: Board, *arguments: str, given: str = "") -> tuple[int | None, str, str]:
    token = board.gate.api.token(board.gate.org_id, Role.ADMIN, email="alice@example.com")
    environment = {**os.environ, "HEADGATE_API_URL": board.gate.api.url, "HEADGATE_TOKEN": token}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "headgate.cli.main", "integrations", *arguments, env=environment,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate(given.encode())
    return process.returncode, out.decode(), err.decode()


async def test_set_shown_tested_and_looked_at(world, board: Board) -> None:
    linear = await start(world, FakeLinear)
    document: dict[str, Any] = linear.document()
    code, out, err = await _headgate(board, "set", "linear", "-", given=json.dumps(document))
    assert code == 0, err
    assert "/webhooks/linear/con_" in out
    code, out, _ = await _headgate(board, "show", "linear")
    assert (code, json.loads(out)["has_api_key"]) == (0, True)
    assert document["api_key"] not in out
    code, out, _ = await _headgate(board, "list")
    states = {line.split()[0]: line.split()[1] for line in out.splitlines()[1:]}
    assert (code, states["linear"], states["jira"], len(states)) == (0, "on", "not", 8)
    code, out, _ = await _headgate(board, "test", "linear")
    assert (code, out.startswith("reached as Headgate in ")) == (0, True)
    assert (await _headgate(board, "receipts", "linear"))[1] == "none\n"
    linear.add_user("ada", None)
    board.path, board.name = (await board.gate.person().get("/admin/settings/linear")).json()["webhook_path"], "linear"
    await board.ask()
    await board.work()
    (ticket,) = linear.tickets.values()
    await board.send(*linear.moved(ticket, "Approved", "ada"))
    code, out, _ = await _headgate(board, "receipts", "linear")
    assert "refused" in out
    assert "not linked to a Headgate user" in out


async def test_what_fails_says_why(world, board: Board) -> None:
    linear = await start(world, FakeLinear)
    code, _, err = await _headgate(board, "set", "linear", "-", given="{")
    assert (code, "not valid JSON" in err) == (1, True)
    code, _, err = await _headgate(board, "set", "linear", "-", given='{"enabled": true}')
    assert (code, "team_id" in err) == (1, True)
    wrong = json.dumps(linear.document(api_key="wrong"))
    assert (await _headgate(board, "set", "linear", "-", given=wrong))[0] == 0
    code, _, err = await _headgate(board, "test", "linear")
    assert (code, "401" in err) == (1, True)
    code, _, err = await _headgate(board, "test", "jira")
    assert (code, "not configured" in err) == (1, True)
