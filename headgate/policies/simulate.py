"""One policy asked about one call where it can do no harm: in the child that tries new policies (``trial``).

A text that nobody has saved has come through no trial, and a call that somebody makes up is none of the trial's: so
neither is evaluated in the process that decides.
"""

import json
from dataclasses import dataclass
from typing import cast

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.compile import Libraries
from headgate.policies.explain import RawAnswer, RuleValue
from headgate.policies.trial import refuse_where_refused, run_child


@dataclass(frozen=True, slots=True)
class Simulation:
    """What the policy answered, every rule's value where that was asked for, and how long the answer took."""

    raw: RawAnswer
    trace: tuple[RuleValue, ...]
    time_ms: float


async def simulate(text: str, data: bytes, libraries: Libraries, input_bytes: bytes, *, trace: bool) -> Simulation:
    """Raises PolicyRefusedError; UnavailableError where no child starts."""
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
    )


def _rule_value(record: JsonObject) -> RuleValue:
    error = record.get("error")
    return RuleValue(
        str(record["rule"]), bool(record["defined"]), record.get("value"), None if error is None else str(error)
    )
