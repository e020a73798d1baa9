"""A gate with the real decision point, the real vault, and one agent who may do anything but POST unasked."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg import sql

from addons.credentials import Credentials
from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import create_key
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.connections.count_connection_uses import ConnectionUses
from headgate.connections.draft import ConnectionDraft
from headgate.connections.model import ANY, AUTHORIZATION, Connection, ConnectionKind, Host
from headgate.connections.open_credential import OpenCredentials
from headgate.connections.service import Binding, create_connection, rebind_connection
from headgate.db.database import Database
from headgate.gate.record_batch import GateRecorder
from headgate.journal.apply import require_applied
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.organizations.service import put_allowlist
from headgate.policies.service import CheckedPolicy, PolicyDraft, create_policy
from headgate.vault.service import Vault
from proxy.capture_queue import CaptureQueue
from tests.entry_codes import CODES
from tests.integration.proxy.connections.issuer import Issuer
from tests.integration.proxy.enforcement import open_enforcement

SECRET = "tok_live/9f8e7d6c5b4a+s3cr3t=="

_REGO = """package t

allow if input.http.method != "DELETE"

require_approval contains "a reviewer decides" if input.http.method == "PATCH"

approval := {"hold_seconds": 0}
"""


@dataclass
class Keeper:
    """The gate, its organization, and what stands in the database afterwards."""

    running: Any
    database: Database
    vault: Vault
    uses: ConnectionUses
    org_id: str
    agent_id: str
    key: Secret
    superuser: psycopg.Connection[tuple[object, ...]]
    captures: CaptureQueue

    @property
    def upstream(self) -> Any:
        return self.running.upstream

    def change(self) -> Change:
        return Change(self.org_id, SYSTEM, None, datetime.now(UTC))

    def draft(self, **changes: object) -> ConnectionDraft:
        members: dict[str, object] = {
            "name": "svc",
            "platform": "generic",
            "kind": ConnectionKind.BEARER,
            "hosts": (Host("127.0.0.1", self.upstream.port),),
            "place": AUTHORIZATION,
            "agents": frozenset({self.agent_id}),
            "tools": frozenset({ANY}),
            "needs_placeholder": False,
            "account": None,
            "scopes": (),
            "settings": {},
            "secrets": {"secret": Secret(SECRET)},
        }
        return ConnectionDraft(**(members | changes))  # type: ignore[arg-type] - the test's own

    async def connect(self, **changes: object) -> Connection:
        async with begin_change(self.database, self.change()) as change:
            return await create_connection(change, self.draft(**changes), self.vault)

    async def rebind(self, connection: Connection, binding: Binding) -> None:
        async with begin_change(self.database, self.change()) as change:
            await rebind_connection(change, connection.connection_id, binding, self.vault)

    async def tunnel(
        self, host: str = "127.0.0.1", *, port: int | None = None, alpn: list[str] | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.running.port)
        credentials = b64encode(f"agent:{self.key.reveal()}".encode()).decode()
        target = f"{host}:{port or self.upstream.port}"
        writer.write(
            f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: Basic {credentials}\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head.split(b"\r\n")[0], head
        context = ssl.create_default_context(cafile=str(self.running.authority.certificate_file))
        if alpn:
            context.set_alpn_protocols(alpn)
        await writer.start_tls(context, server_hostname=host.rstrip("."))
        return reader, writer

    async def send(self, request: bytes, *, host: str = "127.0.0.1", port: int | None = None) -> bytes:
        """All that comes back until the connection's end."""
        reader, writer = await self.tunnel(host, port=port)
        writer.write(request)
        received = b""
        try:
            async with asyncio.timeout(10):
                while data := await reader.read(65536):
                    received += data
        except (ConnectionError, ssl.SSLError):
            pass
        finally:
            writer.close()
        return received

    async def ask(
        self, path: str = "/", *, method: str = "GET", headers: str = "", body: bytes = b"", host: str = "127.0.0.1"
    ) -> bytes:
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: {host}:{self.upstream.port}\r\nConnection: close\r\n"
        return await self.send(f"{head}{headers}{length}\r\n".encode() + body, host=host)

    async def outcomes(self) -> list[tuple[object, ...]]:
        """Of executions that have ended."""
        await require_applied(self.database, self.org_id)
        return self.superuser.execute(
            "SELECT status = 'succeeded', error FROM executions WHERE org_id = %s AND completed_at IS NOT NULL",
            [self.org_id],
        ).fetchall()

    async def everything_stored(self) -> str:
        """Every text and byte of every table, but for the vault's: where no secret may be."""
        await require_applied(self.database, self.org_id)
        found: list[str] = []
        tables = self.superuser.execute(
            "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind = 'r' AND n.nspname = 'public' AND c.relname <> 'vault_secrets'"
        ).fetchall()
        for (table,) in tables:
            found += [str(row) for row in self.superuser.execute(_row_texts(str(table))).fetchall()]
        return "\n".join(found)


@pytest.fixture
async def agent_key(api_database: Database, organization: Any) -> Secret:
    by = Change(organization.org_id, SYSTEM, None, datetime.now(UTC))
    loopback = {"destinations": [{"host": "127.0.0.0/8", "private": True}, {"host": "localhost", "private": True}]}
    async with begin_change(api_database, by) as change:
        await put_allowlist(change, loopback)
        checked = CheckedPolicy(PolicyDraft(name="t", rego_policy=_REGO), b"{}", ())
        await create_policy(change, checked)
        issued = await create_key(
            change, kind=KeyKind.AGENT, scopes=KIND_SCOPES[KeyKind.AGENT], agent_id=organization.agent_id
        )
    return issued.key


def _row_texts(table: str) -> sql.Composed:
    return sql.SQL("SELECT t::text FROM {} t").format(sql.SQL(table))  # type: ignore[arg-type] # named by the server


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer()


type StartKeeper = Callable[..., Awaitable[Keeper]]


@pytest.fixture
async def start_keeper(
    start, cluster, organization, superuser, api_database, proxy_database: Database, agent_key, tmp_path
) -> AsyncIterator[StartKeeper]:
    clock = system_clock
    async with AsyncExitStack() as stack:

        async def begin(*after: object) -> Keeper:
            recorder, vault = (
                GateRecorder(Secret(cluster.dsn("headgate_proxy")), CODES),
                Vault(tmp_path / "master-keys.json"),
            )
            whole = await open_enforcement(stack, proxy_database, recorder, vault, tmp_path / "captures", tunnels=1000)
            uses = ConnectionUses(proxy_database, clock)
            stack.push_async_callback(uses.close)
            running = await start(
                Credentials(OpenCredentials(proxy_database, vault, clock), uses, clock),
                whole.capture,
                *after,
                before=[whole.identify],
                decide=whole.point,  # type: ignore[arg-type]
            )
            return Keeper(
                running,
                api_database,
                vault,
                uses,
                organization.org_id,
                organization.agent_id,
                agent_key,
                superuser,
                whole.captures,
            )

        yield begin


@pytest.fixture
async def keeper(start_keeper: StartKeeper) -> Keeper:
    return await start_keeper()
