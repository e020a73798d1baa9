"""/admin/policies/modules: Rego that policies share, as packages ``lib.…``."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.etag import IfMatch, expected_version, set_etag
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ModulePath
from admin_api.pagination import CountedPage, CurrentPage
from admin_api.policies.document_access import MODULES
from admin_api.policies.document_schemas import (
    DocumentAnswer,
    DocumentRestoration,
    DocumentVersionAnswer,
    ModuleAnswer,
    NewModule,
    module_answer,
)
from headgate.policies.draft import NOTE_MAX_CHARACTERS
from headgate.policies.versions import ExpectedVersion

router = APIRouter(route_class=GuardedRoute, tags=["policies"])


@router.get("/admin/policies/modules", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CountedPage[DocumentAnswer]:
    """Lists shared modules by path, without their content."""
    return await MODULES.all(dependencies, principal, page)


@router.get("/admin/policies/modules/{path}")
async def get(
    path: ModulePath,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    version: Annotated[int | None, Query(ge=1)] = None,
) -> ModuleAnswer:
    """Gets the current version of a shared module."""
    module = await MODULES.one(dependencies, principal, path, version)
    set_etag(response, module.version)
    return module_answer(module)


@router.put("/admin/policies/modules/{path}")
async def put(
    path: ModulePath,
    body: NewModule,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    if_match: IfMatch = None,
) -> ModuleAnswer:
    """Stores the next version of a shared module. It is checked with every policy that could use it, and refused if one
    would stop working."""
    expected = ExpectedVersion(0) if body.version == 0 else expected_version(if_match, body.version)
    module = await MODULES.changed(dependencies, principal, path, body.content, body.change_note, expected)
    set_etag(response, module.version)
    return module_answer(module)


@router.delete("/admin/policies/modules/{path}")
async def delete(
    path: ModulePath,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    change_note: Annotated[str | None, Query(max_length=NOTE_MAX_CHARACTERS)] = None,
    if_match: IfMatch = None,
) -> ModuleAnswer:
    """Deletes a shared module. Refused while a policy needs it; its versions are kept."""
    expected = expected_version(if_match, None)
    return module_answer(await MODULES.changed(dependencies, principal, path, None, change_note, expected))


@router.get("/admin/policies/modules/{path}/versions", response_model_exclude_unset=True)
async def list_versions(
    path: ModulePath, page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CountedPage[DocumentVersionAnswer]:
    """Lists versions of a shared module, newest first, also of a deleted module."""
    return await MODULES.versions(dependencies, principal, path, page)


@router.post("/admin/policies/modules/{path}/restore")
async def restore(
    path: ModulePath,
    body: DocumentRestoration,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    if_match: IfMatch = None,
) -> ModuleAnswer:
    """Restores an old version of a shared module as the next version."""
    module = await MODULES.restored(dependencies, principal, path, body, expected_version(if_match, None))
    set_etag(response, module.version)
    return module_answer(module)
