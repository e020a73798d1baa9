"""Has messages decided through the API, and reports how the calls of tools ended.

A call that waits for an approval is waited for, within the hold time. The same call again attaches to its action, so
that a client that gave up and tries again asks nobody twice; what a person denied stays denied until the approval
expires. An approved action is taken before it passes: current policies decide again, and the API claims the approval's
one use. Whatever keeps the API from answering is a refusal.
"""

import contextlib
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime
from time import monotonic
from typing import Any, Final, cast

from msgspec import Struct

from headgate.client import operations
from headgate.client.asynchronous import AsyncClient
from headgate.client.errors import ApiError, ConflictError, UnreachableError
from headgate.client.types import ActionDetail, OfferAnswer
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock, system_clock
from headgate.kernel.errors import ErrorCode, HeadgateError
from headgate.mcp_stdio.message import NotDecidedError
from headgate.mcp_stdio.proposal import Proposal
from headgate.policies.model import Verdict
from headgate.policies.stated_risk import is_risk_stated
from headgate.protocols.mcp_tool_list import OfferedTool

_POLL_SECONDS: Final = 30
_REMEMBERED_MAX: Final = 256
_APPROVED: Final = "approved"
_PENDING: Final = "pending_approval"
_ERROR_CHARACTERS_MAX: Final = 2_000
_CANCELLED: Final = "not sent: the client cancelled it"


class DeniedError(HeadgateError):
    """A policy denies the message."""

    code = ErrorCode.ACTION_DENIED


class NotApprovedError(HeadgateError):
    """A person denied the message, or nobody decided before the approval expired."""

    code = ErrorCode.APPROVAL_DENIED


class StillHeldError(HeadgateError):
    """Nobody has decided within the hold time; the same call again goes on waiting."""

    code = ErrorCode.APPROVAL_PENDING


class Passed(Struct, frozen=True):
    """The message may be passed on. ``edited``: the params that a reviewer approved in place of those that came.
    ``taken``: the use of its approval is claimed, and the record waits for the outcome."""

    action_id: str
    edited: JsonObject | None = None
    taken: bool = False


class Waiting(Struct, frozen=True):
    """The message waits for an approval."""

    action_id: str
    approval_id: str
    reason: str
    expires_at: str | None = None


