"""/calls/{action_id}: shows one call, from its submission to its outcome, and the reason of its decision.

The address is what a refusal carries as ``details.help_url``: whoever may read actions finds here what was denied, by
which policy, and what to do.
"""

import json
import shlex
from collections.abc import Sequence
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from msgspec import Struct
from starlette.responses import Response

from admin_api.actions.explanation_routes import explain
from admin_api.actions.routes import get
from admin_api.actions.schemas import ActionDetailAnswer, DecisionAnswer
from admin_api.actions.timeline import TimelineStepAnswer
from admin_api.agents.routes import get as get_agent
from admin_api.identifiers import ActionId
from admin_api.pagination import ListRequest
from admin_api.traffic.asker import asker_of
from admin_api.traffic.filters import WantedTraffic
from admin_api.traffic.routes import get as get_exchange
from admin_api.traffic.routes import list_all as list_traffic
from admin_api.traffic.schemas import ExchangeAnswer, WholeExchangeAnswer
from admin_api.web.api import Api, CurrentApi
from admin_api.web.approval import beside_arguments, body_of
from admin_api.web.blocked_destination import blocked_advice, is_blocked
from admin_api.web.call_advice import advice_of
from admin_api.web.call_timeline import moments_of
from admin_api.web.deciding_rule import rules_of
from admin_api.web.names import names_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from admin_api.web.unshown import unshown_of
from headgate.actions.model import ActionStatus
from headgate.agents.scopes import Scope
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.model import Verdict
from headgate.policies.stated_risk import is_risk_stated
from headgate.traffic.curl import curl_command
from headgate.traffic.store import TrafficFilter

router = APIRouter(route_class=PageRoute, include_in_schema=False)


_ENDED: Final = frozenset({ActionStatus.DENIED, ActionStatus.COMPLETED, ActionStatus.FAILED})


class CapturedCall(Struct, frozen=True):
    """What a reader of captures sees of a call. ``newest``: its newest exchange, whose bodies are shown once the reader
    asks for them; the audit log records this."""

    newest: ExchangeAnswer
    whole: WholeExchangeAnswer | None


@router.get("/calls/{action_id}", response_class=Response)
async def call(
    api: CurrentApi,
    action_id: ActionId,
    captured: Annotated[bool, Query(description="With the bodies of the newest captured exchange.")] = False,
) -> Response:
    if not api.may(Scope.ACTIONS_READ):
        return await _owner_page(api, action_id)
    context = await call_context(api, action_id, with_bodies=captured)
    return await shell_page(api, "call.html", "/activity", context)


async def _owner_page(api: Api, action_id: str) -> Response:
    """What the owner of an agent reads of its call who may not read calls. Raises ForbiddenError."""
    found = await api.call(explain, action_id, api.principal, api.dependencies)
    advice = advice_of(found.status, found.decision.policy_id, found.approval_status, canaries=found.canaries)
    context = {"call": found, "advice": advice, "risk_is_stated": _is_risk_stated(found.decision, is_named=False)}
    return await shell_page(api, "own_call.html", "", context)


async def call_context(api: Api, action_id: str, *, with_bodies: bool = False) -> dict[str, object]:
    """Returns the context of call_article.html."""
    answer = await api.call(get, action_id, api.request, api.principal, api.dependencies, expand="all")
    params, http = answer.request.params, answer.request.http
    may_write_policies = api.may(Scope.POLICIES_WRITE)
    captured = await _captured(api, action_id, with_bodies=with_bodies)
    whole = None if captured is None else captured.whole
    blocked = answer.execution is not None and is_blocked(answer.execution.error)
    return {
        "call": answer,
        "fields": params if http is None else body_of(params, http),
        "beside_arguments": beside_arguments(answer.request.mcp),
        "unshown": unshown_of(params, http),
        "agent_name": await _agent_name(api, answer.request.agent_id),
        "timeline": moments_of(answer.timeline or (), await actors_of(api, answer.timeline or ())),
        "risk_is_stated": _is_risk_stated(
            answer.decision, is_named=any(one.risk_level for one in answer.policies or ())
        ),
        "is_blocked": blocked,
        "advice": blocked_advice(http)
        if blocked
        else advice_of(
            answer.status,
            answer.decision.policy_id,
            None if answer.approval is None else answer.approval.status,
            policy_name=_deciding_policy(answer),
            may_write_policies=may_write_policies,
            canaries=answer.canaries or (),
        ),
        "curl": curl_of(http, params) if whole is None else curl_command(_as_document(whole)),
        "curl_body": _body_of_curl(http, params, whole),
        "rules": await rules_of(api, [(one, one.version) for one in answer.policies or ()]),
        "captured": captured,
        "is_ended": answer.status in _ENDED,
        "may_audit": api.may(Scope.AUDIT_READ),
        "is_policy_denial": answer.status == "denied" and not answer.approval_id and not answer.canaries,
        "may_break_glass": api.may(Scope.BREAK_GLASS),
        "may_write_policies": may_write_policies and answer.body not in ("dropped", "erased") and not answer.canaries,
    }


