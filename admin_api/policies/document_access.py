"""What the routes of data documents and of shared modules have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from admin_api.dependencies import Dependencies
from admin_api.pagination import Page, PageRequest, Pagination, pagination_of
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
from headgate.policies.documents import DocumentKind, PolicyDocument, parse_data_path, parse_module_path
from headgate.policies.versions import ExpectedVersion


@dataclass(frozen=True, slots=True)
class DocumentAccess:
    """Documents of one kind. ``path`` is as it stands in an address; what is none raises ValidationError."""

    kind: DocumentKind
    parse_path: Callable[[str], str]

    async def all(
        self, dependencies: Dependencies, principal: Principal, page: PageRequest
    ) -> Page[DocumentAnswer, Pagination]:
        async with dependencies.database.transaction(principal.org_id) as connection:
            found = await load_documents(connection, principal.org_id, self.kind)
        return Page(
            data=[document_answer(one) for one in found[page.offset : page.offset + page.limit]],
            pagination=pagination_of(page, len(found), is_minimum=False),
        )

    async def one(
        self, dependencies: Dependencies, principal: Principal, path: str, version: int | None
    ) -> PolicyDocument:
        parsed = self.parse_path(path)
        async with dependencies.database.transaction(principal.org_id) as connection:
            if version is None:
                return await get_document(connection, principal.org_id, self.kind, parsed)
            return (await get_document_version(connection, principal.org_id, self.kind, parsed, version)).document

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
        change = DocumentChange(self.kind, self.parse_path(path), content, note)
        return await _changed(dependencies, principal, change, expected)

    async def restored(
        self,
        dependencies: Dependencies,
        principal: Principal,
        path: str,
        wanted: DocumentRestoration,
        expected: ExpectedVersion | None,
    ) -> PolicyDocument:
        change = DocumentChange(self.kind, self.parse_path(path), None, wanted.change_note)
        async with dependencies.database.transaction(principal.org_id) as connection:
            version = await get_document_version(connection, principal.org_id, self.kind, change.path, wanted.version)
        return await _changed(dependencies, principal, restored(change, version), expected)

    async def versions(
        self, dependencies: Dependencies, principal: Principal, path: str, page: PageRequest
    ) -> Page[DocumentVersionAnswer, Pagination]:
        parsed = self.parse_path(path)
        async with dependencies.database.transaction(principal.org_id) as connection:
            versions, total = await list_document_versions(
                connection, principal.org_id, self.kind, parsed,
                limit=page.limit, offset=page.offset, exact_total=page.exact_total,
            )  # fmt: skip
        return Page(
            data=[document_version_answer(one) for one in versions],
            pagination=pagination_of(page, total.total, is_minimum=total.is_minimum),
        )


async def _changed(
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


DATA: Final = DocumentAccess(DocumentKind.DATA, parse_data_path)
MODULES: Final = DocumentAccess(DocumentKind.MODULE, parse_module_path)
