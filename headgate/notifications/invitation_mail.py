"""A mail to an invited person through a mail channel: the channel's server and sender, and no other recipient.

Apprise's mail addresses name recipients in the path and in ``to``, ``cc`` and ``bcc``
(https://appriseit.com/services/email/).
"""

from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from headgate.kernel.secrets import Secret
from headgate.notifications.message import Message
from headgate.notifications.model import Channel, ChannelKind
from headgate.notifications.services import MAIL_SERVICES

INVITED = "invitation.created"
"""The event of an invitation's delivery."""
_RECIPIENTS = frozenset({"to", "cc", "bcc"})


def mail_channel(channels: Mapping[str, Channel]) -> Channel | None:
    """The first enabled mail channel, by name."""
    for name in sorted(channels):
        channel = channels[name]
        if channel.enabled and channel.kind is ChannelKind.APPRISE and channel.service in MAIL_SERVICES:
            return channel
    return None


def addressed_to(url: Secret, email: str) -> Secret:
    """The channel's address with this recipient alone."""
    parts = urlsplit(url.reveal())
    kept = [(name, value) for name, value in parse_qsl(parts.query) if name.lower() not in _RECIPIENTS]
    query = urlencode([*kept, ("to", email)], quote_via=quote)
    return Secret(urlunsplit((parts.scheme, parts.netloc, "/", query, "")))


def invitation_message(organization: str, address: Secret) -> Message:
    return Message(
        f"You are invited to {organization} at Headgate", (("Organization", organization),), address.reveal()
    )
