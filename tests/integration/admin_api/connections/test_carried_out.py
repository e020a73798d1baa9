"""Executions carry a connection's credential, its certificate, or its signature; the same way, and as hidden."""

import asyncio
import json
import ssl
from contextlib import asynccontextmanager
from typing import Any

import pytest

from headgate.kernel.secrets import Secret
from headgate.worker.main import run_until
from headgate.worker.settings import WorkerSettings

SECRET = "s3cr3t-of-an-execution"


class Service:
    """Answers with what it got: the credential too."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.names: list[str] = []
        self.port = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            peer = writer.get_extra_info("peercert") or {}
            self.names += [value for part in peer.get("subject", ()) for name, value in part if name == "commonName"]
            text = json.dumps({"you_sent": head, "ok": True}).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text
            )
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


@pytest.fixture
async def service(tls):
    made = Service()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=tls.client_pair[0])
    context.load_cert_chain(tls.roots.parent / "leaf.pem")
    context.verify_mode = ssl.CERT_OPTIONAL
    server = await asyncio.start_server(made.connected, "127.0.0.1", 0, ssl=context)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()


@pytest.fixture
async def gate(new_gate):
    return await new_gate('package gate\n\nallow if not input.connection\n\nallow if input.connection.name == "svc"\n')


@pytest.fixture
def working(cluster, running_api, tls):
    @asynccontextmanager
    async def run():
        stop = asyncio.Event()
        folder = running_api.settings.data_dir
        settings = WorkerSettings(Secret(cluster.dsn("headgate_worker")), None, folder, upstream_ca_file=tls.roots)
        async with asyncio.TaskGroup() as group:
            group.create_task(run_until(settings, stop))
            try:
                yield
            finally:
                stop.set()

    return run


async def carried_out(gate, working, service: Service, **params: Any) -> dict[str, Any]:
    body = {"tool": "http", "operation": "get", "params": {"url": f"https://127.0.0.1:{service.port}/x?a=1", **params}}
    answer = await gate.as_agent.post("/v1/actions", json=body)
    assert answer.status_code == 201, answer.text
    async with working(), asyncio.timeout(30):
        while True:
            action = (await gate.as_agent.get(f"/v1/actions/{answer.json()['id']}")).json()
            if action["status"] in ("completed", "failed"):
                return dict(action)
            await asyncio.sleep(0.05)


async def connect(admin, service: Service, **changes: Any) -> dict[str, Any]:
    body = {
        "name": "svc",
        "kind": "bearer",
        "hosts": [f"127.0.0.1:{service.port}"],
        "agents": ["*"],
        "credentials": {"secret": SECRET},
    }
    answer = await admin.post("/v1/connections", json=body | changes)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def test_the_credential_is_added_and_its_echo_masked(gate, admin, service, working) -> None:
    made = await connect(admin, service)
    action = await carried_out(gate, working, service)
    assert action["status"] == "completed", action
    (head,) = service.heads
    assert f"authorization: Bearer {SECRET}\r\n" in head
    result = action["execution"]["result"]
    assert result["body"]["ok"] and "*" * len(SECRET) in result["body"]["you_sent"]
    assert SECRET not in json.dumps(action)
    assert SECRET not in (await admin.get("/admin/audit", params={"limit": 100})).text
    used = (await admin.get(f"/v1/connections/{made['id']}/usage")).json()
    assert (used["uses"], used["data"][0]["agent_id"]) == (1, gate.agent_id)


async def test_no_answer_is_asked_for_in_which_an_echo_could_hide(gate, admin, service, working) -> None:
    """Two parts of an answer that quotes the credential each have half of it, and no mask finds a half."""
    await connect(admin, service)
    asked = {"Range": "bytes=0-80", "If-Range": "x", "Accept-Encoding": "br", "Accept-Charset": "utf-7", "X-A": "1"}
    action = await carried_out(gate, working, service, headers=asked)
    assert action["status"] == "completed", action
    (head,) = service.heads
    names = [line.partition(":")[0].lower() for line in head.splitlines()]
    assert "x-a" in names and not {"range", "if-range", "accept-charset"}.intersection(names)
    assert [line for line in head.splitlines() if line.lower().startswith("accept-encoding")] == [
        "accept-encoding: identity"
    ]


async def test_without_a_connection_a_part_may_be_asked_for(gate, admin, service, working) -> None:
    action = await carried_out(gate, working, service, headers={"Range": "bytes=0-80"})
    assert action["status"] == "completed", action
    assert "Range: bytes=0-80\r\n" in service.heads[0]


async def test_policies_decide_about_the_connection(gate, admin, service) -> None:
    await connect(admin, service, name="other")
    body = {"tool": "http", "operation": "get", "params": {"url": f"https://127.0.0.1:{service.port}/"}}
    answer = await gate.as_agent.post("/v1/actions", json=body)
    assert answer.json()["status"] == "denied"


async def test_a_placeholder_in_params_that_is_not_filled_is_refused(gate, admin, service) -> None:
    await connect(admin, service)
    url = f"https://127.0.0.1:{service.port}/?key=hg_placeholder_svc"
    answer = await gate.as_agent.post("/v1/actions", json={"tool": "http", "operation": "get", "params": {"url": url}})
    assert answer.status_code == 403 and answer.json()["error"]["code"] == "CONNECTION_REFUSED"


async def test_a_certificate_is_shown(gate, admin, service, working, tls) -> None:
    certificate, private_key = tls.client_pair
    await connect(admin, service, kind="mtls", credentials={"certificate": certificate, "private_key": private_key})
    action = await carried_out(gate, working, service)
    assert action["status"] == "completed" and service.names == ["robot"], action["execution"]["error"]


async def test_a_call_is_signed_for_amazon(gate, admin, service, working) -> None:
    await connect(
        admin,
        service,
        kind="aws_sigv4",
        settings={"region": "eu-west-1", "service": "sqs"},
        credentials={"access_key_id": "AKIDEXAMPLE", "secret_access_key": "wJalrXUtnFEMI/K7MDENG"},
    )
    action = await carried_out(gate, working, service)
    assert action["status"] == "completed", action
    assert "authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" in service.heads[0]
    assert "/eu-west-1/sqs/aws4_request, SignedHeaders=" in service.heads[0]


async def test_one_that_broke_meanwhile_fails_with_its_reason(gate, admin, service, working, superuser) -> None:
    made = await connect(admin, service)
    body = {"tool": "http", "operation": "get", "params": {"url": f"https://127.0.0.1:{service.port}/"}}
    answer = await gate.as_agent.post("/v1/actions", json=body)
    superuser.execute(
        "UPDATE connections SET status = 'broken', status_reason = 'withdrawn' WHERE connection_id = %s", [made["id"]]
    )
    async with working(), asyncio.timeout(30):
        while (action := (await gate.as_agent.get(f"/v1/actions/{answer.json()['id']}")).json())["status"] != "failed":
            await asyncio.sleep(0.05)
    assert "withdrawn" in action["execution"]["error"] and service.heads == []
