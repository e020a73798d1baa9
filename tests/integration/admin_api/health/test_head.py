"""Monitors that ask with HEAD: the answer of GET, without its content (RFC 9110, section 9.3.2)."""

import pytest


@pytest.mark.parametrize(
    "path", ["/health", "/ready", "/health/live", "/health/platform-stats", "/skill.md", "/skill.json"]
)
async def test_head_is_get_without_content(running_api, path: str) -> None:
    async with running_api.client() as client:
        asked, head = await client.get(path), await client.head(path)
        assert (head.status_code, head.content) == (asked.status_code, b"")
        assert head.headers["content-type"] == asked.headers["content-type"]
        # The connection goes on: nothing of the content is left in it.
        assert (await client.get("/health/live")).json() == {"status": "ok"}


async def test_what_asks_for_a_credential_asks_for_it_with_head_too(running_api) -> None:
    async with running_api.client() as client:
        for path in ("/admin/keys", "/v1/approvals/events"):
            assert (await client.head(path)).status_code == 401
