"""The settings that all trackers share: which approvals they show, and which states decide."""

from dataclasses import dataclass
from typing import ClassVar, Final

from headgate.integrations.members import flag, member, names, people
from headgate.integrations.model import DecidingStates

RISK_LEVELS: Final = ("low", "medium", "high", "critical")


@dataclass(frozen=True, slots=True)
class AskingSettings:
    """Settings of every integration that opens items."""

    SECRETS: ClassVar[dict[str, str]] = {}

    enabled: bool = member(flag(), "Whether Headgate sends requests there and accepts decisions from there.", False)
    risk_levels: tuple[str, ...] = member(names(RISK_LEVELS), "Only approvals of these; empty: all.", ())
    include_params: bool = member(flag(), "Whether the action's parameters are shown, secrets masked.", True)
    people: dict[str, str] = member(people(), "Users by platform account, for accounts without a matching address.", {})


@dataclass(frozen=True, slots=True)
class TrackerSettings(AskingSettings):
    """Settings of a tracker, whose tickets move between states."""

    approve_statuses: tuple[str, ...] = member(names(), "A transition into one of these approves.", ())
    deny_statuses: tuple[str, ...] = member(names(), "A transition into one of these denies.", ())
    mirror_status: bool = member(
        flag(), "Whether a ticket moves into the first of those states when it is decided elsewhere.", True
    )
    match_by_email: bool = member(
        flag(), "Whether an account with a verified address counts as the user with that address.", True
    )

    @property
    def states(self) -> DecidingStates:
        return DecidingStates(self.approve_statuses, self.deny_statuses)
