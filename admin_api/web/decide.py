"""Handles the forms of the inbox: decides one request, or several at once."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.approvals.bulk_routes import BulkDecisionRequest, decide_many
from admin_api.approvals.detail_schemas import ApprovalDetailAnswer
from admin_api.approvals.routes import approve, deny, escalate, get, reassign
from admin_api.approvals.schemas import ApproveRequest, DenyRequest, EscalateRequest, ReassignRequest
from admin_api.grants.routes import approve_and_grant
from admin_api.identifiers import ApprovalId
from admin_api.pages import see_other
from admin_api.web.api import Api, CurrentApi
from admin_api.web.approval import Changes, asked_params
from admin_api.web.form import Form, checked, filled, form_of, no_such_button
from admin_api.web.grant_form import draft_of, read_grant, rows_of
from admin_api.web.grant_preview import preview_of
from admin_api.web.inbox import CurrentFilter, InboxFilter, inbox_page
from admin_api.web.page_route import PageRoute
from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import ConflictError, HeadgateError, ValidationError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_TYPED: Final = ("reason", "chosen", "params", "assignees")
_GRANTING: Final = ("preview", "grant")
_COMPARE: Final = "compare"


@router.post("/inbox", response_class=Response)
async def decide_several(api: CurrentApi, wanted: CurrentFilter) -> Response:
    """Applies one decision to all selected requests, and names those that could not be decided."""
    form = await form_of(api.request)
    # With the digest that was shown: another reviewer may have edited a request since.
    digests = dict(one.partition(" ")[::2] for one in form.several("selected"))
    try:
        body = checked(
            BulkDecisionRequest,
            {
                "decision": form.text("decision"),
                "ids": list(digests),
                "digests": digests,
                "reason": form.optional("reason"),
            },
        )
        answer = await api.call(decide_many, body, api.principal, api.dependencies)
    except HeadgateError as error:
        return await inbox_page(api, wanted, error=error)
    failed = [one for one in answer.results if one.error is not None]
    if not failed:
        return see_other(f"/inbox{wanted.suffix}")
    said = "; ".join(f"{one.id}: {one.error.message}" for one in failed if one.error is not None)
    partly = ConflictError(f"{answer.voted} requests decided, {answer.failed} failed. {said}")
    return await inbox_page(api, wanted, error=partly)


@router.post("/inbox/{approval_id}", response_class=Response)
async def decide(api: CurrentApi, approval_id: ApprovalId, wanted: CurrentFilter) -> Response:
    """Votes, edits, grants, escalates or reassigns, then shows the page again."""
    form = await form_of(api.request)
    if form.text("decision") in _GRANTING:
        return await _grant(api, approval_id, form, wanted)
    typed = {name: form.text(name) for name in _TYPED}
    try:
        if form.text("decision") == _COMPARE:
            changes = Changes(_params(form))
            return await inbox_page(api, wanted, approval_id=approval_id, typed=typed, changes=changes)
        await _act(api, approval_id, form)
    except HeadgateError as error:
        return await inbox_page(api, wanted, approval_id=approval_id, typed=typed, error=error)
    return see_other(f"/inbox/{approval_id}{wanted.suffix}")


async def _act(api: Api, approval_id: str, form: Form) -> None:
    principal, dependencies = api.principal, api.dependencies
    match form.text("decision"):
        case "approve":
            given = {"comment": form.optional("reason"), "digest": form.optional("digest")}
            await api.call(approve, approval_id, principal, dependencies, checked(ApproveRequest, given))
        case "edit":
            edited = {"comment": form.optional("reason"), "digest": form.optional("digest"), "params": _params(form)}
            await api.call(approve, approval_id, principal, dependencies, checked(ApproveRequest, edited))
        case "deny":
            said = checked(DenyRequest, {"reason": _reason(form)})
            await api.call(deny, approval_id, said, principal, dependencies)
        case "reassign":
            people = filled(form.text("assignees").split(","))
            asked = checked(ReassignRequest, {"assignees": people, "comment": form.optional("reason")})
            await api.call(reassign, approval_id, asked, principal, dependencies)
        case "escalate":
            why = checked(EscalateRequest, {"reason": form.optional("reason")})
            await api.call(escalate, approval_id, principal, dependencies, why)
        case other:
            raise no_such_button(other)


def _reason(form: Form) -> str | None:
    """The chosen reason and what was typed beside it. None: neither."""
    return " ".join(filter(None, (form.optional("chosen"), form.optional("reason")))) or None


def _params(form: Form) -> JsonValue:
    """Raises ValidationError."""
    try:
        return parse_strict(form.text("params").encode())
    except ValidationError as error:
        raise ValidationError(f"The edited params are {error.message}", details={"field": "params"}) from error


async def _grant(api: Api, approval_id: str, form: Form, wanted: InboxFilter) -> Response:
    """Approves the request and grants similar ones, or shows what this would grant."""
    principal, dependencies = api.principal, api.dependencies
    approval = await api.call(get, approval_id, principal, dependencies, api.request)
    assert isinstance(approval, ApprovalDetailAnswer)  # noqa: S101 - the camelCase shape was not asked for
    rows, is_preview = rows_of(asked_params(approval)), form.text("decision") == "preview"
    try:
        body = read_grant(form, rows, is_preview=is_preview)
        if is_preview:
            draft = draft_of(form, rows, preview=await preview_of(api, approval, body))
            return await inbox_page(api, wanted, approval_id=approval_id, grant=draft)
        granted = await api.call(approve_and_grant, approval_id, body, principal, dependencies)
    except HeadgateError as error:
        draft = draft_of(form, rows, error=error)
        return await inbox_page(api, wanted, approval_id=approval_id, grant=draft, error=error)
    return see_other(f"/grants/{granted.grant.id}")
