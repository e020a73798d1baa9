"""Renders the page of one policy, saved or not: its editor, versions, differences and test results."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from admin_api.pagination import PageRequest
from admin_api.policies.example_routes import ExampleAnswer
from admin_api.policies.schemas import ShadowAnswer
from admin_api.policies.version_routes import diff
from admin_api.policies.version_routes import list_all as list_versions
from admin_api.policies.version_schemas import PolicyVersionAnswer
from admin_api.web.api import Api
from admin_api.web.policy_draft import Draft
from admin_api.web.policy_try import Said
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.policies.input_shape import input_paths

_VERSIONS: Final = 20
_NOTHING: Final = Said()
_CASE: Final = """- name: a large payment waits
  input:
    tool: stripe
    operation: pay
    params: {amount: 200}
  expect: {decision: require_approval}
"""


async def edit_page(
    api: Api,
    policy_id: str | None,
    draft: Draft,
    said: Said = _NOTHING,
    *,
    shown_version: int | None = None,
    since: int | None = None,
    start: int = 0,
    shadow: ShadowAnswer | None = None,
    examples: Sequence[ExampleAnswer] = (),
) -> Response:
    versions: Sequence[PolicyVersionAnswer] = ()
    difference = None
    total = 0
    if policy_id is not None:
        page = PageRequest(_VERSIONS, start, exact_total=True)
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
        "shadow": shadow,
        "examples": examples,
        "may_write": api.may(Scope.POLICIES_WRITE) and shown_version is None,
        "may_restore": api.may(Scope.POLICIES_WRITE),
        "lines": draft.rego_policy.split("\n"),
        "input_paths": input_paths(),
        "case_example": _CASE,
    }
    return await shell_page(api, "policy.html", "/policies", context, status=said.status)
