"""The API's end of the review child: one process, started when it is needed, killed when it is late.

One thing at a time: who asks while another's filter runs waits for it, or for its end.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import structlog

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.traffic.model import Kept

_log = structlog.get_logger(__name__)

_MODULE: Final = "admin_api.traffic.review_child"
_INHERITED: Final = frozenset({"PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV"})
_START_SECONDS: Final = 30.0
DEADLINE_SECONDS: Final = 5.0
_FRAME_MAX_BYTES: Final = 256 << 20


class Review:
    """``deadline_seconds``: for one question. ``close`` ends the process."""

    def __init__(self, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._deadline_seconds = deadline_seconds
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def matching(self, expression: str, exchanges: Sequence[JsonObject]) -> set[str]:
        """Raises ValidationError for what is no filter expression, or takes too long."""
        answer = await self._ask({"work": "matching", "expression": expression, "exchanges": list(exchanges)}, "filter")
        return set(answer)

    async def pretty(self, exchange: JsonObject, view: str) -> dict[str, Any]:
        """Empty where no view could be made in time: the text as it is remains."""
        try:
            shown: dict[str, Any] = await self._ask({"work": "pretty", "view": view, "exchanges": [exchange]}, "view")
        except (ValidationError, UnavailableError) as error:
            _log.warning("traffic_not_prettified", error=error.message)
            return {}
        return shown

    async def difference(self, left: JsonObject, right: JsonObject) -> dict[str, Any]:
        """Of two documents (``compare``)."""
        found: dict[str, Any] = await self._ask({"work": "difference", "left": left, "right": right}, "diff")
        return found

    async def har(self, exchanges: Sequence[JsonObject]) -> dict[str, Any]:
        made: dict[str, Any] = await self._ask({"work": "har", "exchanges": list(exchanges)}, "export", patience=6.0)
        return made

    async def flow_file(self, exchanges: Sequence[JsonObject]) -> str:
        """In base64."""
        return str(await self._ask({"work": "flow", "exchanges": list(exchanges)}, "export"))

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _ask(self, question: dict[str, Any], field: str, *, patience: float = 1.0) -> Any:
        async with self._turn:
            try:
                process = await self._running()
                async with asyncio.timeout(self._deadline_seconds * patience):
                    answer = await _exchange(process, question)
            except TimeoutError as error:
                await self.close()
                raise ValidationError(
                    f"{field}: not done within {self._deadline_seconds:g} seconds. Use a narrower or simpler filter.",
                    details={"field": field, "reason": "took too long"},
                ) from error
            except (OSError, asyncio.IncompleteReadError) as error:
                await self.close()
                raise UnavailableError("the process that reads captured traffic ended; try again") from error
            except BaseException:
                # Half of an answer may still be on its way: nobody reads the next one from this process.
                await self.close()
                raise
        if "refused" in answer:
            raise ValidationError(
                f"{field}: {answer['refused']}", details={"field": field, "reason": str(answer["refused"])[:500]}
            )
        return answer["answer"]

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        self._process = await asyncio.create_subprocess_exec(
            # -P: no module of the current folder takes the place of ours.
            *(sys.executable, "-P", "-m", _MODULE),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # It reads what strangers wrote, and needs none of this process' addresses and passwords.
            env={name: value for name, value in os.environ.items() if name in _INHERITED},
        )
        async with asyncio.timeout(_START_SECONDS):
            await _exchange(self._process, {"work": "check", "expression": "~m GET"})
        return self._process


async def _exchange(process: asyncio.subprocess.Process, question: dict[str, Any]) -> dict[str, Any]:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("started without pipes")
    content = await asyncio.to_thread(_encoded, question)
    process.stdin.write(len(content).to_bytes(4) + content)
    await process.stdin.drain()
    size = int.from_bytes(await process.stdout.readexactly(4))
    if size > _FRAME_MAX_BYTES:
        raise OSError("an answer that is too large")
    answer: dict[str, Any] = await asyncio.to_thread(json.loads, await process.stdout.readexactly(size))
    return answer


def _encoded(question: dict[str, Any]) -> bytes:
    return json.dumps(question).encode()


def for_review(kept: Kept, document: JsonObject) -> JsonObject:
    """As the child reads it."""
    columns: JsonObject = {
        "id": kept.exchange_id,
        "created": kept.created_at.timestamp(),
        "action_id": kept.action_id,
        "agent_id": kept.agent_id,
        "tool": kept.tool,
        "operation": kept.operation,
        "decision": kept.decision,
        "level": kept.level.value,
        "host": kept.host,
        "port": kept.port,
        "masking": json.loads(kept.masking),
        "omitted": json.loads(kept.omitted),
    }
    return {"columns": columns, "document": document}
