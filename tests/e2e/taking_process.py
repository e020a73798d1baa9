"""A process of its own that takes approved actions and then passes each on, which here is a line in a file.

Standard input: one JSON object {api_url, agent_key, body, passed, dies}; then for each action its id, and an empty line
when it is to be taken. ``dies``: between the two. Standard output: "ready" for each id, "done" for each that it tried.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from headgate.client import operations
from headgate.client.asynchronous import AsyncClient
from headgate.client.errors import ConflictError


async def take_each(told: dict[str, Any]) -> None:
    async with AsyncClient(told["api_url"], agent_key=told["agent_key"]) as client:
        while action_id := sys.stdin.readline().strip():
            _say("ready")
            sys.stdin.readline()
            try:
                await client.send(operations.take_action(action_id, told["body"]))
            except ConflictError:
                pass
            else:
                _pass_on(action_id, told)
            _say("done")


def _pass_on(action_id: str, told: dict[str, Any]) -> None:
    if told["dies"]:
        os.kill(os.getpid(), signal.SIGKILL)
    with Path(told["passed"]).open("a") as passed:
        passed.write(f"{action_id}\n")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


asyncio.run(take_each(json.loads(sys.stdin.readline())))
