"""The administrator's token of the runtime file is renewed, and whatever prevents that once is tried again."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from headgate.configuration.data_directory import DataDirectory
from headgate.configuration.settings import Settings
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime import instance as instance_module
from headgate.runtime.instance import Instance, _task_failed
from headgate.runtime.runtime_file import RuntimeInformation, read_runtime_file


@pytest.mark.parametrize(
    "failure",
    [UnavailableError("the database does not answer"), OSError(24, "Too many open files"), ValueError("no token")],
)
async def test_after_a_failure_the_next_token_is_written(
    failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Exception | Secret] = [failure, failure, Secret("second"), Secret("third")]

    async def new_token(*_: Any) -> Secret:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(instance_module, "new_token", new_token)
    monkeypatch.setattr(instance_module, "_TOKEN_RENEWAL_SECONDS", 0.01)
    monkeypatch.setattr(instance_module, "_TOKEN_RETRY_SECONDS", 0.01)
    settings = cast("Settings", SimpleNamespace(data=DataDirectory(tmp_path)))
    instance = Instance(settings, None, lambda information, prepared: None)
    secret = Secret("first")
    instance._information = RuntimeInformation(
        "http://127.0.0.1:1", "http://127.0.0.1:2", "ca.pem", "agt_1", secret, secret, "http://x", secret, secret, {}
    )
    renewing = asyncio.create_task(instance._renew_token())
    async with asyncio.timeout(5):
        while answers:
            await asyncio.sleep(0.01)
    renewing.cancel()
    await asyncio.wait([renewing])
    written = read_runtime_file(settings.data.runtime_file)
    assert written.admin_token.reveal() == "third"
    assert written.agent_key.reveal() == "first"


@pytest.mark.parametrize(("task", "said"), [("renew token", True), ("start", False)])
async def test_a_task_that_fails_ends_the_instance_and_is_named(task: str, said: bool) -> None:
    stop = asyncio.Event()
    with capture_logs() as logs:
        _task_failed(stop, task, ValueError("a defect"))
    assert stop.is_set()
    assert [one["event"] for one in logs] == (["instance_task_failed"] if said else []), "a failed start is raised"
