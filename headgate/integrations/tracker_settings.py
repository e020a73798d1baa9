"""What the settings of every tracker hold: who is asked about what, and which of its states decide."""

from dataclasses import dataclass
from typing import ClassVar, Final

from headgate.integrations.members import flag, member, names, people
from headgate.integrations.model import DecidingStates

RISK_LEVELS: Final = ("low", "medium", "high", "critical")


@dataclass(frozen=True, slots=True)
class AskingSettings:
    """Of whatever is opened for an approval."""

    SECRETS: ClassVar[dict[str, str]] = {}

    enabled: bool = member(flag(), "Whether anything is sent there, or taken from there.", False)
    risk_levels: tuple[str, ...] = member(names(RISK_LEVELS), "Only approvals of these; none: of any.", ())
    include_params: bool = member(flag(), "Whether the action's parameters are shown, secrets masked.", True)
    people: dict[str, str] = member(people(), "Users by the platform's account, where addresses do not tell.", {})


@dataclass(frozen=True, slots=True)
class TrackerSettings(AskingSettings):
    """Of a tracker, whose tickets move."""

    approve_statuses: tuple[str, ...] = member(names(), "A transition into one of these approves.", ())
    deny_statuses: tuple[str, ...] = member(names(), "A transition into one of these denies.", ())
    mirror_status: bool = member(
        flag(), "Whether a ticket is moved into the first of those once it was decided elsewhere.", True
    )
    match_by_email: bool = member(
        flag(), "Whether an account counts as the user with the address that the platform has verified for it.", True
    )

    @property
    def states(self) -> DecidingStates:
        return DecidingStates(self.approve_statuses, self.deny_statuses)
