"""No identity, no passage; and what proves an identity goes no further than the gate."""

import socket
from contextlib import closing
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import httpx
import pytest

from headgate.agents.keys import generate_key
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.public_roots import public_roots
from tests.e2e.clients import Administrator, Agent, error_of, read_head
from tests.e2e.conftest import LOOPBACK
from tests.e2e.upstream import serving
from tests.e2e.waiting import wait_for


@pytest.fixture
def plain_upstream():
    with serving(None) as server:
        yield server


def connect(instance, upstream, *headers: str) -> bytes:
    """The answer to a CONNECT with exactly these headers."""
    proxy, target = urlsplit(instance.runtime["proxy_url"]), urlsplit(upstream.url).netloc
    with socket.create_connection((proxy.hostname, proxy.port), timeout=60) as raw:
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}", *headers, "", ""]
        raw.sendall("\r\n".join(lines).encode())
        return read_head(raw)


def expect_407(call) -> str:
    """Refused before a tunnel was there: httpx raises; returns what the status line says."""
    with pytest.raises(httpx.ProxyError) as raised:
        call()
    assert str(raised.value).startswith("407"), raised.value
    return str(raised.value)


class TestWithoutAKeyThatWorks:
    def test_no_key_on_connect(self, instance, upstream) -> None:
        before = upstream.connections
        head = connect(instance, upstream).decode()
        assert head.startswith("HTTP/1.1 407 Agent key required\r\n")
        assert 'proxy-authenticate: basic realm="headgate"' in head.lower()
        assert upstream.connections == before

    def test_no_key_on_a_plain_request(self, instance, plain_upstream) -> None:
        proxy = httpx.Proxy(instance.runtime["proxy_url"])
        with httpx.Client(verify=public_roots(), proxy=proxy, trust_env=False) as client:
            response = client.get(plain_upstream.url + "/")
        assert response.status_code == 407
        assert error_of(response)["code"] == "AGENT_UNAUTHORIZED"
        assert plain_upstream.connections == 0

    @pytest.mark.parametrize(
        "key",
        ["", "hunter2", "hg_tooshort", generate_key().reveal(), generate_key().reveal()[:-1] + "!"],
        ids=["empty", "not a key", "too short", "unknown", "bad checksum"],
    )
    def test_a_wrong_key(self, instance, upstream, key) -> None:
        before = upstream.connections
        for header in (f"Proxy-Authorization: Bearer {key}", f"X-Agent-Key: {key}"):
            assert connect(instance, upstream, header).startswith(b"HTTP/1.1 407 ")
        with closing(Agent(instance, key=key or "-")) as agent:
            expect_407(lambda: agent.call("GET", upstream.url + "/"))
        assert upstream.connections == before

    def test_a_key_that_may_only_read_makes_no_calls(self, instance, administrator, upstream) -> None:
        before = upstream.connections
        agent_id = administrator.new_agent("reads")["id"]
        created = administrator.api.post(f"/admin/agents/{agent_id}/keys", json={"scopes": ["actions:read"]}).json()
        with closing(Agent(instance, key=created["key"])) as agent, pytest.raises(httpx.ProxyError, match=r"^403"):
            agent.call("GET", upstream.url + "/")
        assert upstream.connections == before

    def test_an_expired_key(self, instance, administrator, upstream, path) -> None:
        agent_id = administrator.new_agent("expires")["id"]
        expires_at = datetime.now(UTC) + timedelta(seconds=3)
        created = administrator.api.post(
            f"/admin/agents/{agent_id}/keys", json={"expires_at": expires_at.isoformat()}
        ).json()
        with closing(Agent(instance, key=created["key"])) as agent, agent.client() as client:
            assert client.get(upstream.url + path).status_code == 200
            # Inside the open tunnel, and for new ones.
            response = wait_for(
                lambda: (response := client.get(upstream.url + path)).status_code == 407 and response, "it expires"
            )
            assert datetime.now(UTC) >= expires_at
            assert "has expired" in error_of(response)["message"]
            expect_407(lambda: agent.call("GET", upstream.url + path))

    def test_revoked_inside_an_open_tunnel(self, instance, administrator, upstream, new_path) -> None:
        created = administrator.new_agent("revoked")
        before, after = new_path(), new_path()
        with closing(Agent(instance, key=created["api_key"]["key"])) as agent, agent.client() as client:
            assert client.get(upstream.url + before).status_code == 200
            connections = upstream.connections
            assert client.get(upstream.url + before).status_code == 200
            assert upstream.connections == connections, "the tunnel was not kept open"
            administrator.api.delete(f"/admin/keys/{created['api_key']['id']}").raise_for_status()
            response = client.get(upstream.url + after)
            assert response.status_code == 407
            assert error_of(response)["code"] == "AGENT_UNAUTHORIZED"
            expect_407(lambda: agent.call("GET", upstream.url + after))
        assert upstream.of(after) == []

    def test_revoked_while_held(self, instance, administrator, upstream, patient_path) -> None:
        created = administrator.new_agent("revoked while held")
        with closing(Agent(instance, key=created["api_key"]["key"])) as agent:
            call = agent.call_later("POST", upstream.url + patient_path)
            approval = administrator.pending(patient_path)
            administrator.api.delete(f"/admin/keys/{created['api_key']['id']}").raise_for_status()
            administrator.approve(approval["id"])
            assert call.result().status_code == 407
        assert upstream.of(patient_path) == []
        assert administrator.approval(approval["id"])["used_at"] is None

    def test_an_administrators_key(self, instance, administrator, upstream) -> None:
        created = administrator.api.post("/admin/keys", json={"name": "a program", "scopes": ["admin:*"]})
        assert created.status_code == 201, created.text
        head = connect(instance, upstream, f"Proxy-Authorization: Bearer {created.json()['key']}")
        assert head.startswith(b"HTTP/1.1 407 ")


