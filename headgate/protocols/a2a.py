"""Agent2Agent, JSON-RPC binding (A2A Protocol Specification 0.3, sections 3.2 and 7; 1.0, section 9), and agent cards.

A card describes another agent to this one: what it says is read by a model, as definitions of tools are.
"""

from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError
from headgate.protocols.headers import Headers
from headgate.protocols.json_rpc import RpcCall, RpcRequest, strings_in
from headgate.protocols.member_names import folded, refuse_other_spellings, spellings

A2A_TOOL: Final = "a2a"
CARD_OPERATION: Final = "a2a_agent_card"
EXTENDED_CARD_OPERATION: Final = "a2a_extended_agent_card"
CARD_OPERATIONS: Final = frozenset({CARD_OPERATION, EXTENDED_CARD_OPERATION})
"""Whose answers describe an agent."""
_CARD_PATHS: Final = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_VERSION_HEADER: Final = "a2a-version"
_OPERATIONS: Final = MappingProxyType(
    {
        "message/send": "a2a_message_send",
        "tasks/send": "a2a_message_send",  # of 0.1, as the next three
        "tasks/sendSubscribe": "a2a_message_stream",
        "tasks/pushNotification/set": "a2a_push_config_set",
        "tasks/pushNotification/get": "a2a_push_config_get",
        "message/stream": "a2a_message_stream",
        "tasks/get": "a2a_tasks_get",
        "tasks/list": "a2a_tasks_list",
        "tasks/cancel": "a2a_tasks_cancel",
        "tasks/resubscribe": "a2a_tasks_resubscribe",
        "tasks/pushNotificationConfig/set": "a2a_push_config_set",
        "tasks/pushNotificationConfig/get": "a2a_push_config_get",
        "tasks/pushNotificationConfig/list": "a2a_push_config_list",
        "tasks/pushNotificationConfig/delete": "a2a_push_config_delete",
        "agent/getAuthenticatedExtendedCard": EXTENDED_CARD_OPERATION,
    }
)
_LATER_NAMES: Final = MappingProxyType(
    {
        "SendMessage": "message/send",
        "SendStreamingMessage": "message/stream",
        "GetTask": "tasks/get",
        "ListTasks": "tasks/list",
        "CancelTask": "tasks/cancel",
        "SubscribeToTask": "tasks/resubscribe",
        "CreateTaskPushNotificationConfig": "tasks/pushNotificationConfig/set",
        "GetTaskPushNotificationConfig": "tasks/pushNotificationConfig/get",
        "ListTaskPushNotificationConfigs": "tasks/pushNotificationConfig/list",
        "DeleteTaskPushNotificationConfig": "tasks/pushNotificationConfig/delete",
        "GetExtendedAgentCard": "agent/getAuthenticatedExtendedCard",
    }
)
"""Of version 1.0, to those before. Other services have such names too, so they count beside ``A2A-Version`` only."""
_READS: Final = frozenset(
    {"a2a_tasks_get", "a2a_tasks_list", "a2a_tasks_resubscribe", "a2a_push_config_get", "a2a_push_config_list"}
    | CARD_OPERATIONS
)
_URL_MEMBERS: Final = frozenset({"uri", "url", "filewithuri", "file_with_uri"})
"""Folded: a server without regard to case also fetches the value of ``URL``."""
_PARAMS: Final = spellings(
    *("message", "id", "taskId", "task_id", "contextId", "context_id", "configuration", "metadata"),
    *("pushNotificationConfig", "push_notification_config", "config", "role", "parts"),
)
_URLS_MAX: Final = 64
_PARTS_MAX: Final = 64
_KINDS: Final = ("text", "file", "data", "raw", "url")
_PART: Final = spellings("kind", "type", *_KINDS)


class A2aCall(Struct, frozen=True):
    """``facts``: what policies read as ``input.a2a``. ``is_read``: where an administrator says that it is A2A."""

    operation: str
    is_read: bool
    facts: JsonObject


def recognise_card(method: str, path: str) -> A2aCall | None:
    """The request for a card at its well-known address (RFC 8615). ``path`` is normalised."""
    if method not in ("GET", "HEAD") or not path.endswith(_CARD_PATHS):
        return None
    return A2aCall(CARD_OPERATION, True, _facts("agent_card", None))


def recognise(headers: Headers, request: RpcRequest, *, is_named: bool = False) -> A2aCall | None:
    """The one call of a request; A2A has no batches. ``is_named``: a catalogue says that it is A2A.

    Raises AmbiguousRequestError, PayloadTooLargeError.
    """
    if request.is_batch:
        return None
    [call] = request.calls
    method = call.method
    if is_named or _VERSION_HEADER in headers.shown:
        method = _LATER_NAMES.get(method, method)
    operation = _OPERATIONS.get(method)
    return None if operation is None else A2aCall(operation, operation in _READS, _facts(method, call))


def _facts(method: str, call: RpcCall | None) -> JsonObject:
    params = call.params if call is not None and isinstance(call.params, dict) else {}
    message = params.get("message")
    message = message if isinstance(message, dict) else {}
    for holder in (params, message):
        refuse_other_spellings(holder, _PARAMS, within="A2A request")
    urls = [text for name, text in strings_in(params) if folded(name) in _URL_MEMBERS]
    found = message.get("parts")
    parts = found if isinstance(found, list) else []
    for part in parts:
        refuse_other_spellings(part, _PART, within="A2A request")
    if len(urls) > _URLS_MAX or len(parts) > _PARTS_MAX:
        # Policies ask whether all of them may be there.
        raise PayloadTooLargeError(
            f"the A2A message has more than {_PARTS_MAX} parts or {_URLS_MAX} addresses", details={"field": "body"}
        )
    is_of_task = method.startswith("tasks/")
    return {
        "method": method,
        "task_id": _text_of(message, "taskId", "task_id")
        or _text_of(params, "taskId", "task_id")
        or (_text(params.get("id")) if is_of_task else None),
        "context_id": _text_of(message, "contextId", "context_id") or _text_of(params, "contextId", "context_id"),
        "parts": [_kind(one) for one in parts],
        "urls": list[JsonValue](urls),
    }


def _kind(part: JsonValue) -> str:
    """``kind`` of version 0.3; of 1.0 the member that is there."""
    if not isinstance(part, dict):
        return "unknown"
    kind = part.get("kind", part.get("type"))
    if isinstance(kind, str):
        return kind[:64]
    return next((name for name in _KINDS if name in part), "unknown")


def _text_of(holder: JsonObject, name: str, proto_name: str) -> str | None:
    """A parser of version 1.0 takes a member by its name in the definition, too (ProtoJSON)."""
    found = {text for one in (name, proto_name) if (text := _text(holder.get(one))) is not None}
    if len(found) > 1:
        raise AmbiguousRequestError(
            f"the A2A request can be read in more than one way: {name} and {proto_name}", details={"field": "body"}
        )
    return found.pop() if found else None


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
