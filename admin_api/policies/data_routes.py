"""/admin/policies/data: JSON documents that policies read as ``data.…``.

The body is the document itself, both ways. ``limits/hard`` and ``limits.hard`` are the same path; below it
(``/versions``, ``/restore``) only the form with dots.
"""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.errors import JSON
from admin_api.etag import IfMatch, expected_version, set_etag
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import DataPath
from admin_api.pagination import CountedPage, CurrentPage
from admin_api.policies.document_access import DATA
from admin_api.policies.document_schemas import (
    DocumentAnswer,
    DocumentRestoration,
    DocumentVersionAnswer,
    document_answer,
)
from headgate.kernel.canonical_json import parse_strict
from headgate.policies.document_service import data_content
from headgate.policies.draft import NOTE_MAX_CHARACTERS

router = APIRouter(route_class=GuardedRoute, tags=["policies"])

type _Note = Annotated[str | None, Query(max_length=NOTE_MAX_CHARACTERS)]
type _Version = Annotated[int | None, Query(ge=1)]


@router.get("/admin/policies/data", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CountedPage[DocumentAnswer]:
    """Lists data documents by path, without their content."""
    return await DATA.all(dependencies, principal, page)


@router.get("/admin/policies/data/{path}/versions", response_model_exclude_unset=True)
async def list_versions(
    path: DataPath, page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CountedPage[DocumentVersionAnswer]:
    """Lists versions of a data document, newest first, also of a deleted document."""
    return await DATA.versions(dependencies, principal, path, page)


@router.post("/admin/policies/data/{path}/restore")
async def restore(
    path: DataPath,
    body: DocumentRestoration,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    if_match: IfMatch = None,
) -> DocumentAnswer:
    """Restores an old version of a data document as the next version."""
    document = await DATA.restored(dependencies, principal, path, body, expected_version(if_match, None))
    set_etag(response, document.version)
    return document_answer(document)


@router.get("/admin/policies/data/{path:path}", response_class=Response)
async def get(
    path: DataPath, principal: CurrentPrincipal, dependencies: CurrentDependencies, version: _Version = None
) -> Response:
    """Gets a data document, or one of its versions."""
    document = await DATA.one(dependencies, principal, path, version)
    return Response(document.content, media_type=JSON, headers={"ETag": f'"{document.version}"'})


@router.put("/admin/policies/data/{path:path}")
async def put(
    path: DataPath,
    request: Request,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    change_note: _Note = None,
    if_match: IfMatch = None,
) -> DocumentAnswer:
    """Stores the body as the next version of a data document. It applies to the next decision. Refused if a policy
    would stop working with it."""
    content = data_content(parse_strict(await request.body()))
    expected = expected_version(if_match, None)
    document = await DATA.changed(dependencies, principal, path, content, change_note, expected)
    set_etag(response, document.version)
    return document_answer(document)


@router.delete("/admin/policies/data/{path:path}")
async def delete(
    path: DataPath,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    change_note: _Note = None,
    if_match: IfMatch = None,
) -> DocumentAnswer:
    """Deletes a data document. Policies find nothing at its path; its versions are kept."""
    expected = expected_version(if_match, None)
    return document_answer(await DATA.changed(dependencies, principal, path, None, change_note, expected))
