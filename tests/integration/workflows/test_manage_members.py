"""Accepting an invitation while whoever made it is shut out: one after the other, whoever comes first."""

import asyncio
from datetime import timedelta

import pytest

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.change import begin_change
from headgate.organizations.model import Role, TokenIdentity
from headgate.workflows.manage_members import accept_invitation, invite, revoke_invitation


async def test_accepting_waits_for_who_is_about_to_revoke(organization, api_database: Database, superuser) -> None:
    """Shutting somebody out begins with the generation and ends with their invitations (``deactivate_user``). In the
    other order each would wait for the other, and who accepts at that moment would keep their accomplice in."""
    org_id = organization.org_id
    by = Change(org_id, SYSTEM, None, system_clock())
    carol = TokenIdentity(org_id, "https://id.example", "carol", "carol@example.com", "Carol", frozenset())
    async with begin_change(api_database, by) as change:
        made = await invite(change, "carol@example.com", [Role.ADMIN], timedelta(hours=1))
    async with begin_change(api_database, by) as change:
        await change.raise_generation()
        accepting = asyncio.ensure_future(accept_invitation(api_database, made.invitation, carol, system_clock))
        while not _waiting_for_a_lock(superuser):
            await asyncio.sleep(0.01)
        await revoke_invitation(change, made.invitation.invitation_id)
    with pytest.raises(ForbiddenError, match="not open"):
        await accepting


def _waiting_for_a_lock(superuser) -> bool:
    found = superuser.execute(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return found.fetchone() is not None
