"""A credential on its way: how it is written onto one call, and how its echo is masked in the answer."""

from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.connections.credential import (
    CertificateCredential,
    Credential,
    KeptSecrets,
    SigningCredential,
    ValueCredential,
)
from headgate.connections.echoes import EchoMask, echo_mask
from headgate.connections.inject import basic_value, inject
from headgate.connections.model import AUTHORIZATION, Connection, ConnectionKind, Location, Place
from headgate.kernel.secrets import Secret
from headgate.protocols.http_call import HttpCall

_HIDES_ECHOES: Final = frozenset({b"accept-encoding", b"accept-charset", b"range", b"if-range"})
"""An answer in a coding, in other characters, or in parts of the agent's choice is one in which an echo could hide."""
BASIC_PLACE = Place(Location.HEADER, "authorization", "Basic ")


class Carried(Struct, frozen=True):
    """What the calls of one connection, or of one name in the settings, carry."""

    place: Place
    credential: Credential
    mask: EchoMask

    def written(self, call: HttpCall, at: datetime) -> HttpCall:
        """``call`` with the credential, and without what would hide an echo of it. Raises NoConnectionError where the
        call has no place for it."""
        kept = [one for one in call.headers if one[0].lower() not in _HIDES_ECHOES]
        plain = replace(call, headers=(*kept, (b"accept-encoding", b"identity")))
        return inject(plain, self.place, self.credential, at)


def carried(place: Place, credential: Credential) -> Carried:
    return Carried(place, credential, echo_mask(credential))


def carried_of(connection: Connection, kept: KeptSecrets) -> Carried:
    """Raises UnavailableError where the vault keeps less than this kind needs."""
    settings = connection.settings
    match connection.kind:
        case ConnectionKind.BASIC:
            user, password = kept.need("user").reveal(), kept.need("password").reveal()
            value = Secret(basic_value(user, password))
            return carried(BASIC_PLACE, ValueCredential(value, (Secret(password or user),)))
        case ConnectionKind.AWS_SIGV4:
            signing = SigningCredential(
                kept.need("access_key_id").reveal(),
                kept.need("secret_access_key"),
                kept.get("session_token"),
                str(settings["region"]),
                str(settings["service"]),
            )
            return carried(AUTHORIZATION, signing)
        case ConnectionKind.MTLS:
            certificate = CertificateCredential(kept.need("certificate").reveal(), kept.need("private_key"))
            return carried(AUTHORIZATION, certificate)
        case ConnectionKind.OAUTH2 | ConnectionKind.CLIENT_CREDENTIALS | ConnectionKind.BLUESKY:
            return carried(connection.place, ValueCredential(kept.need("access_token")))
        case ConnectionKind.API_KEY | ConnectionKind.BEARER:
            return carried(connection.place, ValueCredential(kept.need("secret")))
