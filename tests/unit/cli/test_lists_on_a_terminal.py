"""Every list on a terminal of 80 columns: it fits, whatever is in it, and nothing in it speaks to the terminal.

The API's answers are made of its own description (docs/openapi.json), with texts that are long, wide and hostile.
"""

import io
import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from headgate.cli.main import headgate
from headgate.kernel.visible_text import is_hidden
from tests.http_server import any_server

COLUMNS = 80
HOSTILE = "\x1b[2J\x1b]0;title\x07\r\u202e\u200b" + "漢字" * 20 + "e\u0301" * 10 + "x" * 90
API = json.loads((Path(__file__).parents[3] / "docs/openapi.json").read_text("utf-8"))
LISTS = [
    "agents list", "agents activity X", "allowlist show", "approvals list --status all", "audit list",
    "break-glass list", "canaries list", "connections list", "grants list", "integrations list",
    "integrations receipts jira", "keys list", "mcp-tools list", "nlp list", "notifications deliveries", "org list",
    "org members X", "org invitations X", "policy list", "policy versions X", "reports list", "retention holds",
    "siem list", "traffic list", "traffic rules", "traffic timeline X", "users list", "users sessions X",
    "webhooks list", "webhooks deliveries X",
]  # fmt: skip
NAMED_OTHERWISE = {"tools list"}  # of this machine's files, which administrators write
ID = {"agents": "agt", "org": "org", "policy": "pol", "traffic": "agt", "users": "usr", "webhooks": "whk"}
PREFIXES = {"approval_id": "apr", "action_id": "act", "agent_id": "agt", "user_id": "usr", "policy_id": "pol"}


# Documents of the administrators', which the description leaves open.
OPEN = {
    "/admin/settings/allowlist": {"destinations": [{"host": HOSTILE, "ports": [443], "note": HOSTILE}] * 2},
    "/admin/settings/captures": {
        "rules": [{"agents": [HOSTILE], "tools": [HOSTILE], "operations": [], "hosts": [HOSTILE], "capture": "bodies"}]
    },
}


def _sample(schema: dict[str, Any], name: str = "") -> Any:
    if "$ref" in schema:
        return _sample(API["components"]["schemas"][schema["$ref"].rpartition("/")[2]], name)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return _sample(next(one for one in schema[several] if one.get("type") != "null"), name)
    if "allOf" in schema:
        return _sample(schema["allOf"][0], name)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    kind = schema.get("type")
    if kind == "object":
        named = {key: _sample(one, key) for key, one in schema.get("properties", {}).items()}
        others = schema.get("additionalProperties")
        return {**named, HOSTILE: _sample(others)} if isinstance(others, dict) else named
    if kind == "array":
        return [_sample(schema.get("items", {}), name)] * 2
    if kind in ("integer", "number"):
        return schema.get("maximum", 123_456_789)
    if kind == "boolean":
        return False
    if schema.get("format") == "date-time" or name.endswith(("_at", "_until", "_since")):
        return "2026-11-23T23:42:44.123Z"
    if name == "id" or name in PREFIXES:
        return f"{PREFIXES.get(name, 'apr')}_01a20aca-580f-7b4c-a709-d32fa3c114a9"
    return HOSTILE


def _answer(method: str, target: str, body: bytes) -> tuple[int, str, bytes]:
    path = target.partition("?")[0]
    if path in OPEN:
        return 200, "application/json", json.dumps(OPEN[path]).encode()
    for template, methods in API["paths"].items():
        if method.lower() in methods and re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", template), path):
            responses = methods[method.lower()]["responses"]
            schema = next(one for status, one in responses.items() if status.startswith("2"))
            document = _sample(schema["content"]["application/json"]["schema"])
            pagination = document.get("pagination") if isinstance(document, dict) else None
            if isinstance(pagination, dict):
                pagination["next_cursor"] = None
            return 200, "application/json", json.dumps(document).encode()
    raise AssertionError(path)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with any_server(_answer) as url:
        monkeypatch.setenv("HEADGATE_API_URL", url)
        monkeypatch.setenv("HEADGATE_TOKEN", "t")
        monkeypatch.delenv("HEADGATE_RUNTIME_FILE", raising=False)
        monkeypatch.setenv("COLUMNS", str(COLUMNS))
        monkeypatch.setenv("NO_COLOR", "1")
        yield


def _columns(text: str) -> int:
    """As terminals count (Unicode Standard Annex 11)."""
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text
    )


@pytest.mark.parametrize("words", LISTS)
@pytest.mark.usefixtures("api")
def test_a_list_fits_and_is_only_text(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    group, *rest = words.split()
    given = [f"{ID[group]}_01a20aca-580f-7b4c-a709-d32fa3c114a9" if one == "X" else one for one in rest]
    headgate.main([group, *given], prog_name="headgate", standalone_mode=False)
    lines = screen.getvalue().splitlines()
    assert len(lines) >= 2
    assert {one for line in lines for one in line if is_hidden(one)} == set()
    assert [line for line in lines if _columns(line) > COLUMNS] == []


def test_no_list_is_forgotten() -> None:
    tried = {" ".join(one.split()[:2]) for one in LISTS} | NAMED_OTHERWISE
    context = click.Context(headgate)
    found = set()
    for name in headgate.list_commands(context):
        group = headgate.get_command(context, name)
        if isinstance(group, click.Group):
            plural = {"list", "deliveries", "receipts", "members", "invitations", "versions", "sessions", "holds"}
            found |= {f"{name} {one}" for one in group.list_commands(click.Context(group)) if one in plural}
    assert found <= tried
