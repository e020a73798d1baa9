"""/calls/{action_id}: shows one call, from its submission to its outcome, and the reason of its decision.

The address is what a refusal carries as ``details.help_url``: whoever may read actions finds here what was denied, by
which policy, and what to do.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.actions.routes import get
from admin_api.actions.schemas import ActionDetailAnswer
from admin_api.agents.routes import get as get_agent
from admin_api.identifiers import ActionId
from admin_api.pagination import ListRequest
from admin_api.traffic.asker import asker_of
from admin_api.traffic.filters import WantedTraffic
from admin_api.traffic.routes import list_all as list_traffic
from admin_api.web.api import Api, CurrentApi
from admin_api.web.approval import body_of
from admin_api.web.deciding_rule import rules_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from admin_api.web.unshown import unshown_of
from headgate.agents.scopes import Scope
from headgate.kernel.canonical_json import JsonObject
from headgate.traffic.store import TrafficFilter

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Moment:
    """``kind`` is one of the four meanings, or empty."""

    at: datetime
    text: str
    kind: str = ""
    note: str | None = None


@router.get("/calls/{action_id}", response_class=Response)
async def call(api: CurrentApi, action_id: ActionId) -> Response:
    return await shell_page(api, "call.html", "/activity", await call_context(api, action_id))


async def call_context(api: Api, action_id: str) -> dict[str, object]:
    """Returns the context of call_article.html."""
    answer = await api.call(get, action_id, api.request, api.principal, api.dependencies, expand="all")
    params, http = answer.request.params, answer.request.http
    may_write_policies = api.may(Scope.POLICIES_WRITE)
    return {
        "call": answer,
        "fields": params if http is None else body_of(params, http),
        "unshown": unshown_of(params, http),
        "agent_name": await _agent_name(api, answer.request.agent_id),
        "timeline": timeline_of(answer),
        "advice": advice_of(answer, may_write_policies=may_write_policies),
        "curl": curl_of(http),
        "rules": await rules_of(api, [(one, one.version) for one in answer.policies or ()]),
        "is_captured": await _is_captured(api, action_id),
        "may_audit": api.may(Scope.AUDIT_READ),
        "is_policy_denial": answer.status == "denied" and not answer.approval_id,
        "may_break_glass": api.may(Scope.BREAK_GLASS),
        "may_write_policies": may_write_policies and answer.body not in ("dropped", "erased"),
    }


async def _is_captured(api: Api, action_id: str) -> bool:
    """Whether there is an exchange to export."""
    if not api.may(Scope.AUDIT_READ):
        return False
    one = ListRequest(1)
    wanted = WantedTraffic(TrafficFilter(action_id=action_id), None)
    asker = asker_of(api.request, api.principal)
    return bool((await api.call(list_traffic, one, wanted, api.principal, api.dependencies, asker)).data)


async def _agent_name(api: Api, agent_id: str) -> str:
    if not api.may(Scope.ADMIN):
        return agent_id
    return (await api.call(get_agent, agent_id, api.principal, api.dependencies)).name


def timeline_of(answer: ActionDetailAnswer) -> Sequence[Moment]:
    """Returns the events of the call in chronological order."""
    decided = {"allow": ("allowed", "Allowed"), "deny": ("denied", "Denied"), "require_approval": ("held", "Held")}
    kind, word = decided.get(answer.decision.decision, ("failed", answer.decision.decision))
    found = [Moment(answer.created_at, f"Submitted. Decision: {word}", kind, answer.decision.reason)]
    approval, execution = answer.approval, answer.execution
    if approval is not None and approval.decided_at is not None:
        was_approved = approval.status == "approved"
        who = approval.approver or approval.approver_id or "timeout"
        word = f"{'Approved' if was_approved else approval.status.capitalize()} by {who}"
        found.append(Moment(approval.decided_at, word, "allowed" if was_approved else "denied", approval.comment))
    if execution is not None:
        if execution.started_at is not None:
            found.append(Moment(execution.started_at, "Forwarded"))
        if execution.completed_at is not None:
            kind = "failed" if execution.error else "allowed"
            found.append(Moment(execution.completed_at, f"Ended: {execution.status}", kind, execution.error))
    return sorted(found, key=lambda one: one.at)


def advice_of(answer: ActionDetailAnswer, *, may_write_policies: bool) -> str | None:
    """Advice for the reader about a call that did not go through. None: it did, or it still can."""
    approval = answer.approval
    if answer.status == "pending_approval":
        return "The call waits for an approval. Ask an approver. After approval, the agent sends it again."
    if approval is not None and approval.status == "denied":
        return "A reviewer denied the call. Read the reason or ask the reviewer. A retry opens a new request."
    if approval is not None and approval.status == "expired":
        return "No reviewer decided in time. A retry opens a new request."
    if answer.status == "denied":
        if answer.decision.policy_id is not None:
            name = next((one.name for one in answer.policies or () if one.policy_id == answer.decision.policy_id), None)
            rule = f"The policy “{name}”" if name else "A policy"
            change = "change the policy" if may_write_policies else "ask an administrator to change the policy"
            return f"{rule} denies the call. Change the call, or {change}."
        ask = "" if may_write_policies else " Ask an administrator."
        return f"No policy allows the call, or a stop or the destination list refuses it.{ask}"
    if answer.status == "failed":
        return "The call was allowed but failed in transit or at its destination. The error names the cause."
    return None


def _address_of(http: JsonObject) -> str:
    port, query = http.get("port"), http.get("query")
    origin = f"{http.get('scheme')}://{http.get('host')}"
    if (http.get("scheme"), port) not in (("https", 443), ("http", 80)):
        origin = f"{origin}:{port}"
    asked = urlencode(query, doseq=True) if isinstance(query, dict) else ""
    return f"{origin}{http.get('path')}" + (f"?{asked}" if asked else "")


def curl_of(http: JsonObject | None) -> str | None:
    """The request line and the covered headers as a curl command, without the body. Secrets are masked."""
    if http is None:
        return None
    headers = http.get("headers")
    words = [
        "curl",
        "-X",
        str(http.get("method", "GET")),
        _address_of(http),
    ]
    for name, value in (headers if isinstance(headers, dict) else {}).items():
        for one in value if isinstance(value, list) else [value]:
            words += ["-H", f"{name}: {one}"]
    return shlex.join(words)
