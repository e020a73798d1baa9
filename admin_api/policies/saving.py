"""Saving a policy: read, try in a process of its own while no transaction is open, then store."""

from collections.abc import Callable

from msgspec.structs import replace

from admin_api.change import administer
from admin_api.dependencies import Dependencies
from admin_api.principal import Principal
from headgate.policies.draft import CheckedPolicy, PolicyDraft, check_policy, draft_of
from headgate.policies.model import RulePolicy
from headgate.policies.own_cases import require_passing
from headgate.policies.service import SavedPolicy, create_policy, restore_policy, update_policy
from headgate.policies.store import get_policy
from headgate.policies.surroundings import load_surroundings
from headgate.policies.version_store import get_version
from headgate.policies.versions import ExpectedVersion


async def checked_draft(
    dependencies: Dependencies, org_id: str, draft: PolicyDraft, *, with_cases: bool = False
) -> CheckedPolicy:
    """``with_cases``: its test cases must pass. Raises ValidationError, for bad Rego with its place."""
    async with dependencies.database.transaction(org_id) as connection:
        around = await load_surroundings(connection, org_id)
    checked = await check_policy(draft, around.data, around.libraries)
    if with_cases:
        await require_passing(draft, around)
    return checked


async def save_new(
    dependencies: Dependencies,
    principal: Principal,
    draft: PolicyDraft,
    note: str | None,
    *,
    accept_failing_cases: bool = False,
) -> SavedPolicy:
    checked = await checked_draft(dependencies, principal.org_id, draft, with_cases=not accept_failing_cases)
    async with administer(principal, dependencies) as change:
        return await create_policy(change, checked, note)


async def save_change(
    dependencies: Dependencies,
    principal: Principal,
    policy_id: str,
    edit: Callable[[RulePolicy], RulePolicy],
    expected: ExpectedVersion | None,
    note: str | None,
    *,
    accept_failing_cases: bool = False,
) -> SavedPolicy:
    """A change that leaves the Rego and the cases as they are does not run them: a policy can always be disabled."""
    org_id = principal.org_id
    async with dependencies.database.transaction(org_id) as connection:
        before = await get_policy(connection, org_id, policy_id)
        if expected is not None:
            expected.require(before.version)  # before the work, so that an outdated text is not even tried
    after = edit(before)
    is_other = (before.rego_policy, before.cases) != (after.rego_policy, after.cases)
    with_cases = is_other and not accept_failing_cases
    checked = await checked_draft(dependencies, org_id, draft_of(after), with_cases=with_cases)
    async with administer(principal, dependencies) as change:
        return await update_policy(change, policy_id, edit, checked, note, expected=expected)


async def save_restored(
    dependencies: Dependencies,
    principal: Principal,
    policy_id: str,
    version: int,
    expected: ExpectedVersion | None,
    note: str | None,
) -> SavedPolicy:
    org_id = principal.org_id
    async with dependencies.database.transaction(org_id) as connection:
        wanted = await get_version(connection, org_id, policy_id, version)
    checked = await checked_draft(dependencies, org_id, draft_of(wanted.policy))
    async with administer(principal, dependencies) as change:
        return await restore_policy(change, wanted, checked, note, expected=expected)


def replacing(draft: PolicyDraft) -> Callable[[RulePolicy], RulePolicy]:
    """Everything that a person can change, at once. A draft without cases keeps those of before."""
    return lambda policy: replace(
        policy,
        name=draft.name,
        rego_policy=draft.rego_policy,
        description=draft.description,
        enabled=draft.enabled,
        priority=draft.priority,
        mode=draft.mode,
        rules=draft.rules,
        cases=policy.cases if draft.cases is None else draft.cases,
    )


def changing(changes: dict[str, object]) -> Callable[[RulePolicy], RulePolicy]:
    """Some fields; a new text is no longer what the camelCase shape was translated to."""
    forgotten = {"rules": None} if "rego_policy" in changes and "rules" not in changes else {}
    return lambda policy: replace(policy, **changes, **forgotten)
