"""Pages show commands as they can be typed where the instance was started."""

from typing import Any

import pytest


@pytest.fixture(scope="module")
def api_changes() -> dict[str, Any]:
    return {"command_name": "/opt/<hg>/bin/headgate"}


@pytest.mark.parametrize("path", ["/inbox", "/overview", "/activity", "/grants", "/settings/webhooks"])
async def test_an_empty_page_shows_a_command_that_works(gate, path: str) -> None:
    answer = await gate.person().get(path)
    assert answer.status_code == 200
    assert "/opt/&lt;hg&gt;/bin/headgate" in answer.text
