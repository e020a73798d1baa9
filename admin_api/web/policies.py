"""/policies/{id} and /policies/new: one rule policy with its source and versions."""

import json
from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.errors import JSON
from admin_api.identifiers import PolicyId
from admin_api.pagination import MAX_OFFSET, PageRequest
from admin_api.policies.check_routes import check
from admin_api.policies.routes import create, delete, get, replace, update
from admin_api.policies.schemas import (
    NewPolicy,
    PolicyAnswer,
    PolicyChange,
    PolicyReplacement,
    Restoration,
)
from admin_api.policies.suggest_routes import SuggestBody, suggest
from admin_api.policies.version_routes import diff, restore
from admin_api.policies.version_routes import get as get_version
from admin_api.policies.version_routes import list_all as list_versions
from admin_api.policies.version_schemas import PolicyVersionAnswer
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.policy_draft import (
    Draft,
    Said,
    body_to_check,
    draft_from,
    draft_of,
    said_of,
    values_of,
    whole_number,
)
from admin_api.web.replay import replayed
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.errors import HeadgateError, ValidationError
from headgate.policies.input_shape import input_paths

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/policies"
_VERSIONS: Final = 20
type _Version = Annotated[int | None, Query(ge=1)]
type _Start = Annotated[int, Query(ge=0, le=MAX_OFFSET)]


_NOTHING: Final = Said()


@router.get("/policies/new", response_class=Response)
async def new(api: CurrentApi, suggested: bool = False) -> Response:
    """``suggested``: a policy that allows what was allowed in the last seven days."""
    draft = Draft()
    if suggested:
        answer = await api.call(suggest, SuggestBody(), api.principal, api.dependencies)
        draft = Draft(name="Suggested", rego_policy=answer.rego_policy)
    return await _edit_page(api, None, draft)


@router.post("/policies/new", response_class=Response)
async def save_new(api: CurrentApi) -> Response:
    form = await form_of(api.request)
    draft = draft_from(form)
    if form.text("act") != "save":
        return await _edit_page(api, None, draft, await _tried(api, None, form, draft))
    try:
        body = checked(NewPolicy, values_of(draft) | {"version": None})
        saved = await api.call(create, body, Response(), api.principal, api.dependencies)
    except HeadgateError as error:
        return await _edit_page(api, None, draft, said_of(error))
    return Response(status_code=303, headers={"Location": f"/policies/{saved.id}"})


@router.post("/policies/check", response_class=Response)
async def check_while_typing(api: CurrentApi) -> Response:
    """What the editor asks: ``{message, line, column}``, null where the policy is valid."""
    form = await form_of(api.request)
    draft = draft_from(form)
    try:
        await api.call(check, body_to_check(form.optional("policy_id"), draft), api.principal, api.dependencies)
    except HeadgateError as error:
        said = {"message": error.message} | {name: (error.details or {}).get(name) for name in ("line", "column")}
        return Response(json.dumps(said), media_type=JSON)
    return Response(json.dumps({"message": None}), media_type=JSON)


@router.get("/policies/{policy_id}", response_class=Response)
async def one(
    api: CurrentApi, policy_id: PolicyId, version: _Version = None, since: _Version = None, start: _Start = 0
) -> Response:
    """The version in force, or ``version``, with what has changed ``since`` another one. ``start``: how many newer
    versions the list leaves out."""
    if version is not None:
        old = await api.call(get_version, policy_id, version, api.principal, api.dependencies)
        return await _edit_page(api, policy_id, draft_of(old.policy), shown_version=version, since=since, start=start)
    policy = await api.call(get, policy_id, Response(), api.principal, api.dependencies)
    assert isinstance(policy, PolicyAnswer)  # noqa: S101 - the camelCase shape was not asked for
    return await _edit_page(api, policy_id, draft_of(policy), since=since, start=start)


