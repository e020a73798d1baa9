"""Workflows: their tokens become an agent's keys, and the action in deploy/github-action waits for an approval."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import shutil
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from tests.integration.admin_api.integrations.conftest import Board
from tests.integration.admin_api.integrations.fake_actions import RUNNER_TOKEN, FakeIssuer
from tests.integration.admin_api.integrations.fake_github import rsa_key
from tests.integration.outgoing.fake_platform import Answered, start

SCRIPT = Path(__file__).parents[4] / "deploy" / "github-action" / "request.mjs"


def document(board: Board, issuer: FakeIssuer, **binding: str) -> dict[str, Any]:
    bound = {"agent_id": board.gate.agent_id, "repository": "example/shop", "ref": "refs/heads/*", **binding}
    return {"enabled": True, "issuer": issuer.base_url, "bindings": [bound]}


@pytest.fixture
async def issuer(world, board: Board) -> FakeIssuer:
    made = await start(world, FakeIssuer)
    await board.set("github-actions", document(board, made))
    return made


async def _exchange(board: Board, token: str) -> Any:
    return await board.send(json.dumps({"token": token}).encode(), {"content-type": "application/json"})


async def test_a_token_becomes_its_agents_key(board: Board, issuer: FakeIssuer) -> None:
    answer = await _exchange(board, issuer.token())
    assert answer.status_code == 200, answer.text
    exchanged = answer.json()
    assert exchanged["agent_id"] == board.gate.agent_id
    client = board.gate.client(X_Agent_Key=exchanged["api_key"])
    made = await client.post("/v1/actions", json={"tool": "read", "operation": "x", "params": {}})
    assert made.status_code == 201
    (receipt,) = await board.receipts()
    assert (receipt["outcome"], receipt["account"]) == ("exchanged", "repo:example/shop:environment:production")
    keys = (await board.gate.person().get(f"/admin/agents/{board.gate.agent_id}/keys")).json()["data"]
    (key,) = [one for one in keys if one["name"] == "example/shop run 42"]
    assert key["expires_at"] is not None


def _hmac_with_the_public_key(issuer: FakeIssuer) -> str:
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    header, payload = ({"alg": "HS256", "kid": "k1", "typ": "JWT"}, claims)
    parts = [base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in (header, payload)]
    public = rsa_key("issuer").public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )  # fmt: skip
    mac = hmac.new(public, b".".join(parts), hashlib.sha256).digest()
    return b".".join([*parts, base64.urlsafe_b64encode(mac).rstrip(b"=")]).decode()


def _unsigned(issuer: FakeIssuer) -> str:
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    return jwt.encode(claims, None, algorithm="none", headers={"kid": "k1"})


FORGED: dict[str, Any] = {
    "another_key": lambda one: one.token(key="another"),
    "unknown_kid": lambda one: one.token(header={"kid": "k2"}),
    "no_kid": lambda one: one.token(header={"kid": None}),
    "crit": lambda one: one.token(header={"crit": ["x"], "x": 1}),
    "own_jwk_address": lambda one: one.token(key="another", header={"jku": "https://evil.example/jwks"}),
    "hmac": _hmac_with_the_public_key,
    "none": _unsigned,
    "expired": lambda one: one.token(exp=1),
    "not_yet": lambda one: one.token(nbf=4_000_000_000),
    "from_the_future": lambda one: one.token(iat=4_000_000_000, exp=4_000_000_100),
    "old_with_a_long_life": lambda one: one.token(iat=1_600_000_000, exp=4_000_000_000),
    "another_audience": lambda one: one.token(aud="https://github.com/example"),
    "another_issuer": lambda one: one.token(iss="https://evil.example"),
    "no_jti": lambda one: one.token(jti=None),
    "no_exp": lambda one: one.token(exp=None),
    "garbage": lambda _: "a.b.c",
    "empty": lambda _: "",
    "long": lambda _: "a" * 20_000,
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())
async def test_forged_tokens_are_refused(board: Board, issuer: FakeIssuer, forge: Any) -> None:
    assert (await _exchange(board, forge(issuer))).status_code == 401
    assert await board.receipts() == []


@pytest.mark.parametrize(
    "claims",
    [
        {"repository": "example/shop2"},
        {"repository": "evil/shop"},
        {"repository": None},
        {"ref": "refs/pull/1/merge"},
        {"ref": 7},
    ],
)
async def test_a_workflow_that_nobody_bound_gets_nothing(
    board: Board, issuer: FakeIssuer, claims: dict[str, Any]
) -> None:
    refused = await _exchange(board, issuer.token(**claims))
    assert refused.status_code == 403
    assert "no agent is bound" in refused.json()["error"]["message"]


async def test_an_environment_that_is_bound_must_be_claimed(board: Board, issuer: FakeIssuer) -> None:
    await board.set("github-actions", document(board, issuer, environment="production", repository_id="71"))
    assert (await _exchange(board, issuer.token(environment=None))).status_code == 403
    assert (await _exchange(board, issuer.token(repository_id="72"))).status_code == 403
    assert (await _exchange(board, issuer.token())).status_code == 200


async def test_a_token_is_good_once(board: Board, issuer: FakeIssuer) -> None:
    token = issuer.token()
    answers = await asyncio.gather(*(_exchange(board, token) for _ in range(3)))
    assert sorted(one.status_code for one in answers) == [200, 401, 401]


async def test_another_organizations_workflows_are_strangers(board: Board, issuer: FakeIssuer, new_gate) -> None:
    """Nobody binds another organization's agent; and of the same issuer, each knows its own bindings only."""
    other, path = await new_gate(), "/admin/settings/github-actions"
    allowed = {"destinations": [{"host": "127.0.0.1", "private": True}], "tools": []}
    await other.person().put("/admin/settings/allowlist", json=allowed)
    assert (await other.person().put(path, json=document(board, issuer))).status_code == 400
    bound = {"agent_id": other.agent_id, "repository": "other/shop"}
    theirs = await other.person().put(path, json={"enabled": True, "issuer": issuer.base_url, "bindings": [bound]})
    refused = await board.gate.client().post(theirs.json()["webhook_path"], json={"token": issuer.token()})
    assert refused.status_code == 403


