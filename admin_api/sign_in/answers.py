"""What all ways to sign in share: the cookies, and the page that says why nobody was signed in."""

from starlette.responses import Response

from admin_api.dependencies import Dependencies
from admin_api.metrics import LOGINS
from admin_api.pages import page
from admin_api.services.cookies import Cookies
from headgate.kernel.errors import ForbiddenError, HeadgateError


def cookies_for(dependencies: Dependencies) -> Cookies:
    """Raises ForbiddenError."""
    if dependencies.cookies is None:
        raise ForbiddenError(
            "Browser sign-in requires https: plain http would expose the session cookie to the network."
            " Set HEADGATE_PUBLIC_API_URL to an https address, or use a token."
        )
    return dependencies.cookies


def refused(error: HeadgateError, *, is_link: bool = False) -> Response:
    """``is_link``: of a link that ``headgate login`` printed."""
    LOGINS.labels("failed").inc()
    context = {"message": error.message, "is_link": is_link}
    return page("sign_in_refused.html", context, status=error.http_status)
