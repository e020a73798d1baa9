"""/settings/retention: sets how long bodies, captures and reports are kept, and erases calls in two steps."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.retention.routes import erase, get_holds, get_retention, save_retention
from admin_api.retention.schemas import ErasureAnswer, ErasureRequest, HoldAnswer
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of, no_such_button
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import settings_page
from headgate.kernel.errors import HeadgateError
from headgate.workflows.retained_kinds import KINDS

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/retention"
_NAMES: Final = {
    "bodies": "requests, responses and messages of calls",
    "captures": "captured traffic",
    "reports": "reports",
}


@router.get(_PATH, response_class=Response)
async def retention(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def change(api: CurrentApi) -> Response:
    """Saves the settings, reviews an erasure without changes, or erases (``act``)."""
    form = await form_of(api.request)
    try:
        match form.text("act"):
            case "save":
                await save_retention(api.principal, api.dependencies, _policy(form), form.optional("version"))
                return see_other(_PATH)
            case "review":
                holds = (await api.call(get_holds, api.principal, api.dependencies, in_force=True)).data
                return await _page(api, form, review=_erasure(form), holds=holds)
            case "erase":
                done = await api.call(erase, _erasure(form), api.principal, api.dependencies)
                return await _page(api, done=done)
            case other:
                raise no_such_button(other)
    except HeadgateError as error:
        return await _page(api, form, error=error)


def _policy(form: Form) -> bytes:
    """Empty fields: kept until somebody erases it. Raises ValidationError."""
    drop = {kind: _days(form, kind) for kind in KINDS}
    return json.dumps({"encrypt_after_days": _days(form, "encrypt"), "drop_after_days": drop}).encode()


def _days(form: Form, name: str) -> int | None:
    return form.whole_number(name) if form.text(name) else None


def _erasure(form: Form) -> ErasureRequest:
    """Raises ValidationError."""
    ids = form.text("action_ids").replace(",", " ").split()
    given = {"action_ids": ids, "depth": form.optional("depth"), "reason": form.text("reason")}
    return checked(ErasureRequest, given)


async def _page(
    api: Api,
    form: Form | None = None,
    *,
    review: ErasureRequest | None = None,
    holds: Sequence[HoldAnswer] = (),
    done: ErasureAnswer | None = None,
    error: HeadgateError | None = None,
) -> Response:
    answer = await api.call(get_retention, api.request)
    policy = json.loads(bytes(answer.body))
    is_policy = form is not None and form.text("act") == "save"
    context = {
        "fields": _fields(policy, form if is_policy else None),
        "version": form.text("version") if form is not None and is_policy else answer.headers.get("etag", ""),
        "typed": {
            name: "" if form is None or is_policy else form.text(name) for name in ("action_ids", "depth", "reason")
        },
        "review": review,
        "holds": holds,
        "done": done,
    }
    return await settings_page(api, "retention.html", _PATH, context, error=error)


def _shown_days(days: object) -> str:
    return "" if days is None else str(days)


def _fields(policy: Mapping[str, object], form: Form | None) -> Sequence[tuple[str, str, str]]:
    """Name, label and value of each number of days."""
    drop = policy["drop_after_days"]
    stored = {"encrypt": policy["encrypt_after_days"], **(drop if isinstance(drop, dict) else {})}
    labels = {
        "encrypt": "Encrypt bodies separately after",
        **{kind: f"Drop {_NAMES.get(kind, kind)} after" for kind in KINDS},
    }
    return [
        (name, label, form.text(name) if form is not None else _shown_days(stored.get(name)))
        for name, label in labels.items()
    ]