async def test_an_issuer_that_another_organization_may_not_reach_answers_this_one(
    board: Board, issuer: FakeIssuer, new_gate
) -> None:
    other = await new_gate()
    bound = {"agent_id": other.agent_id, "repository": "other/shop"}
    theirs = await other.person().put(
        "/admin/settings/github-actions", json={"enabled": True, "issuer": issuer.base_url, "bindings": [bound]}
    )
    blocked = await board.gate.client().post(theirs.json()["webhook_path"], json={"token": issuer.token()})
    assert blocked.status_code == 503
    assert (await _exchange(board, issuer.token())).status_code == 200


async def test_an_issuer_that_is_away_refuses_and_is_not_flooded(board: Board, issuer: FakeIssuer) -> None:
    issuer.scripted = [Answered(500, {})]
    answers = [await _exchange(board, issuer.token()) for _ in range(5)]
    assert {one.status_code for one in answers} == {503}
    assert len(issuer.asked) == 1


async def test_known_keys_go_on_while_the_issuer_is_away(board: Board, issuer: FakeIssuer) -> None:
    assert (await _exchange(board, issuer.token())).status_code == 200
    issuer.scripted = [Answered(500, {})] * 5
    assert (await _exchange(board, issuer.token())).status_code == 200
    assert [(await _exchange(board, issuer.token(header={"kid": "k2"}))).status_code for _ in range(3)] == [401] * 3
    assert len(issuer.asked) == 2


@pytest.mark.parametrize("body", [b"", b"[]", b'{"token": 1}', b'{"token": "a", "x": 1}', b'{"token":"a","token":"b"}'])
async def test_other_bodies(board: Board, issuer: FakeIssuer, body: bytes) -> None:
    assert (await board.send(body, {})).status_code == 400


@pytest.mark.parametrize("repository", ["*/shop", "?xample/shop", "[!.]xample/shop", "example", "*", "example/"])
async def test_a_binding_names_an_owner(board: Board, issuer: FakeIssuer, repository: str) -> None:
    refused = await board.gate.person().put(
        "/admin/settings/github-actions", json=document(board, issuer, repository=repository)
    )
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "bindings")


async def test_the_issuer_is_tested(board: Board, issuer: FakeIssuer) -> None:
    tested = (await board.gate.person().post("/admin/settings/github-actions/test")).json()
    assert (tested["ok"], tested["account"]) == (True, f"{issuer.base_url}: 1 keys")


