"""A package index behind the gate: a policy decides by package and version, and publishing is told apart."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.conftest import FORGE_HOST, INDEX_HOST, LOOPBACK, NPM_HOST

POLICY = """package e2e.packages

allow if input.package.action == "metadata"

allow if {
	input.package.action == "install"
	input.package.name == "foo-bar"
}

deny contains "agents publish nothing" if input.package.action in {"publish", "remove"}
"""
WHEEL = "/repository/python/packages/Foo_Bar-1.0-py3-none-any.whl"


@contextmanager
def _serving(host: str) -> Iterator[tuple[str, list[str]]]:
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

    server = ThreadingHTTPServer((host, 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_segment_holds_an_encoded_slash_where_a_catalogue_says_so(administrator: Administrator, agent: Agent) -> None:
    policy = 'package e2e.forge\n\ndeny contains "of others" if not startswith(input.params.project, "acme/")\n'
    with _serving(FORGE_HOST) as (forge, asked), administrator.policy(policy, priority=1):
        administrator.allow_destinations(LOOPBACK, {"host": FORGE_HOST, "private": True})
        try:
            answers = [
                agent.call("GET", f"{forge}/projects/{one}") for one in ("acme%2Fapp", "other%2fapp", "acme%2F..")
            ]
        finally:
            administrator.allow_destinations(LOOPBACK)
    assert ([one.status_code for one in answers], asked) == ([200, 403, 400], ["GET /projects/acme%2Fapp"])


@pytest.fixture(scope="module")
def index() -> Iterator[tuple[str, list[str]]]:
    with _serving(INDEX_HOST) as (address, asked):
        yield f"{address}/repository/python", asked


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


def test_a_package_with_a_scope_is_asked_for_as_clients_write_it(administrator: Administrator, agent: Agent) -> None:
    """And nowhere else: another server may take the slash for one that parts two segments."""
    with _serving(NPM_HOST) as (registry, asked), _serving(INDEX_HOST) as (elsewhere, _):
        administrator.allow_destinations(LOOPBACK, *({"host": one, "private": True} for one in (NPM_HOST, INDEX_HOST)))
        try:
            got = agent.call("GET", f"{registry}/@acme%2fui")
            refused = [
                agent.call("GET", f"{one}/@acme%2f{name}") for one, name in ((elsewhere, "ui"), (registry, ".."))
            ]
        finally:
            administrator.allow_destinations(LOOPBACK)
    assert (got.status_code, asked) == (200, ["GET /@acme%2fui"])
    assert [error_of(one)["code"] for one in refused] == ["REQUEST_AMBIGUOUS"] * 2
    [newest] = administrator.get("/v1/actions", limit=1)["data"]
    assert (newest["tool"], newest["operation"]) == ("npm_index", "package_metadata")
