"""What a content policy needs before a detector is asked fails: nothing is forwarded, and the next call is answered."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import pytest

from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import create_key
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.gate.record_batch import GateRecorder
from headgate.kernel.secrets import Secret
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.model import NlpDraft, NlpPolicyType, OnMatch
from headgate.nlp_policies.request_window import RequestWindows
from headgate.nlp_policies.service import create_nlp_policy, seed_default_nlp_policies
from headgate.organizations.change import begin_change
from headgate.organizations.service import put_allowlist
from headgate.policies.service import CheckedPolicy, PolicyDraft, create_policy
from tests.entry_codes import CODES
from tests.integration.proxy.enforcement import open_enforcement
from tests.unit.traffic.samples import vault_in

_ALLOW = "package t\nimport rego.v1\nallow := true"


@pytest.fixture
async def running(start, cluster, proxy_database: Database, tmp_path) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        recorder = GateRecorder(Secret(cluster.dsn("headgate_proxy")), CODES)
        whole = await open_enforcement(
            stack, proxy_database, recorder, vault_in(tmp_path), tmp_path / "captures", tunnels=1000
        )
        yield await start(before=[whole.identify], decide=whole.point)


@pytest.fixture
async def get(running, api_database: Database, organization) -> Callable[..., Any]:
    """Sends a plain read that the rules allow and the seeded policies look at, or a body in which one masks."""
    by = Change(organization.org_id, SYSTEM, None, datetime.now(UTC))
    async with begin_change(api_database, by) as change:
        await put_allowlist(change, {"destinations": [{"host": "127.0.0.0/8", "private": True}]})
        await create_policy(change, CheckedPolicy(PolicyDraft(name="all", rego_policy=_ALLOW), b"{}", ()))
        await seed_default_nlp_policies(change)
        await create_nlp_policy(
            change, NlpDraft("Mask addresses", NlpPolicyType.PII_DETECTION, model="pii", on_match=OnMatch.MASK)
        )
        issued = await create_key(
            change, kind=KeyKind.AGENT, scopes=KIND_SCOPES[KeyKind.AGENT], agent_id=organization.agent_id
        )
    credentials = b64encode(f"agent:{issued.key.reveal()}".encode()).decode()

    async def send(body: str | None = None) -> bytes:
        host = f"127.0.0.1:{running.upstream.plain_port}"
        method, more = "GET", ""
        if body is not None:
            method, more = "POST", f"Content-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        head = f"{method} http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}"
        received: bytes = await running.plain(
            f"{head}Proxy-Authorization: Basic {credentials}\r\n\r\n{body or ''}".encode(), wait_seconds=30
        )
        return received

    return send


@pytest.mark.parametrize("cause", [RuntimeError, MemoryError, RecursionError])
@pytest.mark.parametrize(
    ("part", "method"),
    [
        (JudgedContent, "by_field"),
        (JudgedContent, "header_names"),
        (JudgedContent, "for_detectors"),
        (RequestWindows, "read"),
        (RequestWindows, "enter"),
    ],
    ids=lambda given: given if isinstance(given, str) else given.__name__,
)
async def test_nothing_passes(
    running, get, answer, monkeypatch: pytest.MonkeyPatch, part: type, method: str, cause: type[BaseException]
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise cause

    monkeypatch.setattr(part, method, fails)
    refused = answer(await get())
    assert refused.status in (403, 503)
    assert json.loads(refused.body)["error"]["code"] in ("SERVICE_UNAVAILABLE", "APPROVAL_PENDING", "ACTION_DENIED")
    assert running.upstream.heads == []
    monkeypatch.undo()
    assert answer(await get()).status == 200
    assert len(running.upstream.heads) == 1


@pytest.mark.parametrize("cause", [RuntimeError, MemoryError, RecursionError])
@pytest.mark.parametrize(
    "where",
    ["headgate.gate.masked_call.masked_in_time", "addons.enforce.replace_body", "addons.call_reading.with_body_of"],
)
async def test_no_body_passes_unmasked(
    running, get, answer, monkeypatch: pytest.MonkeyPatch, where: str, cause: type[BaseException]
) -> None:
    """Before the masked call is made, while it is read, and after it is recorded."""

    def fails(*_: object, **__: object) -> None:
        raise cause

    monkeypatch.setattr(where, fails)
    assert answer(await get("write to ada@example.com, please")).status == 503
    assert running.upstream.heads == []
    monkeypatch.undo()
    assert answer(await get("write to ada@example.com, please")).status == 200
    assert len(running.upstream.heads) == 1