async def _step(board: Board, issuer: FakeIssuer, tmp_path: Path, **inputs: str) -> asyncio.subprocess.Process:
    node = shutil.which("node")
    assert node is not None, "Node runs the action, here as on GitHub's runners"
    given = {
        "CONNECTION-URL": f"{board.gate.api.url}{board.path}", "TOOL": "write", "OPERATION": "deploy",
        "PARAMS": '{"environment": "production"}', "TIMEOUT-MINUTES": "0.5", **inputs,
    }  # fmt: skip
    environment = {
        "PATH": os.environ["PATH"], "GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_REPOSITORY": "example/shop",
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{issuer.base_url}/token?api-version=2",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": RUNNER_TOKEN, **{f"INPUT_{name}": value for name, value in given.items()},
    }  # fmt: skip
    return await asyncio.create_subprocess_exec(
        node, str(SCRIPT), env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


def _outputs(tmp_path: Path) -> dict[str, str]:
    lines = (tmp_path / "output").read_text("utf-8").split("\n")
    return {lines[at].partition("<<")[0]: lines[at + 1] for at in range(0, len(lines) - 1, 3)}


async def _pending(board: Board) -> str:
    async with asyncio.timeout(30):
        while True:
            listed = (await board.gate.person().get("/v1/approvals", params={"status": "pending"})).json()["data"]
            if listed:
                return str(listed[0]["id"])
            await asyncio.sleep(0.1)


@pytest.mark.parametrize(("decision", "code", "status"), [("approve", 0, "approved"), ("deny", 1, "denied")])
async def test_the_action_waits_for_the_decision(
    board: Board, issuer: FakeIssuer, tmp_path: Path, decision: str, code: int, status: str
) -> None:
    step = await _step(board, issuer, tmp_path)
    approval_id = await _pending(board)
    more = {"reason": "frozen until Monday"} if decision == "deny" else {}
    answer = await board.gate.person().post(f"/v1/approvals/{approval_id}/{decision}", json=more)
    assert answer.status_code == 200
    said, _ = await step.communicate()
    assert step.returncode == code, said
    assert (b"::error::denied: frozen until Monday" in said) is (decision == "deny"), said
    outputs = _outputs(tmp_path)
    assert (outputs["approval-id"], outputs["status"]) == (approval_id, status)
    shown = (await board.gate.person().get(f"/v1/approvals/{approval_id}")).json()
    assert shown["action"]["params"] == {"environment": "production"}
    assert b"hg_" not in said.replace(b"::add-mask::hg_", b"")


@pytest.mark.parametrize(("tool", "code", "status"), [("read", 0, "allowed"), ("wipe", 1, "denied")])
async def test_the_action_takes_an_answer_at_once(
    board: Board, issuer: FakeIssuer, tmp_path: Path, tool: str, code: int, status: str
) -> None:
    step = await _step(board, issuer, tmp_path, TOOL=tool)
    said, _ = await step.communicate()
    assert (step.returncode, _outputs(tmp_path)["status"]) == (code, status), said


async def test_nobody_decides_in_time(board: Board, issuer: FakeIssuer, tmp_path: Path) -> None:
    step = await _step(board, issuer, tmp_path, **{"TIMEOUT-MINUTES": "0.05"})
    said, _ = await step.communicate()
    assert step.returncode == 1
    assert b"nobody decided within" in said


async def test_a_key_that_ends_while_waiting_is_exchanged_anew(
    board: Board, issuer: FakeIssuer, tmp_path: Path, superuser
) -> None:
    step = await _step(board, issuer, tmp_path)
    approval_id = await _pending(board)
    superuser.execute(
        "UPDATE api_keys SET expires_at = now() - interval '1 minute' WHERE org_id = %s AND name IS NOT NULL",
        [board.gate.org_id],
    )
    await asyncio.sleep(0.2)
    await board.gate.person().post(f"/v1/approvals/{approval_id}/approve", json={})
    said, _ = await step.communicate()
    assert step.returncode == 0, said


@pytest.mark.parametrize(
    ("claims", "inputs", "words"),
    [
        ({"repository": "evil/shop"}, {}, b"no agent is bound"),
        ({}, {"OPERATION": ""}, b"the input operation is needed"),
        ({}, {"PARAMS": "{"}, b"params is no JSON"),
        ({}, {"OPERATION": "Not a name\n::warning::x"}, b"operation must match"),
    ],
)
async def test_the_action_fails_with_the_reason(
    board: Board, issuer: FakeIssuer, tmp_path: Path, claims: dict[str, str], inputs: dict[str, str], words: bytes
) -> None:
    issuer.claims = claims
    step = await _step(board, issuer, tmp_path, **inputs)
    said, _ = await step.communicate()
    assert step.returncode == 1
    assert words in said
    assert b"\n::warning::x" not in said
