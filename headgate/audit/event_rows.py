"""Events as rows: which ones are meant, in SQL, and what a row becomes."""

import json
from datetime import datetime
from typing import Final

from psycopg import sql

from headgate.audit.chain import StoredEvent, parse_header
from headgate.audit.chain_verifier import ChainFault, checked_header, instant_of
from headgate.audit.model import EventFilter, SealedEvent
from headgate.audit.payload import NO_PAYLOAD, read_payload

# What is known of an event's action; written once, never changed.
_OF_ACTION: Final = {
    "risk_level": "a.risk_level = %(risk_level)s",
    "tool": "a.tool = %(tool)s",
    "operation": "a.operation = %(operation)s",
    "decision": "audit_verdict(a.decision) = %(decision)s",
}


def conditions(org_id: str, wanted: EventFilter) -> tuple[sql.Composed, dict[str, object]]:
    """On ``audit_events e``, with their values; those that events are looked through for: ``search_conditions``."""
    parts: list[sql.Composable] = [sql.SQL("e.org_id = %(org)s")]
    values: dict[str, object] = {"org": org_id}
    for name, value, condition in (
        ("start", wanted.start, "e.created_at >= %(start)s"),
        ("end", wanted.end, "e.created_at <= %(end)s"),
        ("event_type", wanted.event_type, "e.event_type = %(event_type)s"),
        ("action_id", wanted.action_id, "e.action_id = %(action_id)s"),
        ("agent_id", wanted.agent_id, "e.agent_id = %(agent_id)s"),
        ("seq", wanted.seq, "e.seq = %(seq)s"),
    ):
        if value is not None:
            parts.append(sql.SQL(condition))
            values[name] = value
    if wanted.agents is not None:
        parts.append(sql.SQL("e.agent_id = ANY (%(agents)s)"))
        values["agents"] = list(wanted.agents)
    if wanted.without_action:
        parts.append(sql.SQL("e.action_id IS NULL"))
    of_action = {name: getattr(wanted, name) for name in _OF_ACTION if getattr(wanted, name) is not None}
    if of_action:
        values |= of_action
        parts.append(
            # OFFSET 0: each event's action is looked up by its key, whatever the planner thinks of reading all of them.
            sql.SQL(
                "EXISTS (SELECT FROM actions a WHERE a.org_id = e.org_id AND a.action_id = e.action_id AND {} OFFSET 0)"
            ).format(sql.SQL(" AND ").join(sql.SQL(_OF_ACTION[name]) for name in of_action))
        )
    return sql.SQL(" AND ").join(parts), values


# The actor comes first in a payload. Within a JSON string the quotes of its end would be escaped.
_OF_SEARCH: Final = {
    "text": "e.payload ILIKE %(text)s",
    "actor": """split_part(e.payload, ',"data":', 1) ILIKE %(actor)s""",
    "hash": "EXISTS (SELECT FROM audit_chain c WHERE c.org_id = e.org_id AND c.seq = e.seq AND c.hash = %(hash)s)",
}


def search_conditions(wanted: EventFilter) -> tuple[sql.Composed, dict[str, object]]:
    """What events are looked through for, on ``audit_events e``, with values."""
    values: dict[str, object] = {
        name: searched(value) if isinstance(value, str) else value
        for name in _OF_SEARCH
        if (value := getattr(wanted, name)) is not None
    }
    return sql.SQL(" AND ").join(sql.SQL(_OF_SEARCH[name]) for name in values), values


def facets_of(wanted: EventFilter) -> dict[str, list[str]]:
    """The same, for the index of blocks; ranges of time are not among them."""
    single = {
        "event_type": wanted.event_type,
        "agent_id": wanted.agent_id,
        "tool": wanted.tool,
        "operation": wanted.operation,
        "decision": wanted.decision,
        "risk_level": wanted.risk_level,
    }
    facets = {name: [value] for name, value in single.items() if value is not None}
    if wanted.agents is not None:
        chosen = set(wanted.agents)
        facets["agent_id"] = sorted(chosen & set(facets["agent_id"]) if "agent_id" in facets else chosen)
    return facets


def searched(text: str) -> str:
    """The pattern of ILIKE for a text as canonical JSON writes it within a string."""
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    for special in ("\\", "%", "_"):
        written = written.replace(special, "\\" + special)
    return f"%{written}%"


def sealed_event(org_id: str, event: StoredEvent) -> SealedEvent:
    """What stands in the database, and what is wrong with it: one bad row hides none of those beside it."""
    found, payload = checked_header(org_id, event), NO_PAYLOAD
    header, problem = (parse_header(event.header), found.message) if isinstance(found, ChainFault) else (found, None)
    if event.payload is not None:
        read = read_payload(event.payload)
        if read is None:
            problem = problem or "its payload is not of a form that this version knows"
        else:
            payload = read
    return SealedEvent(
        event_id=event.event_id or "",
        seq=event.seq,
        event_type=event.event_type or "",
        action_id=event.action_id,
        agent_id=event.agent_id,
        created_at=_time(event.created_at, None if header is None else header.created_at),
        sealed_at=_time(event.event_sealed_at, None if header is None else header.sealed_at),
        actor=payload.actor,
        data=payload.data,
        hash=event.hash,
        prev_hash=b"" if header is None else bytes.fromhex(header.prev_hash),
        problem=problem,
    )


def _time(stored: datetime | str | None, sealed: str | None) -> datetime | None:
    if isinstance(stored, datetime):
        return stored
    return None if sealed is None else instant_of(sealed)
