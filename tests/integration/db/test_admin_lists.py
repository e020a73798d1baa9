"""Lists read little, however much is behind them: what a page and its total cost in blocks, as EXPLAIN tells.

The same with a million of each, and in milliseconds: ``python -m benchmarks.agent_lists``, ``execution_lists``,
``connection_lists`` and ``admin_lists``. Blocks are counted because a search runs in a function, whose plan EXPLAIN
does not show.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql

from benchmarks import admin_lists, agent_lists, connection_lists, execution_lists
from headgate.actions.model import ActionStatus, ExecutionStatus
from headgate.actions.store import ActionFilter, list_actions
from headgate.agents.key_listing_store import KeyFilter, list_keys
from headgate.agents.listing_store import AgentFilter, list_agents
from headgate.agents.model import AgentStatus, KeyStatus
from headgate.agents.scopes import KeyKind
from headgate.approvals.absence_store import list_absences
from headgate.break_glass.store import list_glasses
from headgate.connections.model import ConnectionStatus
from headgate.connections.store import list_connections
from headgate.db.database import Database
from headgate.deliveries.model import DeliveryStatus, TargetKind
from headgate.deliveries.store import DeliveryFilter, list_deliveries
from headgate.executions.list_store import ExecutionFilter, list_executions
from headgate.grants.model import GrantStatus
from headgate.grants.store import GrantFilter, list_grants
from headgate.kernel.secrets import Secret
from headgate.organizations.invitations import list_invitations
from headgate.organizations.model import SettingName
from headgate.organizations.setting_versions import list_versions as list_setting_versions
from headgate.organizations.store import list_users
from headgate.policies.version_store import list_versions as list_policy_versions
from headgate.traffic.store import TrafficFilter, list_exchanges

STORED: Final = 40_000
ORG: Final = "org_00000000-0000-7000-8000-00000000000b"
PAGE: Final = 20
WHOLE: Final[dict[str, Any]] = {"limit": PAGE, "offset": 0, "exact_total": False}
FROM_THE_START: Final[dict[str, Any]] = {**WHOLE, "cursor": None}
AGENT, WEBHOOK, POLICY = admin_lists.AGENT, admin_lists.WEBHOOK, admin_lists.POLICY

WHEN: Final = datetime.now(UTC) - timedelta(days=14)

type List = Callable[[Any], Awaitable[Any]]


class Explaining:
    """A connection that says how many blocks each question reads, before it asks it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.blocks: list[int] = []
        self.plans: list[str] = []

    async def execute(self, query: Any, parameters: Any = None, *, prepare: bool | None = None) -> Any:
        if "set_config" not in str(query):
            text = query if isinstance(query, sql.Composable) else sql.SQL(query)
            explain = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {}").format(text)
            row = await (await self._connection.execute(explain, parameters, prepare=False)).fetchone()
            [explained] = row["QUERY PLAN"]
            plan = explained["Plan"]
            self.blocks.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
            self.plans.append(json.dumps(plan))
        return await self._connection.execute(query, parameters, prepare=prepare)


@pytest.fixture(scope="module")
def filled(postgres_server: Any) -> Iterator[str]:
    """The API's address of a database with so many of everything in one organization."""
    urls = postgres_server.create_database()
    with psycopg.connect(urls.administrator, autocommit=True) as connection:
        for benchmark in (agent_lists, execution_lists, connection_lists, admin_lists):
            benchmark.fill(connection, ORG, STORED)
    yield urls.api
    postgres_server.drop_database(urls.name)


@pytest.fixture
async def database(filled: str) -> AsyncIterator[Database]:
    opened = Database(Secret(filled), timeout_seconds=60)
    await opened.open()
    yield opened
    await opened.close()


def now() -> datetime:
    return datetime.now(UTC)


def agents(**wanted: Any) -> List:
    return lambda c: list_agents(c, AgentFilter(**wanted), now=now(), **FROM_THE_START)


def keys(**wanted: Any) -> List:
    return lambda c: list_keys(c, ORG, KeyFilter(**wanted), now=now(), **FROM_THE_START)


def actions(**wanted: Any) -> List:
    return lambda c: list_actions(c, ORG, ActionFilter(**wanted), **FROM_THE_START)


def executions(**wanted: Any) -> List:
    return lambda c: list_executions(c, ORG, ExecutionFilter(**wanted), **FROM_THE_START)


def connections(platform: str | None = None, status: ConnectionStatus | None = None) -> List:
    return lambda c: list_connections(c, ORG, platform=platform, status=status, **WHOLE)


def deliveries(**wanted: Any) -> List:
    return lambda c: list_deliveries(c, ORG, DeliveryFilter(TargetKind.WEBHOOK, **wanted), **WHOLE)


def traffic(**wanted: Any) -> List:
    return lambda c: list_exchanges(c, ORG, TrafficFilter(**wanted), **FROM_THE_START)


def grants(**wanted: Any) -> List:
    return lambda c: list_grants(c, ORG, GrantFilter(**wanted), **FROM_THE_START)


