"""What is kept of agents' traffic and may be forgotten, in one tuple: the setting names its members' days, the worker
drops by it, erasure goes through it."""

from typing import Final

from headgate.reports.retention import REPORTS
from headgate.retention.action_bodies import ACTION_BODIES
from headgate.retention.kept_thing import KeptThing
from headgate.traffic.retention import CAPTURES

KEPT_THINGS: Final[tuple[KeptThing, ...]] = (ACTION_BODIES, CAPTURES, REPORTS)
KINDS: Final = tuple(one.name for one in KEPT_THINGS)
# ``forget`` erases an action's own bodies with the rest of it.
BESIDE_ACTIONS: Final = tuple(one for one in KEPT_THINGS if one is not ACTION_BODIES)
