"""Who a request's token names, as second factors need to know them: never a program with a key."""

import base64
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from admin_api.access import Audience
from admin_api.authentication import credential_of
from admin_api.client_address import address_subject
from admin_api.dependencies import dependencies_of, principal_of
from headgate.kernel.canonical_json import JsonObject, parse_strict
from headgate.kernel.errors import ForbiddenError, UnauthorizedError
from headgate.mfa.model import Person, assurance_level
from headgate.organizations.store import find_users


async def person_of(request: Request) -> Person:
    """Raises ForbiddenError, UnauthorizedError, UnavailableError."""
    principal = principal_of(request)
    if principal.identity is not None or principal.user_id is None:
        raise ForbiddenError("Second factors belong to a person. Use that person's token or session, not an API key.")
    async with dependencies_of(request).database.transaction(principal.org_id) as connection:
        user = (await find_users(connection, principal.org_id, [principal.user_id])).get(principal.user_id)
    if user is None:
        raise UnauthorizedError("The user of this token no longer exists.")
    token, session_id = None, None
    if principal.session_id is None:
        token = credential_of(request.scope["headers"], Audience.ADMINISTRATORS).secret
        claims = claims_of(token.reveal())
        session_id = claims.get("sid") or claims.get("session_id")
    return Person(
        org_id=user.org_id,
        user_id=user.user_id,
        issuer=user.issuer,
        subject=user.subject,
        email=user.email,
        actor=principal.actor,
        level=assurance_level(principal.aal),
        token=token,
        session_id=session_id if isinstance(session_id, str) else None,
        browser_session_id=principal.session_id,
        source=address_subject(request.scope),
    )


def claims_of(token: str) -> JsonObject:
    """What a token says whose signature was checked when the request came in."""
    part = token.split(".")[1]
    value = parse_strict(base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True))
    if not isinstance(value, dict):
        raise UnauthorizedError("the token is malformed")
    return value


type CurrentPerson = Annotated[Person, Depends(person_of)]
