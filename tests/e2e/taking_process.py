"""A process of its own that takes an approved action and then passes it on, which here is a line in a file.

Standard input: one JSON object {api_url, agent_key, action_id, body, passed, dies}. ``dies``: between the two.
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


async def took(told: dict[str, Any]) -> bool:
    async with AsyncClient(told["api_url"], agent_key=told["agent_key"]) as client:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        try:
            await client.send(operations.take_action(told["action_id"], told["body"]))
        except ConflictError:
            return False
    return True


def main() -> None:
    told = json.loads(sys.stdin.readline())
    if not asyncio.run(took(told)):
        return
    if told["dies"]:
        os.kill(os.getpid(), signal.SIGKILL)
    with Path(told["passed"]).open("a") as passed:
        passed.write(f"{told['action_id']}\n")


main()
