"""The call as it leaves: the one that was decided, with the credential in its place. Pure.

The agent's own header, member or signature in that place goes: it never reaches the platform beside the connection's.
"""

import base64
import re
from collections.abc import Callable
from datetime import datetime
from typing import Final
from urllib.parse import quote, unquote_plus

from msgspec.structs import replace

from headgate.connections.credential import CertificateCredential, Credential, SigningCredential
from headgate.connections.errors import NoConnectionError
from headgate.connections.model import PLACEHOLDER, Connection, ConnectionKind, Location, Place
from headgate.connections.placeholders import Found, decoded_basic, find_placeholders
from headgate.connections.signing import sign
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.protocols.draft import ActionDraft
from headgate.protocols.http_call import HttpCall
from headgate.protocols.overrides import header_variable

_FORM: Final = b"application/x-www-form-urlencoded"
_AMZ_CREDENTIAL: Final = re.compile(rb"Credential=hg_placeholder_[a-z][a-z0-9_]{0,63}/")


def check_fillable(connection: Connection, draft: ActionDraft) -> None:
    """That every placeholder of this call stands where this connection puts its credential, and there only.

    Raises NoConnectionError.
    """
    call = draft.call
    if call is None:
        raise NoConnectionError("The request has no place for a placeholder.")
    place, found, standing = connection.place, find_placeholders(draft), _standing(call, connection)
    details: JsonObject = {"connection": connection.name, "in": place.location.value, "name": place.name}
    if draft.message is not None and (found.literal > standing or found.in_parameters):
        raise NoConnectionError(
            f"a message cannot contain a placeholder: send {connection.placeholder} in the handshake", details=details
        )
    is_alone = found.literal == 1 and found.names == {connection.name}
    if not (is_alone and standing == 1 and _is_decoded_only_in(place.location, found)):
        raise NoConnectionError(
            f"the placeholder {connection.placeholder} must appear once, literally and alone, in the"
            f" {place.location} {place.name}",
            details=details,
        )


def _is_decoded_only_in(location: Location, found: Found) -> bool:
    """Whether the gate has decoded no placeholder but the literal one in ``location``. A header may be masked; what is
    in the query or the body is a parameter too."""
    match location:
        case Location.HEADER:
            headers, address, parameters = 1, 0, 0
        case Location.QUERY:
            headers, address, parameters = 0, 1, 1
        case Location.BODY:
            headers, address, parameters = 0, 0, 1
    return found.in_headers <= headers and found.in_address <= address and found.in_parameters <= parameters


def _standing(call: HttpCall, connection: Connection) -> int:
    """How often the placeholder is what stands in the place."""
    place, placeholder = connection.place, connection.placeholder
    if connection.kind is ConnectionKind.AWS_SIGV4:
        return sum(_AMZ_CREDENTIAL.search(value) is not None for value in _header_values(call, "authorization"))
    if connection.kind is ConnectionKind.BASIC:
        expected = placeholder.encode()
        return sum(expected in decoded_basic(one).split(b":") for one in _header_values(call, "authorization"))
    if place.location is Location.HEADER:
        expected = placeholder.encode()
        return sum(_last_word(value) == expected for value in _header_values(call, place.name))
    if place.location is Location.QUERY:
        return sum(one == f"{place.name}={placeholder}" for one in call.query.split("&"))
    if _is_form(call):
        return sum(one == f"{place.name}={placeholder}".encode() for one in call.body.split(b"&"))
    try:
        body = parse_strict(call.body)
        # It stands there in escapes where this does not move it.
        moved = parse_strict(call.body.replace(placeholder.encode(), b"x"))
    except ValidationError:
        return 0
    if not isinstance(body, dict) or not isinstance(moved, dict):
        return 0
    return int(body.get(place.name) == placeholder and moved.get(place.name) == "x")


def inject(call: HttpCall, place: Place, credential: Credential, at: datetime) -> HttpCall:
    """Raises NoConnectionError where the body has no place for it."""
    if isinstance(credential, SigningCredential):
        return sign(call, credential, at)
    if isinstance(credential, CertificateCredential):  # shown in the TLS handshake; a placeholder has chosen it
        return replace(call, headers=tuple(one for one in call.headers if not _is_placeholder_in(place, *one)))
    return write_value(call, place, credential.value.reveal())


def write_value(call: HttpCall, place: Place, value: str) -> HttpCall:
    """``value`` in its place, in place of what stands there. Raises NoConnectionError."""
    match place.location:
        case Location.HEADER:
            name = place.name.encode()
            variable = header_variable(name.lower())
            kept = [one for one in call.headers if header_variable(one[0].lower()) != variable]
            return replace(call, headers=(*kept, (name, (place.prefix + value).encode("latin-1"))))
        case Location.QUERY:
            pieces = _without(call.query, place.name)
            pieces.append(f"{quote(place.name, safe='')}={quote(place.prefix + value, safe='')}")
            return replace(call, query="&".join(pieces))
        case Location.BODY:
            return replace(call, body=_in_body(call, place, place.prefix + value))


def basic_value(user: str, password: str) -> str:
    """RFC 7617, section 2."""
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def _in_body(call: HttpCall, place: Place, value: str) -> bytes:
    if not call.body:
        # A request without a body gets none: its framing is the agent's.
        raise _no_place(place)
    if _is_form(call):
        try:
            pieces = _without(call.body.decode("ascii"), place.name)
        except UnicodeDecodeError as error:
            raise _no_place(place) from error
        return "&".join([*pieces, f"{quote(place.name, safe='')}={quote(value, safe='')}"]).encode()
    try:
        body = parse_strict(call.body)
    except ValidationError as error:
        raise _no_place(place) from error
    if not isinstance(body, dict):
        raise _no_place(place)
    standing, wanted = body.get(place.name), {**body, place.name: value}
    if isinstance(standing, str) and call.body.count(canonical_bytes(standing)) == 1:
        # Whatever else its bytes say of spaces and order stays as the agent wrote it; unless what stands there was the
        # same text in another place, and the member's own is written in escapes.
        written = call.body.replace(canonical_bytes(standing), canonical_bytes(value))
        if _says(written, wanted):
            return written
    return canonical_bytes(wanted)


def _says(body: bytes, wanted: JsonObject) -> bool:
    try:
        return parse_strict(body) == wanted
    except ValidationError:  # it quotes what it could not read, and that is the credential
        return False


def _without(text: str, name: str) -> list[str]:
    is_other: Callable[[str], bool] = lambda one: unquote_plus(one.partition("=")[0]) != name  # noqa: E731
    return [one for one in text.split("&") if one and is_other(one)]


def _is_placeholder_in(place: Place, name: bytes, value: bytes) -> bool:
    return name.lower() == place.name.encode() and _last_word(value).startswith(PLACEHOLDER.encode())


def _header_values(call: HttpCall, name: str) -> list[bytes]:
    wanted = name.encode()
    return [value for one, value in call.headers if one.lower() == wanted]


def _last_word(value: bytes) -> bytes:
    return value.strip().rpartition(b" ")[2]


def _is_form(call: HttpCall) -> bool:
    return any(value.partition(b";")[0].strip().lower() == _FORM for value in _header_values(call, "content-type"))


def _no_place(place: Place) -> NoConnectionError:
    return NoConnectionError(
        f"the connection puts its credential into the member {place.name} of a body, and this call has none, or one"
        " that is no JSON object",
        details={"in": place.location.value, "name": place.name},
    )
