"""What an agent's own key is told of the gate, and nobody else."""

from typing import Any

import pytest

from headgate.agents.scopes import Scope

_PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
_KEY = "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n"


@pytest.fixture(scope="module")
def api_changes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    file = tmp_path_factory.mktemp("shared") / "ca.pem"
    file.write_text(_KEY + _PEM)
    return {"ca_certificate": file, "proxy_url": "http://gate.example.com:8471"}


async def test_a_key_learns_of_its_agent_and_its_proxy(gate) -> None:
    answer = await gate.as_agent.get("/v1/agents/me")
    assert answer.json() == {
        "id": gate.agent_id, "name": "Robot", "proxy_url": "http://gate.example.com:8471", "certificates": _PEM,
    }  # fmt: skip


async def test_nobody_else_has_an_agent(gate) -> None:
    for client in (gate.person(), await gate.key(Scope.ACTIONS_READ)):
        answer = await client.get("/v1/agents/me")
        assert (answer.status_code, "agent's key" in answer.json()["error"]["message"]) == (404, True)
