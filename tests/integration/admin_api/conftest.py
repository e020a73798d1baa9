"""The API as it runs: uvicorn on a socket, the API's own database role, a real Valkey where a test wants one.

The tests of a file share one, each with organizations of its own. What changes the API itself (its keys, its files) or
reads what it writes is marked ``own_api`` and starts one.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from admin_api.compose import open_dependencies
from admin_api.dependencies import Dependencies
from admin_api.forwarded import TrustedProxies
from admin_api.process_settings import ApiSettings
from admin_api.server import app_of, listen, uvicorn_server
from headgate.agents.keys import hash_key
from headgate.agents.model import Agent, ApiKey
from headgate.agents.scopes import KeyKind, Scope
from headgate.agents.service import IssuedKey, create_agent, create_key
from headgate.audit.model import SYSTEM
from headgate.db.database import Connection, Database
from headgate.kernel.clock import system_clock
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.public_roots import public_roots
from headgate.kernel.secrets import Secret
from headgate.organizations.change import OrganizationChange
from headgate.organizations.local_issuer import open_local_issuer
from headgate.organizations.model import Role
from headgate.policies.model import RulePolicy
from headgate.policies.store import insert_policy
from tests.api_in_thread import ApiInThread, api_in_thread
from tests.entry_codes import put_master_keys

_ANSWER_SECONDS = 60
"""A busy machine may need more than httpx waits for by itself, which is 5."""


def _later(clock: Callable[[], float], seconds: float) -> float:
    return clock() + seconds


@dataclass(frozen=True)
class Api:
    """A running API, and how to become somebody for it. ``dependencies.database`` is for the test's own loop."""

    url: str
    settings: ApiSettings
    dependencies: Dependencies
    thread: ApiInThread | None = None

    async def inside[T](self, work: Coroutine[Any, Any, T]) -> T:
        """For what uses the API's own connections."""
        return await (work if self.thread is None else self.thread.inside(work))

    async def in_transaction[T](self, org_id: str, work: Callable[[Connection], Awaitable[T]]) -> T:
        """By a connection of the API's own, which has done the like before: a new one costs more than most of it."""
        database = (self.dependencies if self.thread is None else self.thread.dependencies).database

        async def do() -> T:
            async with database.transaction(org_id) as connection:
                return await work(connection)

        return await self.inside(do())

    def let_pass(self, seconds: float) -> None:
        """By the clocks that say for how long it still believes what it knows of people and keys; none is set back."""
        people = self.dependencies.authenticator
        for one in (people, people.closed_sessions, self.dependencies.keys):
            one._monotonic = partial(_later, one._monotonic, seconds)

    def token(self, org_id: str, *roles: Role, subject: str = "alice", email: str | None = None) -> str:
        issuer = open_local_issuer(self.settings.data.issuer)
        return issuer.mint(
            org_id=org_id,
            subject=subject,
            roles=roles,
            now=system_clock(),
            lifetime=timedelta(minutes=5),
            email=email,
        ).reveal()

    def client(self, **headers: str) -> httpx.AsyncClient:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.AsyncClient(
            verify=public_roots(), base_url=self.url, headers=named, timeout=_ANSWER_SECONDS, trust_env=False
        )

    def as_role(self, org_id: str, *roles: Role, subject: str = "alice") -> httpx.AsyncClient:
        return self.client(Authorization=f"Bearer {self.token(org_id, *roles, subject=subject)}")

    def as_admin(self, org_id: str) -> httpx.AsyncClient:
        return self.as_role(org_id, Role.ADMIN)

    async def key(
        self, org_id: str, *scopes: Scope, kind: KeyKind = KeyKind.ADMIN, agent_id: str | None = None
    ) -> tuple[ApiKey, str]:
        async def create(connection: Connection) -> IssuedKey:
            change = OrganizationChange(org_id, SYSTEM, None, system_clock(), connection)
            return await create_key(change, kind=kind, scopes=frozenset(scopes), agent_id=agent_id)

        issued = await self.in_transaction(org_id, create)
        assert len(hash_key(issued.key.reveal())) == 32
        return issued.record, issued.key.reveal()


type StartApi = Callable[..., "asyncio.Future[Api]"]


@pytest.fixture
async def start_api(cluster, tmp_path: Path) -> AsyncIterator[StartApi]:
    """Starts an API with changed settings; stopped in order at the end."""
    stops: list[tuple[asyncio.Event, asyncio.Task[None]]] = []

    async def start(**changes: object) -> Api:
        settings = replace(
            ApiSettings(
                database_dsn=Secret(cluster.dsn("headgate_api")),
                valkey_url=None,
                data_dir=tmp_path,
                port=0,
                rate_limits=False,
            ),
            **changes,  # type: ignore[arg-type] - the caller's names
        )
        if settings.master_keys_file is None:
            put_master_keys(settings.data.master_keys)
        ready: asyncio.Future[Api] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()
        task = asyncio.create_task(_serve(settings, ready, stop))
        stops.append((stop, task))
        await asyncio.wait([ready, task], return_when=asyncio.FIRST_COMPLETED)
        return await ready if ready.done() else await task  # type: ignore[return-value] - it raises

    yield start  # type: ignore[misc] - a coroutine function serves as one that returns a future
    for stop, task in stops:
        stop.set()
        await task


