"""``headgate connections`` against an API that runs."""

import asyncio
import os
import sys
from dataclasses import dataclass

import pytest

from headgate.organizations.model import Role
from tests.integration.admin_api.connections.authorization_server import REDIRECT, SECRET


@dataclass(frozen=True)
class Said:
    exit_code: int
    output: str


@pytest.fixture
def run(gate):
    environment = {
        **os.environ,
        "HEADGATE_API_URL": gate.api.url,
        "HEADGATE_TOKEN": gate.api.token(gate.org_id, Role.ADMIN),
    }

    async def command(*words: str, given: str | None = None) -> Said:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "headgate.cli.main", "connections", *words),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate((given or "").encode())
        return Said(process.returncode or 0, output.decode())

    return command


async def test_add_list_show_test_delete(run) -> None:
    made = await run("add", "svc", "--kind", "api_key", "--host", "api.example.com", "--agent", "*",
                     "--field", "X-Token", given="secret=s3cr3t-of-a-command\n")  # fmt: skip
    assert made.exit_code == 0, made.output
    connection_id = made.output.split()[0]
    assert "is active" in made.output and "hg_placeholder_svc" in made.output and "s3cr3t" not in made.output
    listed = await run("list")
    assert connection_id in listed.output and "api.example.com:443" in listed.output
    shown = await run("show", connection_id)
    assert (await run("show", "svc")).output == shown.output
    assert "header x-token" in shown.output and "s3cr3t" not in shown.output
    tested = await run("test", "svc")
    assert tested.exit_code == 0 and tested.output.startswith("unknown: ")
    missing = await run("delete", "other", "--yes")
    assert missing.exit_code != 0 and missing.output.startswith("headgate: no connection other")
    removed = await run("delete", "svc", "--yes")
    assert removed.exit_code == 0, removed.output
    assert (await run("list")).output == "no connections. Create one with headgate connections add NAME\n"


async def test_a_certificate_is_read_from_its_files(run, tls, tmp_path) -> None:
    for name, text in zip(("cert.pem", "key.pem"), tls.client_pair, strict=True):
        (tmp_path / name).write_text(text)
    given = f"certificate=@{tmp_path}/cert.pem\nprivate_key=@{tmp_path}/key.pem\n"
    made = await run("add", "robot", "--kind", "mtls", "--host", "api.example.com", given=given)
    assert made.exit_code == 0 and "no agent may use it yet" in made.output, made.output


async def test_one_way_or_the_other(run) -> None:
    for words in (("add", "svc"), ("add", "svc", "--kind", "bearer", "--platform", "github")):
        answer = await run(*words)
        assert answer.exit_code != 0 and "--kind" in answer.output


async def test_consent_needs_an_application(run) -> None:
    answer = await run(
        "add", "code", "--platform", "github", "--redirect-uri", REDIRECT, given=f"client_secret={SECRET}"
    )
    assert answer.exit_code != 0 and "--client-id" in answer.output