def _is_risk_stated(decision: DecisionAnswer, *, is_named: bool) -> bool:
    return is_risk_stated(Verdict(decision.decision), decision.risk_level, is_named=is_named)


async def actors_of(api: Api, steps: Sequence[TimelineStepAnswer]) -> dict[str, str]:
    """The names of the people and agents of a timeline, by id."""
    actors = [one.actor.id for one in steps if one.actor is not None]
    return await names_of(api, [*actors, *(name for one in steps for name in one.assignees)])


async def _captured(api: Api, action_id: str, *, with_bodies: bool) -> CapturedCall | None:
    """None: nothing was captured, or the reader may not see it."""
    if not api.may(Scope.AUDIT_READ):
        return None
    wanted, asker = WantedTraffic(TrafficFilter(action_id=action_id), None), asker_of(api.request, api.principal)
    found = await api.call(list_traffic, ListRequest(1), wanted, api.principal, api.dependencies, asker)
    if not found.data:
        return None
    newest = found.data[0]
    if not with_bodies or newest.erased_at is not None:
        return CapturedCall(newest, None)
    return CapturedCall(newest, await api.call(get_exchange, newest.id, api.principal, api.dependencies, asker))


def _body_of_curl(http: JsonObject | None, params: JsonObject, whole: WholeExchangeAnswer | None) -> str:
    """What the curl command has of the body: with, without, or none, where the call had none."""
    if whole is not None:
        sent = whole.request.body
        return "none" if not sent.size_bytes else "with" if sent.text else "without"
    if http is not None and http.get("body_kind") == "none":
        return "none"
    return "without" if json_body_of(http, params) is None else "with"


def _as_document(whole: WholeExchangeAnswer) -> dict[str, object]:
    """The members of a captured exchange that make a curl command."""
    path, _, query = (whole.target or "/").partition("?")
    return {
        "request": {
            "method": whole.method,
            "scheme": whole.scheme,
            "host": whole.host,
            "port": whole.port,
            "path": path,
            "query": query,
            "headers": whole.request.headers,
            "body": whole.request.body.text,
            "size_bytes": whole.request.body.size_bytes,
            "is_whole": whole.request.body.is_whole,
        }
    }


def _deciding_policy(answer: ActionDetailAnswer) -> str | None:
    return next((one.name for one in answer.policies or () if one.policy_id == answer.decision.policy_id), None)


async def _agent_name(api: Api, agent_id: str) -> str:
    if not api.may(Scope.ADMIN):
        return agent_id
    return (await api.call(get_agent, agent_id, api.principal, api.dependencies)).name


def _address_of(http: JsonObject) -> str:
    port, query = http.get("port"), http.get("query")
    origin = f"{http.get('scheme')}://{http.get('host')}"
    if (http.get("scheme"), port) not in (("https", 443), ("http", 80)):
        origin = f"{origin}:{port}"
    asked = urlencode(query, doseq=True) if isinstance(query, dict) else ""
    return f"{origin}{http.get('path')}" + (f"?{asked}" if asked else "")


def json_body_of(http: JsonObject | None, params: JsonObject) -> JsonValue:
    """The body that the record has of a call whose params are its request. None: it has none."""
    body = params.get("body")
    is_json = http is not None and http.get("body_kind") == "json"
    return body if is_json and isinstance(body, dict | list) and body else None


def curl_of(http: JsonObject | None, params: JsonObject) -> str | None:
    """The request line, the covered headers and a JSON body as a curl command. Secrets are masked."""
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
    body = json_body_of(http, params)
    if body is not None:
        words += ["--data-raw", json.dumps(body, ensure_ascii=False)]
    return shlex.join(words)
