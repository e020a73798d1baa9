"""The cases that come with the catalogues (``config/catalogues/cases``): each is what it says, each entry has one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.errors import HeadgateError
from headgate.protocols.http_call import HttpCall
from headgate.tools.explicit import explicit_draft
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogue, load_catalogues
from headgate.tools.model import Protocol


@dataclass(frozen=True, slots=True)
class CatalogueCase:
    """``expect`` holds tool, operation, effect and params, or the code of the refusal."""

    label: str
    call: HttpCall
    expect: dict[str, JsonValue]


def catalogue_cases() -> Iterator[CatalogueCase]:
    """All of them; a member that is not known raises ValidationError."""
    for path in sorted(resource_path("catalogues", "cases").glob("*/*.yaml")):
        document = read_document(path)
        document.only("cases", "explicit")
        for section in document.sections("cases"):
            section.only("name", "request", "expect")
            expect = section.section("expect")
            expect.only("refused", "tool", "operation", "effect", "params")
            label = f"{path.parent.name}/{path.stem}: {section.text('name')}"
            yield CatalogueCase(label, _call(section.section("request")), expect.members)


def _call(request: Section) -> HttpCall:
    request.only("method", "url", "headers", "json", "form", "text")
    headers = {name: request.section("headers").text(name) for name in request.section("headers").members}
    body = b""
    if "json" in request.members:
        body = json.dumps(request.members["json"]).encode()
        headers.setdefault("Content-Type", "application/json")
    elif "form" in request.members:
        body = urlencode(request.section("form").members).encode()
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
    elif "text" in request.members:
        body = request.text("text").encode()
    url = request.text("url")
    scheme, _, rest = url.partition("://")
    authority, slash, target = rest.partition("/")
    path, _, query = (slash + target).partition("?")
    host, _, port = authority.partition(":")
    return HttpCall(
        request.text("method"),
        scheme,
        host,
        int(port) if port else {"http": 80, "https": 443}[scheme],
        path,
        query,
        tuple((name.encode(), value.encode()) for name, value in headers.items()),
        body,
    )


@dataclass(frozen=True, slots=True)
class ExplicitCase:
    """``call`` None: the agent carries it out, unless it is ``refused``."""

    label: str
    tool: str
    operation: str
    params: JsonObject
    call: HttpCall | None
    refused: str | None


def explicit_cases() -> Iterator[ExplicitCase]:
    for path in sorted(resource_path("catalogues", "cases").glob("*/*.yaml")):
        for section in read_document(path).sections("explicit"):
            section.only("name", "action", "call", "refused")
            action = section.section("action")
            action.only("tool", "operation", "params")
            yield ExplicitCase(
                f"{path.parent.name}/{path.stem}: {section.text('name')}",
                action.text("tool", path.parent.name),
                action.text("operation"),
                action.section("params").members,
                _call(section.section("call")) if "call" in section.members else None,
                section.text("refused") if "refused" in section.members else None,
            )


_CASES = list(catalogue_cases())
_EXPLICIT = list(explicit_cases())
_CATALOGUE = load_catalogues()


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.label)
def test_case(case: CatalogueCase) -> None:
    try:
        draft = interpret(case.call, _CATALOGUE)
    except HeadgateError as error:
        assert case.expect == {"refused": error.code.value}
        return
    assert case.expect == {
        "tool": draft.tool,
        "operation": draft.operation,
        "effect": None if draft.effect is None else draft.effect.value,
        "params": draft.params,
    }
    assert draft.params_bytes == canonical_bytes(case.expect["params"])


@pytest.mark.parametrize("case", _EXPLICIT, ids=lambda case: case.label)
def test_explicit(case: ExplicitCase) -> None:
    try:
        draft = explicit_draft(case.tool, case.operation, case.params, _CATALOGUE, context=b"{}", delegation=b"{}")
    except HeadgateError as error:
        assert case.refused == error.code.value
        return
    assert case.refused is None
    if case.call is None or draft.call is None:
        assert draft.call is case.call
        return
    for field in ("method", "scheme", "host", "port", "path", "query"):
        assert getattr(draft.call, field) == getattr(case.call, field)
    assert (json.loads(draft.call.body or b"null")) == json.loads(case.call.body or b"null")


def test_every_catalogue_has_cases_in_both_directions() -> None:
    tools = set(_CATALOGUE.tools)
    assert {case.tool for case in _EXPLICIT if case.call is not None} >= tools


def test_labels_are_unique() -> None:
    labels = [case.label for case in _CASES]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("path", sorted(resource_path("catalogues").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_entry_has_a_case(path: Path) -> None:
    catalogue = load_catalogue(path)
    covered = {case.expect.get("operation") for case in _CASES if case.expect.get("tool") == catalogue.tool}
    listed = {entry.operation for entry in catalogue.entries if entry.protocol is not Protocol.MCP}
    assert listed <= covered
    assert any(str(operation).startswith("unlisted_") for operation in covered)
