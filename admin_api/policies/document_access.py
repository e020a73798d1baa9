"""What the routes of data documents and of shared modules have in common."""

from admin_api.dependencies import Dependencies
from admin_api.pagination import Page, PageRequest, Pagination, pagination_of
from admin_api.policies.document_schemas import (
    DocumentAnswer,
    DocumentVersionAnswer,
    document_answer,
    document_version_answer,
)
from admin_api.principal import Principal
from headgate.policies.document_service import DocumentChange, change_document, restored
from headgate.policies.document_store import (
    get_document,
    get_document_version,
    list_document_versions,
    load_documents,
)
from headgate.policies.documents import DocumentKind, PolicyDocument
from headgate.policies.versions import ExpectedVersion


async def all_documents(
    dependencies: Dependencies, principal: Principal, kind: DocumentKind, page: PageRequest
) -> Page[DocumentAnswer, Pagination]:
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await load_documents(connection, principal.org_id, kind)
    return Page(
        data=[document_answer(one) for one in found[page.offset : page.offset + page.limit]],
        pagination=pagination_of(page, len(found), is_minimum=False),
    )


async def one_document(
    dependencies: Dependencies, principal: Principal, kind: DocumentKind, path: str, version: int | None
) -> PolicyDocument:
    async with dependencies.database.transaction(principal.org_id) as connection:
        if version is not None:
            return (await get_document_version(connection, principal.org_id, kind, path, version)).document
        return await get_document(connection, principal.org_id, kind, path)


async def changed_document(
    dependencies: Dependencies, principal: Principal, change: DocumentChange, expected: ExpectedVersion | None
) -> PolicyDocument:
    return await change_document(
        dependencies.database,
        principal.org_id,
        change,
        expected=expected,
        actor=principal.actor,
        clock=dependencies.clock,
    )


async def restored_document(
    dependencies: Dependencies,
    principal: Principal,
    change: DocumentChange,
    version: int,
    expected: ExpectedVersion | None,
) -> PolicyDocument:
    async with dependencies.database.transaction(principal.org_id) as connection:
        wanted = await get_document_version(connection, principal.org_id, change.kind, change.path, version)
    return await changed_document(dependencies, principal, restored(change, wanted), expected)


async def versions_of(
    dependencies: Dependencies, principal: Principal, kind: DocumentKind, path: str, page: PageRequest
) -> Page[DocumentVersionAnswer, Pagination]:
    async with dependencies.database.transaction(principal.org_id) as connection:
        versions, total = await list_document_versions(
            connection, principal.org_id, kind, path, limit=page.limit, offset=page.offset
        )
    return Page(
        data=[document_version_answer(one) for one in versions],
        pagination=pagination_of(page, total.total, is_minimum=total.is_minimum),
    )
