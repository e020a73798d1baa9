"""How a forwarded call ended, as it is recorded (semantics.md, "Recording")."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from mitmproxy.http import HTTPFlow

from addons.verdict import Completion, Ending
from headgate.gate.finish_execution import ExecutionOutcome
from headgate.gate.inspect_answer import shown_inspection
from headgate.kernel.canonical_json import JsonObject
from headgate.llm_usage.of_outcome import MEMBER

_QUOTED_MAX: Final = 200
"""Characters that are kept of what a destination wrote."""


def outcome_of(
    completion: Completion,
    expected_status: Callable[[int], bool],
    *,
    now: datetime,
    started_at: datetime,
    flow: HTTPFlow,
    llm: JsonObject | None = None,
) -> ExecutionOutcome:
    """Succeeded: a complete response, or an event stream that the client left, with a status that the catalogue's entry
    expects (default below 400), and no word in it that the call failed. ``llm``: what a language model used."""
    if completion.ending is Ending.NOT_SENT:
        reason = completion.error or "the destination could not be reached"
        return ExecutionOutcome(False, now, error=f"not sent: {_storable(reason)}", nothing_sent=True)
    withheld: JsonObject | None = None
    result: JsonObject = {
        "status": completion.status,
        "size_bytes": completion.size_bytes,
        "duration_ms": round((now - started_at).total_seconds() * 1000, 3),
    }
    if llm is not None:
        result[MEMBER] = llm
    if completion.digest is not None:
        result["sha256"] = completion.digest
    if completion.inspection is not None:
        result["inspection"] = shown_inspection(completion.inspection)
        if completion.inspection["withheld"]:
            withheld = {"status": completion.status, **completion.inspection}
    if flow.response is not None and (content_type := flow.response.headers.get("content-type")) is not None:
        result["content_type"] = _storable(content_type)
    if completion.ending is Ending.BROKEN or completion.status is None:
        reason = completion.error or "the connection was lost before the answer was complete"
        return ExecutionOutcome(
            False, now, error=f"outcome unknown: {_storable(reason)}", result=result, withheld=withheld
        )
    if completion.ending is Ending.LEFT:
        result["ended_by"] = "the client's connection"
    if not expected_status(completion.status):
        return ExecutionOutcome(
            False, now, error=f"the destination answered {completion.status}", result=result, withheld=withheld
        )
    if completion.told_failure is not None:
        return ExecutionOutcome(False, now, error=completion.told_failure, result=result, withheld=withheld)
    return ExecutionOutcome(True, now, result=result, withheld=withheld)


def _storable(text: str) -> str:
    """What a destination wrote, as JSON and the database can hold it: bytes that are no UTF-8 (mitmproxy's lone
    surrogates) and NUL are shown as escapes. An outcome that cannot be written leaves the call running for ever, and
    mitmproxy's errors quote an answer whole, however large it is."""
    return text[:_QUOTED_MAX].encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
