"""What the slice speaks of: who a person is to their identity provider, how they signed in, what they have left."""

from datetime import datetime
from enum import IntEnum, StrEnum

from msgspec import Struct

from headgate.audit.model import Actor
from headgate.kernel.errors import ForbiddenError
from headgate.kernel.secrets import Secret


class AssuranceLevel(IntEnum):
    """Authenticator assurance levels (NIST SP 800-63B-4, section 2): AAL1 is a password, AAL2 a second factor too."""

    AAL1 = 1
    AAL2 = 2
    AAL3 = 3


def assurance_level(claim: str | None) -> AssuranceLevel:
    """What a token claims. Whatever is not understood proves no more than that somebody signed in."""
    name = (claim or "").strip().upper()
    return AssuranceLevel[name] if name in AssuranceLevel.__members__ else AssuranceLevel.AAL1


class Attempted(StrEnum):
    """What is guessed at; each is counted by itself."""

    RECOVERY_CODE = "recovery_code"
    TOTP = "totp"


class Person(Struct, frozen=True):
    """Somebody with a token of their own, or with a browser's session. ``subject`` is what ``issuer`` calls them;
    ``source``: the place that they ask from, as far as places are told apart;
    ``session_id``: the issuer's session that the token says it belongs to; ``browser_session_id``: ours."""

    org_id: str
    user_id: str
    issuer: str
    subject: str
    email: str | None
    actor: Actor
    level: AssuranceLevel
    token: Secret | None
    session_id: str | None = None
    browser_session_id: str | None = None
    source: str = "unknown"

    def require_level(self, needed: AssuranceLevel) -> None:
        """Raises ForbiddenError, which names both levels."""
        if self.level < needed:
            raise ForbiddenError(
                f"this needs a session with a second factor ({needed.name.lower()}); this one's is"
                f" {self.level.name.lower()}",
                details={"required_aal": needed.name.lower(), "aal": self.level.name.lower()},
            )


class CodeStatus(Struct, frozen=True):
    """``generated_at`` None: there are none."""

    unused: int
    total: int
    generated_at: datetime | None
