"""A new policy is first tried where it can do no harm: in a child process with little memory and time.

``python -m headgate.policies.trial`` reads ``{"text", "data", "libraries"}`` as JSON, compiles the policy and asks it
about fixed calls of every kind; what it would have done to a gateway, it does to the child. The child's
answer is ``{"refused": …}`` or ``{"warnings": […]}``. With ``{"input", "trace"}`` besides, it is asked about that call
alone (``headgate.policies.simulate``).
"""

import asyncio
import json
import resource
import signal
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter_ns
from typing import Final, cast

import regorus

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.errors import UnavailableError
from headgate.policies.answer import verdict_of
from headgate.policies.compile import SOURCE_NAME, Libraries, PolicyRefusedError, compile_policy
from headgate.policies.explain import ask, parse_input, rule_values
from headgate.policies.lint import lint
from headgate.policies.model import RulePolicy

_CPU_SECONDS: Final = 3
_WALL_SECONDS: Final = 10.0
_ADDRESS_SPACE_BYTES: Final = 2 << 30  # address space, most of which the allocator reserves and never touches
_WARNINGS_MAX: Final = 5
_CHILD: Final = ("-m", "headgate.policies.trial")
_FATAL_KINDS: Final = frozenset({"time_limit", "memory_limit", "panic"})

_LONG_TEXT: Final = "The quick brown fox, 0123456789. " * 3_000


@dataclass(frozen=True, slots=True)
class TrialReport:
    """What the trial of an acceptable policy showed: what is probably not meant, and calls on which it fails."""

    warnings: tuple[str, ...]


def sample_inputs() -> dict[str, bytes]:
    """The calls that a new policy is asked about, by name; no policy is expected to like them all."""
    agent: JsonObject = {"id": "agt_01932c07-209c-7000-8000-000000000000", "name": "sample"}
    http: JsonObject = {
        "method": "GET",
        "scheme": "https",
        "host": "api.example.com",
        "port": 443,
        "path": "/v1/items",
        "query": {"page": ["2"]},
        "headers": {"accept": "application/json"},
        "body_sha256": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "body_size": 0,
    }
    post: JsonObject = {**http, "method": "POST", "query": {}, "body_size": 4096}
    nested: JsonObject = {"text": "x", "list": [1, 2.5, None, True, {"a": ["b"]}], "amount": "twelve", "name": ""}
    samples: dict[str, JsonObject] = {
        "an intercepted read": {"tool": "http", "operation": "get", "params": {"path": "/v1/items"}, "http": http},
        "an intercepted write": {"tool": "github", "operation": "create_issue", "params": nested, "http": post},
        "an explicit action": {"tool": "database", "operation": "query", "params": {"sql": "SELECT 1"}},
        "an explicit action without parameters": {"tool": "shell", "operation": "run", "params": {}},
        "numbers where text is usual": {"tool": "http", "operation": "post", "params": dict.fromkeys(nested, 7)},
        "100 KB of text": {"tool": "http", "operation": "post", "params": {"body": _LONG_TEXT}, "http": post},
        "a list of 2,000": {"tool": "mail", "operation": "send", "params": {"to": list(map(str, range(2_000)))}},
    }
    return {
        name: canonical_bytes(
            {
                **sample,
                "effect": None,
                "context": {"session": "s-1"},
                "agent": agent,
                "delegation": {},
                "source": "proxy" if "http" in sample else "api",
            }
        )
        for name, sample in samples.items()
    }


async def try_policy(text: str, data: bytes, libraries: Libraries = ()) -> TrialReport:
    """Compile and ask the policy in a child. Raises PolicyRefusedError; UnavailableError where no child starts."""
    request = json.dumps({"text": text, "data": data.decode(), "libraries": libraries}).encode()
    document = refuse_where_refused(await run_child(request))
    return TrialReport(tuple(str(one) for one in cast("list[JsonValue]", document["warnings"])))


async def run_child(request: bytes, arguments: tuple[str, ...] | None = None) -> JsonObject:
    """What a child answers to ``request``. Raises PolicyRefusedError for whatever becomes of it instead.

    ``arguments`` of Python; None: this module.
    """
    try:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *(arguments or _CHILD),
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
        raise _refusal("the trial of this policy did not end in time") from error
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0:
        raise _refusal(_cause_of_death(child.returncode))
    try:
        return cast("JsonObject", json.loads(answer))
    except ValueError as error:
        raise _refusal("the trial of this policy ended without a result") from error


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


def _refusal(reason: str) -> PolicyRefusedError:
    return PolicyRefusedError(reason, details={"field": "rego_policy", "reason": reason, "file": SOURCE_NAME})


def _run(request: JsonObject) -> JsonObject:
    """What happens in the child."""
    text, data = str(request["text"]), str(request["data"]).encode()
    libraries = tuple((str(name), str(module)) for name, module in cast("list[list[str]]", request["libraries"]))
    try:
        if "input" in request:
            return _simulate(text, data, libraries, str(request["input"]).encode(), trace=bool(request["trace"]))
        return {"warnings": [*_ask(text, data, libraries)]}
    except PolicyRefusedError as error:
        details = cast("JsonObject", dict(error.details or {}))
        return {"refused": {"message": error.message, "details": details}}


def _simulate(text: str, data: bytes, libraries: Libraries, input_bytes: bytes, *, trace: bool) -> JsonObject:
    engine, document = compile_policy(text, data, libraries).engine, parse_input(input_bytes)
    started = perf_counter_ns()
    raw = ask(engine, document)
    time_ms = round((perf_counter_ns() - started) / 1_000_000, 3)
    values: list[JsonValue] = [one.record() for one in rule_values(engine, document)] if trace else []
    return {"answer": raw.answer.decode(), "error": raw.error, "trace": values, "time_ms": time_ms}


def _ask(text: str, data: bytes, libraries: Libraries) -> list[str]:
    compiled = compile_policy(text, data, libraries)
    engine = compiled.engine
    findings = lint(engine.ast(), text, compiled.conditions, compiled.data.roots)
    now = datetime.now(UTC)
    policy = RulePolicy("", 1, "", None, text, True, 0, None, now, now)
    warnings: dict[str, str] = {}
    for name, document in sample_inputs().items():
        try:
            verdict = verdict_of(policy, engine.decide(regorus.Input(document)))
        except regorus.EvaluationError as error:
            if str(error.kind) in _FATAL_KINDS:
                raise _refusal(f"on the sample call “{name}” the policy exceeds its limits: {error.reason}") from error
            warnings.setdefault(error.reason, f"on the sample call “{name}” it fails, and so denies: {error.reason}")
        else:
            if verdict.error is not None:
                raise _refusal(f"on the sample call “{name}”: {verdict.error}")
    return [*(one.sentence(SOURCE_NAME) for one in findings), *list(warnings.values())[:_WARNINGS_MAX]]


def limit_this_process() -> None:
    """Little memory and time, and no core: for a child that evaluates what nobody has tried."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE_BYTES, _ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 1))


def main() -> None:
    """The child: limits first, then the policy."""
    limit_this_process()
    request = cast("JsonObject", json.load(sys.stdin.buffer))
    sys.stdout.buffer.write(json.dumps(_run(request)).encode())


if __name__ == "__main__":
    main()