class Decisions:
    """Of one server, for one client. ``hold_seconds``: how long a message is waited for."""

    def __init__(
        self,
        client: AsyncClient,
        api_url: str,
        *,
        hold_seconds: float,
        clock: Callable[[], float] = monotonic,
        now: Clock = system_clock,
    ) -> None:
        self._client = client
        self._api_url = api_url.rstrip("/")
        self._hold_seconds = hold_seconds
        self._clock = clock
        self._now = now
        self._held: OrderedDict[bytes, Waiting] = OrderedDict()

    async def decide(self, proposal: Proposal) -> Passed | Waiting:
        """Raises HeadgateError: it is not to be passed on, and why."""
        held = self._held.get(proposal.digest)
        if held is not None:
            detail = await self._detail(held.action_id, wait_seconds=0)
            if self._held.get(proposal.digest) is held:  # else one that waited has taken the approval meanwhile
                if detail["status"] == _PENDING:
                    return self._remember(proposal.digest, _waiting(detail))
                if self._is_still_denied(detail):
                    raise _refused(detail)
                passed = await self._use(proposal, held, detail)
                if passed is not None:
                    return passed
        return await self._submit(proposal)

    async def settle(self, proposal: Proposal, waiting: Waiting) -> Passed:
        """Waits for the approval, which serves one call: the last of those that wait for it. Raises HeadgateError."""
        until = self._clock() + self._hold_seconds
        while True:
            left = until - self._clock()
            detail = await self._detail(waiting.action_id, wait_seconds=int(min(max(left, 0), _POLL_SECONDS)))
            if self._held.get(proposal.digest) is not waiting:
                raise NotApprovedError(
                    "the same call was made again and took the place of this one", details={"action_id": detail["id"]}
                )
            if detail["status"] != _PENDING:
                if self._is_still_denied(detail):
                    raise _refused(detail)
                passed = await self._use(proposal, waiting, detail)
                if passed is None:
                    raise _refused(detail)
                return passed
            if left <= 1:
                raise self._still_held(detail)

    async def _submit(self, proposal: Proposal) -> Passed | Waiting:
        """As a new action."""
        body = {**_body(proposal), "idempotency_key": f"mcp-{uuid.uuid4()}"}
        try:
            answer = await self._client.send(operations.create_action(body))
        except (ApiError, UnreachableError) as error:
            raise _undecided(error) from error
        action_id, status = answer["id"], answer["status"]
        if answer["execution"] is not None:
            raise await self._not_ours(action_id, proposal)
        if status == "allowed":
            return Passed(action_id)
        if status != _PENDING:
            decision = answer["decision"]
            details = {"action_id": action_id, "policy_id": decision["policy_id"]}
            # The answer does not say who rates the risk: the default of a denial may be nobody's judgement.
            if is_risk_stated(Verdict.DENY, decision["risk_level"], is_named=False):
                details["risk_level"] = decision["risk_level"]
            raise DeniedError(decision["reason"], details=details)
        waiting = Waiting(action_id, answer["approval_id"] or "", answer["decision"]["reason"])
        return self._remember(proposal.digest, waiting)

    async def _use(self, proposal: Proposal, waiting: Waiting, detail: ActionDetail) -> Passed | None:
        """Takes the action. None: it is not approved, or its approval serves no call any more.

        Without an answer, and where the current policies deny, the call that comes again finds the approval.
        """
        del self._held[proposal.digest]
        if detail["status"] != _APPROVED:
            return None
        try:
            taken = await self._client.send(operations.take_action(detail["id"], _body(proposal)))
        except ConflictError:
            return None
        except (ApiError, UnreachableError) as error:
            self._held.setdefault(proposal.digest, waiting)
            if isinstance(error, ApiError) and error.code == ErrorCode.ACTION_DENIED:
                raise DeniedError(error.message, details=dict(error.details)) from error
            raise _undecided(error) from error
        return Passed(taken["id"], taken["approved_params"], taken=True)

    async def cancel(self, action_id: str, proposal: Proposal) -> None:
        """The client wants it no more. Nothing was passed on, whether the API hears of this or not."""
        self._held.pop(proposal.digest, None)
        try:
            await self._client.send(operations.cancel_action(action_id, {"reason": "the client cancelled it"}))
        except ConflictError:  # approved meanwhile, and perhaps taken
            with contextlib.suppress(NotDecidedError):
                await self.report(action_id, result={}, error=_CANCELLED)
        except (ApiError, UnreachableError):
            return

    async def offered(self, server: str, tools: Sequence[OfferedTool]) -> OfferAnswer:
        """Which tools of a list the agent may be shown. Raises NotDecidedError."""
        body: dict[str, Any] = {"server": server, "tools": [tool.definition for tool in tools]}
        try:
            return await self._client.send(operations.offer_mcp_tools(cast("Any", body)))
        except (ApiError, UnreachableError) as error:
            raise _undecided(error) from error

    async def report(self, action_id: str, *, result: JsonObject, error: str | None) -> None:
        """How a call ended. Raises NotDecidedError where that is not on record."""
        status = "succeeded" if error is None else "failed"
        body: dict[str, Any] = {"status": status, "result": result}
        if error is not None:
            body["error"] = error[:_ERROR_CHARACTERS_MAX]
        try:
            await self._client.send(operations.report_action_outcome(action_id, cast("Any", body)))
        except (ApiError, UnreachableError) as failure:
            raise _undecided(failure) from failure

    async def _detail(self, action_id: str, *, wait_seconds: int) -> ActionDetail:
        try:
            return await self._client.send(operations.get_action(action_id, wait=wait_seconds, expand="all"))
        except (ApiError, UnreachableError) as error:
            raise _undecided(error) from error

    async def _not_ours(self, action_id: str, proposal: Proposal) -> HeadgateError:
        """A catalogue has this tool: Headgate would make a call, and the server another one."""
        await self.cancel(action_id, proposal)
        return NotDecidedError(
            f"a catalogue says that Headgate itself carries out {proposal.tool}.{proposal.operation}:"
            " give the server another name (headgate mcp --name)",
            details={"action_id": action_id},
        )

    def _is_still_denied(self, detail: ActionDetail) -> bool:
        """As through the proxy (semantics, "Retry, use, expiry"): a denial stands until the approval expires."""
        approval = detail["approval"]
        if approval is None or approval["status"] != "denied":
            return False
        return self._now() < datetime.fromisoformat(approval["expires_at"])

    def _remember(self, digest: bytes, waiting: Waiting) -> Waiting:
        self._held[digest] = waiting
        self._held.move_to_end(digest)
        if len(self._held) > _REMEMBERED_MAX:
            self._held.popitem(last=False)
        return waiting

    def _still_held(self, detail: ActionDetail) -> StillHeldError:
        waiting = _waiting(detail)
        status_url = f"{self._api_url}/v1/actions/{waiting.action_id}?wait=30"
        return StillHeldError(
            f"held for approval {waiting.approval_id}: {waiting.reason}. No reviewer has decided yet. Make the same"
            f" call again to go on waiting, or ask {status_url}",
            details={
                "approval_id": waiting.approval_id,
                "action_id": waiting.action_id,
                "status_url": status_url,
                "expires_at": waiting.expires_at,
                "risk_level": detail["decision"]["risk_level"],
            },
        )


def _waiting(detail: ActionDetail) -> Waiting:
    approval = detail["approval"]
    expires_at = None if approval is None else approval["expires_at"]
    return Waiting(detail["id"], detail["approval_id"] or "", detail["decision"]["reason"], expires_at)


def _refused(detail: ActionDetail) -> NotApprovedError:
    approval = detail["approval"]
    details = {"action_id": detail["id"], "approval_id": detail["approval_id"]}
    if approval is not None and approval["status"] == "denied":
        reason = approval.get("comment") or "no reason was given"
        details["denied_until"] = approval["expires_at"]
        return NotApprovedError(f"a reviewer denied this call: {reason}", details=details)
    if detail["status"] == _APPROVED:
        return NotApprovedError(
            "the approval serves this call no more: it is used, or policies ask for another one. Make the same call"
            " again to ask anew",
            details=details,
        )
    return NotApprovedError(f"the call is {detail['status']}: nobody approved it in time", details=details)


def _body(proposal: Proposal) -> dict[str, Any]:
    """Of POST /v1/actions."""
    return {
        "tool": proposal.tool,
        "operation": proposal.operation,
        "params": proposal.params,
        "context": proposal.context,
    }


def _undecided(error: ApiError | UnreachableError) -> NotDecidedError:
    code = error.code if isinstance(error, ApiError) else ""
    return NotDecidedError(
        f"the API did not decide, and nothing was passed on: {error}", details={"cause": code} if code else None
    )
