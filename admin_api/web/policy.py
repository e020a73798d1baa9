"""/policies/{id}: shows one rule policy with its source, versions and buttons."""

import json
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.errors import JSON
from admin_api.identifiers import PolicyId
from admin_api.pages import see_other
from admin_api.pagination import MAX_OFFSET
from admin_api.policies.check_routes import check
from admin_api.policies.routes import delete, get, replace, update
from admin_api.policies.schemas import PolicyChange, PolicyDetailAnswer, PolicyReplacement, Restoration
from admin_api.policies.version_routes import get as get_version
from admin_api.policies.version_routes import restore
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of, no_such_button, whole_number
from admin_api.web.page_route import PageRoute
from admin_api.web.policy_cases import case_values
from admin_api.web.policy_draft import Draft, body_to_check, draft_from, draft_of, values_of
from admin_api.web.policy_page import edit_page
from admin_api.web.policy_try import TRIES, said_of, tried
from admin_api.web.replay import effect_while_typing, last_replay, replaced
from admin_api.web.shell import shell_page
from headgate.kernel.errors import HeadgateError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/policies"
type _Version = Annotated[int | None, Query(ge=1)]
type _Start = Annotated[int, Query(ge=0, le=MAX_OFFSET)]


@router.post("/policies/check", response_class=Response)
async def check_while_typing(api: CurrentApi) -> Response:
    """What the editor asks: ``{message, line, column}``, null where the policy is valid; and with ``effect`` what it
    would change of the newest calls, as ``{effect}``."""
    form = await form_of(api.request)
    draft = draft_from(form)
    try:
        if form.text("effect"):
            effect = await effect_while_typing(
                api, form.optional("policy_id"), draft.rego_policy, whole_number(draft.priority, "priority")
            )
            return Response(json.dumps({"effect": effect}), media_type=JSON)
        await api.call(check, body_to_check(form.optional("policy_id"), draft), api.principal, api.dependencies)
    except HeadgateError as error:
        said = {"message": error.message} | {name: (error.details or {}).get(name) for name in ("line", "column")}
        return Response(json.dumps(said), media_type=JSON)
    return Response(json.dumps({"message": None}), media_type=JSON)


@router.get("/policies/effect", response_class=Response)
async def last_effect(api: CurrentApi, run: Annotated[str | None, Query(max_length=64)] = None) -> Response:
    """Shows the effect on recorded calls that the person asked for last, or how far its replay is. ``run``: the one
    that a page waits for, which another one may have replaced."""
    found = await last_replay(api)
    if run is not None and (found is None or found.run != run):
        found = replaced(run)
    return await shell_page(api, "policy_effect.html", _PATH, {"run": found})


@router.get("/policies/{policy_id}", response_class=Response)
async def one(
    api: CurrentApi, policy_id: PolicyId, version: _Version = None, since: _Version = None, start: _Start = 0
) -> Response:
    """The version in force, or ``version``, with what has changed ``since`` another one. ``start``: how many newer
    versions the list leaves out."""
    if version is not None:
        old = await api.call(get_version, policy_id, version, api.principal, api.dependencies)
        return await edit_page(api, policy_id, draft_of(old.policy), shown_version=version, since=since, start=start)
    policy = await _in_force(api, policy_id)
    return await edit_page(api, policy_id, draft_of(policy), since=since, start=start, shadow=policy.shadow)


@router.post("/policies/{policy_id}", response_class=Response)
async def change(api: CurrentApi, policy_id: PolicyId) -> Response:
    """Saves, checks, tests, replays, enables, disables, restores or deletes a policy."""
    form = await form_of(api.request)
    draft = draft_from(form)
    act = form.text("act")
    if act in TRIES:
        return await edit_page(api, policy_id, draft, await tried(api, policy_id, form, draft))
    try:
        await _act(api, policy_id, act, form, draft)
    except HeadgateError as error:
        if act != "save":
            return await edit_page(api, policy_id, draft_of(await _in_force(api, policy_id)), said_of(error))
        return await edit_page(api, policy_id, draft, said_of(error))
    return see_other(_PATH if act == "delete" else f"/policies/{policy_id}")


async def _act(api: Api, policy_id: str, act: str, form: Form, draft: Draft) -> None:
    principal, dependencies = api.principal, api.dependencies
    match act:
        case "save":
            body = checked(PolicyReplacement, values_of(draft) | await case_values(form))
            await api.call(replace, policy_id, body, Response(), principal, dependencies)
        case "enable" | "disable":
            version = form.whole_number("version")
            changed = checked(PolicyChange, {"enabled": act == "enable", "version": version})
            await api.call(update, policy_id, changed, Response(), principal, dependencies)
        case "restore":
            restored = checked(Restoration, {"version": form.whole_number("restore_version")})
            read_at = f'"{form.whole_number("version")}"'
            await api.call(restore, policy_id, restored, Response(), principal, dependencies, read_at)
        case "delete":
            await api.call(delete, policy_id, principal, dependencies, version=form.whole_number("version"))
        case other:
            raise no_such_button(other)


async def _in_force(api: Api, policy_id: str) -> PolicyDetailAnswer:
    policy = await api.call(get, policy_id, Response(), api.principal, api.dependencies)
    assert isinstance(policy, PolicyDetailAnswer)  # noqa: S101 - the camelCase shape was not asked for
    return policy
