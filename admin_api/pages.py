"""Pages for people: rendered here, without script, under a policy that lets nothing in that is not ours.

Values are escaped (autoescape), a name that is not there is an error (StrictUndefined), and characters that hide or
reorder text are made visible in everything that is printed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from headgate.kernel.errors import ForbiddenError
from headgate.kernel.visible_text import visible

_HERE: Final = Path(__file__).parent
_SECURITY: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    # With no-referrer a browser would send Origin: null with the page's own form.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def _shown(value: object) -> object:
    return visible(value) if type(value) is str else value


_TEMPLATES: Final = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_shown,
    trim_blocks=True,
    lstrip_blocks=True,
)
STYLE: Final = (_HERE / "static" / "headgate.css").read_bytes()


def page(template: str, context: Mapping[str, object], *, status: int = 200) -> Response:
    return Response(_TEMPLATES.get_template(template).render(context), status, _SECURITY, "text/html")


def pages(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For ``responses`` of a route that answers people in pages, refusals included."""
    return {status: {"description": "A page", "content": {"text/html": {}}} for status in statuses}


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
    raise ForbiddenError("this form was not sent from its own page")
