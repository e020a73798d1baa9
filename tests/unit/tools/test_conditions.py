"""Which of two entries at one path a call is: the stricter one wherever some server would read it so."""

from pathlib import Path

import pytest

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues
from headgate.tools.match import CatalogueIndex

_SHIPPED = load_catalogues()
_JSON = ((b"Content-Type", b"application/json"),)
_FORM = ((b"Content-Type", b"application/x-www-form-urlencoded"),)
_REF = "/repos/acme/app/git/refs/heads/main"
_ISSUE = "/api/v4/projects/1/issues/2"


def _operation(
    method: str,
    url: str,
    body: str = "",
    headers: tuple[tuple[bytes, bytes], ...] = _JSON,
    catalogue: CatalogueIndex = _SHIPPED,
) -> str:
    host, _, rest = url.partition("/")
    path, _, query = rest.partition("?")
    call = HttpCall(method, "https", host, 443, f"/{path}", query, headers if body else (), body.encode())
    return interpret(call, catalogue).operation


@pytest.mark.parametrize(
    "sent", ["true", '"true"', '"True"', "1", "1.0", '"1"', '"on"', '" yes "', '"maybe"', "[true]", "{}", "2"]
)
def test_a_flag_that_some_server_reads_as_set_is_set(sent: str) -> None:
    assert _operation("PATCH", f"api.github.com{_REF}", f'{{"sha":"a","force":{sent}}}') == "force_update_ref"


@pytest.mark.parametrize("sent", ["false", '"false"', "0", '"0"', "null", '""', '"off"', "[]"])
def test_a_flag_that_no_server_reads_as_set_is_not(sent: str) -> None:
    assert _operation("PATCH", f"api.github.com{_REF}", f'{{"sha":"a","force":{sent}}}') == "update_ref"


@pytest.mark.parametrize("body", ['{"state_event":"close"}', '{"state_event":" Close"}', '{"state_event":["close"]}'])
def test_a_word_in_another_case_is_the_word(body: str) -> None:
    assert _operation("PUT", f"gitlab.com{_ISSUE}", body) == "close_issue"
    assert _operation("PUT", f"gitlab.com{_ISSUE}", '{"state_event":"reopen"}') == "update_issue"


@pytest.mark.parametrize(
    ("url", "body", "headers"),
    [
        (f"gitlab.com{_ISSUE}?state_event=close", "", ()),
        (f"gitlab.com{_ISSUE}?state_event=reopen", '{"title":"t"}', _JSON),
        (f"gitlab.com{_ISSUE}?State_Event=close", "", ()),
        (f"gitlab.com{_ISSUE}?state_event%5B%5D=close", "", ()),
        (f"gitlab.com{_ISSUE}", "state_event%5B%5D=close", _FORM),
        (f"gitlab.com{_ISSUE}", "state_event=close", ((b"Content-Type", b"text/plain"),)),
        (f"gitlab.com{_ISSUE}", "state_event=close", ((b"Content-Type", b"application/octet-stream"),)),
    ],
)
def test_a_condition_where_the_gate_does_not_look_is_refused(
    url: str, body: str, headers: tuple[tuple[bytes, bytes], ...]
) -> None:
    with pytest.raises(AmbiguousRequestError, match=r"(?i)state_event"):
        _operation("PUT", url, body, headers)


def test_so_is_a_flag_in_the_query() -> None:
    with pytest.raises(AmbiguousRequestError, match="send it in the body"):
        _operation("PATCH", f"api.github.com{_REF}?force=true", '{"sha":"a"}')


def test_other_members_of_the_query_are_left() -> None:
    assert _operation("PUT", f"gitlab.com{_ISSUE}?title=t") == "update_issue"


def test_conditions_of_the_query(tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text(
        """tool: api
description: An API
hosts: [api.example]
entries:
  - operation: purge
    method: POST
    path: /items
    when: {query: {mode: purge}}
    effect: destructive
    description: Purge
  - {operation: change, method: POST, path: /items, effect: write, description: Change}
""",
        "utf-8",
    )
    catalogue = load_catalogues(tmp_path)
    assert _operation("POST", "api.example/items?mode=Purge", catalogue=catalogue) == "purge"
    assert _operation("POST", "api.example/items?mode=keep", catalogue=catalogue) == "change"
    for url, body in (
        ("api.example/items", '{"mode":"purge"}'),
        ("api.example/items?Mode=purge", ""),
        ("api.example/items?mode%5B%5D=purge", ""),
    ):
        with pytest.raises(AmbiguousRequestError, match=r"(?i)mode"):
            _operation("POST", url, body, catalogue=catalogue)
