"""The identity of an agent, as its key says."""

from headgate.agents.model import KeyIdentity
from headgate.agents.scopes import KeyKind

ROBOT = KeyIdentity("org_1", "key_1", KeyKind.AGENT, "agt_1", "Robot", None, frozenset(), None, 1)
