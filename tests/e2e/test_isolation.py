"""``headgate run --isolate``: the proxy is the only way out, also for programs that know nothing of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.instance import Instance
from tests.e2e.waiting import wait_for

_THROUGH: Final = "import os,urllib.request; print(urllib.request.urlopen(os.environ['TARGET']).status)"
_AROUND: Final = """
import os, socket, sys
host, port = sys.argv[1], int(sys.argv[2])
try:
    socket.create_connection((host, port), 5)
    print("connected")
except OSError as error:
    print(error.errno)
"""
_READS: Final = "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.exit(7)"


def command_of(instance: Instance, *words: str) -> list[str]:
    headgate = [sys.executable, "-m", "headgate.cli.main"]
    return [*headgate, "run", "--isolate", "--runtime-file", str(instance.runtime_file), "--", *words]


def isolated(instance: Instance, *words: str, given: str = "", **variables: str):
    return subprocess.run(
        command_of(instance, *words), input=given, env={**os.environ, **variables}, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip


def test_calls_through_the_proxy_are_decided(instance, upstream, new_path) -> None:
    allowed = isolated(instance, sys.executable, "-c", _THROUGH, TARGET=upstream.url + new_path())
    assert (allowed.returncode, allowed.stdout) == (0, "200\n"), allowed.stderr
    path = new_path()
    refused = isolated(instance, "curl", "-sS", "-X", "DELETE", upstream.url + path)
    assert "ACTION_DENIED" in refused.stdout, refused.stderr
    assert upstream.of(path) == []


@pytest.mark.parametrize("address", ["upstream", "192.0.2.1:443", "api.github.com:443"])
def test_there_is_no_way_around_it(instance, upstream, address: str) -> None:
    if address == "upstream":
        address = upstream.url.partition("://")[2]
    before = upstream.connections
    tried = isolated(instance, sys.executable, "-c", _AROUND, *address.rsplit(":", 1))
    assert tried.returncode == 0, tried.stderr
    assert "connected" not in tried.stdout
    assert upstream.connections == before


@pytest.mark.parametrize("options", [(), ("--isolate",)])
def test_the_program_gets_no_credential_but_the_agents(instance, options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "headgate.cli.main", "run", *options, "--runtime-file", str(instance.runtime_file)]
    given = {**os.environ, "HEADGATE_TOKEN": "of-an-approver", "HEADGATE_BACKUP_PASSPHRASE": "of-an-operator"}
    told = subprocess.run(
        [*command, "--", "env"], env=given, capture_output=True, text=True, check=False, timeout=60
    ).stdout  # fmt: skip
    assert "HEADGATE_AGENT_KEY=hg_" in told
    assert "of-an-" not in told


def test_another_namespace_cannot_be_entered(instance) -> None:
    for words in (("nsenter", "--net=/proc/1/ns/net", "true"), ("unshare", "--net", "true")):
        tried = isolated(instance, *words)
        assert (tried.returncode != 0) == (words[0] == "nsenter"), tried.stderr


def test_the_program_is_as_outside_otherwise(instance, tmp_path: Path) -> None:
    done = isolated(instance, sys.executable, "-c", _READS, given="hello")
    assert (done.returncode, done.stdout) == (7, "HELLO")
    killed = isolated(instance, "sh", "-c", "kill -9 $$")
    assert killed.returncode == 128 + signal.SIGKILL
    told = isolated(
        instance, sys.executable, "-m", "headgate.cli.main", "doctor", "--runtime-file", str(instance.runtime_file)
    )
    assert "no way around the proxy" in told.stdout, told.stdout
    assert "the proxy listens at" in told.stdout
    missing = isolated(instance, "no-such-program")
    assert (missing.returncode, "program not found" in missing.stderr) == (1, True)


def test_signals_reach_the_program_and_without_its_exit_it_has_no_network(instance, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    sleep = ["sh", "-c", f"echo $$ > {pid_file}; trap 'exit 5' TERM; while :; do sleep 0.1; done"]
    for number, status in ((signal.SIGTERM, 5), (signal.SIGKILL, -signal.SIGKILL)):
        pid_file.unlink(missing_ok=True)
        process = subprocess.Popen(command_of(instance, *sleep))
        wait_for(lambda: pid_file.exists() and pid_file.read_text().strip(), "the program runs")
        process.send_signal(number)
        assert process.wait(20) == status
    # Whoever outlives the relay has no network.
    orphan = int(pid_file.read_text())
    listening = Path(f"/proc/{orphan}/net/tcp").read_text().splitlines()[1:]
    assert listening == []
    os.kill(orphan, signal.SIGKILL)
