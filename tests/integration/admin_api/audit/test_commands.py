"""``headgate audit list``, ``show`` and ``export-events`` against a running API."""

import asyncio
import csv
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from headgate.organizations.model import Role

_PROGRAM = "from headgate.cli.main import main; main()"


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str


@pytest.fixture
def run(gate):
    """A command as an auditor of the gate's organization."""

    async def command(*arguments: str) -> Ended:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _PROGRAM, "audit", *arguments,
            env={"HEADGATE_API_URL": gate.api.url, "HEADGATE_TOKEN": gate.api.token(gate.org_id, Role.AUDITOR)},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        return Ended(process.returncode or 0, out.decode(), err.decode())

    return command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "taken"
    made.mkdir()
    return made


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_an_event_is_listed_shown_and_exported(gate, run, folder: Path) -> None:
    await gate.as_agent.post("/v1/actions", json={"tool": "wipe", "operation": "disk", "params": {}})
    hostile = await gate.person().post("/admin/agents", json={"name": "\x1b[2Jred"})
    assert hostile.status_code == 201

    listed = await run("list", "--tool", "wipe", "--decision", "deny")
    assert listed.status == 0, listed.err
    assert "Robot" in listed.out
    assert "2 found" in listed.err
    event_id = re.findall(r"decision\.made .*(evt_\S+)", listed.out)[0]

    shown = await run("show", event_id)
    assert shown.status == 0, shown.err
    assert json.loads((await run("show", event_id, "--json")).out)["hash_input"]["header"] in shown.out
    assert "no signed checkpoint covers it yet" in shown.out

    created = await run("list", "--type", "agent.created", "--search", "red")
    assert "agent.created" in created.out
    assert "\x1b" not in created.out

    assert "1 found, at the end of the log" in created.err

    taken = await run("export-events", "--format", "csv", "--tool", "wipe", "--output", str(folder / "wipe.csv"))
    assert (taken.status, taken.out) == (0, f"{folder}/wipe.csv: 3 lines\n"), taken.err
    with (folder / "wipe.csv").open(newline="") as file:
        assert [row["event_type"] for row in csv.DictReader(file)] == ["decision.made", "action.submitted"]
    assert names_in(folder) == ["wipe.csv"]
    printed = await run("export-events", "--type", "agent.created")
    assert {json.loads(line)["event_type"] for line in printed.out.splitlines()} == {"agent.created"}


async def test_a_search_is_followed_through_the_record(gate, run, monkeypatch: pytest.MonkeyPatch) -> None:
    await gate.person().post("/admin/agents", json={"name": "needle"})
    for name in ("straw", "hay", "more hay"):
        await gate.person().post("/admin/agents", json={"name": name})
    monkeypatch.setattr("headgate.audit.store.SEARCHED_EVENTS", 3)
    found = await run("list", "--search", "needle")
    assert ("agent.created" in found.out, "1 found, at the end of the log" in found.err) == (True, True), found.err


async def test_a_bad_filter_leaves_no_file_and_says_why(run, folder: Path) -> None:
    refused = await run("export-events", "--from", "2026-02-02", "--to", "2026-02-01", "--output", str(folder / "x"))
    assert refused.status != 0
    assert "end_date is before start_date" in refused.err
    assert names_in(folder) == []
