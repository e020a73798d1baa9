import re
from pathlib import Path


async def test_the_root_names_what_there_is(running_api) -> None:
    async with running_api.client() as client:
        named = (await client.get("/")).json()
        for name in ("interface", "health", "version", "metrics"):
            assert (await client.get(named[name])).status_code == 200
        description = (await client.get("/openapi.json")).json()
    assert description["openapi"].startswith("3.1")
    assert "/admin/agents" in description["paths"]


async def test_the_proxys_certificate_is_for_everybody(start_api, tmp_path: Path) -> None:
    certificate = tmp_path / "ca.pem"
    api = await start_api(ca_certificate=certificate)
    async with api.client() as client:
        assert (await client.get("/ca.pem")).status_code == 404
        certificate.write_text("-----BEGIN CERTIFICATE-----\n")
        answer = await client.get("/ca.pem")
    assert answer.text == "-----BEGIN CERTIFICATE-----\n"
    assert answer.headers["Content-Type"].startswith("application/x-pem-file")


async def test_a_browser_gets_a_page_at_the_root(running_api) -> None:
    async with running_api.client() as client:
        answer = await client.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
        links = re.findall(r'href="(/[^"]+)"', answer.text)
        statuses = {link: (await client.get(link)).status_code for link in links}
    assert answer.headers["Content-Type"].startswith("text/html")
    assert len(statuses) > 3
    assert set(statuses.values()) == {200}
