"""Every route of the table without a credential, with a wrong one, and with one that lacks the scope."""

import asyncio
from dataclasses import dataclass

import psycopg
import pytest

from admin_api.access import ACCESS, Access, Audience
from headgate.agents.keys import compose_key, generate_key
from headgate.agents.scopes import KeyKind, Scope
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role
from tests.integration.admin_api.conftest import Api

# Pages answer in pages: tests/integration/admin_api/web.
GUARDED = [
    (*route, access)
    for route, access in ACCESS.items()
    if access.scope is not None and access.audience is not Audience.PAGES
]
ADMINISTRATORS = [
    (*route, access.scope) for route, access in ACCESS.items() if access.audience is Audience.ADMINISTRATORS
]
PUBLIC = [path for (method, path), access in ACCESS.items() if (method, access.audience) == ("GET", Audience.PUBLIC)]


_AGENTS_SCOPES = (Scope.ACTIONS_READ, Scope.ACTIONS_WRITE)

# Without a public address nobody signs in with a browser.
_NO_SIGN_IN = dict.fromkeys(
    ("/auth/login", "/auth/callback", "/auth/providers/{}/callback", "/auth/local/{}", "/auth/signed-out"), 403
)
_NOTHING_THERE = _NO_SIGN_IN | {
    "/ca.pem": 404,
    "/links/{}": 404,
    "/static/{}": 404,
    "/errors/{}": 404,
    "/.well-known/headgate-keys": 503,
}


def concrete(path: str) -> str:
    return path.replace("{}", new_id(IdPrefix.AGENT))


@dataclass(frozen=True)
class Useless:
    """What no guarded route takes, of an organization that no test changes. ``lacking`` has every scope but one.
    ``agents_key`` is good for an agent's routes only."""

    refused: tuple[dict[str, str], ...]
    lacking: dict[Scope, str]
    agents_key: str


@pytest.fixture(scope="module")
def useless(cluster, shared_api) -> Useless:
    api = Api(shared_api.url, shared_api.settings, shared_api.dependencies, shared_api)
    return asyncio.run(_useless(cluster, api))


async def _useless(cluster, api: Api) -> Useless:
    org_id, agent_id = new_id(IdPrefix.ORGANIZATION), new_id(IdPrefix.AGENT)
    with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as superuser:
        superuser.execute("INSERT INTO organizations (org_id, name) VALUES (%s, 'Useless')", [org_id])
        superuser.execute("INSERT INTO org_state (org_id) VALUES (%s)", [org_id])
        superuser.execute("INSERT INTO agents (org_id, agent_id, name) VALUES (%s, %s, 'Robot')", [org_id, agent_id])
        robot_id = new_id(IdPrefix.AGENT)
        superuser.execute("INSERT INTO agents (org_id, agent_id, name) VALUES (%s, %s, 'R2')", [org_id, robot_id])
        _, agents_key = await api.key(org_id, *_AGENTS_SCOPES, kind=KeyKind.AGENT, agent_id=robot_id)
        record, revoked = await api.key(org_id, Scope.ADMIN)
        superuser.execute("UPDATE api_keys SET revoked_at = now() WHERE key_id = %s", [record.key_id])
        record, expired = await api.key(org_id, Scope.ADMIN)
        superuser.execute("UPDATE api_keys SET expires_at = now() WHERE key_id = %s", [record.key_id])
        _, orphan = await api.key(org_id, Scope.ACTIONS_READ, kind=KeyKind.AGENT, agent_id=agent_id)
        superuser.execute("UPDATE agents SET status = 'deactivated' WHERE agent_id = %s", [agent_id])
    token = api.token(org_id, Role.ADMIN, Role.BREAK_GLASS, Role.OPERATOR)

    refused: list[dict[str, str]] = [{}]
    for key in (revoked, expired, orphan, generate_key().reveal(), compose_key(bytes(32)).reveal()[:-1] + "z", "sk_1"):
        refused.append({"Authorization": f"Bearer {key}"})
        refused.append({"X-Agent-Key": key})
    refused.append({"Authorization": f"Bearer {token[:-6]}AAAAAA"})
    refused.append({"Authorization": f"Basic {token}"})
    refused.append({"X-Agent-Id": agent_id})
    lacking = {}
    for missing in {access.scope for _, _, access in GUARDED if access.scope is not None}:
        everything_else = [scope for scope in Scope if scope not in (missing, Scope.ADMIN)]
        _, lacking[missing] = await api.key(org_id, *everything_else)
    return Useless(tuple(refused), lacking, agents_key)


