"""Refusals of recorded actions name the page that explains them."""

from typing import Any

import pytest

_PUBLIC = "https://gate.example.com"


@pytest.fixture(scope="module")
def api_changes() -> dict[str, Any]:
    return {"public_url": _PUBLIC}


async def _submit(gate, tool: str, key: str | None = None):
    return await gate.as_agent.post(
        "/v1/actions", json={"tool": tool, "operation": "rows", "params": {}, "idempotency_key": key or tool}
    )


@pytest.mark.parametrize("tool", ["write", "wipe", "unknown"])
async def test_an_answer_that_denies_or_holds_links_to_it(gate, tool: str) -> None:
    answer = await _submit(gate, tool)
    assert answer.headers["link"] == f'<{_PUBLIC}/calls/{answer.json()["id"]}>; rel="help"'


async def test_what_is_allowed_needs_no_help(gate) -> None:
    assert "link" not in (await _submit(gate, "read")).headers


async def test_an_error_about_an_action_names_it_in_its_details(gate) -> None:
    first = (await _submit(gate, "write", "k")).json()["id"]
    refused = await _submit(gate, "read", "k")
    assert refused.status_code == 409
    assert refused.json()["error"]["details"]["help_url"] == f"{_PUBLIC}/calls/{first}"


async def test_an_error_about_nothing_recorded_names_none(gate) -> None:
    refused = await gate.as_agent.post("/v1/actions", json={"tool": "read"})
    assert "help_url" not in refused.json()["error"]["details"]


@pytest.mark.own_api
async def test_without_a_public_address_there_is_none(start_api, organization) -> None:
    api = await start_api()
    _, key = await api.key(organization.org_id)
    async with api.client(Authorization=f"Bearer {key}") as client:
        assert "help_url" not in (await client.get("/v1/actions")).text
    assert api.dependencies.cookies is None
