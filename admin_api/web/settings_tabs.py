"""What the pages of the settings have in common: their tabs, and the answer to a form that was carried out."""

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from admin_api.web.api import Api
from admin_api.web.shell import shell_page

_TABS: Final = (
    ("Members", "/settings/members"),
    ("Destinations", "/settings/destinations"),
    ("Webhooks", "/settings/webhooks"),
    ("Keys", "/settings/keys"),
)


async def settings_page(
    api: Api, template: str, path: str, context: Mapping[str, object], *, status: int = 200
) -> Response:
    """``path`` is the tab's."""
    return await shell_page(api, template, "/settings", {"tabs": _TABS, "tab": path} | dict(context), status=status)


def back_to(path: str) -> Response:
    return Response(status_code=303, headers={"Location": path})
