"""What the record of a held call keeps of a body that its params do not show."""

import gzip
import hashlib

import pytest

from headgate.actions.recorded_request import recorded_request
from headgate.actions.unparsed_body import (
    UNPARSED_BODY,
    has_unparsed_body,
    kept_bytes,
    read_unparsed_body,
    with_unparsed_body,
)
from headgate.kernel.canonical_json import canonical_bytes, parse_strict
from headgate.policies.replay import replay_call
from headgate.protocols.body import TEXT_BYTES_MAX
from headgate.protocols.draft import ActionDraft
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

_SECRET = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
_FORM = (
    b'--x\r\nContent-Disposition: form-data; name="password"\r\n\r\nhunter2\r\n'
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n\0\1\2\r\n--x--\r\n'
)
_FORM_TYPE = "multipart/form-data; boundary=x"


def _draft(body: bytes, content_type: str, *more: tuple[bytes, bytes]) -> ActionDraft:
    headers = ((b"content-type", content_type.encode()), *more)
    call = HttpCall("POST", "https", "files.example.com", 443, "/upload", "", headers, body)
    return interpret(call, load_catalogues())


def _kept(draft: ActionDraft):
    assert draft.call is not None
    record = with_unparsed_body(recorded_request(draft), draft.call)
    document = parse_strict(record)
    assert canonical_bytes(document) == record
    member = document[UNPARSED_BODY]
    body = read_unparsed_body(member)
    assert body is not None
    content = kept_bytes(member)
    assert (body.size, body.sha256) == (len(content), "sha256:" + hashlib.sha256(content).hexdigest())
    return body, content, document


@pytest.mark.parametrize(
    ("body", "content_type", "is_unparsed"),
    [
        (b'{"a": 1}', "application/json", False),
        (b"a=1", "application/x-www-form-urlencoded", False),
        (b"short", "text/plain", False),
        (b"", "application/octet-stream", False),
        (b"--x\r\n" + b'Content-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n', _FORM_TYPE, False),
        (_FORM, _FORM_TYPE, True),
        (b"\0\xff", "application/octet-stream", True),
        (b"x" * (TEXT_BYTES_MAX + 1), "text/plain", True),
        (b"\xff", "text/plain; charset=koi8-r", True),
    ],
)
def test_which_bodies_are_kept(body: bytes, content_type: str, is_unparsed: bool) -> None:
    assert has_unparsed_body(_draft(body, content_type)) is is_unparsed


@pytest.mark.parametrize("name", ["body_kind", "BODY_KIND"])
def test_no_header_or_member_says_that_a_body_is_unparsed(name: str) -> None:
    draft = _draft(b'{"body_kind": "opaque"}', "application/json", (name.encode(), b"opaque"))
    assert not has_unparsed_body(draft)


def test_every_byte_is_kept() -> None:
    sent = bytes(range(256)) * 20
    draft = _draft(sent, "application/octet-stream")
    body, content, document = _kept(draft)
    assert content == sent
    assert body.is_exact and body.sha256 == document["http"]["body_sha256"]


def test_the_record_has_it_behind_what_was_added_to_it() -> None:
    draft = _draft(b"\0", "application/octet-stream")
    session = recorded_request(draft)[:-1] + b',"session":{"calls":0}}'
    assert draft.call is not None
    record = with_unparsed_body(session, draft.call)
    assert canonical_bytes(parse_strict(record)) == record


def test_secrets_are_masked() -> None:
    body, content, _ = _kept(_draft(f"\0\xff{_SECRET}\0tail".encode("latin-1"), "application/octet-stream"))
    assert _SECRET.encode() not in content
    assert content.startswith(b"\0\xff") and content.endswith(b"\0tail")
    assert (body.masked_places, body.is_exact) == (1, False)


def test_the_secret_part_of_a_form_is_masked() -> None:
    body, content, _ = _kept(_draft(_FORM, _FORM_TYPE))
    assert b"hunter2" not in content and b"\0\1\2" in content
    assert body.masked_places == 1


def test_a_mask_that_the_agent_wrote_hides_no_change() -> None:
    body, _, _ = _kept(_draft(b"\0[masked]" + f" password={_SECRET}".encode(), "application/octet-stream"))
    assert not body.is_exact


def test_a_coded_text_is_decoded_and_masked() -> None:
    text = b"".join(b"line %d\n" % number for number in range(10_000)) + _SECRET.encode()
    coded = gzip.compress(text)
    body, content, document = _kept(_draft(coded, "text/plain", (b"content-encoding", b"gzip")))
    assert content.startswith(b"line 0\n") and _SECRET.encode() not in content
    assert (body.decoded_from, body.is_exact) == ("gzip", False)
    assert document["http"]["body_size"] == len(coded)


@pytest.mark.parametrize("coding", [b"br-odd", b"compress"])
def test_an_unknown_coding_is_kept_as_sent(coding: bytes) -> None:
    body, content, _ = _kept(_draft(b"\x01coded", "text/plain", (b"content-encoding", coding)))
    assert (content, body.decoded_from) == (b"\x01coded", None)


def test_policies_do_not_read_it_in_a_replay() -> None:
    draft = _draft(b"\0", "application/octet-stream")
    assert draft.call is not None
    record = with_unparsed_body(recorded_request(draft), draft.call).decode()
    call = replay_call(
        request=record, tool="http", operation="post", source="proxy", agent_id="agt_1", agent_name="Robot"
    )
    assert UNPARSED_BODY not in call.document and "http" in call.document
