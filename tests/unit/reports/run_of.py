"""A sealed run of invented events, as the worker sends it."""

import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from headgate.audit.model import SYSTEM, Actor, ActorType, payload_text
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339
from headgate.reports.basis import Basis, SignedCheckpoint, from_document, to_document
from headgate.reports.frames import ChainRow
from headgate.reports.make import make_report
from headgate.reports.model import DEFAULT_SECTIONS, ReportFormat, ReportRequest, ReportType, Section

ORG = "org_00000000-0000-7000-8000-000000000001"
GENESIS = "00" * 32
BEGIN = datetime(2026, 10, 1, 8, tzinfo=UTC)
PERSON = Actor(ActorType.USER, "usr_1", "alice@example.com")

type Told = tuple[str, Actor, JsonObject, str | None]
"""Type, actor, data, action."""


def agent(name: str) -> Actor:
    return Actor(ActorType.AGENT, "agt_1", name)


def action(number: int, actor: Actor, decision: str, *, risk: str = "low", reason: str = "because") -> list[Told]:
    named = f"act_{number}"
    submitted: JsonObject = {
        "tool": "mail", "operation": "send", "key_id": "key_1", "digest": "sha256:0", "request_digest": "sha256:1",
    }  # fmt: skip
    decided: JsonObject = {"decision": decision, "risk_level": risk, "reason": reason, "policy_id": "pol_1"}
    return [("action.submitted", actor, submitted, named), ("decision.made", SYSTEM, decided, named)]


def sealed(events: Sequence[Told], *, erased: frozenset[int] = frozenset()) -> list[ChainRow]:
    rows: list[ChainRow] = []
    prev = GENESIS
    for number, (event_type, actor, data, action_id) in enumerate(events, 1):
        at, salt, payload = BEGIN + timedelta(minutes=number), bytes(16), payload_text(actor, data).encode()
        header = json.dumps(
            {
                "action": action_id, "agent": actor.id if actor.type is ActorType.AGENT else None,
                "created_at": rfc3339(at), "id": f"evt_{number}", "org": ORG,
                "payload_digest": "sha256:" + sha256(salt + payload).hexdigest(), "prev_hash": "sha256:" + prev,
                "sealed_at": rfc3339(at), "seq": number, "type": event_type, "v": 1,
            },
            separators=(",", ":"), sort_keys=True,
        ).encode()  # fmt: skip
        prev = sha256(header).hexdigest()
        kept = number not in erased
        rows.append(ChainRow(header, bytes.fromhex(prev), salt if kept else None, payload if kept else None))
    return rows


def basis_of(
    count: int,
    form: ReportFormat,
    report_type: ReportType = ReportType.COMPLIANCE,
    *,
    sections: tuple[Section, ...] | None = None,
    organization: str = "Northwind",
    names: dict[str, str] | None = None,
    signed: bool = True,
) -> Basis:
    request = ReportRequest(
        report_type, form, sections or DEFAULT_SECTIONS[report_type], datetime(2026, 10, 1, tzinfo=UTC),
        datetime(2026, 10, 31, 23, 59, 59, 999999, tzinfo=UTC),
    )  # fmt: skip
    origin = f"log.example/{ORG}"
    note = f"{origin}\n{count}\nAAAA\n\n— {origin} BBBB\n"
    return Basis(
        organization_id=ORG,
        organization=organization,
        request=request,
        first_seq=1 if count else None,
        last_seq=count or None,
        prev_hash=GENESIS,
        checkpoint=SignedCheckpoint(origin, count, "AAAA", note) if signed else None,
        no_checkpoint=None if signed else "no checkpoint has been signed yet",
        fault=None,
        record_begins=BEGIN if count else None,
        names=names or {},
    )


def made(rows: Sequence[ChainRow], basis: Basis, fonts: Sequence[Path] = ()) -> bytes:
    """The file, by way of the very bytes that a child would be sent."""
    file = io.BytesIO()
    make_report(from_document(to_document(basis)), iter(rows), file, fonts)
    return file.getvalue()
