"""The two ceremonies of WebAuthn: registration (section 7.1) and authentication (section 7.2), without any storage.

The library checks type, challenge, origin, relying party, presence, verification and signature. Here are what it leaves
to its caller: frames of other sites, the algorithm, and what was presented at all. Attestation is not asked for: which
maker's authenticator somebody uses is their own business.
"""

import struct
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from fido2.server import Fido2Server
from fido2.utils import websafe_encode
from fido2.webauthn import (
    AttestationConveyancePreference,
    AttestedCredentialData,
    AuthenticationResponse,
    CollectedClientData,
    PublicKeyCredentialParameters,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialType,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import UnauthorizedError
from headgate.passkeys.model import Passkey, Presented, Registered, RelyingParty

_ALGORITHMS: Final = (-7, -8, -257)
"""ES256, EdDSA and RS256, which all authenticators together know (section 5.4, ``pubKeyCredParams``)."""
_COSE_ALGORITHM: Final = 3
_VERIFIED: Final = UserVerificationRequirement.REQUIRED
_MALFORMED: Final = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    AssertionError,
    NotImplementedError,
    struct.error,
    UnsupportedAlgorithm,
)


class Ceremony:
    def __init__(self, party: RelyingParty) -> None:
        self.party = party
        self._server = Fido2Server(
            PublicKeyCredentialRpEntity(name="Headgate", id=party.rp_id),
            attestation=AttestationConveyancePreference.NONE,
            verify_origin=lambda origin: origin == party.origin,
        )
        self._server.allowed_algorithms = [
            PublicKeyCredentialParameters(type=PublicKeyCredentialType.PUBLIC_KEY, alg=one) for one in _ALGORITHMS
        ]

    def creation_options(self, challenge: bytes, user_handle: bytes, account: str, known: list[Passkey]) -> JsonObject:
        """PublicKeyCredentialCreationOptionsJSON. ``known``: an authenticator with one of them makes no second."""
        options, _ = self._server.register_begin(
            PublicKeyCredentialUserEntity(name=account, id=user_handle, display_name=account),
            [AttestedCredentialData(one.credential) for one in known],
            resident_key_requirement=ResidentKeyRequirement.REQUIRED,
            user_verification=_VERIFIED,
            challenge=challenge,
        )
        return dict(options.public_key)

    def request_options(self, challenge: bytes) -> JsonObject:
        """PublicKeyCredentialRequestOptionsJSON, for any passkey of this site: the person types no name."""
        options, _ = self._server.authenticate_begin(user_verification=_VERIFIED, challenge=challenge)
        return dict(options.public_key)

    @staticmethod
    def presented(response: JsonValue) -> Presented:
        """Raises UnauthorizedError."""
        try:
            found = _object(response)
            kind = RegistrationResponse if "attestationObject" in _object(found["response"]) else AuthenticationResponse
            answer = kind.from_dict(found)
            return Presented(answer.response.client_data.challenge, answer.raw_id)
        except _MALFORMED as error:
            raise _refused(error) from error

    def registered(self, challenge: bytes, response: JsonValue) -> Registered:
        """Raises UnauthorizedError."""
        try:
            answer = RegistrationResponse.from_dict(_object(response))
            _require_own_frame(answer.response.client_data)
            made = self._server.register_complete(_state(challenge), answer)
            data = made.credential_data
            if data is None or data.public_key[_COSE_ALGORITHM] not in _ALGORITHMS:
                raise ValueError("the key's algorithm was not offered")
            if data.credential_id != answer.raw_id:
                raise ValueError("the credential has another id")
        except _MALFORMED as error:
            raise _refused(error) from error
        return Registered(data.credential_id, bytes(data), made.counter)

    def asserted(self, challenge: bytes, passkey: Passkey, response: JsonValue) -> int:
        """The authenticator's counter. Raises UnauthorizedError."""
        try:
            answer = AuthenticationResponse.from_dict(_object(response))
            _require_own_frame(answer.response.client_data)
            if answer.response.user_handle not in (None, passkey.user_handle):
                raise ValueError("the passkey is another user's")
            known = AttestedCredentialData(passkey.credential)
            self._server.authenticate_complete(_state(challenge), [known], answer)
        except _MALFORMED as error:
            raise _refused(error) from error
        return answer.response.authenticator_data.counter


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _require_own_frame(client_data: CollectedClientData) -> None:
    """A page of another site that shows ours in a frame is no page of ours (section 13.4.9)."""
    if client_data.cross_origin:
        raise ValueError("it was asked for in a frame of another site")


def _state(challenge: bytes) -> dict[str, object]:
    return {"challenge": websafe_encode(challenge), "user_verification": _VERIFIED}


def _refused(error: BaseException) -> UnauthorizedError:
    return UnauthorizedError(f"The passkey was refused: {str(error) or 'its answer cannot be read'}")
