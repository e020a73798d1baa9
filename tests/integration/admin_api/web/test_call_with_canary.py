"""The page of a call that held a canary token says so, without its value, and offers nothing that lets it through."""

import base64
import html

from headgate.organizations.model import Role


async def test_a_call_that_held_a_canary(new_gate) -> None:
    gate = await new_gate("package gate\n\nallow := true\n")
    created = await gate.person().post("/admin/canaries", json={"name": "wiki <b>page</b>"})
    assert created.status_code == 201, created.text
    value = created.json()["value"]
    encoded = base64.b64encode(f"see {value.upper()}".encode()).decode()
    call = {"tool": "notes", "operation": "write", "params": {"text": [f"see {value}", encoded], "n": 7}}
    denied = (await gate.as_agent.post("/v1/actions", json=call)).json()
    assert denied["status"] == "denied", denied
    place = "$.params.text[0]"

    admin, frida = gate.person(), gate.person("frida", Role.BREAK_GLASS)
    for person in (admin, frida):
        page = html.unescape((await person.get(f"/calls/{denied['id']}")).text)
        _shows(page, place)
        assert value not in page
        assert encoded not in page
    recorded = (await admin.get(f"/v1/actions/{denied['id']}")).json()["request"]
    assert recorded["params"] == {"text": ["see [masked]", "[masked]"], "n": 7}
    [found] = (await admin.get(f"/v1/actions/{denied['id']}?expand=all")).json()["canaries"]
    assert found == {"canary_id": created.json()["id"], "name": "wiki <b>page</b>", "place": place}
    explained = (await admin.get(f"/v1/actions/{denied['id']}/explanation")).json()
    assert explained["canaries"] == [found]
    assert (await gate.as_agent.get(f"/v1/actions/{denied['id']}?expand=all")).json()["canaries"] is None
    assert "wiki" not in (await gate.as_agent.get(f"/v1/actions/{denied['id']}/explanation")).text

    opened = await frida.post("/admin/break-glass", json={"action_id": denied["id"], "reason": "production burns"})
    assert opened.status_code == 409, opened.text
    assert "canary token 'wiki <b>page</b>'" in opened.json()["error"]["message"]
    assert "Nothing exempts" in opened.json()["error"]["message"]


def _shows(page: str, place: str) -> None:
    assert f"The call holds the canary token “wiki <b>page</b>” in {place}. Nothing exempts it" in page
    assert "Canary token found" in page
    assert "No policy allows" not in page
    assert "/break-glass?action=" not in page
    assert 'role <span class="wire">break_glass' not in page
    assert "/policies/new?from=" not in page
