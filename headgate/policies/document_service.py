"""Changes data documents and shared modules; a change that would break a policy is refused.

A change is checked against the policies of a generation, outside of any transaction, and stored only if the generation
is unchanged.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.audit.change import Change
from headgate.audit.model import EventType
from headgate.db.database import Database
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, sha256_hex
from headgate.kernel.errors import ConflictError, ValidationError
from headgate.llm_usage.prices import MODEL_PRICES, parse_prices
from headgate.organizations.change import OrganizationChange, begin_change
from headgate.organizations.store import generation as stored_generation
from headgate.policies.compile import Libraries, PolicyRefusedError, compile_policy, imported
from headgate.policies.document_store import lock_document, not_found, save_document
from headgate.policies.documents import (
    DATA_MAX_BYTES,
    DOCUMENT_MAX_BYTES,
    DOCUMENTS_MAX,
    MODULES_MAX,
    DocumentKind,
    DocumentVersion,
    PolicyDocument,
)
from headgate.policies.draft import check_note, check_storable
from headgate.policies.model import REGO_MAX_BYTES, RulePolicy
from headgate.policies.store import load_enabled
from headgate.policies.surroundings import Surroundings, load_surroundings, surroundings_with
from headgate.policies.trial import try_policies, try_policy
from headgate.policies.versions import ExpectedVersion, VersionChange

_EVENT_TYPES: Final = {
    (DocumentKind.DATA, False): EventType.POLICY_DATA_CHANGED,
    (DocumentKind.DATA, True): EventType.POLICY_DATA_DELETED,
    (DocumentKind.MODULE, False): EventType.POLICY_MODULE_CHANGED,
    (DocumentKind.MODULE, True): EventType.POLICY_MODULE_DELETED,
}


class DocumentChange(Struct, frozen=True):
    """``content`` None: delete it. ``restored``: it restores an earlier version."""

    kind: DocumentKind
    path: str
    content: str | None
    note: str | None = None
    restored: bool = False


def data_content(document: JsonValue) -> str:
    """The stored form of a data document. Raises ValidationError."""
    content = canonical_bytes(document)
    if len(content) > DOCUMENT_MAX_BYTES:
        raise _over(f"at most {DOCUMENT_MAX_BYTES} bytes of JSON")
    return content.decode()


async def change_document(
    database: Database, by: Change, wanted: DocumentChange, *, expected: ExpectedVersion | None
) -> PolicyDocument:
    """Checks, then stores the next version, effective with the next decision. Identical content makes no version.

    Raises NotFoundError (to delete), ValidationError (with the policy that would break, for Rego with its place),
    ConflictError, PreconditionFailedError.
    """
    check_note(wanted.note)
    if wanted.content is not None and wanted.kind is DocumentKind.MODULE:
        check_storable("content", wanted.content)
    async with database.transaction(by.org_id) as connection:
        generation = await stored_generation(connection, by.org_id)
        around = await load_surroundings(connection, by.org_id)
        policies = await load_enabled(connection, by.org_id)
    after = surroundings_with(around, wanted.kind, wanted.path, wanted.content)
    check_limits(wanted.kind, after)
    if wanted.kind is DocumentKind.MODULE and wanted.content is not None:
        await check_module(wanted.path, wanted.content, after)
    await check_policies(policies, around, after)
    async with begin_change(database, by) as change:
        return await store_change(change, wanted, generation, expected=expected)


async def store_change(
    change: OrganizationChange, wanted: DocumentChange, generation: int, *, expected: ExpectedVersion | None
) -> PolicyDocument:
    """Stores what was checked against ``generation``. Raises as ``change_document`` does."""
    found = await lock_document(change.connection, change.org_id, wanted.kind, wanted.path)
    before, was_deleted = (None, True) if found is None else found
    if expected is not None:
        expected.require(0 if before is None else before.version)
    if wanted.content is None and (before is None or was_deleted):
        raise not_found(wanted.kind, wanted.path)
    if before is not None and not was_deleted and wanted.content == before.content:
        return before
    if await change.raise_generation() != generation + 1:
        raise ConflictError("the organization's policies changed during the check. Try again")
    document = PolicyDocument(
        kind=wanted.kind,
        path=wanted.path,
        version=1 if before is None else before.version + 1,
        content=before.content if wanted.content is None and before is not None else wanted.content or "",
        created_at=change.at if before is None else before.created_at,
        updated_at=change.at,
    )
    version = DocumentVersion(document, _kind_of_change(wanted, before), wanted.note, change.actor)
    await save_document(change.connection, change.org_id, version)
    await _record(change, version, before)
    return document


def _kind_of_change(change: DocumentChange, before: PolicyDocument | None) -> VersionChange:
    if change.content is None:
        return VersionChange.DELETED
    if change.restored:
        return VersionChange.RESTORED
    return VersionChange.CREATED if before is None else VersionChange.UPDATED


def check_limits(kind: DocumentKind, after: Surroundings) -> None:
    """Raises ValidationError."""
    if kind is DocumentKind.DATA:
        if len(after.documents) > DOCUMENTS_MAX:
            raise _over(f"at most {DOCUMENTS_MAX} data documents")
        if len(after.data) > DATA_MAX_BYTES:
            raise _over(f"at most {DATA_MAX_BYTES} bytes of JSON in all documents together")
        if MODEL_PRICES in after.documents:
            parse_prices(json.loads(after.documents[MODEL_PRICES]))
    elif len(after.libraries) > MODULES_MAX:
        raise _over(f"at most {MODULES_MAX} modules")


def _over(expected: str) -> ValidationError:
    return ValidationError(f"over the limit: {expected}", details={"field": "content", "reason": expected})


async def check_module(path: str, content: str, after: Surroundings) -> None:
    """Checks that the module compiles in the package of its path. Raises PolicyRefusedError."""
    check_module_size(content)
    await try_policy(importing(path), after.data, after.libraries)
    check_package(path, content)


def check_module_size(content: str) -> None:
    """Raises ValidationError."""
    if len(content.encode()) > REGO_MAX_BYTES:
        raise _over(f"at most {REGO_MAX_BYTES} bytes of Rego")


def importing(path: str) -> str:
    """A policy whose trial shows whether the module compiles."""
    return f"package check\n\nimport data.lib.{path} as module\n\nallow if module\n"


def check_package(path: str, content: str) -> None:
    """Raises ValidationError."""
    package = f"package lib.{path}"
    if not any(line.split("#")[0].strip() == package for line in content.splitlines()):
        reason = f"must be in the {package}, as its path says"
        raise ValidationError(f"the module {reason}", details={"field": "content", "reason": reason})


async def check_policies(policies: Sequence[RulePolicy], around: Surroundings, after: Surroundings) -> None:
    """Checks that each working policy still works. Raises ValidationError, which names the first that would not."""
    apart: list[RulePolicy] = []
    for policy in policies:
        if policy.quarantine is not None:
            continue
        uses_modules = imported(policy.rego_policy, after.libraries) or imported(policy.rego_policy, around.libraries)
        if uses_modules and around.libraries != after.libraries:
            apart.append(policy)
            continue
        try:
            await asyncio.to_thread(compile_policy, policy.rego_policy, after.data, after.libraries)
        except PolicyRefusedError as error:
            await _refuse_where_it_worked(policy, error, around)
    while apart:
        outcomes = await try_policies([one.rego_policy for one in apart], after.data, after.libraries)
        if isinstance(outcomes[-1], PolicyRefusedError):
            await _refuse_where_it_worked(apart[len(outcomes) - 1], outcomes[-1], around)
        apart = apart[len(outcomes) :]


async def _refuse_where_it_worked(policy: RulePolicy, error: PolicyRefusedError, around: Surroundings) -> None:
    if await asyncio.to_thread(_compiles, policy.rego_policy, around.data, around.libraries):
        raise ValidationError(
            f'policy "{policy.name}" would stop working: {error.message}',
            details={**(error.details or {}), "field": "content", "policy_id": policy.policy_id},
        ) from error


def _compiles(text: str, data: bytes, libraries: Libraries) -> bool:
    try:
        compile_policy(text, data, libraries)
    except PolicyRefusedError:
        return False
    return True


async def _record(change: OrganizationChange, version: DocumentVersion, before: PolicyDocument | None) -> None:
    document = version.document
    data: JsonObject = {
        "path": document.path,
        "version": document.version,
        "content_sha256": sha256_hex(document.content.encode()),
        "generation": await change.raise_generation(),
    }
    if before is not None:
        data["previous_version"] = before.version
    if version.note is not None:
        data["note"] = version.note
    await change.record(_EVENT_TYPES[document.kind, version.change is VersionChange.DELETED], data)


def restored(change: DocumentChange, wanted: DocumentVersion) -> DocumentChange:
    """The change that makes ``wanted`` the newest version."""
    return replace(change, content=wanted.document.content, restored=True)