@pytest.mark.parametrize(("method", "path", "access"), GUARDED)
async def test_a_guarded_route(
    running_api, useless: Useless, organization, method: str, path: str, access: Access
) -> None:
    assert access.scope is not None
    target = concrete(path)
    async with running_api.client() as client:
        for headers in useless.refused:
            answer = await client.request(method, target, headers=headers)
            assert answer.status_code == 401, (headers, answer.text)
            assert answer.json()["error"]["code"] == "UNAUTHORIZED"
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")

        key = useless.lacking[access.scope]
        for lacking in ({"Authorization": f"Bearer {key}"}, {"X-Agent-Key": key}):
            answer = await client.request(method, target, headers=lacking)
            assert answer.status_code == 403
            error = answer.json()["error"]
            assert (error["code"], error["details"]) == ("FORBIDDEN", {"missing_scope": access.scope.value})
            assert access.scope.value in error["message"]

        # Whoever has the scope gets past the guard, by key and by token, whatever comes after it.
        token = running_api.token(organization.org_id, Role.ADMIN, Role.BREAK_GLASS, Role.OPERATOR)
        _, sufficient = await running_api.key(organization.org_id, access.scope)
        for credential in (sufficient, token):
            # Not read to its end: a stream of events has none.
            async with client.stream(method, target, headers={"Authorization": f"Bearer {credential}"}) as passed:
                assert passed.status_code not in (401, 500)
                # Explicit actions are an agent's to submit: their own route says so, not the guard.
                if (method, path) != ("POST", "/v1/actions"):
                    assert passed.status_code != 403


@pytest.mark.parametrize(("method", "path", "scope"), ADMINISTRATORS)
async def test_an_administrators_route_takes_no_agents_key(
    running_api, useless: Useless, method: str, path: str, scope: Scope | None
) -> None:
    """Whatever scopes it carries: an overview of all agents asks for actions:read, which every agent's key has."""
    async with running_api.client() as client:
        for headers in ({"Authorization": f"Bearer {useless.agents_key}"}, {"X-Agent-Key": useless.agents_key}):
            answer = await client.request(method, concrete(path), headers=headers)
            error = answer.json()["error"]
            missing = {} if scope in (None, *_AGENTS_SCOPES) else {"missing_scope": scope.value}
            assert (answer.status_code, error["details"]) == (403, {"key_kind": "agent", **missing})
            assert scope is None or scope.value in error["message"]


@pytest.mark.parametrize("path", PUBLIC)
async def test_a_public_route_asks_nobody(running_api, path: str) -> None:
    async with running_api.client(Authorization="Bearer nonsense") as client:
        answer = await client.get(path)
        assert answer.status_code == _NOTHING_THERE.get(path, 200), answer.text


@pytest.mark.parametrize(
    ("role", "path", "status"),
    [
        (Role.VIEWER, "/v1/actions", 200),
        (Role.VIEWER, "/v1/approvals", 200),
        (Role.VIEWER, "/admin/policies", 200),
        (Role.VIEWER, "/admin/audit", 403),
        (Role.VIEWER, "/admin/agents", 403),
        (Role.APPROVER, "/v1/approvals", 200),
        (Role.APPROVER, "/admin/audit", 403),
        (Role.AUDITOR, "/admin/audit", 200),
        (Role.AUDITOR, "/admin/keys", 403),
        (Role.ADMIN, "/admin/keys", 200),
        (Role.ADMIN, "/admin/audit", 200),
    ],
)
async def test_roles(running_api, organization, role: Role, path: str, status: int) -> None:
    async with running_api.as_role(organization.org_id, role) as client:
        assert (await client.get(path)).status_code == status
