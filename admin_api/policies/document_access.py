"""What the routes of data documents and of shared modules have in common."""

from typing import Final

from msgspec import Struct

from admin_api.change import change_by
from admin_api.dependencies import Dependencies
from admin_api.pagination import CountedPage, PageRequest, counted_page
from admin_api.policies.document_schemas import (
    DocumentAnswer,
    DocumentRestoration,
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


class DocumentAccess(Struct, frozen=True):
    """Documents of one kind."""

    kind: DocumentKind

    async def all(
        self, dependencies: Dependencies, principal: Principal, page: PageRequest
    ) -> CountedPage[DocumentAnswer]:
        async with dependencies.database.transaction(principal.org_id) as connection:
            found = await load_documents(connection, principal.org_id, self.kind)
        return counted_page(
            page,
            [document_answer(one) for one in found[page.offset : page.offset + page.limit]],
            len(found),
            is_minimum=False,
        )

    async def one(
        self, dependencies: Dependencies, principal: Principal, path: str, version: int | None
    ) -> PolicyDocument:
        async with dependencies.database.transaction(principal.org_id) as connection:
            if version is None:
                return await get_document(connection, principal.org_id, self.kind, path)
            return (await get_document_version(connection, principal.org_id, self.kind, path, version)).document

    async def changed(
        self,
        dependencies: Dependencies,
        principal: Principal,
        path: str,
        content: str | None,
        note: str | None,
        expected: ExpectedVersion | None,
    ) -> PolicyDocument:
        """``content`` None: it is deleted."""
        change = DocumentChange(self.kind, path, content, note)
        return await _changed(dependencies, principal, change, expected)

    async def restored(
        self,
        dependencies: Dependencies,
        principal: Principal,
        path: str,
        wanted: DocumentRestoration,
        expected: ExpectedVersion | None,
    ) -> PolicyDocument:
        change = DocumentChange(self.kind, path, None, wanted.change_note)
        async with dependencies.database.transaction(principal.org_id) as connection:
            version = await get_document_version(connection, principal.org_id, self.kind, change.path, wanted.version)
        return await _changed(dependencies, principal, restored(change, version), expected)

    async def versions(
        self, dependencies: Dependencies, principal: Principal, path: str, page: PageRequest
    ) -> CountedPage[DocumentVersionAnswer]:
        async with dependencies.database.transaction(principal.org_id) as connection:
            versions, total = await list_document_versions(
                connection, principal.org_id, self.kind, path,
                limit=page.limit, offset=page.offset, exact_total=page.exact_total,
            )  # fmt: skip
        return counted_page(
            page, [document_version_answer(one) for one in versions], total.total, is_minimum=total.is_minimum
        )


async def _changed(
    dependencies: Dependencies, principal: Principal, change: DocumentChange, expected: ExpectedVersion | None
) -> PolicyDocument:
    return await change_document(dependencies.database, change_by(principal, dependencies), change, expected=expected)


DATA: Final = DocumentAccess(DocumentKind.DATA)
MODULES: Final = DocumentAccess(DocumentKind.MODULE)