@router.post("/policies/{policy_id}", response_class=Response)
async def change(api: CurrentApi, policy_id: PolicyId) -> Response:
    """Save, check, replay, enable, disable, restore or delete."""
    form = await form_of(api.request)
    draft = draft_from(form)
    act = form.text("act")
    if act in ("check", "replay"):
        return await _edit_page(api, policy_id, draft, await _tried(api, policy_id, form, draft))
    try:
        await _act(api, policy_id, act, form, draft)
    except HeadgateError as error:
        if act != "save":
            return await _edit_page(api, policy_id, await _in_force(api, policy_id), said_of(error))
        return await _edit_page(api, policy_id, draft, said_of(error))
    return Response(status_code=303, headers={"Location": _PATH if act == "delete" else f"/policies/{policy_id}"})


async def _act(api: Api, policy_id: str, act: str, form: Form, draft: Draft) -> None:
    principal, dependencies = api.principal, api.dependencies
    match act:
        case "save":
            body = checked(PolicyReplacement, values_of(draft) | {"enabled": draft.enabled})
            await api.call(replace, policy_id, body, Response(), principal, dependencies)
        case "enable" | "disable":
            version = whole_number(form.text("version"))
            changed = checked(PolicyChange, {"enabled": act == "enable", "version": version})
            await api.call(update, policy_id, changed, Response(), principal, dependencies)
        case "restore":
            restored = checked(Restoration, {"version": whole_number(form.text("restore_version"))})
            read_at = f'"{whole_number(form.text("version"))}"'
            await api.call(restore, policy_id, restored, Response(), principal, dependencies, read_at)
        case "delete":
            await api.call(delete, policy_id, principal, dependencies, version=whole_number(form.text("version")))
        case other:
            raise ValidationError(f"The form asks for {other[:32]!r}, which is none of its buttons.")


async def _tried(api: Api, policy_id: str | None, form: Form, draft: Draft) -> Said:
    """What saving would say, and with ``replay`` what it would have changed. Nothing is stored."""
    try:
        answer = await api.call(check, body_to_check(policy_id, draft), api.principal, api.dependencies)
        if form.text("act") != "replay":
            return Said(warnings=answer.warnings, is_valid=True)
        shown = await replayed(api, policy_id, draft.rego_policy, whole_number(draft.priority), form.text("hours"))
        return Said(warnings=answer.warnings, is_valid=True, replay=shown)
    except HeadgateError as error:
        return said_of(error)


async def _in_force(api: Api, policy_id: str) -> Draft:
    policy = await api.call(get, policy_id, Response(), api.principal, api.dependencies)
    assert isinstance(policy, PolicyAnswer)  # noqa: S101 - as above
    return draft_of(policy)


async def _edit_page(
    api: Api,
    policy_id: str | None,
    draft: Draft,
    said: Said = _NOTHING,
    *,
    shown_version: int | None = None,
    since: int | None = None,
    start: int = 0,
) -> Response:
    versions: Sequence[PolicyVersionAnswer] = ()
    difference = None
    total = 0
    if policy_id is not None:
        page = PageRequest(_VERSIONS, start, exact_total=True, camel=False)
        found = await api.call(list_versions, policy_id, page, api.principal, api.dependencies)
        versions, total = found.data, found.pagination.total
        if since is not None:
            to = shown_version or int(draft.version)
            difference = await api.call(diff, policy_id, api.principal, api.dependencies, since, to)
    context = {
        "policy_id": policy_id,
        "draft": draft,
        "said": said,
        "versions": versions,
        "version_count": total,
        "newer": max(start - _VERSIONS, 0) if start else None,
        "older": start + _VERSIONS if start + len(versions) < total else None,
        "newest": versions[0].version if versions else None,
        "shown_version": shown_version,
        "difference": None if difference is None else difference.diff.splitlines(),
        "other_changes": {} if difference is None else difference.changes,
        "since": since,
        "may_write": api.may(Scope.POLICIES_WRITE) and shown_version is None,
        "may_restore": api.may(Scope.POLICIES_WRITE),
        "lines": draft.rego_policy.split("\n"),
        "input_paths": input_paths(),
    }
    return await shell_page(api, "policy.html", _PATH, context, status=said.status)
