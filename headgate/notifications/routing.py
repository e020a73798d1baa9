"""Selects the channels for an event. Pure; the time is passed in."""

from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from msgspec import Struct

from headgate.notifications.model import DEFAULT_EVENTS, Hours, NotificationSettings, Route


class Subject(Struct, frozen=True):
    """The properties of an event that routes match."""

    event: str
    risk_level: str | None
    tool: str | None
    agents: frozenset[str]
    assignees: frozenset[str]


def channels_for(settings: NotificationSettings, subject: Subject, now: datetime) -> list[str]:
    """The enabled channels of all matching routes, without duplicates. Without routes: all channels, for urgent
    events."""
    routes = settings.routes or (Route(tuple(settings.channels)),)
    named = dict.fromkeys(name for route in routes if _fits(route, subject, now) for name in route.channels)
    return [name for name in named if settings.channels[name].enabled]


def _fits(route: Route, subject: Subject, now: datetime) -> bool:
    return (
        subject.event in (route.events or DEFAULT_EVENTS)
        and (not route.risk_levels or subject.risk_level in route.risk_levels)
        and (not route.tools or any(fnmatchcase(subject.tool or "", pattern) for pattern in route.tools))
        and (not route.agents or not subject.agents.isdisjoint(route.agents))
        and (not route.assignees or not subject.assignees.isdisjoint(route.assignees))
        and (route.hours is None or is_within(route.hours, now))
    )


def is_within(hours: Hours, now: datetime) -> bool:
    """Uses the local time of the route's time zone. Hours past midnight belong to the day on which they began."""
    local = now.astimezone(hours.zone)
    clock = local.time().replace(tzinfo=None)
    if hours.start < hours.end:
        return hours.start <= clock < hours.end and local.weekday() in hours.days
    if clock >= hours.start:
        return local.weekday() in hours.days
    return clock < hours.end and (local - timedelta(days=1)).weekday() in hours.days
