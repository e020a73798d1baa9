from pathlib import Path

_KEY = "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n"
_ONE, _OTHER = (f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n" for text in ("MIIB", "MIIC"))


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
        certificate.write_text(f"{_KEY}{_ONE}")
        assert (await client.get("/ca.pem")).text == _ONE
        certificate.write_text(f"{_ONE}{_KEY}{_OTHER}")
        answer = await client.get("/ca.pem")
    assert answer.text == _ONE + _OTHER
    assert answer.headers["Content-Type"].startswith("application/x-pem-file")


async def test_a_browser_goes_from_the_root_to_the_dashboard_and_without_a_session_to_sign_in(running_api) -> None:
    async with running_api.client() as client:
        answer = await client.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/inbox")
        inbox = await client.get("/inbox?view=mine")
    assert (inbox.status_code, inbox.headers["Location"]) == (303, "/auth/login?return_to=%2Finbox%3Fview%3Dmine")
