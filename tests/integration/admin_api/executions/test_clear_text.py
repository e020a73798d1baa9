"""A credential travels in the clear over no network that everybody shares."""

from pathlib import Path

import pytest

_CATALOGUE = """
tool: plain
description: A public service without TLS
hosts: [8.8.8.8]
send:
  origin: http://8.8.8.8
  credential: {name: plain}
entries:
  - operation: get_thing
    method: GET
    path: /things
    effect: read
    description: Read a thing
"""


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "catalogues"
    folder.mkdir()
    (folder / "plain.yaml").write_text(_CATALOGUE)
    return tmp_path


async def test_no_credential_goes_over_http_to_a_public_address(new_gate, working, ended) -> None:
    gate = await new_gate('package gate\n\nallow if input.tool == "plain"\n')
    admin = gate.person()
    assert (await admin.put("/admin/settings/executions", json={"most_attempts": 1})).status_code == 200
    assert (
        await admin.put("/admin/settings/credentials", json={"credentials": {"plain": "s3cret"}})
    ).status_code == 200
    body = {"tool": "plain", "operation": "get_thing", "params": {}}
    action = (await gate.as_agent.post("/v1/actions", json=body)).json()
    async with working():
        done = await ended(gate.as_agent, action["id"])
    assert done["status"] == "failed"
    assert "is a public address" in done["execution"]["error"], done
