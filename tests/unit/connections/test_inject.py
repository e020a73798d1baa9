"""The credential stands in the place that its connection names, and nowhere else, however the agent writes the call."""

import json

import pytest
from msgspec.structs import replace

from headgate.connections.errors import NoConnectionError
from headgate.connections.inject import write_value
from headgate.connections.model import Location, Place
from headgate.protocols.http_call import HttpCall

_SECRET = "tok_live_9f8e7d6c5b4a"
_TOKEN = Place(Location.BODY, "token")


def _call(content_type: str, body: bytes) -> HttpCall:
    headers = ((b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode()))
    return HttpCall("POST", "https", "api.example.com", 443, "/chat.postMessage", "", headers, body)


@pytest.mark.parametrize(
    "body",
    [
        rb'{"text":"hg_placeholder_svc","token":"hg\u005fplaceholder_svc"}',
        rb'{"text":"abc","token":"\u0061bc"}',
        rb'{"to\u006ben":"\u0061bc","text":"abc"}',
        rb'{"abc":1,"token":"\u0061bc"}',
        rb'{"text":["abc"],"token":"\u0061bc"}',
        rb'{"text":"a","other":"b","token":"\u002c"}',
        rb'{"text":"\"abc","token":"\u0061bc"}',
    ],
)
def test_a_member_that_is_written_otherwise_leads_it_to_no_other(body: bytes) -> None:
    written = json.loads(write_value(_call("application/json", body), _TOKEN, _SECRET).body)
    assert written.pop("token") == _SECRET
    asked = json.loads(body)
    del asked["token"]
    assert written == asked


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "application/json"])
def test_a_call_without_a_body_has_no_place_for_it(content_type: str) -> None:
    """A length without what it counts would make the next request's beginning this one's body."""
    with pytest.raises(NoConnectionError):
        write_value(_call(content_type, b""), _TOKEN, _SECRET)


def test_the_agents_own_goes_in_every_spelling_of_the_header() -> None:
    """CGI, WSGI and PHP make one variable of X-Api-Key and X_Api.Key: the platform would read the agent's."""
    call = replace(
        _call("text/plain", b"x"), headers=((b"X_Api_Key", b"agents"), (b"x-api.key", b"agents"), (b"a", b"b"))
    )
    written = write_value(call, Place(Location.HEADER, "x-api-key"), _SECRET)
    assert written.headers == ((b"a", b"b"), (b"x-api-key", _SECRET.encode()))


def test_a_form_in_bytes_that_are_no_ascii_has_no_place_for_it() -> None:
    with pytest.raises(NoConnectionError):
        write_value(_call("application/x-www-form-urlencoded", b"a=\xff"), _TOKEN, _SECRET)
