"""What was set before, of any setting: the same page for all."""

import json
from datetime import datetime
from typing import Any

from admin_api.dependencies import Dependencies
from admin_api.pagination import CountedPage, PageRequest, counted_page
from admin_api.principal import Principal
from admin_api.schema import BaseModel
from headgate.organizations.model import SettingName
from headgate.organizations.setting_versions import list_versions


class SettingVersionAnswer(BaseModel):
    """A stored version of the settings, without secrets. Secrets have no versions."""

    version: int
    document: Any
    updated_by: str | None
    updated_at: datetime


async def versions_page(
    dependencies: Dependencies, principal: Principal, name: SettingName, page: PageRequest
) -> CountedPage[SettingVersionAnswer]:
    """Newest first."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        found, total = await list_versions(
            connection, principal.org_id, name, limit=page.limit, offset=page.offset, exact_total=page.exact_total
        )
    return counted_page(
        page,
        [
            SettingVersionAnswer(
                version=one.version,
                document=json.loads(one.document),
                updated_by=one.updated_by,
                updated_at=one.updated_at,
            )
            for one in found
        ],
        total.total,
        is_minimum=total.is_minimum,
    )
