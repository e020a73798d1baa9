"""Evaluates one policy on one call in the child that tries new policies (``trial``), where it can do no harm.

An unsaved text has passed no trial, and a made-up call was not part of any, so the deciding process evaluates neither.
"""

import json
from typing import cast

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.compile import Libraries
from headgate.policies.explain import RawAnswer, RuleValue
from headgate.policies.trial import refuse_where_refused, run_child


class Simulation(Struct, frozen=True):
    """The policy's answer, every rule's value on request, the evaluation time, and the warnings that saving has about
    the text."""

    raw: RawAnswer
    trace: tuple[RuleValue, ...]
    time_ms: float
    warnings: tuple[str, ...]


async def simulate(text: str, data: bytes, libraries: Libraries, input_bytes: bytes, *, trace: bool) -> Simulation:
    """Raises PolicyRefusedError; UnavailableError if no child starts."""
    request = {
        "text": text,
        "data": data.decode(),
        "libraries": libraries,
        "input": input_bytes.decode(),
        "trace": trace,
    }
    document = refuse_where_refused(await run_child(json.dumps(request).encode()))
    error = document["error"]
    return Simulation(
        RawAnswer(str(document["answer"]).encode(), None if error is None else str(error)),
        tuple(_rule_value(cast("JsonObject", one)) for one in cast("list[JsonValue]", document["trace"])),
        float(str(document["time_ms"])),
        tuple(str(one) for one in cast("list[JsonValue]", document["warnings"])),
    )


def _rule_value(record: JsonObject) -> RuleValue:
    error = record.get("error")
    return RuleValue(
        str(record["rule"]), bool(record["defined"]), record.get("value"), None if error is None else str(error)
    )
