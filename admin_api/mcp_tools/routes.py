"""/admin/mcp-tools: what MCP servers say of their tools, and accepting that it has changed."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import McpToolId
from admin_api.mcp_tools.schemas import (
    SERVER_PATTERN,
    AcceptRequest,
    ForgottenAnswer,
    McpToolAnswer,
    McpToolDetailAnswer,
    tool_answer,
    tool_detail,
)
from admin_api.pagination import CamelPagination, CursorPagination, ListRequest, Page, cursor_page, list_request
from headgate.kernel.ids import IdPrefix
from headgate.mcp_tools.service import accept_tool, forget_tools
from headgate.mcp_tools.store import find_tool, list_tools

router = APIRouter(route_class=GuardedRoute, tags=["mcp-tools"])

type _Server = Annotated[str, Query(max_length=128, pattern=SERVER_PATTERN)]


@router.get("/admin/mcp-tools", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(IdPrefix.MCP_TOOL))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    server: _Server | None = None,
    changed_only: Annotated[bool, Query(alias="changed", description="Only tools with a changed definition")] = False,
) -> Page[McpToolAnswer, CursorPagination] | Page[McpToolAnswer, CamelPagination]:
    """Lists the tools that MCP servers have offered, newest first."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_tools(
            connection,
            principal.org_id,
            server=server,
            changed_only=changed_only,
            limit=request.limit,
            offset=request.offset,
            cursor=request.cursor,
            exact_total=request.exact_total,
        )
    return cursor_page(request, [tool_answer(tool) for tool in found.tools], found)


@router.delete("/admin/mcp-tools")
async def forget(server: _Server, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> ForgottenAnswer:
    """Forgets all tools of a server: the definitions that are seen next are accepted."""
    async with administer(principal, dependencies) as change:
        forgotten = await forget_tools(change, server)
    return ForgottenAnswer(server=server, forgotten=forgotten)


@router.get("/admin/mcp-tools/{id}")
async def get(id: McpToolId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> McpToolDetailAnswer:  # noqa: A002 - as in the specification's routes
    """Gets one tool, with the accepted definition and the one that was seen last."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        tool = await find_tool(connection, principal.org_id, id)
    return tool_detail(tool)


@router.post("/admin/mcp-tools/{id}/accept")
async def accept(
    id: McpToolId,  # noqa: A002 - as in the specification's routes
    body: AcceptRequest,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> McpToolDetailAnswer:
    """Accepts the definition of a changed tool. Policies no longer read that the tool has changed."""
    async with administer(principal, dependencies) as change:
        tool = await accept_tool(change, id, body.digest)
    return tool_detail(tool)
