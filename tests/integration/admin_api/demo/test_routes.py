"""What a website sends before anybody has an account: decided, counted, limited, and kept nowhere."""

import pytest
from prometheus_client import REGISTRY


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.parametrize(
    ("scenario", "decision"),
    [
        ("delete_prod_database", "deny"),
        ("read_customer_pii", "require_approval"),
        ("safe_read_only_query", "allow"),
        ("send_chat_message", "require_approval"),
    ],
)
async def test_a_scenario_is_decided_and_not_recorded(running_api, superuser, scenario: str, decision: str) -> None:
    before = superuser.execute("SELECT count(*) FROM actions").fetchone()
    async with running_api.client() as client:
        answer = await client.post("/v1/demo/evaluate", json={"scenarioId": scenario, "extra": 1})
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert (shown["scenarioId"], shown["decision"]) == (scenario, decision)
    assert set(shown) == {
        "scenarioId", "decision", "reason", "policyName", "riskLevel", "tool", "operation", "warnings", "createdAt",
    }  # fmt: skip
    assert superuser.execute("SELECT count(*) FROM actions").fetchone() == before


@pytest.mark.parametrize(
    "content", [b"{}", b'{"scenarioId": "other"}', b'{"scenarioId": 1}', b"[]", b"{", b"", b'{"a":1,"a":2}', b"\xff"]
)
async def test_its_errors_are_flat(running_api, content: bytes) -> None:
    async with running_api.client() as client:
        answer = await client.post("/v1/demo/evaluate", content=content)
    assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR")
    assert isinstance(answer.json()["message"], str)


@pytest.mark.own_api
async def test_funnel_events_are_counted_and_their_subjects_go_nowhere(running_api, capfd) -> None:
    before = counted("headgate_api_funnel_events_total", event="signup_started")
    body = {"event": "signup_started", "subject": "ann@example.com", "metadata": {"plan": {"seats": 3}}}
    async with running_api.client() as client:
        answer = await client.post("/v1/funnel-events", json=body)
    assert (answer.status_code, answer.json()) == (202, {"accepted": True})
    assert counted("headgate_api_funnel_events_total", event="signup_started") == before + 1
    written = capfd.readouterr()
    assert "ann@example.com" not in written.out + written.err


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"event": "left", "subject": "a"}, "event"),
        ({"event": "account_created"}, "subject"),
        ({"event": "account_created", "subject": ""}, "subject"),
        ({"event": "account_created", "subject": "s" * 321}, "subject"),
        ({"event": "account_created", "subject": "a", "metadata": []}, "metadata"),
        ({"event": "account_created", "subject": "a", "more": 1}, "more"),
    ],
)
async def test_a_funnel_event_that_cannot_be(running_api, body: dict[str, object], field: str) -> None:
    async with running_api.client() as client:
        answer = await client.post("/v1/funnel-events", json=body)
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (400, field)


OLD = {"csp-report": {"document-uri": "https://a.example/?token=1", "violated-directive": "script-src-elem 'self'"}}
NEW = [
    {"type": "csp-violation", "age": 1, "url": "https://a.example", "user_agent": "x",
     "body": {"effectiveDirective": "img-src", "disposition": "report"}},
    {"type": "deprecation", "body": None},
    {"type": "csp-violation", "body": {"effectiveDirective": "nonsense\n", "disposition": "x"}},
]  # fmt: skip


async def test_both_formats_of_reports_are_counted(running_api) -> None:
    labels = [("script-src-elem", "enforce"), ("img-src", "report"), ("other", "unknown")]
    name = "headgate_api_csp_reports_total"
    before = [counted(name, directive=directive, disposition=disposition) for directive, disposition in labels]
    async with running_api.client() as client:
        for body, kind in (
            (OLD, "application/csp-report"),
            (NEW, "application/reports+json"),
            (OLD, "application/json"),
        ):
            answer = await client.post("/csp-report", json=body, headers={"Content-Type": f"application/{kind}"})
            assert (answer.status_code, answer.content) == (204, b"")
    after = [counted(name, directive=directive, disposition=disposition) for directive, disposition in labels]
    assert [now - was for now, was in zip(after, before, strict=True)] == [2, 1, 1]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{}", 204), (b'{"csp-report": []}', 204), (b"[1]", 204), (b"1", 204), (b"null", 204),
        (b'{"a": 1, "a": 2}', 204),
        (b"[" + b"[]," * 100 + b"[]]", 204), (b"1" + b"0" * 5000, 204), (b'"\\ud800"', 204),
        (b'[{"type": "csp-violation"}]', 204), (b'{"csp-report": {"violated-directive": 1}}', 204),
        (b"{", 400), (b"", 400), (b"NaN", 400), (b"\xff", 400), (b"[" * 60_000, 400), (b" " * 65_537, 413),
    ],
)  # fmt: skip
async def test_any_json_is_taken(running_api, content: bytes, status: int) -> None:
    async with running_api.client() as client:
        assert (await client.post("/csp-report", content=content)).status_code == status


async def test_an_address_has_a_quota_for_all_of_them(start_api) -> None:
    api = await start_api(rate_limits=True)
    async with api.client() as client:
        answers = [await client.post("/csp-report", json=OLD) for _ in range(64)]
        other = await client.post("/v1/demo/evaluate", json={"scenarioId": "safe_read_only_query"})
    assert [answer.status_code for answer in answers[:60]] == [204] * 60
    assert answers[0].headers["X-RateLimit-Limit"] == "60"
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["Retry-After"]) >= 1
    assert other.status_code in (200, 429)
