"""A new policy is first tried where it can do no harm: in a child process with little memory and time
(``headgate.policies.trial_child``). What it would have done to a gateway, it does to the child.
"""

import asyncio
import json
import signal
import sys
from dataclasses import dataclass
from typing import Final, cast
from weakref import WeakKeyDictionary

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import UnavailableError
from headgate.policies.compile import Libraries, PolicyRefusedError
from headgate.policies.trial_child import refusal_for

AT_ONCE: Final = 4
"""Children of one process: each may take a processor and gigabytes; who comes later waits."""

_WALL_SECONDS: Final = 10.0
_CHILD: Final = ("-m", "headgate.policies.trial_child")
_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class TrialReport:
    """What the trial of an acceptable policy showed: what is probably not meant, and calls on which it fails."""

    warnings: tuple[str, ...]


async def try_policy(text: str, data: bytes, libraries: Libraries = ()) -> TrialReport:
    """Compile and ask the policy in a child. Raises PolicyRefusedError; UnavailableError where no child starts."""
    request = json.dumps({"text": text, "data": data.decode(), "libraries": libraries}).encode()
    document = refuse_where_refused(await run_child(request))
    return TrialReport(tuple(str(one) for one in cast("list[JsonValue]", document["warnings"])))


async def run_child(request: bytes, arguments: tuple[str, ...] | None = None) -> JsonObject:
    """What a child answers to ``request``. Raises PolicyRefusedError for whatever becomes of it instead.

    ``arguments`` of Python; None: ``trial_child``.
    """
    loop = asyncio.get_running_loop()
    async with _slots.setdefault(loop, asyncio.Semaphore(AT_ONCE)):
        return await _run_child(request, arguments or _CHILD)


async def _run_child(request: bytes, arguments: tuple[str, ...]) -> JsonObject:
    try:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise UnavailableError("the policy could not be tried: no process could be started") from error
    try:
        async with asyncio.timeout(_WALL_SECONDS):
            answer, _ = await child.communicate(request)
    except TimeoutError as error:
        raise refusal_for("the trial of this policy did not end in time") from error
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0:
        raise refusal_for(_cause_of_death(child.returncode))
    try:
        return cast("JsonObject", json.loads(answer))
    except ValueError as error:
        raise refusal_for("the trial of this policy ended without a result") from error


def refuse_where_refused(document: JsonObject) -> JsonObject:
    """The child's answer. Raises PolicyRefusedError where that is a refusal."""
    if "refused" in document:
        refusal = cast("JsonObject", document["refused"])
        details = refusal["details"]
        raise PolicyRefusedError(str(refusal["message"]), details=details if isinstance(details, dict) else None)
    return document


def _cause_of_death(status: int | None) -> str:
    if status is not None and status < 0:
        if -status in {signal.SIGXCPU, signal.SIGKILL}:
            return "the policy used up its time and could not be stopped from within"
        return f"the policy made the engine crash ({signal.Signals(-status).name})"
    return "the policy used up its memory, or made the engine fail"
