"""What a client tells a language model over a WebSocket: the Responses API in WebSocket mode, and the Realtime API.

Sources: OpenAI's API reference ("Responses: WebSocket events", "Realtime: client events"), as of November 2026. Strict
as ``llm``: a documented address, a known event, each member of its type. Tokens are not counted: events of the server
name them, and these belong to no single message of the client.
"""

from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.llm import asked, items_of
from headgate.protocols.llm_endpoints import LlmForm, llm_socket
from headgate.protocols.llm_models import MODEL_CHARACTERS_MAX
from headgate.protocols.llm_names import refuse_llm_spellings
from headgate.protocols.member_names import refuse_other_spellings, spellings

_CREATE: Final = "response.create"
_PROCESSED: Final = "response.processed"
"""Codex' word that it has an answer."""
_UPDATE: Final = "session.update"
_ITEM: Final = "conversation.item.create"
_CALL: Final = "call_id"
_EVENT_MEMBERS: Final = spellings("type", "session", "response", "item")
_OTHERS: Final = frozenset(
    {
        *("input_audio_buffer.append", "input_audio_buffer.commit", "input_audio_buffer.clear"),
        *("output_audio_buffer.clear", "response.cancel"),
        *("conversation.item.retrieve", "conversation.item.truncate", "conversation.item.delete"),
    }
)
"""Audio of a person, and what only concerns what was said before."""


def recognise(host: str, path: str, query: JsonObject, message: JsonValue) -> JsonObject | None:
    """What policies read as ``input.llm`` of a client's message: the members of a request's, and ``event``. ``path``
    and ``query`` are the handshake's. None where it is not for a language model.

    Raises AmbiguousRequestError: a member in another spelling (``llm_names``).
    """
    found = llm_socket(host, path)
    if found is None or not isinstance(message, dict):
        return None
    provider, form = found
    refuse_other_spellings(message, _EVENT_MEMBERS, within="message to a language model")
    event = message.get("type")
    if not isinstance(event, str):
        return None
    read = _response(event, message) if form is LlmForm.RESPONSES else _realtime(event, message)
    named = "" if form is LlmForm.RESPONSES else _named(query)
    if read is None or named is None:
        return None
    body, items = read
    refuse_llm_spellings({**body, "input": items}, is_model_named=True)
    model = body.get("model", named)
    if not isinstance(model, str) or len(model) > MODEL_CHARACTERS_MAX:
        return None
    models = (model,) if model else ()
    return {**asked(provider, form, models, body, items), "stream": True, "event": event}


def _named(query: JsonObject) -> str | None:
    """The model, or Azure's deployment, that the address of the handshake names; empty: none. None: more than one; or
    the session is a call that somebody else has, which the client takes part in (``call_id``)."""
    if _CALL in query:
        return None
    found = [one for name in ("model", "deployment") for one in _texts(query.get(name))]
    return None if len(found) > 1 else "".join(found)


def _texts(values: JsonValue) -> list[str]:
    return [one for one in values if isinstance(one, str)] if isinstance(values, list) else []


def _response(event: str, message: JsonObject) -> tuple[JsonObject, list[JsonValue]] | None:
    """The body, and the items of the conversation that it adds."""
    if event == _PROCESSED:
        return {}, []
    items = items_of(message)
    if event != _CREATE or items is None or not isinstance(message.get("model"), str):
        return None
    return message, items


def _realtime(event: str, message: JsonObject) -> tuple[JsonObject, list[JsonValue]] | None:
    if event in _OTHERS:
        return {}, []
    if event == _ITEM:
        item = message.get("item")
        return ({}, [item]) if isinstance(item, dict) else None
    body = message.get("session" if event == _UPDATE else "response", {})
    if event not in (_UPDATE, _CREATE) or not isinstance(body, dict):
        return None
    items = body.get("input", [])
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        return None
    return body, items
