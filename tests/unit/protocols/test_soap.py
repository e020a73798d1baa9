"""SOAP: header, addressing and body name one operation, or the request is refused."""

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError
from headgate.protocols.draft import ActionDraft, Effect
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.match import CatalogueIndex

ENVELOPE = "http://schemas.xmlsoap.org/soap/envelope/"
LATER = "http://www.w3.org/2003/05/soap-envelope"
ADDRESSING = "http://www.w3.org/2005/08/addressing"
BODY = '<p:GetPrice xmlns:p="urn:prices"><p:item>book</p:item></p:GetPrice>'


def envelope(body: str = BODY, *, header: str = "", namespace: str = ENVELOPE) -> str:
    head = f"<s:Header>{header}</s:Header>" if header else ""
    return f'<?xml version="1.0"?><s:Envelope xmlns:s="{namespace}">{head}<s:Body>{body}</s:Body></s:Envelope>'


def read(text: str, action: str | None = None, *, content_type: str = "text/xml; charset=utf-8") -> ActionDraft:
    headers = [(b"Content-Type", content_type.encode())]
    if action is not None:
        headers.append((b"SOAPAction", action.encode()))
    call = HttpCall("POST", "https", "erp.example", 443, "/service", "", tuple(headers), text.encode())
    return interpret(call, CatalogueIndex([]))


def facts(draft: ActionDraft) -> Any:
    return None if draft.facts is None else parse_strict(draft.facts.shown)


@pytest.mark.parametrize(
    ("text", "action", "content_type", "told"),
    [
        (envelope(), '"urn:prices#GetPrice"', "text/xml", ("1.1", "urn:prices#GetPrice")),
        (envelope(), "http://prices.example/IPrices/GetPrice", "text/xml", ("1.1", "http://prices.example/IPrices/GetPrice")),
        (envelope(), '""', "text/xml", ("1.1", None)),
        (envelope(), None, "text/xml", ("1.1", None)),
        (envelope(), None, "application/xml", ("1.1", None)),
        (
            envelope(namespace=LATER), None, 'application/soap+xml; charset=utf-8; action="urn:prices/GetPrice"',
            ("1.2", "urn:prices/GetPrice"),
        ),
        (
            envelope(namespace=LATER, header=f'<w:Action xmlns:w="{ADDRESSING}">urn:prices:GetPrice</w:Action>'),
            None, "application/soap+xml", ("1.2", "urn:prices:GetPrice"),
        ),
        (envelope(BODY.replace("GetPrice", "GetPriceRequest")), '"GetPrice"', "text/xml", ("1.1", "GetPrice")),
    ],
)  # fmt: skip
def test_the_operation(text: str, action: str | None, content_type: str, told: tuple[str, str | None]) -> None:
    draft = read(text, action, content_type=content_type)
    assert (draft.tool, draft.effect) == ("soap", Effect.WRITE)
    assert draft.operation.startswith("get_price")
    assert (facts(draft)["version"], facts(draft)["action"]) == told
    assert facts(draft)["namespace"] == "urn:prices"
    assert draft.params["body"] == text


@pytest.mark.parametrize(
    ("text", "action", "content_type"),
    [
        (envelope(), '"urn:prices#DeletePrice"', "text/xml"),
        (envelope(), '"a" "b"', "text/xml"),
        (envelope(), '"urn:a#GetPrice"', 'text/xml; action="urn:b#GetPrice"'),
        (envelope(BODY + BODY), None, "text/xml"),
        (envelope(""), None, "text/xml"),
        (envelope(f"{BODY}</s:Body><s:Body>{BODY}"), None, "text/xml"),
        (envelope(header=f'<w:Action xmlns:w="{ADDRESSING}">urn:DeletePrice</w:Action>'), '"urn:GetPrice"', "text/xml"),
        (
            envelope(header=f'<w:Action xmlns:w="{ADDRESSING}">urn:Delete<!-- -->Price</w:Action>'),
            None,
            "text/xml",
        ),
        ('<!DOCTYPE x [<!ENTITY e "DeletePrice">]>' + envelope().partition("?>")[2], '"GetPrice"', "text/xml"),
        (envelope() + "<x/>", '"GetPrice"', "text/xml"),
        (envelope().replace('1.0"?', '1.0" encoding="utf-7"?'), '"GetPrice"', "text/xml"),
        ("\ufeff" + envelope().replace('1.0"?', '1.0" encoding="gbk"?'), '"GetPrice"', "text/xml; charset=utf-8"),
        (envelope(), None, "text/xml; charset=utf-8; action=a; action=b"),
    ],
)
def test_what_servers_read_differently_is_refused(text: str, action: str | None, content_type: str) -> None:
    with pytest.raises(AmbiguousRequestError):
        read(text, action, content_type=content_type)


def test_what_says_that_it_is_soap_and_cannot_be_read() -> None:
    draft = read("<other/>", '"urn:a#Get"')
    assert (draft.tool, draft.operation, facts(draft)["operation"]) == ("soap", "unknown", None)
    large = read(envelope(f"<a>{'x' * (70 << 10)}</a>"), '"a"')
    assert (large.tool, large.operation) == ("soap", "unknown")


@pytest.mark.parametrize("text", ["<other/>", "no xml", "<a", envelope().replace("Envelope", "Envelopes")])
def test_every_other_text_stays_generic(text: str) -> None:
    assert (read(text).tool, read(text).operation) == ("http", "post")


_NAMES = st.sampled_from(["GetPrice", "DeletePrice", "Header", "Body", "Envelope", "Action"])
_SPACES = st.sampled_from([ENVELOPE, LATER, ADDRESSING, "urn:prices"])
_TREES = st.recursive(
    st.tuples(_NAMES, _SPACES, st.just([])),
    lambda inner: st.tuples(_NAMES, _SPACES, st.lists(inner, max_size=3)),
    max_leaves=8,
)


def _written(tree: Any) -> str:
    name, space, children = tree
    return f'<n:{name} xmlns:n="{space}">{"".join(map(_written, children))}</n:{name}>'


@given(
    body=st.lists(_TREES, min_size=1, max_size=2),
    header=st.lists(_TREES, max_size=2),
    action=st.none() | st.sampled_from(['"GetPrice"', '"urn:x/DeletePrice"', '""']),
)
def test_the_operation_is_the_first_element_that_another_parser_finds(
    body: list[Any], header: list[Any], action: str | None
) -> None:
    text = envelope("".join(map(_written, body)), header="".join(map(_written, header)))
    try:
        told = facts(read(text, action))
    except HeadgateError:
        return
    root = ElementTree.fromstring(text)  # noqa: S314 - written here
    [found] = [one for one in root if one.tag == f"{{{ENVELOPE}}}Body"]
    assert [one.tag for one in found] == [f"{{{told['namespace']}}}{told['operation']}"]
    if action not in (None, '""'):
        assert told["operation"] in str(action)
