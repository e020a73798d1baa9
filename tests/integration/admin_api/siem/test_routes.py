"""/admin/settings/siem and ``headgate siem``: set, shown without secrets, and followed."""

import asyncio
import sys

import pytest

from headgate.journal.apply import apply_before_reading
from headgate.organizations.model import Role

_PATH = "/admin/settings/siem"
_PROGRAM = "from headgate.cli.main import main; main()"


async def test_it_is_set_and_shown_without_its_secret(gate) -> None:
    admin = gate.person()
    assert (await admin.get(_PATH)).json() == {"destinations": {}}
    hec = {"address": "https://siem.example/x", "authorization": "Splunk s3cret", "from": "beginning"}
    answer = await admin.put(_PATH, json={"destinations": {"hec": hec, "logs": {"address": "syslog+tls://l.example"}}})
    assert answer.status_code == 200, answer.text
    shown = (await admin.get(_PATH)).json()["destinations"]
    assert "s3cret" not in (await admin.get(_PATH)).text + answer.text
    assert (shown["hec"]["has_authorization"], shown["logs"]["has_authorization"]) == (True, False)
    assert (shown["hec"]["last_seq"], shown["hec"]["from"]) == (0, "beginning")
    await apply_before_reading(gate.api.dependencies.database, gate.org_id)
    later = (await admin.get(_PATH)).json()["destinations"]
    assert later["hec"]["behind"] > later["logs"]["behind"] >= 1
    # Left out, it stays; with another address, it does not.
    hec = {"address": "https://siem.example/x"}
    kept = (await admin.put(_PATH, json={"destinations": {"hec": hec}})).json()["destinations"]
    assert kept["hec"]["has_authorization"]
    moved = {"address": "https://elsewhere.example/x"}
    gone = (await admin.put(_PATH, json={"destinations": {"hec": moved}})).json()["destinations"]
    assert not gone["hec"]["has_authorization"]


async def test_two_administrators_do_not_overwrite_each_other(gate) -> None:
    admin, body = gate.person(), {"destinations": {"kept": {"address": "file:"}}}
    assert "etag" not in (await admin.get(_PATH)).headers
    assert (await admin.put(_PATH, json=body)).headers["etag"] == '"1"'
    tag = (await admin.get(_PATH)).headers["etag"]
    assert (await admin.put(_PATH, json=body, headers={"If-Match": tag})).headers["etag"] == '"2"'
    assert (await admin.put(_PATH, json=body, headers={"If-Match": tag})).status_code == 412


@pytest.mark.parametrize(
    "body", [{}, {"destinations": {"a": {"address": "file:///etc"}}}, {"destinations": {"a": {"addr": "file:"}}}]
)
async def test_what_is_refused(gate, body: dict[str, object]) -> None:
    answer = await gate.person().put(_PATH, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert (await gate.person().get(_PATH)).json() == {"destinations": {}}


async def test_only_administrators(gate, new_gate) -> None:
    await gate.person().put(_PATH, json={"destinations": {"kept": {"address": "file:"}}})
    for role in (Role.AUDITOR, Role.APPROVER, Role.VIEWER):
        assert (await gate.person("eve", role).get(_PATH)).status_code == 403
        assert (await gate.person("eve", role).put(_PATH, json={"destinations": {}})).status_code == 403
    assert (await (await new_gate()).person().get(_PATH)).json() == {"destinations": {}}


async def test_the_commands(gate) -> None:
    environment = {"HEADGATE_API_URL": gate.api.url, "HEADGATE_TOKEN": gate.api.token(gate.org_id, Role.ADMIN)}

    async def run(*arguments: str, given: bytes | None = None) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _PROGRAM, "siem", *arguments, env=environment, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        out, _ = await process.communicate(given)
        return process.returncode or 0, out.decode()

    hec = ("set", "hec", "https://siem.example/x", "--authorization-file", "-")
    status, out = await run(*hec, given=b"Splunk s3cret\n")
    assert (status, "s3cret" in out) == (0, False)
    assert (await run("set", "kept", "file:", "--off"))[0] == 0
    shown = (await gate.person().get(_PATH)).json()["destinations"]
    assert (shown["hec"]["has_authorization"], shown["kept"]["enabled"]) == (True, False)
    status, listed = await run("list")
    assert status == 0
    assert ["hec", "working"] in [line.split()[:2] for line in listed.splitlines()]
    assert (await run("remove", "hec", "--yes"))[0] == 0
    assert (await run("remove", "hec", "--yes"))[0] != 0
    assert set((await gate.person().get(_PATH)).json()["destinations"]) == {"kept"}
