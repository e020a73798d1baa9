"""Who changes something, and when: what every change that a person or a program orders is recorded with."""

from dataclasses import dataclass
from datetime import datetime

from headgate.audit.model import Actor


@dataclass(frozen=True, slots=True)
class Change:
    """``user_id``: of the person, where there is one."""

    org_id: str
    actor: Actor
    user_id: str | None
    at: datetime
