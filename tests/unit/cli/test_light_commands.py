"""What a command imports decides how long a person waits for it: help needs no framework, and a command that asks the
API no database. Sets of modules and not seconds: a busy machine does not change them."""

import os
import re
import subprocess
import sys

import pytest

from headgate.cli.main import headgate
from tests.free_port import free_port

_FRAMEWORKS = {"mitmproxy", "fastapi", "starlette", "pydantic", "uvicorn", "psycopg", "procrastinate", "redis"}
_HEAVY = _FRAMEWORKS | {
    *("structlog", "prometheus_client", "cryptography", "jwt", "yaml", "re2", "phonenumbers", "stdnum", "jinja2"),
    *("headgate.client.types", "headgate.detectors", "headgate.policies.compile", "proxy", "addons", "admin_api"),
}
_HTTP = {"httpx", "httpcore", "http.client"}
_SIGNING = {"cryptography", "jwt", "http.client"}
_NEEDED = {"login": _SIGNING, "token": _SIGNING, "ca": {"cryptography", "proxy"}}
"""They sign tokens, or read certificates."""
_CATALOGUES = {"graphql", "headgate.tools.load", "headgate.tools.openapi"}
_IMPORTED = re.compile(r"^import time:.*\| +(\S+)$", re.MULTILINE)


def _imported(*words: str) -> set[str]:
    """By ``headgate`` with these words, whatever comes of it."""
    unreachable = {"HEADGATE_API_URL": f"http://127.0.0.1:{free_port()}", "HEADGATE_TOKEN": "hg_none"}
    command = [sys.executable, "-P", "-X", "importtime", "-m", "headgate.cli.main", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **unreachable})
    assert "Traceback" not in done.stderr
    return set(_IMPORTED.findall(done.stderr))


def test_the_overview_imports_no_command() -> None:
    imported = _imported("--help")
    assert "click" in imported
    assert imported & (_HEAVY | _HTTP | {"asyncio", "ssl"}) == set()


@pytest.mark.parametrize("name", headgate.list_commands(headgate.make_context("headgate", [], resilient_parsing=True)))
def test_the_help_of_a_command_needs_no_framework(name: str) -> None:
    assert _imported(name, "--help") & (_HEAVY | _HTTP) <= _NEEDED.get(name, set())


@pytest.mark.parametrize(
    "words",
    [
        ("approvals", "list"),
        ("policy", "list"),
        ("policy", "versions", "default"),
        ("policy", "index", "default"),
        ("policy", "suggest"),
        ("agents", "list"),
        ("audit", "list"),
        ("nlp", "list"),
        ("stop", "--reason", "test"),
        ("traffic", "list"),
    ],
    ids=" ".join,
)
def test_a_command_that_asks_the_api_needs_http_alone(words: tuple[str, ...]) -> None:
    imported = _imported(*words)
    assert "http.client" in imported
    assert imported & (_HEAVY | {"httpx", "httpcore", "asyncio"}) == set()


@pytest.mark.parametrize("name", ["list", "check", "import"])
def test_the_help_of_a_command_on_catalogues_reads_none(name: str) -> None:
    assert _imported("tools", name, "--help") & (_HEAVY | _HTTP | _CATALOGUES | {"asyncio"}) == set()


def test_a_list_of_the_catalogues_parses_no_graphql() -> None:
    imported = _imported("tools", "list")
    assert "headgate.tools.listing" in imported
    assert imported & (_HEAVY | _HTTP | _CATALOGUES | {"asyncio"}) == {"yaml"}


@pytest.mark.parametrize("name", ["status", "create"])
def test_a_command_on_keys_loads_no_log_and_no_client_of_a_signer(name: str) -> None:
    """The log's library loads what it could color a traceback with."""
    imported = _imported("secrets", name, "--help")
    assert "headgate.configuration.settings" in imported
    assert imported & {"structlog", "rich", "httpx", "headgate.traffic.spool_reader"} == set()


def test_the_supervisor_of_an_instance_holds_nothing_of_what_its_parts_do() -> None:
    """It runs for as long as they do: each of these libraries would take its memory a second time."""
    held = "import sys, headgate.cli.up, headgate.runtime.instance, headgate.configuration.logs; print(*sys.modules)"
    imported = set(
        subprocess.run([sys.executable, "-c", held], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "headgate.runtime.open_instance" in imported
    assert imported & (_HEAVY | _HTTP | _SIGNING) == {"structlog", "re2"}
