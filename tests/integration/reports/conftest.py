"""A record with something to report, what signs it, and what makes reports of it."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM, Actor, ActorType, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Database
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.signed_memory import SignedMemory
from headgate.evidence.signing_keys import SigningKeySource
from headgate.journal.apply import apply_before_reading
from headgate.kernel.clock import system_clock
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.change import begin_change
from headgate.queue.model import JobReference
from headgate.reports.make_report import MakeReport
from headgate.reports.model import DEFAULT_SECTIONS, Report, ReportFormat, ReportRequest, ReportType
from headgate.reports.service import request_report
from headgate.reports.store import get_report, pieces_of

PERSON = Actor(ActorType.USER, "usr_1", "alice@example.com")


@pytest.fixture
def signing_keys(tmp_path: Path) -> SigningKeySource:
    keys = SigningKeySource(tmp_path / "signing-keys")
    keys.create("log.example")
    return keys


@pytest.fixture
def checkpointer(worker_database: Database, tmp_path: Path, signing_keys: SigningKeySource) -> Checkpointer:
    return Checkpointer(worker_database, signing_keys, SignedMemory(tmp_path / "signed"), timedelta(0), 1)


def action(agent_name: str, decision: str, *, risk: str = "low", reason: str = "the policy says so") -> list[Event]:
    """What is recorded of one action."""
    now, action_id, agent_id = datetime.now(UTC), new_id(IdPrefix.ACTION), new_id(IdPrefix.AGENT)
    agent = Actor(ActorType.AGENT, agent_id, agent_name)
    submitted = {
        "tool": "mail",
        "operation": "send",
        "digest": "sha256:00",
        "request_digest": "sha256:11",
        "key_id": "key_1",
    }
    decided = {"decision": decision, "reason": reason, "risk_level": risk, "policy_id": "pol_1", "policies": []}
    events = [
        Event(EventType.ACTION_SUBMITTED, now, agent, submitted, action_id, agent_id),
        Event(EventType.DECISION_MADE, now, SYSTEM, decided, action_id, agent_id),
    ]
    if decision == "require_approval":
        approval: dict[str, object] = {"approval_id": new_id(IdPrefix.APPROVAL), "required_approvals": 1}
        events += [
            Event(EventType.APPROVAL_REQUESTED, now, agent, {**approval}, action_id, agent_id),  # type: ignore[dict-item] - JSON
            Event(EventType.APPROVAL_APPROVED, now + timedelta(seconds=90), PERSON,
                  {**approval, "vote": "approve", "comment": "fine"}, action_id, agent_id),  # type: ignore[dict-item] - JSON
        ]  # fmt: skip
    if decision != "deny":
        events.append(Event(EventType.EXECUTION_STARTED, now, agent, {"execution_id": "exe_1"}, action_id, agent_id))
    return events


SCENE = (
    Event(EventType.POLICY_CREATED, datetime.now(UTC), PERSON, {"policy_id": "pol_1", "name": "mail", "version": 1}),
    Event(EventType.KEY_CREATED, datetime.now(UTC), PERSON, {"key_id": "key_1", "kind": "agent", "expires_at": None}),
    *action("Robot", "allow"),
    *action("Robot", "require_approval", risk="high"),
    *action("Robot", "deny", risk="critical"),
)

type RecordEvents = Callable[[Sequence[Event]], Awaitable[None]]


@pytest.fixture
def record(api_database: Database, organization) -> RecordEvents:
    async def record_events(events: Sequence[Event]) -> None:
        async with api_database.transaction(organization.org_id) as connection:
            await append(connection, organization.org_id, events)
        await apply_before_reading(api_database, organization.org_id)

    return record_events


@pytest.fixture
def maker(worker_database: Database, signing_keys: SigningKeySource) -> MakeReport:
    return MakeReport(worker_database, system_clock, signing_keys, wait_seconds=0.0)


type Ask = Callable[..., Awaitable[Report]]


@pytest.fixture
def ask(api_database: Database, organization) -> Ask:
    async def ask_for(
        report_type: ReportType = ReportType.COMPLIANCE,
        form: ReportFormat = ReportFormat.JSON,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        **more: object,
    ) -> Report:
        sections = more.pop("sections", DEFAULT_SECTIONS[report_type])
        request = ReportRequest(report_type, form, sections, start, end or datetime.now(UTC), **more)  # type: ignore[arg-type] - the caller's names
        change = Change(organization.org_id, PERSON, "usr_1", system_clock())
        async with begin_change(api_database, change) as changing:
            return await request_report(changing, request)

    return ask_for


type Made = Callable[..., Awaitable[tuple[Report, bytes]]]


@pytest.fixture
def made(api_database: Database, ask: Ask, maker: MakeReport) -> Made:
    """Asks for one, makes it as the queue does, and takes its file."""

    async def make(*arguments: object, by: MakeReport | None = None, **named: object) -> tuple[Report, bytes]:
        asked = await ask(*arguments, **named)
        await (by or maker).run(JobReference(asked.org_id, asked.report_id, 1))
        async with api_database.transaction(asked.org_id) as connection:
            report = await get_report(connection, asked.org_id, asked.report_id)
        content = b"".join([one async for one in pieces_of(api_database, asked.org_id, asked.report_id)])
        return report, content

    return make
