"""The ID token of a session, kept for the one moment at which its provider is told that the session is over
(OpenID Connect RP-Initiated Logout 1.0, section 2, ``id_token_hint``).

It says who somebody is, and until it expires somebody may believe it: so it is sealed with the session's own secret,
which only the browser has. Whoever reads the database reads none.
"""

from typing import Final

from headgate.kernel.sealing import Seal
from headgate.kernel.secrets import Secret

_PURPOSE: Final = b"headgate.logout_hint.1"


def seal_hint(id_token: Secret, session_secret: Secret, session_id: str) -> bytes:
    return Seal(session_secret, _PURPOSE).seal(id_token.reveal().encode(), session_id)


def open_hint(sealed: bytes, session_secret: Secret, session_id: str) -> Secret | None:
    """None: it is not this session's."""
    plain = Seal(session_secret, _PURPOSE).open(sealed, session_id)
    return None if plain is None else Secret(plain.decode())
