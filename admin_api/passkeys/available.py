"""Whether people sign in with passkeys here."""

from urllib.parse import urlsplit

from starlette.requests import Request

from admin_api.dependencies import Dependencies
from headgate.kernel.errors import ConflictError, ForbiddenError
from headgate.passkeys.service import Passkeys


def passkeys_of(dependencies: Dependencies) -> Passkeys:
    """Raises ForbiddenError."""
    if dependencies.passkeys is None:
        raise ForbiddenError(
            "Passkeys are not available: people sign in with an identity provider, HEADGATE_PASSKEYS is off, or"
            " HEADGATE_PUBLIC_API_URL is not an https address with a host name."
        )
    return dependencies.passkeys


def is_at_origin(dependencies: Dependencies, request: Request) -> bool:
    """Whether the page is at the origin that passkeys are for. Elsewhere nothing tells where that is: on loopback its
    name is what keeps other ports from the session (``headgate.organizations.dashboard_address``)."""
    passkeys = dependencies.passkeys
    return passkeys is not None and urlsplit(passkeys.party.origin).netloc == request.headers.get("host")


def passkeys_at(dependencies: Dependencies, request: Request) -> Passkeys:
    """Raises ForbiddenError."""
    passkeys = passkeys_of(dependencies)
    if not is_at_origin(dependencies, request):
        raise ForbiddenError("Passkeys work at the dashboard's own address only. `headgate login` prints it.")
    return passkeys


def invitation_address(dependencies: Dependencies, secret: str) -> str:
    """At which the invited person can accept. Raises ConflictError: there is no such address."""
    login = dependencies.browser_login
    if login is not None and login.providers:
        return login.invitation_address(secret)
    if dependencies.passkeys is not None:
        return f"{dependencies.passkeys.party.origin}/auth/login?invitation={secret}"
    raise ConflictError(
        "Invitations do not work on this server. Configure an identity provider, or set HEADGATE_PUBLIC_API_URL to an"
        " https address with a host name and HEADGATE_PASSKEYS to on, so that invited people can create a passkey."
    )
