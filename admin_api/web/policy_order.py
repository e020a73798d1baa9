"""/policies: the rule policies in the order in which they run, and their priorities.

A field's name holds the version at which its policy was shown, so that a form from an old page changes nothing.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.pagination import PageRequest
from admin_api.policies.change_set_routes import ChangesBody, change_all
from admin_api.policies.routes import list_all
from admin_api.policies.schemas import PolicyAnswer
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of, whole_number
from admin_api.web.page_route import PageRoute
from admin_api.web.policy_figures import figures_context
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.errors import HeadgateError, ValidationError
from headgate.policies.model import POLICIES_MAX

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/policies"
_AT_ONCE: Final = 100
_FIELD: Final = re.compile(r"priority:(pol_[^:]+):([0-9]+):([0-9]+)")
type _Start = Annotated[int, Query(ge=0, le=POLICIES_MAX)]


@router.get(_PATH, response_class=Response)
async def policies(api: CurrentApi, start: _Start = 0) -> Response:
    """``start``: how many policies run before the first that is shown."""
    return await _list_page(api, start)


@router.post(_PATH, response_class=Response)
async def reorder(api: CurrentApi, start: _Start = 0) -> Response:
    """The priorities that differ from what the page showed, in one change set; or ``move``, those of two policies."""
    form = await form_of(api.request)
    try:
        move = form.optional("move")
        changes = _typed(form) if move is None else _moved(move)
        body = checked(ChangesBody, {"changes": changes, "change_note": "Priority"})
        await api.call(change_all, body, api.principal, api.dependencies)
    except HeadgateError as error:
        return await _list_page(api, start, error)
    return see_other(f"{_PATH}?start={start}" if start else _PATH)


def _typed(form: Form) -> Sequence[dict[str, object]]:
    """Raises ValidationError."""
    fields = [(_FIELD.fullmatch(name), form.text(name)) for name in form.fields]
    return [
        _change(field[1], int(field[2]), whole_number(given, "priority"))
        for field, given in fields
        if field is not None and given != field[3]
    ]


def _moved(move: str) -> Sequence[dict[str, object]]:
    """``move``: two fields' names, of a policy and of the one above it. They change places; of two with one priority
    the policy gets a lower one. Raises ValidationError."""
    found = [_FIELD.fullmatch(name) for name in move.split()]
    if len(found) != len(("policy", "above")) or found[0] is None or found[1] is None:
        raise ValidationError("move: expected a policy and the policy above it.", details={"field": "move"})
    policy, above = found[0], found[1]
    own, other = int(policy[3]), int(above[3])
    if own != other:
        return [_change(policy[1], int(policy[2]), other), _change(above[1], int(above[2]), own)]
    if own > 0:
        return [_change(policy[1], int(policy[2]), own - 1)]
    return [_change(above[1], int(above[2]), other + 1)]


def _change(policy_id: str, version: int, priority: int) -> dict[str, object]:
    return {
        "change": "update_policy",
        "policy_id": policy_id,
        "policy": {"priority": priority, "version": version},
    }


async def _list_page(api: Api, start: int, error: HeadgateError | None = None) -> Response:
    page = PageRequest(_AT_ONCE, start, exact_total=True)
    found = await api.call(list_all, page, api.principal, api.dependencies)
    shown = [one for one in found.data if isinstance(one, PolicyAnswer)]
    context = {
        "policies": [(f"priority:{one.id}:{one.version}:{one.priority}", one) for one in shown],
        "start": start,
        "earlier": max(start - _AT_ONCE, 0) if start else None,
        "later": start + _AT_ONCE if start + len(shown) < found.pagination.total else None,
        "total": found.pagination.total,
        **await figures_context(api),
        "may_write": api.may(Scope.POLICIES_WRITE),
    }
    return await shell_page(api, "policies.html", _PATH, context, error=error)
