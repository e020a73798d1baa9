"""/admin/approver-groups: who ``group:name`` is. Reading is for whoever may read approvals, changing for admin:*."""

from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter
from pydantic import ConfigDict, Field
from starlette.responses import Response

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.etag import IfMatch, expected_version, set_etag
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import GroupName, PersonName
from admin_api.pagination import CountedPage, CurrentPage, counted_page
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.approvals.administer_groups import create_group, remove_group, replace_group
from headgate.approvals.group_store import find_group, list_groups
from headgate.approvals.groups import DESCRIPTION_MAX_CHARACTERS, MEMBERS_MAX, ApproverGroup
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix, id_pattern
from headgate.policies.terms import ASSIGNEE_MAX_CHARACTERS

router = APIRouter(route_class=GuardedRoute, tags=["approvals"])


# What ``approvals.groups.parse_members`` takes.
_MEMBER: Final[dict[str, Any]] = {
    "anyOf": [{"pattern": id_pattern(IdPrefix.USER)}, {"pattern": "^(usr_[^\\u0000]*|[^\\u0000]*@[^\\u0000]*)$"}],
    "not": {"pattern": "^group:"},
    "examples": ["ana@example.com"],
}
type _Member = Annotated[PersonName, Field(max_length=ASSIGNEE_MAX_CHARACTERS, json_schema_extra=_MEMBER)]


class GroupBody(BaseModel):
    """``members`` are user ids and email addresses."""

    model_config = ConfigDict(extra="forbid")

    description: Annotated[StorableText, Field(max_length=DESCRIPTION_MAX_CHARACTERS)] | None = None
    members: Annotated[list[_Member], Field(max_length=MEMBERS_MAX)]


class NewGroup(GroupBody):
    name: GroupName


class GroupAnswer(BaseModel):
    name: str
    description: str | None
    members: list[str]
    version: int
    created_at: datetime
    updated_at: datetime


@router.get("/admin/approver-groups", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CountedPage[GroupAnswer]:
    """Lists all approver groups, by name."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        groups, total = await list_groups(connection, principal.org_id, limit=page.limit, offset=page.offset)
    return counted_page(page, [_answer(group) for group in groups], total, is_minimum=False)


@router.post("/admin/approver-groups", status_code=201)
async def create(
    body: NewGroup, response: Response, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> GroupAnswer:
    """Creates an approver group. Members are email addresses or user ids."""
    async with administer(principal, dependencies) as change:
        group = await create_group(change, body.name, body.description, body.members)
    set_etag(response, group.version)
    return _answer(group)


@router.get("/admin/approver-groups/{name}")
async def get(
    name: GroupName, response: Response, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> GroupAnswer:
    """Gets one approver group with its members."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        group = await find_group(connection, principal.org_id, name)
    if group is None:
        raise NotFoundError(f"no group {name}")
    set_etag(response, group.version)
    return _answer(group)


@router.put("/admin/approver-groups/{name}")
async def put(
    name: GroupName,
    body: GroupBody,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    if_match: IfMatch = None,
) -> GroupAnswer:
    """Replaces an approver group. If-Match: only if it is still at that version. Removed members can no longer vote."""
    async with administer(principal, dependencies) as change:
        group = await replace_group(
            change,
            name,
            body.description,
            body.members,
            expected_version(if_match, None),
        )
    set_etag(response, group.version)
    return _answer(group)


@router.delete("/admin/approver-groups/{name}")
async def delete(name: GroupName, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> GroupAnswer:
    """Deletes an approver group. Approval requests that name it wait for their other assignees, for admin:*, or for
    their expiry."""
    async with administer(principal, dependencies) as change:
        return _answer(await remove_group(change, name))


def _answer(group: ApproverGroup) -> GroupAnswer:
    return GroupAnswer(
        name=group.name,
        description=group.description,
        members=list(group.members),
        version=group.version,
        created_at=group.created_at,
        updated_at=group.updated_at,
    )
