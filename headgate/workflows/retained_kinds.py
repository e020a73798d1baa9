"""The kinds of agents' data that retention covers, in one tuple. The setting names their days, the sweep drops them
and erasure erases them."""

from typing import Final

from headgate.reports.retention import REPORTS
from headgate.retention.action_bodies import ACTION_BODIES
from headgate.retention.retained_kind import RetainedKind
from headgate.traffic.retention import CAPTURES

RETAINED_KINDS: Final[tuple[RetainedKind, ...]] = (ACTION_BODIES, CAPTURES, REPORTS)
KINDS: Final = tuple(one.name for one in RETAINED_KINDS)
# ``forget`` erases an action's own bodies with the rest of it.
BESIDE_ACTIONS: Final = tuple(one for one in RETAINED_KINDS if one is not ACTION_BODIES)
