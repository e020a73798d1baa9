"""Applies many changes of policies, documents and modules atomically.

All changes are checked together outside of any transaction. One transaction stores them, and only if the organization's
state is still the one that the check used. A rehearsal does the same and rolls back.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from msgspec import Struct

from headgate.audit.change import Change
from headgate.db.database import Connection, Database
from headgate.kernel.errors import ConflictError, ValidationError
from headgate.organizations.change import OrganizationChange, begin_change
from headgate.organizations.store import generation as stored_generation
from headgate.policies.compile import CompiledPolicy, PolicyRefusedError, compile_policy
from headgate.policies.document_service import (
    DocumentChange,
    check_limits,
    check_module_size,
    check_package,
    check_policies,
    importing,
    store_change,
)
from headgate.policies.document_store import lock_document
from headgate.policies.documents import DocumentKind
from headgate.policies.draft import CheckedPolicy, PolicyDraft, check_note, check_storable, checked_by, draft_of
from headgate.policies.draft import check_limits as check_policy_limits
from headgate.policies.model import RulePolicy
from headgate.policies.service import create_policy, delete_policy, update_policy
from headgate.policies.store import get_policy, load_enabled, lock_policy
from headgate.policies.surroundings import Surroundings, load_surroundings, make_surroundings, module_file
from headgate.policies.trial import try_policies
from headgate.policies.versions import ExpectedVersion

CHANGES_MAX: Final = 500
SECONDS_MAX: Final = 8.0
"""From the first read of the database to the commit."""


class PolicyCreation(Struct, frozen=True):
    draft: PolicyDraft


class PolicyUpdate(Struct, frozen=True):
    policy_id: str
    change: Callable[[RulePolicy], RulePolicy]
    expected: ExpectedVersion | None


class PolicyDeletion(Struct, frozen=True):
    policy_id: str
    expected: ExpectedVersion | None


type RuleChange = PolicyCreation | PolicyUpdate | PolicyDeletion | DocumentChange


class Applied(Struct, frozen=True):
    """The result of one change. ``policy_id`` None: a document or module."""

    policy_id: str | None
    version: int
    warnings: tuple[str, ...] = ()


class _Now(Struct, frozen=True):
    """The state that the changes are checked against."""

    generation: int
    around: Surroundings
    enabled: Sequence[RulePolicy]
    changed: Mapping[str, RulePolicy]


async def apply_changes(
    database: Database, by: Change, changes: Sequence[RuleChange], note: str | None, *, rehearse: bool
) -> list[Applied]:
    """Returns the results in the order of the changes. ``rehearse``: roll back at the end.

    Raises ValidationError with the number of the change as ``change``, or if the check exceeds SECONDS_MAX;
    NotFoundError, ConflictError.
    """
    check_note(note)
    if not changes:
        return []
    began = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout_at(began + SECONDS_MAX):
            now, checked = await _load_and_check(database, by.org_id, changes)
        return await _store(database, by, changes, now, checked, note, rehearse=rehearse, until=began + SECONDS_MAX)
    except TimeoutError as error:
        raise ValidationError(
            f"the {len(changes)} changes took longer than {SECONDS_MAX:g} s. None is stored. Send fewer changes",
            details={"field": "changes", "reason": f"must take at most {SECONDS_MAX:g} s"},
        ) from error


async def _load_and_check(
    database: Database, org_id: str, changes: Sequence[RuleChange]
) -> tuple[_Now, dict[int, CheckedPolicy]]:
    now = await _load(database, org_id, changes)
    after = _surroundings_after(now.around, changes)
    for kind in DocumentKind:
        check_limits(kind, after)
    gone = {one.policy_id for one in changes if isinstance(one, PolicyUpdate | PolicyDeletion)}
    await check_policies([one for one in now.enabled if one.policy_id not in gone], now.around, after)
    return now, await _check(changes, now, after)


async def _store(
    database: Database,
    by: Change,
    changes: Sequence[RuleChange],
    now: _Now,
    checked: Mapping[int, CheckedPolicy],
    note: str | None,
    *,
    rehearse: bool,
    until: float,
) -> list[Applied]:
    """``until``: by the loop's clock. The commit is outside of the deadline, so a stored change is never reported as
    refused."""
    results: dict[int, Applied] = {}
    async with asyncio.timeout_at(until):
        # Each saved policy is compared with all others. These references keep every policy from being compiled twice.
        compiled = await asyncio.to_thread(_compiled, now, checked)
    async with begin_change(database, by) as change, change.connection.transaction(force_rollback=rehearse):
        async with asyncio.timeout_at(until):
            await _lock(change.connection, change.org_id, changes)
            # This also locks: from here on, no other transaction changes what the check used.
            if await change.raise_generation() != now.generation + 1:
                raise ConflictError("the organization's policies changed during the check. Try again")
            for number in sorted(range(len(changes)), key=lambda one: _rank(changes[one])):
                results[number] = await _apply(change, changes[number], now.generation, checked.get(number), note)
    del compiled
    return [results[number] for number in range(len(changes))]


async def _load(database: Database, org_id: str, changes: Sequence[RuleChange]) -> _Now:
    async with database.transaction(org_id) as connection:
        generation = await stored_generation(connection, org_id)
        around = await load_surroundings(connection, org_id)
        enabled = await load_enabled(connection, org_id)
        changed: dict[str, RulePolicy] = {}
        for number, one in enumerate(changes):
            if isinstance(one, PolicyUpdate | PolicyDeletion):
                if one.policy_id in changed:
                    raise ValidationError(f"policy {one.policy_id} is changed twice", details={"field": "changes"})
                found = changed[one.policy_id] = await get_policy(connection, org_id, one.policy_id)
                if one.expected is not None:
                    with _numbered(number, f"policy {found.name}"):
                        one.expected.require(found.version)
    return _Now(generation, around, enabled, changed)


def _compiled(now: _Now, checked: Mapping[int, CheckedPolicy]) -> list[CompiledPolicy]:
    if not checked:
        return []
    compiled = [compile_policy(one.draft.rego_policy, one.data, one.libraries) for one in checked.values()]
    around = next(iter(checked.values()))  # The data and modules are the same for all.
    for enabled in now.enabled:
        with suppress(PolicyRefusedError):
            compiled.append(compile_policy(enabled.rego_policy, around.data, around.libraries))
    return compiled


async def _lock(connection: Connection, org_id: str, changes: Sequence[RuleChange]) -> None:
    """Locks policies and documents before the generation, as every writer does. Another order could deadlock."""
    for policy_id in sorted(one.policy_id for one in changes if isinstance(one, PolicyUpdate | PolicyDeletion)):
        await lock_policy(connection, org_id, policy_id)
    documents = [one for one in changes if isinstance(one, DocumentChange)]
    for document in sorted(documents, key=lambda one: (one.kind, one.path)):
        await lock_document(connection, org_id, document.kind, document.path)


def _surroundings_after(around: Surroundings, changes: Sequence[RuleChange]) -> Surroundings:
    """Applies all changes at once, so a document may replace a deleted one. Raises ValidationError."""
    documents, libraries = dict(around.documents), dict(around.libraries)
    seen: set[tuple[DocumentKind, str]] = set()
    for one in changes:
        if not isinstance(one, DocumentChange):
            continue
        if (one.kind, one.path) in seen:
            raise ValidationError(f"{one.path} is changed twice", details={"field": "changes"})
        seen.add((one.kind, one.path))
        place, texts = (one.path, documents) if one.kind is DocumentKind.DATA else (module_file(one.path), libraries)
        texts.pop(place, None)
        if one.content is not None:
            texts[place] = one.content
    return make_surroundings(around.allowlist, documents, tuple(sorted(libraries.items())))


async def _check(changes: Sequence[RuleChange], now: _Now, after: Surroundings) -> dict[int, CheckedPolicy]:
    """Tries all of them in one child. Raises ValidationError, which names the number of the first refused one."""
    drafts: dict[int, PolicyDraft] = {}
    texts: dict[int, str] = {}
    for number, one in enumerate(changes):
        with _numbered(number, _name(one, now)):
            match one:
                case PolicyCreation(draft):
                    drafts[number] = draft
                case PolicyUpdate(policy_id, update, _):
                    drafts[number] = draft_of(update(now.changed[policy_id]))
                case DocumentChange(kind=DocumentKind.MODULE, path=path, content=str(content)):
                    check_storable("content", content)
                    check_module_size(content)
                    texts[number] = importing(path)
            if number in drafts:
                check_policy_limits(drafts[number])
                texts[number] = drafts[number].rego_policy
    checked: dict[int, CheckedPolicy] = {}
    outcomes = await try_policies(list(texts.values()), after.data, after.libraries)
    for number, outcome in zip(texts, outcomes, strict=False):  # The results end with the first refusal.
        one = changes[number]
        with _numbered(number, _name(one, now)):
            if isinstance(outcome, PolicyRefusedError):
                raise outcome
            if isinstance(one, DocumentChange):
                check_package(one.path, one.content or "")
            else:
                checked[number] = checked_by(outcome, drafts[number], after.data, after.libraries)
    return checked


@contextmanager
def _numbered(number: int, name: str) -> Iterator[None]:
    try:
        yield
    except (ValidationError, ConflictError) as error:
        details = {**(error.details or {}), "change": number}
        raise type(error)(f"{name}: {error.message}", details=details) from error


def _name(change: RuleChange, now: _Now) -> str:
    match change:
        case PolicyCreation(draft):
            return f"policy {draft.name}"
        case PolicyUpdate(policy_id):
            return f"policy {now.changed[policy_id].name}"
        case DocumentChange():
            return f"{change.kind} {change.path}"
        case _:
            return f"policy {change.policy_id}"


def _rank(change: RuleChange) -> int:
    """Deletions first, to make room; then data and modules, then policies."""
    return 0 if isinstance(change, PolicyDeletion) else 1 if isinstance(change, DocumentChange) else 2


async def _apply(
    change: OrganizationChange, wanted: RuleChange, generation: int, checked: CheckedPolicy | None, note: str | None
) -> Applied:
    match wanted:
        case DocumentChange():
            document = await store_change(change, wanted, generation, expected=None)
            return Applied(None, document.version)
        case PolicyDeletion(policy_id, expected):
            policy = await delete_policy(change, policy_id, note, expected=expected)
            return Applied(policy.policy_id, policy.version)
    if checked is None:
        raise ValueError("the change set was not checked")
    if isinstance(wanted, PolicyCreation):
        saved = await create_policy(change, checked, note)
    else:
        saved = await update_policy(change, wanted.policy_id, wanted.change, checked, note, expected=wanted.expected)
    return Applied(saved.policy.policy_id, saved.policy.version, saved.warnings)
