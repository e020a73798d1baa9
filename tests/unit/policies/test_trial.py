"""A new policy does to a child what it would have done to the gateway."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headgate.policies import trial
from headgate.policies.compile import PolicyRefusedError
from headgate.policies.trial import try_policies, try_policy

HEAD = "package t\nimport rego.v1\n"
DATA = b'{"allowlist":{}}'


async def test_a_good_policy_passes_quickly_and_the_loop_goes_on() -> None:
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.005)

    async with asyncio.TaskGroup() as group:
        turning = group.create_task(turn())
        started = time.monotonic()
        report = await try_policy(HEAD + 'allow if input.tool == "github"', DATA)
        elapsed = time.monotonic() - started
        turning.cancel()
    assert report.warnings == ()
    assert turns > 5
    assert elapsed < 5  # measured 0.3 s; the bound is for a busy machine


async def test_bad_rego_is_refused_with_its_place() -> None:
    with pytest.raises(PolicyRefusedError) as refusal:
        await try_policy(HEAD + "allow if {\n  input.tool ==\n}\n", DATA)
    details = refusal.value.details
    assert details is not None
    assert details["file"] == "policy.rego"
    assert details["line"] == 5
    assert isinstance(details["column"], int)
    assert details["source"] == "}"
    assert refusal.value.http_status == 400


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ('allow := "yes"', "allow must be true or false"),
        ('deny[m] if { m := "x" }', "write `deny contains message if"),
        ("deny if { some a in numbers.range(1, 5000); some b in numbers.range(1, 5000); a * b < 0 }", "limits"),
    ],
)
async def test_what_would_deny_every_call_is_refused(rules: str, complaint: str) -> None:
    with pytest.raises(PolicyRefusedError, match=complaint):
        await try_policy(HEAD + rules, DATA)


async def test_failing_on_some_calls_is_a_warning() -> None:
    report = await try_policy(HEAD + "deny if to_number(input.params.amount) > 100", DATA)
    assert any("it fails, and so denies" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("import os; os.abort()", "made the engine crash"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "made the engine crash"),
        ("while True: pass", "used up its time"),
        ("x = bytearray(8 << 30)", "used up its memory"),
        ("print('not json')", "without a result"),
    ],
)
async def test_whatever_happens_to_the_child_refuses_the_policy(
    monkeypatch: pytest.MonkeyPatch, program: str, complaint: str
) -> None:
    """The engine's part is played by a few lines that do what a policy must never do to a gateway."""
    limited = (
        "import resource\nfrom headgate.policies import trial_child\nresource.setrlimit(resource.RLIMIT_CPU, (1, 2))\n"
    )
    limited += f"resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n{program}\n"
    monkeypatch.setattr(trial, "_CHILD", ("-c", limited))
    with pytest.raises(PolicyRefusedError, match=complaint):
        await try_policy(HEAD + "allow := true", DATA)


async def test_a_child_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_CHILD", ("-c", "import time; time.sleep(60)"))
    monkeypatch.setattr(trial, "_WALL_SECONDS", 0.3)
    with pytest.raises(PolicyRefusedError, match="did not end in time"):
        await try_policy(HEAD + "allow := true", DATA)


async def test_only_so_many_children_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each may take memory and a processor: fifty tried at once would take the gateway's."""
    counted = (
        "import json, os, pathlib, sys, time\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "mine = folder / str(os.getpid())\n"
        "mine.touch()\n"
        "time.sleep(0.2)\n"
        "seen = len(list(folder.iterdir()))\n"
        "mine.unlink()\n"
        "print(json.dumps({'warnings': [seen]}))\n"
    )
    monkeypatch.setattr(trial, "_CHILD", ("-c", counted))
    reports = await asyncio.gather(*(try_policy(HEAD + "allow := true", DATA) for _ in range(12)))
    assert max(int(one.warnings[0]) for one in reports) <= trial.AT_ONCE


def test_the_child_loads_little() -> None:
    """Somebody waits for it each time that a policy is saved."""
    program = "import sys, headgate.policies.trial_child; print(sorted({'asyncio', 'structlog'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_many_are_tried_up_to_the_first_that_is_refused() -> None:
    good, bad = HEAD + "allow := true", HEAD + "allow if {"
    outcomes = await try_policies([good, good, bad, good], DATA)
    assert [isinstance(one, PolicyRefusedError) for one in outcomes] == [False, False, True]


async def test_the_policy_that_ends_the_child_is_the_refused_one(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os; print('{\"warnings\": []}', flush=True); os.kill(os.getpid(), 9)"
    monkeypatch.setattr(trial, "_CHILD", ("-c", program))
    first, second = await try_policies([HEAD + "allow := true"] * 3, DATA)
    assert (isinstance(first, PolicyRefusedError), isinstance(second, PolicyRefusedError)) == (False, True)
