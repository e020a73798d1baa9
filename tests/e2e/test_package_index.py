"""A package index behind the gate: a policy decides by package and version, and publishing is told apart."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.conftest import INDEX_HOST, LOOPBACK

POLICY = """package e2e.packages

allow if input.package.action == "metadata"

allow if {
	input.package.action == "install"
	input.package.name == "foo-bar"
}

deny contains "agents publish nothing" if input.package.action in {"publish", "remove"}
"""
WHEEL = "/repository/python/packages/Foo_Bar-1.0-py3-none-any.whl"


@pytest.fixture(scope="module")
def index() -> Iterator[tuple[str, list[str]]]:
    """Its address, and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            """Not on the terminal."""

    server = ThreadingHTTPServer((INDEX_HOST, 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://{INDEX_HOST}:{server.server_address[1]}/repository/python", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_policy_decides_by_package(administrator: Administrator, agent: Agent, index: tuple[str, list[str]]) -> None:
    url, asked = index
    upload = {":action": "file_upload", "name": "Foo.Bar", "version": "2.0"}
    administrator.allow_destinations(LOOPBACK, {"host": INDEX_HOST, "private": True})
    try:
        with administrator.policy(POLICY, priority=1):
            assert agent.call("GET", f"{url}/simple/Foo.Bar/").status_code == 200
            assert agent.call("GET", f"{url}/packages/Foo_Bar-1.0-py3-none-any.whl").status_code == 200
            other = agent.call("POST", f"{url}/legacy/", data=upload, files={"content": ("other-2.0.tar.gz", b"x")})
            published = agent.call(
                "POST", f"{url}/legacy/", data=upload, files={"content": ("foo_bar-2.0.tar.gz", b"x")}
            )
    finally:
        administrator.allow_destinations(LOOPBACK)
    assert [httpx.URL(one.split()[1]).path for one in asked] == ["/repository/python/simple/Foo.Bar/", WHEEL]
    assert error_of(published)["message"] == "agents publish nothing"
    assert error_of(other)["code"] == "REQUEST_AMBIGUOUS"
    newest = administrator.get("/v1/actions", limit=20)["data"]
    operations = [one["operation"] for one in newest if one["tool"] == "python_index"]
    assert operations == ["package_publish", "package_install", "package_metadata"]
