"""What every answer carries, and what is said when something is wrong."""

import json

import pytest

from admin_api.dependencies import Dependencies
from headgate.agents.scopes import Scope
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role


async def test_every_answer_has_an_id_and_may_not_be_framed_kept_or_sniffed(running_api) -> None:
    async with running_api.client() as client:
        answers = [await client.get(path) for path in ("/", "/health/live", "/nowhere", "/admin/agents")]
    assert [answer.status_code for answer in answers] == [200, 200, 404, 401]
    assert len({answer.headers["X-Request-Id"] for answer in answers}) == 4
    for answer in answers:
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Server" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "NOT_FOUND"),
        ("GET", "/admin/agents/", 404, "NOT_FOUND"),
        ("DELETE", "/admin/agents", 405, "METHOD_NOT_ALLOWED"),
        ("PATCH", "/", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/admin/agents?limit=0", 400, "VALIDATION_ERROR"),
        ("GET", "/admin/agents?limit=201", 400, "VALIDATION_ERROR"),
        ("GET", "/admin/agents?offset=-1", 400, "VALIDATION_ERROR"),
        ("GET", "/admin/agents?total=all", 400, "VALIDATION_ERROR"),
        ("GET", "/admin/agents/agt_1", 404, "NOT_FOUND"),
        ("GET", "/admin/agents/%00", 404, "NOT_FOUND"),
    ],
)
async def test_errors_have_one_shape(running_api, organization, method: str, path: str, status: int, code: str) -> None:
    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.request(method, path)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["code"] == code
    assert set(error) <= {"code", "message", "details", "timestamp", "requestId"}
    assert error["requestId"] == answer.headers["X-Request-Id"]
    if status == 405:
        assert answer.headers["Allow"]


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        (None, "body", "is required"),
        ([], "body", "must be an object"),
        ({"name": "a", "limits": []}, "limits", "must be an object"),
        ({"name": ""}, "name", "must have at least 1 character"),
        ({"name": "a", "limits": 1}, "limits", "must be an object"),
        ({"name": "a", "tags": ["a"] * 500}, "tags", "must have at most 32 items"),
    ],
)
async def test_an_error_names_the_field(gate, body: object, field: str, reason: str) -> None:
    answer = await gate.person().post("/admin/agents", **({} if body is None else {"json": body}))
    error = answer.json()["error"]
    assert (answer.status_code, error["message"]) == (400, f"{field}: {reason}")
    assert error["details"] == {"field": field, "reason": reason, "errors": [{"field": field, "reason": reason}]}


async def test_an_error_of_a_number_or_of_a_shared_parameter_is_told_once(gate) -> None:
    conditions = [{"param": "amount", "at_most": "1"}]
    grant = {"agent_id": gate.agent_id, "tool": "a", "operation": "b", "conditions": conditions, "max_uses": 1}
    answers = (
        await gate.person().post("/admin/grants", json=grant | {"reason": "r", "expires_in_seconds": 1}),
        await gate.person().get("/admin/audit?shape=other"),
    )
    for answer, field, count in zip(answers, ("conditions[0].at_most", "shape"), (2, 1), strict=True):
        errors = answer.json()["error"]["details"]["errors"]
        assert ({one["field"] for one in errors}, len(errors)) == ({field}, count), errors


@pytest.mark.own_api
async def test_a_defect_says_nothing_of_itself(
    running_api, organization, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def explode(*_: object, **__: object) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr("admin_api.agents.routes.get_agent", explode)
    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.get(f"/admin/agents/{organization.agent_id}")
        assert (await client.get("/admin/agents")).status_code == 200
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "INTERNAL_ERROR"
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.json()["error"]["requestId"] in capsys.readouterr().out


@pytest.mark.own_api
async def test_no_secret_is_logged(running_api, organization, capsys: pytest.CaptureFixture[str]) -> None:
    _, key = await running_api.key(organization.org_id, Scope.ADMIN)
    token = running_api.token(organization.org_id, Role.ADMIN)
    async with running_api.client() as client:
        for credential in (key, token):
            created = await client.post(
                "/admin/agents", json={"name": "a"}, headers={"Authorization": f"Bearer {credential}"}
            )
            await client.get(f"/{credential}?key={credential}", headers={"X-Agent-Key": credential})
    logged = capsys.readouterr().out
    assert "unmatched" in logged
    for secret in (key, token, created.json()["api_key"]["key"]):
        assert secret not in logged


async def test_without_the_database_every_call_is_refused_and_health_says_so(start_api) -> None:
    api = await start_api(database_dsn=Secret("host=/nowhere user=headgate_api dbname=x connect_timeout=2"))
    dependencies: Dependencies = api.dependencies
    assert not dependencies.recorder.ready
    async with api.client() as client:
        live = await client.get("/health/live")
        ready = await client.get("/ready", timeout=20)
    assert live.status_code == 200
    assert ready.status_code == 503
    assert ready.json()["parts"]["database"] == "unavailable"


async def test_a_long_body_that_does_not_say_so_is_cut_off(running_api, organization) -> None:
    async def endless():
        for _ in range(40):
            yield b" " * 65536

    async with running_api.as_admin(organization.org_id) as client:
        answer = await client.post("/admin/agents", content=endless(), headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
        told = await client.put("/admin/settings/allowlist", content=json.dumps({"tools": ["x" * (1 << 20)]}))
        assert told.status_code == 413


@pytest.mark.parametrize("path", ["/admin/audit?agent=a%00", "/v1/executions?tool=%00", "/admin/grants?tool=%00"])
async def test_nul_in_a_query_is_the_callers_mistake(gate, path: str) -> None:
    """And not a database that is away, to which a program would come back."""
    answer = await gate.person().get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
