"""A worker that stood still, was taken for dead and wakes must not end the attempt that was begun after its own: the
call could be sent once more."""

from datetime import UTC, datetime, timedelta

import pytest

from headgate.executions.model import Claim, ClaimOutcome, ExecutionLimits, Settlement
from headgate.executor.settle import Settlements
from headgate.kernel.clock import system_clock
from headgate.kernel.ids import IdPrefix, new_id

_BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)
_CREATE = {"tool": "shop", "operation": "create_order", "params": {"item": "book"}}


@pytest.fixture
async def gate(new_gate, reach):
    made = await new_gate("package gate\n\nallow := true\n")
    await reach(made)
    return made


async def test_only_the_attempt_that_runs_is_settled(gate, superuser, worker_database) -> None:
    action = (await gate.as_agent.post("/v1/actions", json=_CREATE)).json()
    execution_id = action["execution"]["id"]
    began, late = new_id(IdPrefix.INSTANCE), new_id(IdPrefix.INSTANCE)
    superuser.execute("UPDATE execution_calls SET state = 'running' WHERE execution_id = %s", [execution_id])
    superuser.execute(
        "UPDATE executions SET status = 'running', instance_id = %s, attempts = 2, started_at = %s"
        " WHERE execution_id = %s",
        [began, _BEGAN_AT, execution_id],
    )
    again = Settlement(False, "it could not be reached", None, again_seconds=1.0, nothing_sent=True)

    async def told_by(instance_id: str, started_at: datetime = _BEGAN_AT) -> str:
        settlements = Settlements(worker_database, system_clock, instance_id=instance_id)
        claimed = Claim(ClaimOutcome.CLAIMED, 0.0, 2, started_at)
        await settlements.tell(gate.org_id, execution_id, again, ExecutionLimits(), claimed=claimed)
        found = superuser.execute("SELECT status FROM executions WHERE execution_id = %s", [execution_id]).fetchone()
        assert found is not None
        return str(found[0])

    assert await told_by(late) == "running"
    assert await told_by(late, _BEGAN_AT - timedelta(minutes=1)) == "running"
    # Of the same number: somebody gave it all its attempts again meanwhile, and the numbers began anew.
    assert await told_by(began, _BEGAN_AT - timedelta(minutes=1)) == "running"
    assert await told_by(began) == "queued"
