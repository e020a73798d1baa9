"""Whether the body of an answer says that the call failed, whatever its status says.

Slack answers 200 with ``ok: false``, GraphQL 200 with ``errors``. Where a catalogue says what success is and the answer
cannot be read, the call is not taken for successful: what is not known is not claimed.
"""

from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.outgoing.model import OutgoingResponse
from headgate.tools.model import Success


def failure_in_body(response: OutgoingResponse, success: Success | None) -> str | None:
    """Why the answer is none of success; None where it is, or where its status alone says it. What is read is bounded
    by what the client reads of an answer."""
    if success is None:
        return None
    if response.is_truncated:
        return "outcome unknown: the answer is longer than is read, and its body would say whether the call succeeded"
    try:
        body = parse_strict(response.body)
    except ValidationError:
        return "outcome unknown: the answer is not the JSON that would say whether the call succeeded"
    if not isinstance(body, dict):
        return "outcome unknown: the answer does not say whether the call succeeded"
    if any(body.get(name) not in (None, []) for name in success.without) or not _holds(body, success.body):
        return f"the destination answered {response.status}, and in its body that the call failed"
    return None


def _holds(body: JsonObject, expected: JsonObject) -> bool:
    return all(name in body and _same(body[name], value) for name, value in expected.items())


def _same(value: JsonValue, expected: JsonValue) -> bool:
    """Python's ``True == 1`` is no equality of JSON."""
    if isinstance(expected, dict):
        return isinstance(value, dict) and _holds(value, expected)
    return value == expected and isinstance(value, bool) == isinstance(expected, bool)
