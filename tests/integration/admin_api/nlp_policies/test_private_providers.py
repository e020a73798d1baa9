"""The address of a language model is an administrator's choice, within what the operator has opened."""

import json
from typing import Any

import psycopg
import pytest

from tests.integration.admin_api.conftest import Gate
from tests.integration.judges.model_server import ModelServer

_POLICY = {"name": "No deletions", "type": "custom", "provider": "local", "model": "m", "prompt": "Refuse deletions."}
_FINE = {"flagged": False, "risk_score": 0.1, "confidence": 0.9, "detected_issues": [], "reasoning": "Fine."}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_private_provider_is_asked_only_where_the_operator_has_opened_its_address(
    gate: Gate, model_server: ModelServer, superuser: psycopg.Connection[Any], host: str
) -> None:
    admin = gate.person()
    await model_server.answers(json.dumps(_FINE))
    url = f"{model_server.url.replace('127.0.0.1', host)}/v1"
    setting = {"local": {"kind": "openai_compatible", "base_url": url}}
    assert (await admin.put("/admin/settings/nlp-providers", json=setting)).status_code == 200
    policy = (await admin.post("/admin/nlp-policies", json=_POLICY)).json()

    async def tested() -> dict[str, Any]:
        answer = await admin.post(f"/admin/nlp-policies/{policy['id']}/test", json={"content": "hello"})
        return answer.json()["details"]  # type: ignore[no-any-return]

    def opens(*destinations: dict[str, object]) -> None:
        superuser.execute(
            "UPDATE settings SET document = %s WHERE org_id = %s AND name = 'private_destinations'",
            [json.dumps({"destinations": destinations}), gate.org_id],
        )

    assert (await tested())["outcome"] == "clear"
    opens()
    refused = await tested()
    assert (refused["outcome"], refused["error"]) == ("error", "unreachable")  # the idle connection serves no more
    asked = {"provider": "local", "model": "m"}
    assert not (await admin.post("/admin/settings/nlp-providers/test", json=asked)).json().get("ok", False)
    assert len(await model_server.journal()) == 1
    opens({"host": "127.0.0.0/8", "ports": [int(model_server.url.rsplit(":", 1)[1])]})
    assert (await tested())["outcome"] == "clear"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 400),
        ("[::1]", 400),
        ("[::ffff:10.0.0.1]", 400),
        ("127.1", 400),
        ("0x7f000001", 400),
        ("169.254.169.254", 400),
        ("10.1.2.3:8443", 200),  # open
        ("10.1.2.3", 400),  # on another port
        ("93.184.216.34", 200),
        ("models.internal", 200),  # names are looked up at the connection
    ],
)
async def test_a_private_address_is_saved_only_where_the_operator_has_opened_it(
    gate: Gate, superuser: psycopg.Connection[Any], host: str, status: int
) -> None:
    admin = gate.person()
    superuser.execute(
        "UPDATE settings SET document = %s WHERE org_id = %s AND name = 'private_destinations'",
        [json.dumps({"destinations": [{"host": "10.0.0.0/8", "ports": [8443]}]}), gate.org_id],
    )
    setting = {"local": {"kind": "openai_compatible", "base_url": f"https://{host}/v1"}}
    answer = await admin.put("/admin/settings/nlp-providers", json=setting)
    assert answer.status_code == status
    if status != 200:
        assert answer.json()["error"]["details"]["field"] == "local.base_url"
        assert "headgate org private-destinations" in answer.json()["error"]["message"]
        assert "local" not in (await admin.get("/admin/settings/nlp-providers")).json()