async def _serve(settings: ApiSettings, ready: "asyncio.Future[Api]", stop: asyncio.Event) -> None:
    with listen(settings.host, settings.port) as listener:
        async with open_dependencies(settings) as dependencies:
            server = uvicorn_server(app_of(dependencies, settings))
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            while not server.started:
                await asyncio.sleep(0.01)
            host, port = listener.getsockname()[:2]
            ready.set_result(Api(f"http://{host}:{port}", settings, dependencies))
            await stop.wait()
            server.should_exit = True
            await serving


# As behind a reverse proxy of this machine, so that a test can come from somewhere else.
_BEHIND_A_PROXY = TrustedProxies((ip_network("127.0.0.0/8"),))


@pytest.fixture(scope="module")
def api_changes() -> dict[str, Any]:
    """What a folder's tests need set besides, in the shared API and in those of a test's own."""
    return {}


@pytest.fixture(scope="module")
def shared_api(cluster, tmp_path_factory: pytest.TempPathFactory, api_changes: dict[str, Any]) -> Iterator[ApiInThread]:
    """Each test of a file has organizations of its own in it."""
    settings = ApiSettings(
        database_dsn=Secret(cluster.dsn("headgate_api")),
        valkey_url=None,
        data_dir=tmp_path_factory.mktemp("api"),
        port=0,
        rate_limits=False,
        trusted_proxies=_BEHIND_A_PROXY,
        **api_changes,
    )
    with api_in_thread(settings) as started:
        yield started


@pytest.fixture
async def own_api(start_api: StartApi, api_changes: dict[str, Any]) -> Api:
    """This test's own, in its loop."""
    return await start_api(trusted_proxies=_BEHIND_A_PROXY, **api_changes)


@pytest.fixture
def running_api(request: pytest.FixtureRequest) -> Api:
    if request.node.get_closest_marker("own_api") is not None:
        return request.getfixturevalue("own_api")  # type: ignore[no-any-return]
    shared: ApiInThread = request.getfixturevalue("shared_api")
    database: Database = request.getfixturevalue("api_database")
    return Api(shared.url, shared.settings, replace(shared.dependencies, database=database), shared)


_REGO = """package gate

allow if input.tool == "read"

require_approval if input.tool == "write"

deny if input.tool == "wipe"
"""


@dataclass(frozen=True)
class Gate:
    """An organization with an agent and one policy, and its people's and programs' ways into the API.

    The clients that it makes are closed at the end of the test.
    """

    api: Api
    org_id: str
    agent_id: str
    agent_key: str
    clients: AsyncExitStack

    def client(self, **headers: str) -> httpx.AsyncClient:
        made = self.api.client(**headers)
        self.clients.push_async_callback(made.aclose)
        return made

    @property
    def as_agent(self) -> httpx.AsyncClient:
        return self.client(X_Agent_Key=self.agent_key)

    def person(self, name: str = "alice", role: Role = Role.ADMIN, *, user: str | None = None) -> httpx.AsyncClient:
        """``user``: as another user of the same verified address, which is how a second issuer brings a person."""
        token = self.api.token(self.org_id, role, subject=user or name, email=f"{name}@example.com")
        return self.client(Authorization=f"Bearer {token}")

    async def key(self, *scopes: Scope, user_id: str | None = None) -> httpx.AsyncClient:
        async def create(connection: Connection) -> IssuedKey:
            change = OrganizationChange(self.org_id, SYSTEM, user_id, system_clock(), connection)
            return await create_key(change, kind=KeyKind.ADMIN, scopes=frozenset(scopes))

        made = await self.api.in_transaction(self.org_id, create)
        return self.client(Authorization=f"Bearer {made.key.reveal()}")


type NewGate = Callable[..., Awaitable[Gate]]


@pytest.fixture
async def new_gate(running_api: Api, new_organization) -> AsyncIterator[NewGate]:
    """Makes one; by its policy read is allowed, write is held and wipe is denied."""
    async with AsyncExitStack() as clients:

        async def make(rego: str = _REGO) -> Gate:
            org_id, now = new_organization().org_id, system_clock()
            policy = RulePolicy(
                org_id=org_id, policy_id=new_id(IdPrefix.POLICY), version=1, name="gate", description=None,
                rego_policy=rego, enabled=True, priority=100, quarantine=None, created_at=now, updated_at=now,
            )  # fmt: skip

            async def furnish(connection: Connection) -> tuple[Agent, IssuedKey]:
                change = OrganizationChange(org_id, SYSTEM, None, now, connection)
                made = await create_agent(change, name="Robot", description=None)
                await insert_policy(connection, org_id, policy, None)
                return made

            agent, issued = await running_api.in_transaction(org_id, furnish)
            return Gate(running_api, org_id, agent.agent_id, issued.key.reveal(), clients)

        yield make


@pytest.fixture
async def gate(new_gate: NewGate) -> Gate:
    return await new_gate()
