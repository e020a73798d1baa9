"""What people and agents may do with an execution: hurry it, retry it, tell how it ended, take it back."""

from msgspec import Struct

from headgate.actions.masking import default_masker
from headgate.actions.model import Action, ActionStatus, ExecutionStatus
from headgate.actions.store import get_action
from headgate.audit.model import Actor, ActorType, Event, EventType, payload_text
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.executions import control_store as store
from headgate.executions.list_store import ListedExecution, get_execution
from headgate.executions.result import masked_result
from headgate.executions.store import unsent_exemption
from headgate.journal.apply import require_applied
from headgate.kernel.canonical_json import JsonObject, JsonValue, sha256_hex
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id


class ControlExecutions(Struct, frozen=True):
    """The use cases behind process, process-all, retry, outcome and cancel."""

    database: Database
    clock: Clock

    async def process(self, org_id: str, execution_id: str | None, actor: Actor) -> str | None:
        """One queued execution, or the one that waits longest, is due now. Returns its id; None: nothing waits.

        Raises NotFoundError; ValidationError where it is not queued; ConflictError for an agent's own call.
        """
        async with self.database.transaction(org_id) as connection:
            if execution_id is None:
                execution_id = await store.oldest_queued(connection, org_id)
                if execution_id is None:
                    await self._note(connection, org_id, EventType.EXECUTION_PROCESSED, actor, {"executions": 0})
                    return None
            else:
                _require_ours(await get_execution(connection, org_id, execution_id, agent_id=None))
            if not await store.process(connection, org_id, execution_id, self.clock()):
                found = await get_execution(connection, org_id, execution_id, agent_id=None)
                raise _wrong_state(found, "only a queued execution can be processed")
            await self._note(connection, org_id, EventType.EXECUTION_PROCESSED, actor, {"execution_id": execution_id})
        return execution_id

    async def process_all(self, org_id: str, actor: Actor) -> int:
        """Everything that waits is due now; returns how many."""
        async with self.database.transaction(org_id) as connection:
            count = await store.process(connection, org_id, None, self.clock())
            await self._note(connection, org_id, EventType.EXECUTION_PROCESSED, actor, {"executions": count})
        return count

    async def retry(self, org_id: str, execution_id: str, actor: Actor, *, reset_attempts: bool) -> ListedExecution:
        """A failed execution waits again; it is decided again before it runs.

        Raises NotFoundError; ValidationError where it has not failed, or its call is gone; ConflictError for an agent's
        own call.
        """
        await require_applied(self.database, org_id)
        async with self.database.transaction(org_id) as connection:
            found = await get_execution(connection, org_id, execution_id, agent_id=None)
            _require_ours(found)
            data: JsonObject = {"execution_id": execution_id, "reset_attempts": reset_attempts}
            outcome = await store.retry(
                connection, org_id, execution_id, self.clock(), payload_text(actor, data), reset=reset_attempts,
                action_id=found.action_id, agent_id=found.agent_id,
            )  # fmt: skip
            if outcome == "forgotten":
                raise _wrong_state(
                    found,
                    "its request is no longer stored: it failed too long ago, was cancelled, or its agent carried it"
                    " out. Submit the action again.",
                )
            if outcome != "queued":
                raise _wrong_state(found, "only a failed execution can be retried")
            return await get_execution(connection, org_id, execution_id, agent_id=None)

    async def report(
        self, org_id: str, action_id: str, agent: Actor, *, succeeded: bool, result: JsonValue, error: str | None
    ) -> None:
        """How an action ended that its agent carried out. Raises NotFoundError, ConflictError."""
        now = self.clock()
        kept, error = masked_result(result), _masked(error)
        await require_applied(self.database, org_id)
        async with self.database.transaction(org_id) as connection:
            detail = await get_action(connection, org_id, action_id, agent_id=agent.id)
        execution_id = _taken_execution(detail.action) or new_id(IdPrefix.EXECUTION)
        started: JsonObject = {"execution_id": execution_id, "reported": True}
        ended: JsonObject = {"execution_id": execution_id, "reported": True}
        if error is not None:
            ended["error"] = error
        if kept is not None:
            ended["result_digest"] = sha256_hex(kept.encode())
        async with self.database.transaction(org_id) as connection:
            outcome = await store.report_outcome(
                connection,
                org_id,
                action_id,
                agent.id,
                execution_id,
                now,
                succeeded=succeeded,
                error=error,
                result=kept,
                started=payload_text(agent, started),
                payload=payload_text(agent, ended),
            )
            if outcome not in ("ours", "reported"):
                # Another request was first: what it made of the action, not what this one has seen before.
                detail = await get_action(connection, org_id, action_id, agent_id=agent.id)
        if outcome == "ours":
            raise ConflictError("Headgate executes this action itself and records its outcome.")
        if outcome != "reported":
            raise ConflictError(
                f"action {action_id} is {detail.action.status}: an outcome is reported once, for an action that"
                " is allowed, approved and not yet used, or taken",
                details={"status": detail.action.status.value},
            )

    async def cancel(self, org_id: str, action_id: str, agent: Actor, reason: str | None) -> None:
        """Before it has begun. Raises NotFoundError, ConflictError."""
        reason = _masked(reason)
        data: JsonObject = {} if reason is None else {"reason": reason}
        error = "cancelled by its agent" + ("" if reason is None else f": {reason}")
        await require_applied(self.database, org_id)
        async with self.database.transaction(org_id) as connection:
            detail = await get_action(connection, org_id, action_id, agent_id=agent.id)
            failed: JsonObject = {"error": error}
            give_back = None
            if detail.action.execution is not None:
                failed["execution_id"] = detail.action.execution.execution_id
                give_back = await unsent_exemption(
                    connection, org_id, detail.action.execution.execution_id, tried=False
                )
            if give_back is not None:
                failed["exemption_given_back"] = give_back
            cancelled = await store.cancel(
                connection, org_id, action_id, agent.id, self.clock(),
                error=error, payload=payload_text(agent, data), failed=payload_text(agent, failed), give_back=give_back,
            )  # fmt: skip
            if not cancelled:
                detail = await get_action(connection, org_id, action_id, agent_id=agent.id)
        if not cancelled:
            raise ConflictError(
                f"action {action_id} is {detail.action.status}: only an action that waits for"
                " approval or is queued can be cancelled",
                details={"status": detail.action.status.value},
            )

    async def _note(
        self, connection: Connection, org_id: str, event_type: EventType, actor: Actor, data: JsonObject
    ) -> None:
        await append(connection, org_id, [Event(event_type, self.clock(), actor, data)])


def _taken_execution(action: Action) -> str | None:
    """The execution that began when the agent took the action."""
    execution = action.execution
    if action.status is not ActionStatus.EXECUTING or execution is None:
        return None
    return execution.execution_id if execution.status is ExecutionStatus.RUNNING else None


def _require_ours(found: ListedExecution) -> None:
    if found.source == "proxy":
        raise ConflictError("The proxy forwarded this call once for its agent. The agent must send it again.")
    if found.execution.status is ExecutionStatus.QUEUED and found.queued_at is None:
        raise _wrong_state(found, "its request is no longer stored")


def _wrong_state(found: ListedExecution, reason: str) -> ValidationError:
    """400: the specification gives these routes no 409, which stays for what an agent forwarded itself."""
    return ValidationError(
        f"execution {found.execution.execution_id} is {found.execution.status}: {reason}",
        details={"field": "execution_id", "status": found.execution.status.value},
    )


def _masked(text: str | None) -> str | None:
    return None if text is None else default_masker().mask_text(text)


def agent_actor(agent_id: str, name: str | None) -> Actor:
    """An agent as the record names it."""
    return Actor(ActorType.AGENT, agent_id, name)
