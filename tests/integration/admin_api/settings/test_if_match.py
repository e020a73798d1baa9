"""What somebody else has changed meanwhile is not overwritten by who says what they saw (RFC 9110, section 13.1.1)."""

import pytest

_CAPTURES = {"rules": []}
_DOCUMENTS = [
    ("captures", _CAPTURES),
    ("retention", {}),
    ("executions", {}),
    ("nlp-providers", {}),
]


@pytest.mark.parametrize(("name", "document"), _DOCUMENTS, ids=[name for name, _ in _DOCUMENTS])
async def test_a_setting_is_changed_where_it_is_still_what_was_seen(gate, name: str, document) -> None:
    admin, path = gate.person(), f"/admin/settings/{name}"
    assert "etag" not in (await admin.get(path)).headers
    first = await admin.put(path, json=document)
    assert (first.status_code, first.headers["etag"]) == (200, '"1"'), first.text
    assert (await admin.get(path)).headers["etag"] == '"1"'
    second = await admin.put(path, json=document, headers={"If-Match": '"1"'})
    assert (second.status_code, second.headers["etag"]) == (200, '"2"'), second.text
    late = await admin.put(path, json=document, headers={"If-Match": '"1"'})
    assert late.status_code == 412, late.text
    assert (await admin.get(path)).headers["etag"] == '"2"'
    assert (await admin.put(path, json=document, headers={"If-Match": "W/x"})).status_code == 412


async def test_a_connection_as_well(gate) -> None:
    admin = gate.person()
    body = {"name": "svc", "kind": "bearer", "hosts": ["api.example.com"], "credentials": {"secret": "s3cr3t-of-it"}}
    made = (await admin.post("/v1/connections", json=body)).json()
    path = f"/v1/connections/{made['id']}"
    assert (await admin.get(path)).headers["etag"] == '"1"'
    changed = await admin.patch(path, json={"needs_placeholder": True}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"'), changed.text
    late = await admin.patch(path, json={"needs_placeholder": False}, headers={"If-Match": '"1"'})
    assert late.status_code == 412, late.text
    assert (await admin.get(path)).json()["needs_placeholder"] is True
    [found] = (await admin.get("/v1/connections", params={"name": "svc"})).json()["data"]
    assert found["id"] == made["id"]
    assert (await admin.get("/v1/connections", params={"name": "other"})).json()["data"] == []
