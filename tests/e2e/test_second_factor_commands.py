"""``headgate mfa`` and ``headgate secrets`` against a running instance, as a person at a terminal goes through them."""

import os
import subprocess
import sys

from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.mfa.totp import code_at, step_of
from tests.e2e.instance import Instance


def _as_person(instance: Instance, token: str, *words: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "HEADGATE_TOKEN": token, "HEADGATE_API_URL": instance.runtime["api_url"]}
    command = [sys.executable, "-m", "headgate.cli.main", "mfa", *words]
    return subprocess.run(
        command,
        env=environment,
        cwd=instance.folder,
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def _enrolled(instance: Instance, token: str) -> str:
    """The token with aal2. The code is of a secret that is printed first, hence the pipe."""
    environment = {**os.environ, "HEADGATE_TOKEN": token, "HEADGATE_API_URL": instance.runtime["api_url"]}
    command = [sys.executable, "-m", "headgate.cli.main", "mfa", "enrol"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None and process.stdin is not None and process.stdout is not None
        secret = process.stderr.readline().rpartition(" ")[2].strip()
        process.stdin.write(code_at(Secret(secret), step_of(system_clock())) + "\n")
        process.stdin.close()
        printed = process.stdout.read()
        assert process.wait(100) == 0, process.stderr.read()
    return printed.split()[-1]


def test_enrol_make_codes_recover_and_rotate(instance: Instance) -> None:
    weak = instance.command("token", "--user", "ana@example.com", "--role", "viewer").strip()
    strong = _enrolled(instance, weak)
    made = _as_person(instance, strong, "codes")
    assert made.returncode == 0, made.stderr
    codes = made.stdout.split()
    assert len(codes) == 10
    refused = _as_person(instance, weak, "codes")
    assert refused.returncode == 1 and "second factor" in refused.stderr

    # With the time in which events of before are attested: the key is retired below, and the record would miss them.
    rotated = instance.try_subcommand("secrets", "rotate")
    assert rotated.returncode == 0, rotated.stderr
    status = instance.try_subcommand("secrets", "status").stdout.splitlines()
    old = next(line.split()[0] for line in status[1:] if " yes " not in line)
    assert instance.try_subcommand("secrets", "retire", old).returncode == 0
    assert old not in instance.try_subcommand("secrets", "status").stdout

    recovered = _as_person(instance, weak, "recover", typed=codes[0] + "\n")
    assert recovered.returncode == 0, recovered.stderr
    assert "1 factors removed, 9 other codes purged" in recovered.stdout
