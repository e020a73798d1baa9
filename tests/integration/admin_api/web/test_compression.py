"""Pages and static files are compressed; an answer that shows a key, once, is not."""

import gzip
import re

import pytest

from admin_api.compression import gzip_of_random_length

_PATH = "/activity"


async def test_a_page_is_compressed_for_those_who_accept_it(gate) -> None:
    person = gate.person()
    as_gzip = await person.get(_PATH, headers={"accept-encoding": "br, gzip;q=0.5"})
    assert (as_gzip.headers["content-encoding"], as_gzip.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert int(as_gzip.headers["content-length"]) < len(as_gzip.content) / 2
    assert "</html>" in as_gzip.text


@pytest.mark.parametrize("accepted", ["identity", "gzip;q=0", "br, gzip; q=0.000", "xgzip"])
async def test_a_page_is_sent_as_it_is_to_others(gate, accepted: str) -> None:
    plain = await gate.person().get(_PATH, headers={"accept-encoding": accepted})
    assert "content-encoding" not in plain.headers
    assert (plain.headers["vary"], int(plain.headers["content-length"])) == ("Accept-Encoding", len(plain.content))


async def test_head_claims_no_length_that_get_would_not_have(gate) -> None:
    head = await gate.person().head(_PATH, headers={"accept-encoding": "gzip"})
    assert (head.status_code, head.content, "content-length" in head.headers) == (200, b"", False)


async def test_an_answer_with_a_key_is_not_compressed(gate) -> None:
    made = await gate.person().post("/settings/keys", data={"act": "create", "name": "ci", "scopes": "audit:read"})
    assert re.search(r"hg_\w{8}", made.text), made.text
    assert "content-encoding" not in made.headers


async def test_a_static_file_is_compressed_at_the_start(gate) -> None:
    person = gate.person()
    path = re.search(r'href="(/static/app\.\w+\.css)"', (await person.get(_PATH)).text)
    assert path is not None
    sent = [await person.get(path[1], headers={"accept-encoding": one}) for one in ("gzip", "identity")]
    assert [one.headers.get("content-encoding") for one in sent] == ["gzip", None]
    assert sent[0].content == sent[1].content
    assert int(sent[0].headers["content-length"]) < int(sent[1].headers["content-length"]) / 2


def test_the_length_varies_and_the_content_does_not() -> None:
    content = b"<p>the same page</p>" * 100
    made = [gzip_of_random_length(content) for _ in range(40)]
    assert {gzip.decompress(one) for one in made} == {content}
    assert len({len(one) for one in made}) > 10
