"""The API's end of the review child: one process, started when it is needed, killed when it is late.

It answers one question at a time. Questions wait in turns that are fair between organizations, and are bounded: without
that, one organization's slow filters would keep captured traffic from all others.
"""

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import structlog
from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import HeadgateError, RateLimitedError, UnavailableError, ValidationError
from headgate.kernel.fair_turns import FairTurns
from headgate.traffic.model import Kept

_log = structlog.get_logger(__name__)

_MODULE: Final = "admin_api.traffic.review_child"
_INHERITED: Final = frozenset({"PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV"})
_START_SECONDS: Final = 30.0
DEADLINE_SECONDS: Final = 5.0
EXPORT_SECONDS: Final = 15.0
"""The first HTTP Archive of a process loads all of mitmproxy's addons."""
OPEN_OF_PERSON_MAX: Final = 3
"""One that is being answered, and two that wait."""
WAITING_OF_ORGANIZATION_MAX: Final = 16
"""Each holds its exchanges in memory while it waits."""
WAIT_SECONDS_MAX: Final = 60.0
_FRAME_MAX_BYTES: Final = 256 << 20


class Asker(Struct, frozen=True):
    """Who waits for the answer. ``has_gone``: whether their connection has ended."""

    org_id: str
    person: str
    has_gone: Callable[[], Awaitable[bool]]


class Review:
    """``deadline_seconds``: for one question. ``close`` ends the process."""

    def __init__(self, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._deadline_seconds = deadline_seconds
        self._process: asyncio.subprocess.Process | None = None
        self._turns = FairTurns(
            1,
            "the process that reads captured traffic",
            wait_seconds=WAIT_SECONDS_MAX,
            waiting_of_organization_max=WAITING_OF_ORGANIZATION_MAX,
        )
        self._open: Counter[tuple[str, str]] = Counter()

    async def matching(self, asker: Asker, expression: str, exchanges: Sequence[JsonObject]) -> set[str]:
        """Raises ValidationError for what is no filter expression, or takes too long."""
        question = {"work": "matching", "expression": expression, "exchanges": list(exchanges)}
        return set(await self._ask(asker, question, "filter"))

    async def pretty(self, asker: Asker, exchange: JsonObject, view: str) -> dict[str, Any]:
        """Empty where no view could be made in time: the text as it is remains."""
        question = {"work": "pretty", "view": view, "exchanges": [exchange]}
        try:
            shown: dict[str, Any] = await self._ask(asker, question, "view")
        except HeadgateError as error:
            _log.warning("traffic_not_prettified", error=error.message)
            return {}
        return shown

    async def difference(self, asker: Asker, left: JsonObject, right: JsonObject) -> dict[str, Any]:
        """Of two documents (``compare``)."""
        found: dict[str, Any] = await self._ask(asker, {"work": "difference", "left": left, "right": right}, "diff")
        return found

    async def har(self, asker: Asker, exchanges: Sequence[JsonObject]) -> dict[str, Any]:
        question = {"work": "har", "exchanges": list(exchanges)}
        made: dict[str, Any] = await self._ask(asker, question, "export", deadline_seconds=EXPORT_SECONDS)
        return made

    async def flow_file(self, asker: Asker, exchanges: Sequence[JsonObject]) -> str:
        """In base64."""
        return str(await self._ask(asker, {"work": "flow", "exchanges": list(exchanges)}, "export"))

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _ask(
        self, asker: Asker, question: dict[str, Any], field: str, *, deadline_seconds: float | None = None
    ) -> Any:
        """Raises ValidationError, RateLimitedError, UnavailableError."""
        deadline_seconds = deadline_seconds or self._deadline_seconds
        with self._one_more(asker):
            async with self._turns.turn(asker.org_id, asker.person):
                if await asker.has_gone():
                    # Nobody reads the answer: a client that asks, leaves and asks anew must not fill the queue.
                    raise UnavailableError(f"{field}: not done, as the client closed its connection")
                answer = await self._answer(question, field, deadline_seconds)
        if "refused" in answer:
            raise ValidationError(
                f"{field}: {answer['refused']}", details={"field": field, "reason": str(answer["refused"])[:500]}
            )
        return answer["answer"]

    @contextmanager
    def _one_more(self, asker: Asker) -> Iterator[None]:
        who = (asker.org_id, asker.person)
        if self._open[who] >= OPEN_OF_PERSON_MAX:
            raise RateLimitedError(
                f"{OPEN_OF_PERSON_MAX} of your questions about captured traffic are being answered or wait: wait for"
                " their answers, or narrow them down (agent_id, host, start_date), then ask again",
                retry_after_seconds=max(1, round(self._deadline_seconds)),
            )
        self._open[who] += 1
        try:
            yield
        finally:
            self._open[who] -= 1
            if not self._open[who]:
                del self._open[who]

    async def _answer(self, question: dict[str, Any], field: str, deadline_seconds: float) -> dict[str, Any]:
        try:
            process = await self._running()
            async with asyncio.timeout(deadline_seconds):
                return await _exchange(process, question)
        except TimeoutError as error:
            await self.close()
            raise ValidationError(
                f"{field}: not done within {deadline_seconds:g} seconds. Use a narrower or simpler filter.",
                details={"field": field, "reason": "took too long"},
            ) from error
        except (OSError, asyncio.IncompleteReadError) as error:
            await self.close()
            raise UnavailableError("the process that reads captured traffic ended; try again") from error
        except BaseException:
            # Half of an answer may still be on its way: nobody reads the next one from this process.
            await self.close()
            raise

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        self._process = await asyncio.create_subprocess_exec(
            # -P: no module of the current folder takes the place of ours.
            *(sys.executable, "-P", "-m", "headgate.kernel.import_path", _MODULE),
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
