"""A real server on a real port that answers as providers of language models do, and badly on request."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from headgate.kernel.public_roots import public_roots

_FOLDER = Path(__file__).resolve().parents[2] / "model_server"
_PROGRAM = _FOLDER / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
_ADDRESS = re.compile(r"listening on (http://127\.0\.0\.1:[0-9]+)")


@dataclass(frozen=True)
class ModelServer:
    """``journal``: what it was asked since the last ``reset``."""

    url: str

    async def answers(self, *contents: str | dict[str, object], **match: object) -> None:
        """One after the other, and the last one for ever."""
        fixtures: list[dict[str, object]] = []
        for number, content in enumerate(contents):
            sequence = {"sequenceIndex": number} if number < len(contents) - 1 else {}
            response = {"content": content} if isinstance(content, str) else content
            fixtures.append({"match": {**match, **sequence}, "response": response})
        await self._post("fixtures", {"fixtures": fixtures})

    async def fails_once(self, status: int) -> None:
        await self._post("error", {"status": status, "body": {"message": "no", "type": "error"}})

    async def behaves(self, **rates: float) -> None:
        """``dropRate``, ``malformedRate``, ``disconnectRate``, ``rateLimitRate``: from 0 to 1; ``latencyMs``."""
        await self._post("chaos", rates)

    async def reset(self) -> None:
        await self._post("reset", {})
        async with httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False) as client:
            (await client.delete(f"{self.url}/__aimock/chaos")).raise_for_status()

    async def journal(self) -> list[dict[str, object]]:
        async with httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False) as client:
            answer = await client.get(f"{self.url}/__aimock/journal")
        return answer.raise_for_status().json()  # type: ignore[no-any-return]

    async def _post(self, what: str, body: object) -> None:
        async with httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False) as client:
            answer = await client.post(f"{self.url}/__aimock/{what}", json=body)
        assert answer.status_code == 200, answer.text


@contextmanager
def run_model_server(folder: Path) -> Iterator[ModelServer]:
    assert _PROGRAM.exists(), "run make tests, or npm ci in tests/model_server, to install it"
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": [{"match": {"model": "nobody"}, "response": {"content": "{}"}}]}))
    log = folder / "server.log"
    with log.open("wb") as output:
        command = ["node", str(_PROGRAM), "-p", "0", "-f", str(fixtures), "--log-level", "info"]
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        yield ModelServer(_address(log, process))
    finally:
        process.terminate()
        process.wait(10)


def _address(log: Path, process: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + 60
    while (match := _ADDRESS.search(log.read_text("utf-8"))) is None:
        assert process.poll() is None and time.monotonic() < deadline, log.read_text("utf-8")
        time.sleep(0.05)
    return match[1]
