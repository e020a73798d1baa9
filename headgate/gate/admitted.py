"""Permission to forward one call."""

from datetime import datetime

from msgspec import Struct


class Admitted(Struct, frozen=True):
    """A call that may be forwarded once. Its recorded execution needs an outcome.

    At most one of ``approval_id`` and ``exemption_id`` (a grant, a broken glass) is what let it through.
    """

    org_id: str
    agent_id: str
    agent_name: str | None
    action_id: str
    execution_id: str
    approval_id: str | None
    started_at: datetime
    exemption_id: str | None = None