# Few are found: of 40,000 rows, in 500 to 3,000 blocks, hardly any is read.
RARE: Final[dict[str, List]] = {
    "keys, due": keys(rotation_due=True),
    "keys, of a kind and revoked": keys(kind=KeyKind.ADMIN, status=KeyStatus.REVOKED),
    "keys, of a kind and ended": keys(kind=KeyKind.WEBHOOK, status=KeyStatus.EXPIRED),
    "actions, denied": actions(status=ActionStatus.DENIED),
    "actions, executing": actions(status=ActionStatus.EXECUTING),
    "actions, an agent's failed": actions(agent_id=execution_lists.OTHER, status=ActionStatus.FAILED),
    "executions, by operation": executions(operation="put"),
    "connections, broken": connections(status=ConnectionStatus.BROKEN),
    "connections, of a platform and active": connections("linear", ConnectionStatus.ACTIVE),
    "deliveries, parked": deliveries(target_id=WEBHOOK, status=DeliveryStatus.PARKED),
    "deliveries, pending": deliveries(target_id=WEBHOOK, status=DeliveryStatus.PENDING),
    "deliveries, of an event": deliveries(target_id=WEBHOOK, event="execution.failed"),
    "traffic, of a tool": traffic(tool="tool_40"),
    "traffic, of an operation": traffic(operation="drop"),
    "traffic, decided so": traffic(decision="approved"),
    "traffic, answered so": traffic(status=500),
    "traffic, of a time": traffic(start=WHEN, end=WHEN + timedelta(hours=2)),
    "traffic, of a method": traffic(method="DELETE"),
    "grants, revoked": grants(status=GrantStatus.REVOKED),
    "grants, exhausted": grants(status=GrantStatus.EXHAUSTED),
    "grants, of a tool": grants(tool="tool_40"),
    "grants, of an operation": grants(operation="drop"),
    "broken glass to review": lambda c: list_glasses(c, ORG, open_only=True, **FROM_THE_START),
}
# More are there than are counted.
COMMON: Final[dict[str, List]] = {
    "agents": agents(),
    "agents, suspended": agents(status=AgentStatus.SUSPENDED),
    "agents, of a rare owner": agents(owner="rare@example.com"),
    "keys": keys(),
    "keys, active": keys(status=KeyStatus.ACTIVE),
    "keys, revoked": keys(status=KeyStatus.REVOKED),
    "keys, expired": keys(status=KeyStatus.EXPIRED),
    "actions": actions(),
    "actions, completed": actions(status=ActionStatus.COMPLETED),
    "executions, failed": executions(status=ExecutionStatus.FAILED),
    "deliveries": deliveries(target_id=WEBHOOK),
    "traffic": traffic(),
    "deliveries, far behind": lambda c: list_deliveries(
        c, ORG, DeliveryFilter(TargetKind.WEBHOOK, WEBHOOK), **{**WHOLE, "offset": 5_000}
    ),
    "executions, an agent's failed": executions(agent_id=execution_lists.AGENT, status=ExecutionStatus.FAILED),
    "grants": grants(),
    "grants, active": grants(status=GrantStatus.ACTIVE),
    "grants, expired": grants(status=GrantStatus.EXPIRED),
    "people": lambda c: list_users(c, ORG, **WHOLE),
    "invitations": lambda c: list_invitations(c, ORG, **WHOLE),
    "versions of a setting": lambda c: list_setting_versions(c, ORG, SettingName.NOTIFICATIONS, **WHOLE),
    "versions of a policy": lambda c: list_policy_versions(c, ORG, POLICY, **WHOLE),
    "absences": lambda c: list_absences(c, ORG, user_id=None, since=now(), **WHOLE),
}
# The newest are looked at first, which costs the more the less there are.
SOUGHT: Final[dict[str, List]] = {
    "agents, with a tag of all": agents(tag="bench"),
    "agents, with a tag of some": agents(tag="team-7"),
    "agents, with a rare tag": agents(tag="rare"),
    "agents, with a word of all": agents(search="worker"),
    "agents, with a word of some": agents(search="basalt"),
    "agents, with a word of all and a rare one": agents(search="team quartz"),
    "agents, with a word of none": agents(search="nobody"),
}
ALL: Final = [
    (name, one, most) for most, group in ((150, RARE), (1_200, COMMON), (1_800, SOUGHT)) for name, one in group.items()
]


@pytest.mark.parametrize(("asked", "most"), [(one, most) for _, one, most in ALL], ids=[name for name, _, _ in ALL])
async def test_a_list_reads_little(database: Database, asked: List, most: int) -> None:
    async with database.transaction(ORG) as connection:
        await asked(connection)  # what a function's first call reads of its own making is not counted
        explaining = Explaining(connection)
        await asked(explaining)
    assert sum(explaining.blocks) <= most, (explaining.blocks, explaining.plans)


ONCE: Final[dict[str, List]] = {
    "agents' keys": keys(agent_id=AGENT, status=KeyStatus.REVOKED),
    "actions": actions(status=ActionStatus.EXECUTING),
    "executions": executions(tool="nobody"),
    "deliveries": deliveries(target_id=WEBHOOK, status=DeliveryStatus.PENDING),
    "traffic, of two that never meet": traffic(tool="tool_3", status=500),
    "grants": grants(status=GrantStatus.EXHAUSTED),
}


@pytest.mark.parametrize("asked", ONCE.values(), ids=ONCE)
async def test_what_is_all_on_its_page_is_not_counted_again(database: Database, asked: List) -> None:
    async with database.transaction(ORG) as connection:
        explaining = Explaining(connection)
        found = await asked(explaining)
    assert not [plan for plan in explaining.plans if '"Aggregate"' in plan]
    assert found.total < PAGE
    assert not found.total_is_minimum


async def test_the_blocks_would_tell(database: Database) -> None:
    async with database.transaction(ORG) as connection:
        explaining = Explaining(connection)
        await explaining.execute("SELECT FROM actions WHERE updated_at < '2000-01-01'")
    assert sum(explaining.blocks) > 1_800
