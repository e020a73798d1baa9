"""Who changes something, and when: each change that a person or a program orders is recorded with both."""

from datetime import datetime

from msgspec import Struct

from headgate.audit.model import Actor


class Change(Struct, frozen=True):
    """``user_id``: of the person, where there is one."""

    org_id: str
    actor: Actor
    user_id: str | None
    at: datetime
