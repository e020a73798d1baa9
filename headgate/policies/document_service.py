"""Changing what policies read besides the call: nothing is stored with which a policy would stop working.

A change is checked against the policies of a generation, outside of any transaction, and stored only where the
generation is still that one.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from headgate.audit.model import Actor, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, sha256_hex
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, ValidationError
from headgate.organizations.store import bump_generation
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


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """``content`` None: delete it. ``restored``: it is what an earlier version was."""

    kind: DocumentKind
    path: str
    content: str | None
    note: str | None = None
    restored: bool = False


def data_content(document: JsonValue) -> str:
    """A data document as it is stored. Raises ValidationError."""
    content = canonical_bytes(document)
    if len(content) > DOCUMENT_MAX_BYTES:
        raise _over(f"at most {DOCUMENT_MAX_BYTES} bytes of JSON")
    return content.decode()


async def change_document(
    database: Database,
    org_id: str,
    change: DocumentChange,
    *,
    expected: ExpectedVersion | None,
    actor: Actor,
    clock: Clock,
) -> PolicyDocument:
    """Check, then store the next version; in force with the next decision. The same again makes no version.

    Raises NotFoundError (to delete), ValidationError (with the policy that would stop working, for Rego with its
    place), ConflictError, PreconditionFailedError.
    """
    check_note(change.note)
    if change.content is not None and change.kind is DocumentKind.MODULE:
        check_storable("content", change.content)
    async with database.transaction(org_id) as connection:
        generation = await stored_generation(connection, org_id)
        around = await load_surroundings(connection, org_id)
        policies = await load_enabled(connection, org_id)
    after = surroundings_with(around, change.kind, change.path, change.content)
    check_limits(change.kind, after)
    if change.kind is DocumentKind.MODULE and change.content is not None:
        await check_module(change.path, change.content, after)
    await check_policies(policies, around, after)
    async with database.transaction(org_id) as connection:
        return await store_change(connection, org_id, change, generation, expected=expected, actor=actor, clock=clock)


async def store_change(
    connection: Connection,
    org_id: str,
    change: DocumentChange,
    generation: int,
    *,
    expected: ExpectedVersion | None,
    actor: Actor,
    clock: Clock,
) -> PolicyDocument:
    """Store what was checked against ``generation``. Raises as ``change_document``."""
    found = await lock_document(connection, org_id, change.kind, change.path)
    before, was_deleted = (None, True) if found is None else found
    if expected is not None:
        expected.require(0 if before is None else before.version)
    if change.content is None and (before is None or was_deleted):
        raise not_found(change.kind, change.path)
    if before is not None and not was_deleted and change.content == before.content:
        return before
    if await bump_generation(connection, org_id) != generation + 1:
        raise ConflictError("the organization's policies changed while this was checked against them: try again")
    now = clock()
    document = PolicyDocument(
        kind=change.kind,
        path=change.path,
        version=1 if before is None else before.version + 1,
        content=before.content if change.content is None and before is not None else change.content or "",
        created_at=now if before is None else before.created_at,
        updated_at=now,
    )
    version = DocumentVersion(document, _kind_of_change(change, before), change.note, actor)
    await save_document(connection, org_id, version)
    await append(connection, org_id, [_event(version, before, generation + 1, actor, clock)])
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
    elif len(after.libraries) > MODULES_MAX:
        raise _over(f"at most {MODULES_MAX} modules")


def _over(expected: str) -> ValidationError:
    return ValidationError(f"over the limit: {expected}", details={"field": "content", "reason": expected})


async def check_module(path: str, content: str, after: Surroundings) -> None:
    """That it compiles, in the package of its path. Raises PolicyRefusedError."""
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
    """That each policy that works still works. Raises ValidationError, which names the first that would not."""
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


def _event(
    version: DocumentVersion, before: PolicyDocument | None, generation: int, actor: Actor, clock: Clock
) -> Event:
    document = version.document
    data: JsonObject = {
        "path": document.path,
        "version": document.version,
        "content_sha256": sha256_hex(document.content.encode()),
        "generation": generation,
    }
    if before is not None:
        data["previous_version"] = before.version
    if version.note is not None:
        data["note"] = version.note
    event_type = _EVENT_TYPES[document.kind, version.change is VersionChange.DELETED]
    return Event(event_type, clock(), actor, data)


def restored(change: DocumentChange, wanted: DocumentVersion) -> DocumentChange:
    """The change that makes ``wanted`` the newest version."""
    return replace(change, content=wanted.document.content, restored=True)
