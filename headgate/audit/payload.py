"""A payload read back: the actor and the data of an event."""

from typing import Final, NamedTuple

from headgate.audit.model import Actor, ActorType
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import ValidationError


class Payload(NamedTuple):
    """``actor`` is None and ``data`` empty where nothing of an event's payload is there."""

    actor: Actor | None
    data: JsonObject


NO_PAYLOAD: Final = Payload(None, {})


def read_payload(text: str) -> Payload | None:
    """None where it is not of the form that ``payload_text`` writes: somebody else's work, which must not be too much
    for whoever reads the events beside it."""
    try:
        found = parse_strict(text.encode())
    except (ValidationError, UnicodeEncodeError):
        return None
    if not isinstance(found, dict) or not isinstance(data := found.get("data"), dict):
        return None
    actor = _actor(found.get("actor"))
    return None if actor is None else Payload(actor, data)


def _actor(written: JsonValue) -> Actor | None:
    if not isinstance(written, dict):
        return None
    kind, actor_id, name, address = (written.get(member) for member in ("type", "id", "name", "address"))
    if not isinstance(kind, str) or kind not in ActorType or not isinstance(actor_id, str):
        return None
    if not isinstance(name, str | None) or not isinstance(address, str | None):
        return None
    return Actor(ActorType(kind), actor_id, name, address)