class TestAnotherAgent:
    @pytest.fixture
    def elsewhere(self, instance):
        """The administrator of another organization, which has no policies and no allowlist."""
        org_id = new_id(IdPrefix.ORGANIZATION)
        instance.execute("INSERT INTO organizations (org_id, name) VALUES (%s, 'Elsewhere')", org_id)
        instance.execute("INSERT INTO org_state (org_id) VALUES (%s)", org_id)
        with closing(Administrator(instance)) as operator:
            bounds = {"destinations": [{"host": LOOPBACK["host"]}]}
            opened = operator.api.put(f"/admin/organizations/{org_id}/private-destinations", json=bounds)
            assert opened.status_code == 200, opened.text
        token = instance.command("token", "--user", "boss@example.com", "--role", "admin", "--organization", org_id)
        with closing(Administrator(instance, token=token.strip())) as administrator:
            yield administrator

    def test_another_organizations_agent_has_its_own_rules(
        self, instance, administrator, elsewhere, agent, upstream, path
    ) -> None:
        assert agent.call("GET", upstream.url + path).status_code == 200
        [ours] = administrator.actions_of(path)
        created = elsewhere.new_agent("stranger")
        with closing(Agent(instance, key=created["api_key"]["key"])) as stranger:
            error = error_of(stranger.call("GET", upstream.url + path))
            assert error["code"] == "ACTION_DENIED"
            assert "no policy allows this action" in error["message"]
            # With a policy that allows it, the guard is still that organization's.
            with elsewhere.policy("package e2e.anything\n\nallow := true\n"):
                error = error_of(stranger.call("GET", upstream.url + path))
                assert error["code"] == "DESTINATION_BLOCKED"
                elsewhere.allow_destinations(LOOPBACK)
                assert stranger.call("GET", upstream.url + path).status_code == 200
            authorization = {"authorization": f"Bearer {stranger.key}"}
            seen = httpx.get(
                f"{instance.runtime['api_url']}/v1/actions/{ours['id']}",
                verify=public_roots(),
                headers=authorization,
                trust_env=False,
            )
        assert seen.status_code == 404
        assert len(upstream.of(path)) == 2
        assert [event["agent_id"] for event in administrator.events(ours["id"])] == [ours["request"]["agent_id"]] * 4

    def test_a_connection_stays_with_its_agent(self, administrator, agent, upstream, path) -> None:
        other = administrator.new_agent("another on the same connection")["api_key"]["key"]
        host = urlsplit(upstream.url).netloc
        with agent.tunnel(upstream.url) as secure:
            secure.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Agent-Key: {other}\r\n\r\n".encode())
            assert secure.recv(4096).startswith(b"HTTP/1.1 407 ")
        assert upstream.of(path) == []


class TestNeverForwarded:
    SHOWN = (
        ("Proxy-Authorization", "Basic c2VjcmV0OnNlY3JldA=="),
        ("X-Agent-Id", "agt_somebody"),
        ("Proxy-Connection", "keep-alive"),
        ("PROXY-Whatever", "1"),
    )

    def expect_none(self, received) -> None:
        for name in received.headers:
            assert not name.startswith("proxy-"), received.headers
            assert name not in ("x-agent-key", "x-agent-id"), received.headers

    def test_inside_a_tunnel(self, agent, upstream, path) -> None:
        host = urlsplit(upstream.url).netloc
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", f"X-Agent-Key: {agent.key}"]
        lines += [f"{name}: {value}" for name, value in self.SHOWN if name != "Proxy-Authorization"]
        with agent.tunnel(upstream.url) as secure:
            secure.sendall("\r\n".join([*lines, "X-Kept: yes", "", ""]).encode())
            assert secure.recv(4096).startswith(b"HTTP/1.1 200")
        [received] = upstream.of(path)
        self.expect_none(received)
        assert received.headers["x-kept"] == "yes"

    def test_on_a_plain_request_with_proxy_authorization(self, agent, plain_upstream, path) -> None:
        headers = {name: value for name, value in self.SHOWN if name != "Proxy-Authorization"}
        assert agent.call("GET", plain_upstream.url + path, headers=headers).status_code == 200
        [received] = plain_upstream.of(path)
        self.expect_none(received)

    def test_on_a_plain_request_with_x_agent_key(self, instance, agent, plain_upstream, path) -> None:
        with httpx.Client(verify=public_roots(), proxy=instance.runtime["proxy_url"], trust_env=False) as client:
            response = client.get(plain_upstream.url + path, headers={"X-Agent-Key": agent.key})
        assert response.status_code == 200
        [received] = plain_upstream.of(path)
        self.expect_none(received)

    def test_in_the_logs(self, instance, agent) -> None:
        """Keys and tokens were used all along; no log of any part has one."""
        secrets = [agent.key, instance.runtime["admin_token"], urlsplit(instance.runtime["database_url"]).password]
        logs = [instance.log, *(instance.folder / "data" / "logs").iterdir()]
        for log in logs:
            text = log.read_text(errors="replace")
            assert [secret for secret in secrets if secret in text] == [], log
