"""What destinations and tickets write: a service behind the gate and a pull request, every text of them hostile."""

import hashlib
import hmac
import json
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import quote, urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.e2e.clients import Administrator, Agent
from tests.e2e.waiting import wait_for

_SECRET: Final = "a webhook secret of this test"
_HEADER_BYTES: Final = bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))


@contextmanager
def hostile_destination(texts: Sequence[str]) -> Iterator[str]:
    """The origin of a service whose status line, headers, file name, type and body are these texts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_page = self.path.startswith("/page")
            body = "".join(texts) if is_page else json.dumps({text: text for text in texts}, ensure_ascii=False)
            self._answer("text/html; charset=utf-8" if is_page else "application/json", body.encode())

        def do_POST(self) -> None:
            """As a receiver of messages that takes none: Slack's form of it."""
            self.rfile.read(int(self.headers["Content-Length"]))
            said = {"ok": False, "error": texts[0] + texts[3], "detail": "".join(texts)}
            self._answer("application/json", json.dumps(said, ensure_ascii=False).encode(), status=500)

        def _answer(self, media_type: str, body: bytes, *, status: int = 200) -> None:
            lines = [f"HTTP/1.1 {status} {_in_header(texts[0])}", f"Content-Type: {media_type}"]
            lines += [f"X-Hostile-{number}: {_in_header(text)}" for number, text in enumerate(texts)]
            lines += [
                f"Content-Disposition: attachment; filename*=UTF-8''{quote(texts[1])}; filename={_in_header(texts[3])}",
                "Refresh: 0; url=javascript:alert(5)",
                f"Content-Length: {len(body)}",
                "Connection: close",
            ]
            self.wfile.write("\r\n".join([*lines, "", ""]).encode() + body)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Nothing: what is asked for here is no news."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _in_header(text: str) -> str:
    """As far as a field of HTTP can carry it."""
    return "".join(one for one in text if all(byte in _HEADER_BYTES for byte in one.encode()))[:500]


def captured(administrator: Administrator, agent: Agent, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Captured exchanges with that service, the newest first, one of them with a hostile note."""
    assert administrator.api.put("/admin/settings/captures", json={"rules": [{"capture": "bodies"}]}).is_success
    administrator.allow_destinations({"host": "127.0.0.1", "private": True})
    with hostile_destination(texts) as origin, administrator.without_content_policies():
        for path in ("/data", "/page", f"/data?q={quote(texts[0] + texts[3])}"):
            answer = agent.call("GET", origin + path)
            assert answer.status_code == 200, answer.text

    def look() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = administrator.get("/admin/traffic")["data"]
        return found if len(found) >= 3 else None

    found = wait_for(look, "three exchanges are captured")
    note = {"note": texts[0] + texts[3], "tags": ["odd"]}
    assert administrator.api.put(f"/admin/traffic/{found[0]['id']}/annotation", json=note).is_success
    return found


def refused_messages(administrator: Administrator, texts: Sequence[str]) -> tuple[str, str]:
    """A webhook endpoint and a message to a Slack channel, each refused by that service in these words."""
    api = administrator.api
    with hostile_destination(texts) as origin:
        endpoint = api.post("/admin/webhooks", json={"url": f"{origin}/hook"})
        assert endpoint.is_success, endpoint.text
        webhook_id: str = endpoint.json()["id"]
        assert api.post(f"/admin/webhooks/{webhook_id}/test").is_success
        slack = {"kind": "slack", "channel": "C0123456789", "api_url": origin, "token": "xoxb-none"}
        channel = slack | {"signing_secret": "a signing secret"}
        saved = api.put("/admin/settings/notifications", json={"channels": {"refused": channel}})
        assert saved.is_success, saved.text
        told = api.post("/admin/settings/notifications/test", json={"channel": "refused"})
        assert told.is_success, told.text
        message_id: str = told.json()["id"]
        for path in (f"/admin/webhooks/{webhook_id}/deliveries", "/admin/notifications"):
            wait_for(lambda path=path: administrator.get(path)["data"][0]["attempts"], "it was refused")
    return webhook_id, message_id


def uploaded(administrator: Administrator, agent: Agent, body: bytes, media_type: str) -> dict[str, Any]:
    """The approval that an upload waits for whose agent left."""
    proxy = urlsplit(agent.proxy_url)
    credentials = b64encode(f"agent:{agent.key}".encode()).decode()
    head = (
        "POST http://files.example.com/upload HTTP/1.1",
        "Host: files.example.com",
        f"Proxy-Authorization: Basic {credentials}",
        f"Content-Type: {media_type}",
        f"Content-Length: {len(body)}",
    )
    with socket.create_connection((proxy.hostname or "", proxy.port or 0), timeout=60) as connection:
        connection.sendall("\r\n".join((*head, "", "")).encode() + body)
        return administrator.pending("/upload")


def pull_request(administrator: Administrator, agent_id: str, texts: Sequence[str]) -> str:
    """The approval that a pull request waits for whose title, author, branches and sender are these texts."""
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    settings = {
        "enabled": True, "app_id": "12345", "agent_id": agent_id, "repositories": ["example/*"],
        "check_pull_requests": True, "private_key": key.decode(), "webhook_secret": _SECRET,
    }  # fmt: skip
    saved = administrator.api.put("/admin/settings/github", json=settings)
    assert saved.is_success, saved.text
    body = json.dumps({
        "action": "opened",
        "number": 7,
        "pull_request": {
            "number": 7, "title": "".join(texts), "html_url": "javascript:alert(6)", "user": {"login": texts[1]},
            "base": {"ref": texts[2]}, "updated_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "head": {"ref": texts[3], "sha": "b" * 40, "repo": {"full_name": texts[0]}},
        },
        "repository": {"full_name": "example/shop"}, "installation": {"id": 77},
        "sender": {"login": texts[0] + texts[3]},
    }).encode()  # fmt: skip
    signature = hmac.new(_SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "X-GitHub-Event": "pull_request", "X-GitHub-Delivery": "d-1", "Content-Type": "application/json",
        "X-Hub-Signature-256": f"sha256={signature}",
    }  # fmt: skip
    answer = administrator.api.post(saved.json()["webhook_path"], content=body, headers=headers)
    assert answer.json() == {"outcome": "requested"}, answer.text
    asked = administrator.get("/v1/approvals", tool="github")["data"]
    approval_id: str = next(one["id"] for one in asked if one["action"]["operation"] == "pull_request")
    return approval_id
