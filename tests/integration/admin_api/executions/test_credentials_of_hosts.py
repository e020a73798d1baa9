"""A catalogue whose host begins with ``*.`` lets the agent choose the host: each credential is for one of them."""

from pathlib import Path

import pytest

_CATALOGUE = """
tool: sites
description: A service with a host for each customer
hosts: ["*.0.0.1"]
host_param: site
send:
  origin: http://*.0.0.1:{port}
  credential: {{name: sites}}
entries:
  - {{operation: get_thing, method: GET, path: /things, effect: read, description: Read a thing}}
"""
_BODY = {"tool": "sites", "operation": "get_thing", "params": {"site": "127"}}
_PATH = "/admin/settings/credentials"


@pytest.fixture
def data_dir(tmp_path: Path, service) -> Path:
    folder = tmp_path / "catalogues"
    folder.mkdir()
    (folder / "sites.yaml").write_text(_CATALOGUE.format(port=service.port))
    return tmp_path


async def test_a_credential_goes_to_the_host_that_it_was_set_for(new_gate, reach, working, service, ended) -> None:
    gate = await new_gate("package gate\n\nallow if true\n")
    await reach(gate)
    admin = gate.person()
    theirs = {"credentials": {"sites@10.0.0.1": "of-another-site"}}
    assert (await admin.put(_PATH, json=theirs)).json() == {"credentials": ["sites@10.0.0.1"]}
    async with working():
        action = (await gate.as_agent.post("/v1/actions", json=_BODY)).json()
        assert (await ended(gate.as_agent, action["id"]))["status"] == "completed"
        assert (await admin.put(_PATH, json={"credentials": {"sites@127.0.0.1": "of-this-site"}})).status_code == 200
        action = (await gate.as_agent.post("/v1/actions", json=_BODY)).json()
        assert (await ended(gate.as_agent, action["id"]))["status"] == "completed"
    assert [headers.get("authorization") for _, _, headers, _ in service.requests] == [None, "Bearer of-this-site"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sites", "sites@HOST"),
        ("sites@", "NAME@HOST"),
        ("sites@*.example", "NAME@HOST"),
        ("sites@ACME.example", "NAME@HOST"),
        ("sites@acme.example.", "NAME@HOST"),
        ("sites@acme.example", "no call would get it"),
        ("github@api.github.com", "no call would get it"),
        ("@acme.example", "NAME@HOST"),
        ("sites@" + "a." * 90 + "example", "NAME@HOST"),
    ],
)
async def test_names_of_no_one_host_are_refused(new_gate, name: str, reason: str) -> None:
    gate = await new_gate("package gate\n\nallow if true\n")
    answer = await gate.person().put(_PATH, json={"credentials": {name: "a-secret-value"}})
    assert answer.status_code == 400 and reason in answer.json()["error"]["message"], answer.text
    assert "a-secret-value" not in answer.text


async def test_a_name_that_was_set_before_can_be_removed(new_gate) -> None:
    gate = await new_gate("package gate\n\nallow if true\n")
    answer = await gate.person().put(_PATH, json={"credentials": {"sites": None}})
    assert answer.json() == {"credentials": []}
