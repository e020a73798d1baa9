"""Tries a new policy in a child process with little memory and time (``headgate.policies.trial_child``).

A policy that would crash or stall a gateway crashes or stalls the child instead.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from typing import Final, cast
from weakref import WeakKeyDictionary

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import UnavailableError
from headgate.policies.compile import Libraries, PolicyRefusedError
from headgate.policies.trial_child import refusal_for

AT_ONCE: Final = 4
"""The most children of one process; further trials wait. Each child may take a core and gigabytes."""

_WALL_SECONDS: Final = 10.0
_CHILD: Final = ("-m", "headgate.policies.trial_child")
_NO_RESULT: Final = "the trial of this policy ended without a result"
_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class TrialReport(Struct, frozen=True):
    """The result of an accepted policy's trial: probable mistakes, and sample calls on which it fails."""

    warnings: tuple[str, ...]


async def try_policy(text: str, data: bytes, libraries: Libraries = ()) -> TrialReport:
    """Compiles and evaluates the policy in a child. Raises PolicyRefusedError; UnavailableError if no child starts."""
    [outcome] = await try_policies([text], data, libraries)
    if isinstance(outcome, PolicyRefusedError):
        raise outcome
    return outcome


async def try_policies(
    texts: Sequence[str], data: bytes, libraries: Libraries = ()
) -> list[TrialReport | PolicyRefusedError]:
    """Tries policies in one child, up to and including the first refusal.

    A child starts in about 0.1 s and tries a policy in about 0.002 s. Raises UnavailableError if no child starts.
    """
    if not texts:
        return []
    request = json.dumps({"texts": list(texts), "data": data.decode(), "libraries": libraries}).encode()
    answer, failure = await _run_in_turn(request, _CHILD)
    # A policy that kills its child leaves the lines of earlier policies, and no newline of its own.
    outcomes = [_outcome(line) for line in answer.split(b"\n")[:-1]]
    if len(outcomes) < len(texts) and not (outcomes and isinstance(outcomes[-1], PolicyRefusedError)):
        outcomes.append(failure or refusal_for(_NO_RESULT))
    return outcomes


def _outcome(line: bytes) -> TrialReport | PolicyRefusedError:
    try:
        document = refuse_where_refused(cast("JsonObject", json.loads(line)))
    except PolicyRefusedError as error:
        return error
    except ValueError:
        return refusal_for(_NO_RESULT)
    return TrialReport(tuple(str(one) for one in cast("list[JsonValue]", document["warnings"])))


async def run_child(request: bytes, arguments: tuple[str, ...] | None = None) -> JsonObject:
    """A child's answer to ``request``. Raises PolicyRefusedError for every other end of the child.

    ``arguments`` of Python; None: ``trial_child``.
    """
    answer, failure = await _run_in_turn(request, arguments or _CHILD)
    if failure is not None:
        raise failure
    try:
        return cast("JsonObject", json.loads(answer))
    except ValueError as error:
        raise refusal_for(_NO_RESULT) from error


async def _run_in_turn(request: bytes, arguments: tuple[str, ...]) -> tuple[bytes, PolicyRefusedError | None]:
    loop = asyncio.get_running_loop()
    async with _slots.setdefault(loop, asyncio.Semaphore(AT_ONCE)):
        return await _run_child(request, arguments)


async def _run_child(request: bytes, arguments: tuple[str, ...]) -> tuple[bytes, PolicyRefusedError | None]:
    """The child's output, and the cause of its end if it did not exit by itself."""
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
    return answer, None if child.returncode == 0 else refusal_for(_cause_of_death(child.returncode))


def refuse_where_refused(document: JsonObject) -> JsonObject:
    """The child's answer. Raises PolicyRefusedError for a refusal."""
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
