"""The digest is over canonical JSON of the whole, and every part of it counts."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.actions.digest import action_digest, covered_call
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.protocols.draft import ActionDraft, Source, make_draft
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.match import CatalogueIndex

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
_PARAMS = st.dictionaries(_TEXT, st.none() | st.integers(-9, 9) | _TEXT | st.lists(_TEXT, max_size=2), max_size=4)


def _whole(draft: ActionDraft, org_id: str, agent_id: str) -> bytes:
    return canonical_bytes(
        {
            "v": 1,
            "org": org_id,
            "agent": agent_id,
            "source": str(draft.source),
            "tool": draft.tool,
            "operation": draft.operation,
            "params": draft.params,
            "call": None if draft.read_call is None else covered_call(draft.read_call),
        }
    )


@given(_PARAMS, st.sampled_from(Source), _TEXT, _TEXT)
def test_the_pieces_joined_are_the_canonical_whole(
    params: JsonObject, source: Source, org_id: str, agent_id: str
) -> None:
    draft = make_draft(tool="t", operation="o", params=params, source=source)
    expected = hashlib.sha256(_whole(draft, org_id, agent_id)).digest()
    assert action_digest(draft, org_id=org_id, agent_id=agent_id) == expected


@given(st.binary(max_size=20), st.lists(st.tuples(st.sampled_from([b"A", b"B", b"Cookie"]), st.binary(max_size=5))))
def test_the_same_with_a_call(body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    call = HttpCall("POST", "https", "h.example", 443, "//a", "b=1", tuple(headers), body)
    draft = interpret(call, CatalogueIndex([]))
    expected = hashlib.sha256(_whole(draft, "org_1", "agt_1")).digest()
    assert action_digest(draft, org_id="org_1", agent_id="agt_1") == expected


def test_every_part_counts() -> None:
    def digest(tool: str = "t", operation: str = "o", source: Source = Source.API, **other: str) -> bytes:
        draft = make_draft(tool=tool, operation=operation, params={"a": other.get("a", "1")}, source=source)
        return action_digest(draft, org_id=other.get("org", "org_1"), agent_id=other.get("agent", "agt_1"))

    digests = {
        digest(),
        digest(tool="u"),
        digest(operation="p"),
        digest(source=Source.PROXY),
        digest(a="2"),
        digest(org="org_2"),
        digest(agent="agt_2"),
    }
    assert len(digests) == 7


@pytest.mark.parametrize(
    ("changed", "covered"),
    [
        (HttpCall("PUT", "https", "h.example", 443, "/a", "", (), b"x"), True),
        (HttpCall("POST", "http", "h.example", 443, "/a", "", (), b"x"), True),
        (HttpCall("POST", "https", "i.example", 443, "/a", "", (), b"x"), True),
        (HttpCall("POST", "https", "h.example", 444, "/a", "", (), b"x"), True),
        (HttpCall("POST", "https", "h.example", 443, "//a", "", (), b"x"), True),
        (HttpCall("POST", "https", "h.example", 443, "/a", "&", (), b"x"), True),
        (HttpCall("POST", "https", "h.example", 443, "/a", "", ((b"X", b"1"),), b"x"), True),
        (HttpCall("POST", "https", "h.example", 443, "/a", "", (), b"y"), True),
        (HttpCall("POST", "https", "h.example", 443, "/a", "", ((b"Date", b"1"),), b"x"), False),
        (HttpCall("POST", "https", "h.example", 443, "/a", "", ((b"cookie", b"1"),), b"x"), False),
        (HttpCall("POST", "https", "h.example", 443, "/a", "", ((b"X-Stainless-Retry-Count", b"1"),), b"x"), False),
    ],
)
def test_the_very_call_is_covered(changed: HttpCall, covered: bool) -> None:
    def digest(call: HttpCall) -> bytes:
        return action_digest(interpret(call, CatalogueIndex([])), org_id="org_1", agent_id="agt_1")

    plain = HttpCall("POST", "https", "h.example", 443, "/a", "", (), b"x")
    assert (digest(plain) != digest(changed)) is covered


def test_a_multipart_body_is_covered_with_its_boundary() -> None:
    def digest(boundary: str, value: str = "1") -> bytes:
        body = f'--{boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n{value}\r\n--{boundary}--\r\n'.encode()
        headers = (
            (b"Content-Type", f"multipart/form-data; boundary={boundary}".encode()),
            (b"Content-Length", str(len(body)).encode()),
        )
        call = HttpCall("POST", "https", "h.example", 443, "/a", "", headers, body)
        return action_digest(interpret(call, CatalogueIndex([])), org_id="org_1", agent_id="agt_1")

    assert digest("one") == digest("one")
    assert len({digest("one"), digest("another"), digest("one", "2")}) == 3
