"""Runs submitted tests in a limited child process (``headgate.policies.trial``).

``python -m headgate.policies.suites.child`` reads ``{policies, cases, data, modules}`` as JSON and answers with the
report, or with ``{"refused": …}``.
"""

import json
import sys
from collections.abc import Mapping
from typing import Final, cast

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.policies.model import DEFAULT_PRIORITY, PolicyMode
from headgate.policies.suites.cases import cases_of
from headgate.policies.suites.model import Suite, SuitePolicy, TestModule
from headgate.policies.suites.report import report_document
from headgate.policies.suites.run import run_suite
from headgate.policies.trial import refuse_where_refused, run_child
from headgate.policies.trial_child import limit_this_process

_CHILD: Final = ("-m", "headgate.policies.suites.child")


async def run_sent_suite(document: Mapping[str, object]) -> JsonObject:
    """The report. Raises ValidationError (an unreadable case), PolicyRefusedError (time or memory exceeded)."""
    answer = await run_child(json.dumps(document).encode(), _CHILD)
    return refuse_where_refused(answer)


def suite_of(document: JsonObject) -> Suite:
    """Raises ValidationError."""
    policies = tuple(_policy(cast("JsonObject", one)) for one in cast("list[JsonValue]", document["policies"]))
    modules = cast("list[list[str]]", document["modules"])
    return Suite(
        policies,
        tuple((name, text) for name, text in modules),
        cast("JsonObject", document["data"]),
        tuple(cases_of(document["cases"], file="cases")),
    )


def _policy(one: JsonObject) -> SuitePolicy:
    name = str(one["name"])
    tests = one.get("tests")
    return SuitePolicy(
        key=name,
        file=f"{name}.rego",
        text=str(one["rego_policy"]),
        name=name,
        priority=int(str(one.get("priority", DEFAULT_PRIORITY))),
        mode=PolicyMode(str(one.get("mode", PolicyMode.ENFORCE.value))),
        tests=() if tests is None else (TestModule(f"{name}_test.rego", str(tests)),),
        cases=tuple(cases_of(one.get("cases", []), file=f"{name}.cases")),
    )


def main() -> None:
    """The child: sets limits first, then runs the tests."""
    limit_this_process()
    try:
        answer = report_document(run_suite(suite_of(json.load(sys.stdin.buffer))))
    except ValidationError as error:
        details = cast("JsonObject", dict(error.details or {}))
        answer = {"refused": {"message": error.message, "details": details}}
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
