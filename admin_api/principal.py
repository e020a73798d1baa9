"""Who is behind a request to the API: a person, an agent's key, or a program's key."""

from datetime import datetime

from msgspec import Struct

from headgate.agents.model import KeyIdentity
from headgate.agents.own_limits import own_quota
from headgate.agents.scopes import KeyKind, Scope
from headgate.audit.model import Actor, ActorType
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role
from headgate.ratelimits.gcra import Quota


class Principal(Struct, frozen=True):
    """``key`` and ``identity`` are set for API keys, ``email`` and ``aal`` for people with a token.

    ``user_id`` is the person, or the person who created the key; None for a key that no person created.
    ``session_id`` is set where nothing but a browser's cookie was shown.
    ``aal`` is the authenticator assurance level that the token claims (NIST SP 800-63B). ``address``: where the
    request comes from, for the record. ``roles``: of a person.
    """

    org_id: str
    scopes: frozenset[Scope]
    user_id: str | None = None
    email: str | None = None
    name: str | None = None
    aal: str | None = None
    key: Secret | None = None
    identity: KeyIdentity | None = None
    session_id: str | None = None
    session_expires_at: datetime | None = None
    roles: frozenset[Role] = frozenset()
    address: str | None = None

    @property
    def agent_id(self) -> str | None:
        return None if self.identity is None else self.identity.agent_id

    @property
    def key_id(self) -> str | None:
        return None if self.identity is None else self.identity.key_id

    @property
    def is_admin(self) -> bool:
        return Scope.ADMIN in self.scopes

    @property
    def is_webhook_key(self) -> bool:
        return self.identity is not None and self.identity.kind is KeyKind.WEBHOOK

    @property
    def rate_subject(self) -> str:
        """Whose quota a request counts against (specification, "Limits"): the key's, else the person's. The agent's
        own limit, where it has one, is for all of its keys together."""
        if self.agent_id is not None and self.own_quota is not None:
            return self.agent_id
        return self.key_id or self.user_id or self.org_id

    @property
    def own_quota(self) -> Quota | None:
        """None: as everybody's."""
        return None if self.identity is None else own_quota(self.identity)

    @property
    def actor(self) -> Actor:
        """How the record names them. A program with a person's key acts as that key, and the key is the person's."""
        if self.identity is None:
            return Actor(ActorType.USER, self.user_id or "unknown", self.email or self.name, self.address)
        if self.identity.agent_id is not None:
            return Actor(ActorType.AGENT, self.identity.agent_id, self.identity.agent_name, self.address)
        if self.user_id is not None:
            return Actor(ActorType.USER, self.user_id, self.identity.key_id, self.address)
        return Actor(ActorType.SYSTEM, self.identity.key_id, address=self.address)
