"""From headers to a principal (specification, "Authentication").

``X-Agent-Key`` carries an API key; ``Authorization: Bearer`` an API key or a person's token. Where both are sent, the
one that the route documents counts. A header that is sent twice is refused: two parsers could read it differently. A
key's form is checked before any look-up. A session's cookie counts where no header carries a credential: a browser
sends it by itself.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from admin_api.access import Access, Audience
from admin_api.claims import ASSURANCE_LEVELS
from admin_api.metrics import AUTHENTICATION_FAILURES
from admin_api.principal import Principal
from admin_api.services.cookies import Cookies, cookie_of
from admin_api.tokens import TokenVerifier, VerifiedToken
from headgate.agents.authenticate import KeyRing
from headgate.agents.model import KeyIdentity
from headgate.agents.scopes import KeyKind, Scope, scopes_of_roles
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ForbiddenError, UnauthorizedError
from headgate.kernel.secrets import Secret
from headgate.mfa.closed_sessions import ClosedSessions
from headgate.organizations.model import TokenIdentity, User
from headgate.organizations.service import sign_in
from headgate.sessions.model import DEFAULT_LIMITS, SessionLimits
from headgate.sessions.service import signed_in

_KEY_PREFIX: Final = "hg_"
_SEEN_SECONDS: Final = 60.0
_SEEN_LIMIT: Final = 10_000


class Credential(Struct, frozen=True):
    """What a request presents: an API key, or else a token."""

    secret: Secret
    is_key: bool


def credential_of(headers: Iterable[tuple[bytes, bytes]], audience: Audience) -> Credential:
    """The credential that counts for this audience: of both headers the one that its routes document. Raises
    UnauthorizedError: no header, or one of them twice, which two parsers could read differently."""
    keys = [value for name, value in headers if name == b"x-agent-key"]
    bearers = [value for name, value in headers if name == b"authorization"]
    if not (keys or bearers) or len(keys) > 1 or len(bearers) > 1:
        AUTHENTICATION_FAILURES.labels("several" if keys or bearers else "none").inc()
        wanted = "Authorization: Bearer <token>"
        if audience is Audience.AGENTS:
            wanted = f"X-Agent-Key: <key>, or {wanted}"
        raise UnauthorizedError(f"One credential is required: {wanted}. Send each header once.")
    if keys and (audience is Audience.AGENTS or not bearers):
        return Credential(Secret(keys[0].decode("latin-1")), is_key=True)
    scheme, _, value = bearers[0].decode("latin-1").partition(" ")
    value = value.strip()
    if scheme.lower() != "bearer" or not value:
        AUTHENTICATION_FAILURES.labels("none").inc()
        raise UnauthorizedError("the Authorization header must have the form: Bearer <token or key>")
    return Credential(Secret(value), is_key=value.startswith(_KEY_PREFIX))


class Authenticator:
    """Knows keys through the key ring and people through their issuer's tokens."""

    def __init__(
        self,
        *,
        keys: KeyRing,
        tokens: TokenVerifier,
        database: Database,
        clock: Clock,
        cookies: Cookies | None = None,
        session_limits: SessionLimits = DEFAULT_LIMITS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cookies = cookies
        self._session_limits = session_limits
        self._keys = keys
        self._tokens = tokens
        self._database = database
        self._clock = clock
        self._monotonic = monotonic
        self.closed_sessions = ClosedSessions(database)
        self._seen: dict[TokenIdentity, tuple[User, float]] = {}

    async def authenticate(self, headers: Sequence[tuple[bytes, bytes]], access: Access) -> Principal:
        """Raises UnauthorizedError, ForbiddenError (a token of an unknown organization; an agent's key where it is not
        accepted), UnavailableError."""
        if (session := self._session_of(headers)) is not None:
            return await self._by_session(session)
        credential = credential_of(headers, access.audience)
        if credential.is_key and access.audience in (Audience.PEOPLE, Audience.PAGES):
            AUTHENTICATION_FAILURES.labels("key").inc()
            raise UnauthorizedError("This route requires a person's session or token, not an API key.")
        try:
            if credential.is_key:
                return await self._by_key(credential.secret, access)
            return await self._by_token(credential.secret)
        except UnauthorizedError:
            AUTHENTICATION_FAILURES.labels("key" if credential.is_key else "token").inc()
            raise

    def _session_of(self, headers: Sequence[tuple[bytes, bytes]]) -> Secret | None:
        if self._cookies is None or any(name in (b"authorization", b"x-agent-key") for name, _ in headers):
            return None
        return cookie_of(headers, self._cookies.session)

    async def _by_session(self, secret: Secret) -> Principal:
        try:
            who = await signed_in(self._database, secret, clock=self._clock, limits=self._session_limits)
            roles = self._tokens.roles_now(who.user.org_id, who.user.issuer, who.user.roles)
        except UnauthorizedError:
            AUTHENTICATION_FAILURES.labels("session").inc()
            raise
        return Principal(
            org_id=who.user.org_id,
            scopes=scopes_of_roles(roles),
            user_id=who.user.user_id,
            email=who.user.email,
            name=who.user.name,
            aal=who.aal,
            session_id=who.session_id,
            session_expires_at=who.expires_at,
            roles=frozenset(roles),
        )

    async def _by_key(self, key: Secret, access: Access) -> Principal:
        identity = await self._keys.authenticate(key.reveal(), fresh=not access.recorded)
        if identity.kind is KeyKind.AGENT and access.audience is Audience.ADMINISTRATORS:
            AUTHENTICATION_FAILURES.labels("key").inc()
            raise _agents_key_refused(access.scope, identity.scopes)
        self._require_trusted_owner(identity)
        return Principal(
            org_id=identity.org_id, scopes=identity.scopes, user_id=identity.user_id, key=key, identity=identity
        )

    def _require_trusted_owner(self, identity: KeyIdentity) -> None:
        """A person's key is that person's word, which counts while their issuer does, as in a session. Raises
        UnauthorizedError."""
        if identity.owner_issuer is None:
            return
        try:
            self._tokens.roles_now(identity.org_id, identity.owner_issuer, frozenset())
        except UnauthorizedError as error:
            raise UnauthorizedError(
                "This API key is disabled because the identity provider of its owner is no longer trusted here. Another"
                " administrator can take it over."
            ) from error

    async def _by_token(self, token: Secret) -> Principal:
        verified = await self._tokens.verify(token)
        user = await self._user(verified)
        fell_back = await self.closed_sessions.require_open(user.org_id, user.user_id, verified.issued_at, token)
        return Principal(
            org_id=user.org_id,
            scopes=scopes_of_roles(user.roles),
            user_id=user.user_id,
            email=user.email,
            name=user.name,
            aal=ASSURANCE_LEVELS[0] if fell_back else verified.aal,
            roles=user.roles,
        )

    async def _user(self, verified: VerifiedToken) -> User:
        """Upserted at the first sight of what a token says, then once a minute."""
        known = self._seen.get(verified.identity)
        if known is not None and self._monotonic() < known[1]:
            return known[0]
        user = await sign_in(self._database, verified.identity, clock=self._clock, stated_at=verified.stated_at)
        if len(self._seen) >= _SEEN_LIMIT:
            self._seen.clear()
        self._seen[verified.identity] = (user, self._monotonic() + _SEEN_SECONDS)
        return user


def _agents_key_refused(scope: Scope | None, held: frozenset[Scope]) -> ForbiddenError:
    """For each administrators' route, also if the key has its scope: the route shows the actions of all agents."""
    asks = f"needs the scope {scope} and " if scope is not None else ""
    details = {"key_kind": KeyKind.AGENT.value}
    if scope is not None and scope not in held:
        details["missing_scope"] = scope.value
    return ForbiddenError(
        f"This route {asks}does not accept an agent's key. Send a person's token, or a key of kind admin.",
        details=details,
    )
