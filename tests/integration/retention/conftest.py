"""Actions that have ended, with bodies, and what sweeps them."""

import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM, Actor, ActorType, payload_text
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.canonical_json import sha256_hex
from headgate.kernel.ids import IdPrefix, new_id
from headgate.vault.master_keys import create_master_keys
from headgate.vault.service import Vault
from headgate.workflows.keep_within_limits import RetentionSweep

ANN = Actor(ActorType.USER, "usr_ann", "ann@example.com")
REQUEST = '{"params":{"to":"bob@example.com"}}'
RESULT = '{"body":{"sent":"to bob@example.com"},"status":200}'
DECISION = '{"decision":"allow","evaluation_time_ms":0.1,"policy_id":null,"reason":"mail to bob","risk_level":"low"}'

type MakeAction = Callable[..., Awaitable[str]]


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    create_master_keys(tmp_path / "master-keys")
    return Vault(tmp_path / "master-keys")


@pytest.fixture
def sweep_after(worker_database: Database, vault: Vault) -> Callable[[int], RetentionSweep]:
    """A sweep whose clock is so many days ahead."""

    def made(days: int) -> RetentionSweep:
        return RetentionSweep(worker_database, vault, lambda: datetime.now(UTC) + timedelta(days=days, minutes=1))

    return made


@pytest.fixture
def change(organization) -> Change:
    return Change(organization.org_id, ANN, "usr_ann", datetime.now(UTC))


@pytest.fixture
def make_action(superuser, organization, api_database: Database) -> MakeAction:
    """An action with its events, as the gate records one; ``status`` where it stands."""

    async def make(status: str = "completed", request: str = REQUEST, result: str | None = RESULT) -> str:
        org_id, action_id, execution_id = organization.org_id, new_id(IdPrefix.ACTION), new_id(IdPrefix.EXECUTION)
        superuser.execute(
            "INSERT INTO actions (org_id, action_id, agent_id, source, tool, operation, status, digest, request,"
            " decision, risk_level, created_at, updated_at) VALUES (%s, %s, %s, 'api', 'mail', 'send', %s, %s, %s,"
            " %s, 'low', now(), now())",
            [org_id, action_id, organization.agent_id, status, os.urandom(32), request, DECISION],
        )
        superuser.execute(
            "INSERT INTO executions (org_id, execution_id, action_id, status, attempts, result)"
            " VALUES (%s, %s, %s, 'succeeded', 1, %s)",
            [org_id, execution_id, action_id, result],
        )
        agent = Actor(ActorType.AGENT, organization.agent_id, "Robot")
        for event_type, actor, data in (
            ("action.submitted", agent, {"source": "api", "tool": "mail", "operation": "send",
                                         "digest": "sha256:" + "ab" * 32, "key_id": "key_1",
                                         "request_digest": sha256_hex(request.encode())}),
            ("decision.made", SYSTEM, {"decision": "allow", "policy_id": None, "policies": [], "risk_level": "low",
                                       "reason": "mail to bob", "evaluation_time_ms": 0.1}),
            ("execution.completed", agent, {"execution_id": execution_id, "result": {"status": 200}}),
        ):  # fmt: skip
            superuser.execute(
                "INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)"
                " VALUES (%s, %s, %s, %s, now(), %s)",
                [org_id, event_type, action_id, organization.agent_id, payload_text(actor, data)],
            )
        await apply_before_reading(api_database, org_id)
        return action_id

    return make
