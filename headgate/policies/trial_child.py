"""The child process that tries a policy (``headgate.policies.trial``).

``python -m headgate.policies.trial_child`` reads ``{"texts", "data", "libraries"}`` as JSON, compiles each policy and
evaluates it on fixed calls of every kind. It writes a line for each: ``{"warnings": […]}``, or ``{"refused": …}``,
which is the last. With ``{"text", "input", "trace"}``, it evaluates the policy on that call
(``headgate.policies.simulate``).

A person waits for it at each save, so it loads neither an event loop nor a log.
"""

import json
import resource
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from time import perf_counter_ns
from typing import Final, cast

import regorus

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.policies.answer import verdict_of
from headgate.policies.compile import SOURCE_NAME, CompiledPolicy, Libraries, PolicyRefusedError, compile_policy
from headgate.policies.explain import ask, parse_input, rule_values
from headgate.policies.lint import lint
from headgate.policies.model import RulePolicy

_CPU_SECONDS: Final = 3  # Of one policy.
_CPU_SECONDS_OF_ALL: Final = 10
_ADDRESS_SPACE_BYTES: Final = 2 << 30  # Address space, most of which the allocator reserves and never touches.
_WARNINGS_MAX: Final = 5
_FATAL_KINDS: Final = frozenset({"time_limit", "memory_limit", "panic"})
_LONG_TEXT: Final = "The quick brown fox, 0123456789. " * 3_000


def sample_inputs() -> dict[str, bytes]:
    """The sample calls for a new policy, by name; no policy is expected to accept them all."""
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
        "body_kind": "none",
        "url_bytes": 37,
    }
    post: JsonObject = {**http, "method": "POST", "query": {}, "url_bytes": 30, "body_size": 4096, "body_kind": "json"}
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


def refusal_for(reason: str) -> PolicyRefusedError:
    return PolicyRefusedError(reason, details={"field": "rego_policy", "reason": reason, "file": SOURCE_NAME})


def _run(request: JsonObject) -> Iterator[JsonObject]:
    """Runs in the child. Ends with the first refusal."""
    data = str(request["data"]).encode()
    libraries = tuple((str(name), str(module)) for name, module in cast("list[list[str]]", request["libraries"]))
    try:
        if "input" in request:
            input_bytes, trace = str(request["input"]).encode(), bool(request["trace"])
            yield _simulate(str(request["text"]), data, libraries, input_bytes, trace=trace)
            return
        for text in cast("list[str]", request["texts"]):
            _limit_time()
            compiled = compile_policy(text, data, libraries)
            yield {"warnings": [*_findings(compiled, text), *_sample_warnings(compiled, text)]}
    except PolicyRefusedError as error:
        details = cast("JsonObject", dict(error.details or {}))
        yield {"refused": {"message": error.message, "details": details}}


def _simulate(text: str, data: bytes, libraries: Libraries, input_bytes: bytes, *, trace: bool) -> JsonObject:
    compiled, document = compile_policy(text, data, libraries), parse_input(input_bytes)
    engine = compiled.engine
    started = perf_counter_ns()
    raw = ask(engine, document)
    time_ms = round((perf_counter_ns() - started) / 1_000_000, 3)
    values: list[JsonValue] = [one.record() for one in rule_values(engine, document)] if trace else []
    return {
        "answer": raw.answer.decode(),
        "error": raw.error,
        "trace": values,
        "time_ms": time_ms,
        "warnings": [*_foreseen(compiled, text)],
    }


def _foreseen(compiled: CompiledPolicy, text: str) -> list[str]:
    """What saving would say."""
    findings = _findings(compiled, text)
    try:
        return [*findings, *_sample_warnings(compiled, text)]
    except PolicyRefusedError as error:
        return [*findings, f"saving is refused: {error.message}"]


def _sample_warnings(compiled: CompiledPolicy, text: str) -> list[str]:
    """The sample calls on which it fails. Raises PolicyRefusedError."""
    engine = compiled.engine
    now = datetime.now(UTC)
    policy = RulePolicy("", 1, "", None, text, True, 0, None, now, now)
    warnings: dict[str, str] = {}
    for name, document in sample_inputs().items():
        try:
            verdict = verdict_of(policy, engine.decide(regorus.Input(document)))
        except regorus.EvaluationError as error:
            if str(error.kind) in _FATAL_KINDS:
                raise refusal_for(
                    f"on the sample call “{name}” the policy exceeds its limits: {error.reason}"
                ) from error
            warnings.setdefault(error.reason, f"on the sample call “{name}” it fails, and so denies: {error.reason}")
        else:
            if verdict.error is not None:
                raise refusal_for(f"on the sample call “{name}”: {verdict.error}")
    return list(warnings.values())[:_WARNINGS_MAX]


def _findings(compiled: CompiledPolicy, text: str) -> list[str]:
    found = lint(compiled.engine.ast(), text, compiled.conditions, compiled.data.roots)
    return [one.sentence(SOURCE_NAME) for one in found]


def limit_this_process() -> None:
    """Limits memory and time and disables core dumps, for a child that evaluates untested text."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE_BYTES, _ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS_OF_ALL))


def _limit_time() -> None:
    """Gives the next policy its own seconds, within those of the process."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + _CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def main() -> None:
    """The child: sets limits first, then evaluates the policy."""
    limit_this_process()
    request = cast("JsonObject", json.load(sys.stdin.buffer))
    for answer in _run(request):
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
