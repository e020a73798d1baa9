"""Runs replays in a separate process: neither an untested policy nor a hundred thousand decisions disturb the gateway.

``python -m headgate.policies.replay_child`` reads frames (four bytes of length, big-endian, then JSON): first
``{policies, change, data, libraries}``, then pages, lists of recorded actions. It answers each page with a frame of
``[before, after, reason, policy_id, failed]`` for each action.
"""

import asyncio
import json
import resource
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import IO, Any, Final, cast

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.policies.compile import Libraries
from headgate.policies.evaluate import PolicySet
from headgate.policies.model import Decision, PolicyMode, RulePolicy
from headgate.policies.replay import changed_set, replay_call

MODULE: Final = "headgate.policies.replay_child"
_ADDRESS_SPACE_BYTES: Final = 3 << 30
_CPU_SECONDS: Final = 1_800
_PAGE_SECONDS: Final = 120.0
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class ReplayChild:
    """The parent's end."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def send(self, value: object) -> None:
        content = json.dumps(value).encode()
        assert self._process.stdin is not None  # noqa: S101 - it was started with a pipe
        try:
            self._process.stdin.write(len(content).to_bytes(4) + content)
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise UnavailableError("The replay ended early: a policy made its process fail.") from error

    async def receive(self) -> list[list[JsonValue]]:
        assert self._process.stdout is not None  # noqa: S101 - it was started with a pipe
        try:
            async with asyncio.timeout(_PAGE_SECONDS):
                size = int.from_bytes(await self._process.stdout.readexactly(4))
                content = await self._process.stdout.readexactly(size)
        except (asyncio.IncompleteReadError, TimeoutError) as error:
            raise UnavailableError("The replay ended early: a policy made its process fail.") from error
        return cast("list[list[JsonValue]]", json.loads(content))


@asynccontextmanager
async def replay_child(
    policies: Sequence[RulePolicy],
    change: RulePolicy,
    data: bytes,
    libraries: Libraries,
    *,
    module: str = MODULE,
    more: JsonObject | None = None,
) -> AsyncIterator[ReplayChild]:
    """Starts a child that knows the policies, and kills it at the end in any state. Raises UnavailableError.

    ``module`` is what runs there, and ``more`` the further members of its first frame.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise UnavailableError("the replay could not begin: no process could be started") from error
    try:
        child = ReplayChild(process)
        await child.send(
            {
                "policies": [_document(one) for one in policies],
                "change": _document(change),
                "data": data.decode(),
                "libraries": libraries,
                **(more or {}),
            }
        )
        yield child
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _document(policy: RulePolicy) -> dict[str, object]:
    return {
        "policy_id": policy.policy_id,
        "version": policy.version,
        "name": policy.name,
        "rego_policy": policy.rego_policy,
        "enabled": policy.enabled,
        "priority": policy.priority,
        "quarantine": policy.quarantine,
        "mode": policy.mode.value,
        "org_id": policy.org_id,
    }


def _policy(document: JsonObject) -> RulePolicy:
    quarantine = document["quarantine"]
    return RulePolicy(
        policy_id=str(document["policy_id"]),
        version=int(str(document["version"])),
        name=str(document["name"]),
        description=None,
        rego_policy=str(document["rego_policy"]),
        enabled=bool(document["enabled"]),
        priority=int(str(document["priority"])),
        quarantine=None if quarantine is None else str(quarantine),
        created_at=EPOCH,
        updated_at=EPOCH,
        org_id=str(document["org_id"]),
        mode=PolicyMode(str(document["mode"])),
    )


class Replayer:
    """The current policies, with and without the change."""

    def __init__(self, start: JsonObject) -> None:
        policies = [_policy(cast("JsonObject", one)) for one in cast("list[JsonValue]", start["policies"])]
        change = _policy(cast("JsonObject", start["change"]))
        data = str(start["data"]).encode()
        libraries = tuple((str(name), str(text)) for name, text in cast("list[list[str]]", start["libraries"]))
        self._changed = change.policy_id
        self._before = PolicySet(policies, data, libraries=libraries)
        self._after = PolicySet(changed_set(policies, change), data, libraries=libraries)

    def page(self, actions: Sequence[Mapping[str, str]]) -> list[list[JsonValue]]:
        return [self._one(action) for action in actions]

    def _one(self, action: Mapping[str, str]) -> list[JsonValue]:
        try:
            call = replay_call(**action)
        except ValidationError as error:
            return ["unknown", "unknown", error.message, None, True]
        document = canonical_bytes(call.document)
        key: dict[str, Any] = {
            "tool": action["tool"],
            "operation": action["operation"],
            "host": call.host,
            "method": call.method,
        }
        before = after = self._before.decide(document, **key)
        if self._concerns(self._before, key) or self._concerns(self._after, key):
            after = self._after.decide(document, **key)
        return [before.verdict.value, after.verdict.value, after.reason, after.policy_id, _failed(after)]

    def _concerns(self, policies: PolicySet, key: Mapping[str, Any]) -> bool:
        """Whether the changed policy could decide such a call; if not, one decision serves as both."""
        return any(one.policy_id == self._changed for one in policies.concerned(**key))


def _failed(decision: Decision) -> bool:
    return any(one.error is not None for one in decision.spoken)


def serve(replayer_of: Callable[[JsonObject], "Replayer"]) -> None:
    """The child: sets limits first, then processes page after page."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE_BYTES, _ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 1))
    stream = sys.stdin.buffer
    start = _frame(stream)
    if start is None:
        return
    replayer = replayer_of(cast("JsonObject", start))
    while (page := _frame(stream)) is not None:
        content = json.dumps(replayer.page(cast("list[dict[str, str]]", page))).encode()
        sys.stdout.buffer.write(len(content).to_bytes(4) + content)
        sys.stdout.buffer.flush()


def _frame(stream: IO[bytes]) -> JsonValue:
    size = stream.read(4)
    if len(size) < 4:
        return None
    value: JsonValue = json.loads(stream.read(int.from_bytes(size)))
    return value


if __name__ == "__main__":
    serve(Replayer)
