import pytest

ALLOWLIST = {"destinations": [{"host": "127.0.0.1", "ports": [8443], "private": True, "note": ""}], "tools": []}


async def test_the_allowlist_is_404_until_it_was_set_and_then_itself(running_api, organization, superuser) -> None:
    async with running_api.as_admin(organization.org_id) as client:
        assert (await client.get("/admin/settings/allowlist")).status_code == 404
        for version in (1, 2):
            answer = await client.put("/admin/settings/allowlist", json=ALLOWLIST)
            assert answer.status_code == 200, answer.text
            assert answer.json() == ALLOWLIST
            assert answer.headers["ETag"] == f'"{version}"'
        assert (await client.get("/admin/settings/allowlist")).json() == ALLOWLIST
    state = superuser.execute(
        "SELECT s.version, s.updated_by LIKE 'usr_%%', o.generation, s.document"
        " FROM settings s JOIN org_state o USING (org_id) WHERE org_id = %s AND s.name = 'allowlist'",
        [organization.org_id],
    ).fetchone()
    assert state == (
        2,
        True,
        3,
        '{"destinations":[{"host":"127.0.0.1","note":"","ports":[8443],"private":true}],"tools":[]}',
    )
    events = superuser.execute(
        "SELECT count(*) FROM journal WHERE org_id = %s AND event_type = 'setting.changed'", [organization.org_id]
    ).fetchone()
    assert events == (2,)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"destinations": {}}',
        b'{"destinations": [{"host": "a b"}]}',
        b'{"destinations": [{"host": "x.example", "ports": [0]}]}',
        b'{"destinations": [], "destinations": []}',
        b'{"unknown": 1}',
        b'{"tools": ["GitHub"]}',
    ],
)
async def test_a_bad_allowlist_changes_nothing(running_api, organization, content: bytes) -> None:
    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.put("/admin/settings/allowlist", content=content)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
        assert (await client.get("/admin/settings/allowlist")).status_code == 404


async def test_each_organization_has_its_own(running_api, organization, new_organization) -> None:
    async with running_api.as_admin(organization.org_id) as client:
        await client.put("/admin/settings/allowlist", json=ALLOWLIST)
    async with running_api.as_admin(new_organization().org_id) as client:
        assert (await client.get("/admin/settings/allowlist")).status_code == 404


async def test_a_change_of_what_is_no_longer_there_changes_nothing(running_api, organization) -> None:
    """Two people who read, change and write at once: the second must not bring back what the first removed."""
    emptied = {"destinations": [], "tools": []}
    async with running_api.as_admin(organization.org_id) as client:
        never_set = await client.put("/admin/settings/allowlist", json=ALLOWLIST, headers={"If-Match": '"1"'})
        assert never_set.status_code == 412
        assert (await client.get("/admin/settings/allowlist")).status_code == 404
        read = (await client.put("/admin/settings/allowlist", json=ALLOWLIST)).headers["ETag"]
        first = await client.put("/admin/settings/allowlist", json=emptied, headers={"If-Match": read})
        assert first.status_code == 200
        second = await client.put("/admin/settings/allowlist", json=ALLOWLIST, headers={"If-Match": read})
        assert (second.status_code, second.json()["error"]["details"]["version"]) == (412, 2)
        assert (await client.get("/admin/settings/allowlist")).json() == emptied
