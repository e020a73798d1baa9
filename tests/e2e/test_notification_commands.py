"""``headgate notifications`` against a running instance, whose worker sends what a test message is."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.e2e.instance import Instance
from tests.free_port import free_port
from tests.http_server import http_server

type Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def run(instance: Instance) -> Run:
    return lambda verb, *words: instance.try_subcommand("notifications", verb, *words)


@pytest.fixture
def set_channels(run: Run, administrator: Any, tmp_path: Path) -> Iterator[Callable[..., CompletedProcess[str]]]:
    """As a person sets them; gone when the test is."""

    def put(**document: object) -> CompletedProcess[str]:
        file = tmp_path / "channels.json"
        file.write_text(json.dumps(document), "utf-8")
        return run("set", str(file))

    yield put
    administrator.api.put("/admin/settings/notifications", json={"channels": {}}).raise_for_status()


def _ntfy(address: str, **members: object) -> dict[str, object]:
    return {"kind": "apprise", "url": f"ntfy://{address.removeprefix('http://')}/topic-17", **members}


def test_channels_are_set_and_shown_without_their_secrets(run: Run, set_channels: Any) -> None:
    assert run("show").stdout == "no channels. Create channels with headgate notifications set DOCUMENT\n"
    hours = {"from": "18:00", "until": "08:00", "time_zone": "Europe/Berlin"}
    chat = {"kind": "slack", "channel": "C0123", "token": "xoxb-17", "signing_secret": "5ecret", "enabled": False}
    done = set_channels(
        channels={"on-call": _ntfy("127.0.0.1", recipient="ada@example.com"), "chat": chat},
        routes=[
            {"channels": ["chat"], "events": ["approval.denied"], "risk_levels": ["high", "critical"]},
            {"channels": ["on-call"], "between": hours},
            {"channels": ["on-call"], "tools": ["bank"], "between": {**hours, "days": ["sat", "sun"]}},
        ],
    )
    assert done.returncode == 0, done.stderr
    shown = run("show")
    assert (shown.stdout, shown.stderr) == (done.stdout, done.stderr)
    lines = [line.split("  ") for line in shown.stdout.splitlines()]
    cells = [[cell.strip() for cell in line if cell] for line in lines]
    assert cells[1][:4] == ["chat", "slack", "off", "C0123"] and cells[1][4].startswith("/webhooks/slack/con_")
    assert cells[2] == ["on-call", "ntfy", "on", "ada@example.com"]
    assert cells[5:] == [
        ["chat", "approval.denied", "risk levels: high, critical"],
        ["on-call", "events that need action", "18:00 to 08:00 Europe/Berlin"],
        ["on-call", "events that need action", "tools: bank; 18:00 to 08:00 Europe/Berlin on sat, sun"],
    ]
    assert "warning: no rule covers every approval request" in shown.stderr
    for secret in ("topic-17", "xoxb-17", "5ecret"):
        assert secret not in shown.stdout + shown.stderr + run("show", "--json").stdout


def test_a_test_message_that_arrives_and_one_that_does_not(run: Run, set_channels: Any) -> None:
    got: list[bytes] = []
    nobody = f"http://127.0.0.1:{free_port()}"
    with http_server(lambda _, body: (got.append(body), (200, "application/json", b"{}"))[1]) as url:
        assert set_channels(channels={"on-call": _ntfy(url), "away": _ntfy(nobody)}).returncode == 0
        arrived = run("test", "on-call", "--wait", "90")
        assert (arrived.returncode, ": delivered, " in arrived.stdout, len(got)) == (0, True, 1), arrived
        lost = run("test", "away", "--wait", "90")
        assert (lost.returncode, lost.stderr) == (1, "headgate: the test message was not delivered\n"), lost
        assert ": pending, " in lost.stdout
        delivery_id = arrived.stdout.partition(":")[0]
        listed = run("deliveries", "--channel", "on-call").stdout.splitlines()
        assert listed[1].split()[0] == delivery_id
        assert listed[1].split()[2:] == ["on-call", "notification.test", "delivered", "1", "ok"]
        assert run("deliveries", "--channel", "on-call", "--status", "parked").stdout == "none\n"
        assert run("redeliver", delivery_id).stdout == f"{delivery_id}: pending\n"


def test_what_is_wrong_is_said(run: Run, set_channels: Any, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{", "utf-8")
    broken = run("set", str(tmp_path / "broken.json"))
    assert (broken.returncode, "headgate: the document is not valid JSON" in broken.stderr) == (1, True)
    unknown = set_channels(channels={"on-call": {"kind": "pigeon"}})
    assert (unknown.returncode, "channels.on-call" in unknown.stderr) == (1, True)
    missing = run("test", "nobody-set-it")
    assert (missing.returncode, missing.stderr) == (1, "headgate: no channel nobody-set-it\n")
