"""Cross-site request forgery: a form counts only where our own page sent it."""

from starlette.requests import Request

from headgate.kernel.errors import ForbiddenError


def require_own_form(request: Request) -> None:
    """Only our own page posts: by Sec-Fetch-Site, or by Origin where a browser does not send that (plain http).

    Fetch Metadata (https://www.w3.org/TR/fetch-metadata/), as Go's CrossOriginProtection does it, but that a request
    with neither header is refused. Raises ForbiddenError.
    """
    site = request.headers.get("sec-fetch-site")
    if site == "same-origin":
        return
    origin = request.headers.get("origin", "")
    if site is None and origin.partition("://")[2] == request.headers.get("host"):
        return
    raise ForbiddenError("This form was not sent from its own page. Open the page again and repeat.")
