"""Mails an invitation through a mail channel, if one is set: queued in the invitation's transaction.

Deliveries do not contain the single-use link. It waits in the vault and is overwritten after sending.
"""

from headgate.db.database import Connection
from headgate.deliveries.store import insert_delivery
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.clock import rfc3339
from headgate.kernel.secrets import Secret
from headgate.notifications.invitation_mail import INVITED, mail_channel
from headgate.notifications.service import NOTIFY, load_settings, new_delivery
from headgate.organizations.change import OrganizationChange
from headgate.organizations.invitations import Invitation
from headgate.queue.store import defer
from headgate.vault.service import Vault

_SENT = "sent"


async def queue_invitation_mail(
    change: OrganizationChange, invitation: Invitation, address: Secret, vault: Vault
) -> str | None:
    """The channel that mails the invitation; None: there is none. Raises UnavailableError if the vault cannot store
    the link."""
    channel = mail_channel((await load_settings(change.connection, change.org_id)).channels)
    if channel is None:
        return None
    await vault.keep(change.connection, change.org_id, _kept_as(invitation.invitation_id), address)
    payload: JsonObject = {
        "event": INVITED,
        "timestamp": rfc3339(change.at),
        "invitation_id": invitation.invitation_id,
        "email": invitation.email,
    }
    delivery = new_delivery(
        change, channel.name, INVITED, canonical_bytes(payload).decode(), subject_id=invitation.invitation_id
    )
    if await insert_delivery(change.connection, delivery):
        await defer(change.connection, NOTIFY, change.org_id, delivery.delivery_id)
    return channel.name


async def waiting_address(connection: Connection, org_id: str, invitation_id: str, vault: Vault) -> Secret | None:
    """None: it was sent."""
    found = (await vault.open(connection, org_id, [_kept_as(invitation_id)])).get(_kept_as(invitation_id))
    return None if found is None or found.reveal() == _SENT else found


async def forget_address(connection: Connection, org_id: str, invitation_id: str, vault: Vault) -> None:
    await vault.keep(connection, org_id, _kept_as(invitation_id), Secret(_SENT))


def _kept_as(invitation_id: str) -> str:
    return f"invitation/{invitation_id}"
