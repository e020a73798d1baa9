"""What a client tells a language model over a WebSocket: the Responses API in WebSocket mode, and the Realtime API.

Sources: OpenAI's API reference ("Responses: WebSocket events", "Realtime: client events"), as of November 2026. Strict
as ``llm``: a documented address, a known event, each member of its type. Tokens are not counted: events of the server
name them, and these belong to no single message of the client.
"""

from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.llm import asked, items_of
from headgate.protocols.llm_endpoints import LlmForm, llm_socket

_MODEL_CHARACTERS_MAX: Final = 256
_CREATE: Final = "response.create"
_UPDATE: Final = "session.update"
_ITEM: Final = "conversation.item.create"
_OTHERS: Final = frozenset(
    {
        *("input_audio_buffer.append", "input_audio_buffer.commit", "input_audio_buffer.clear"),
        *("output_audio_buffer.clear", "response.cancel"),
        *("conversation.item.retrieve", "conversation.item.truncate", "conversation.item.delete"),
    }
)
"""Audio of a person, and what only concerns what was said before."""


def recognise(host: str, path: str, query: JsonObject, message: JsonValue) -> JsonObject | None:
    """What policies read as ``input.llm`` of a client's message: as of a request, and ``event``. ``path`` and ``query``
    are the handshake's. None where it is not for a language model. Raises nothing."""
    endpoint = llm_socket(host, path)
    event = message.get("type") if isinstance(message, dict) else None
    if endpoint is None or not isinstance(message, dict) or not isinstance(event, str):
        return None
    if endpoint.form is LlmForm.RESPONSES:
        model, body, items = message.get("model"), message, items_of(message)
        if event != _CREATE:
            return None
    else:
        model = _named(query)
        body, items = _realtime(event, message)
        model = body.get("model", model)
    if items is None or not isinstance(model, str) or len(model) > _MODEL_CHARACTERS_MAX:
        return None
    return {**asked(endpoint, model, body, items), "stream": True, "event": event}


def _named(query: JsonObject) -> str:
    """The model, or Azure's deployment, that the address of the handshake names; empty: none, or more than one."""
    found = [one for name in ("model", "deployment") for one in _texts(query.get(name))]
    return found[0] if len(found) == 1 else ""


def _texts(values: JsonValue) -> list[str]:
    return [one for one in values if isinstance(one, str)] if isinstance(values, list) else []


def _realtime(event: str, message: JsonObject) -> tuple[JsonObject, list[JsonValue] | None]:
    """What the event sets, and the items of the conversation that it adds; None: an event that is not known."""
    if event in _OTHERS:
        return {}, []
    if event == _ITEM:
        item = message.get("item")
        return {}, [item] if isinstance(item, dict) else None
    body = message.get("session" if event == _UPDATE else "response", {})
    if event not in (_UPDATE, _CREATE) or not isinstance(body, dict):
        return {}, None
    items = body.get("input", [])
    return body, items if isinstance(items, list) and all(isinstance(one, dict) for one in items) else None
