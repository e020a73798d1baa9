"""What an agent has sent lately: what it costs to keep, whatever the names of the members are."""

import random
import tracemalloc

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.document import JoinedText
from headgate.kernel.canonical_json import JsonValue
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.request_window import RequestWindows
from tests.labelled import credentials

LONG_NAME = "n" * 200_000


def entered(*bodies: JsonValue) -> list[tuple[tuple[str, ...], str]]:
    windows = RequestWindows(lambda: 0.0)
    for number, body in enumerate(bodies):
        joined = windows.enter("org", "agent", windows.read(str(number), {"params": {"body": body}}))
    return [(one.before, one.text) for one in joined]


def test_long_names_are_not_repeated_for_each_value_below_them() -> None:
    body: JsonValue = {LONG_NAME: {f"k{number}": ["x"] for number in range(500)}}
    tracemalloc.start()
    try:
        entered(body, body)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 5_000_000


def test_the_same_long_place_is_one_place_and_another_is_another() -> None:
    assert (("a",), "b") in entered({LONG_NAME: "a"}, {LONG_NAME: "b"})
    assert (("a",), "b") in entered({LONG_NAME: ["a"]}, {LONG_NAME: ["b"]})
    others = entered({LONG_NAME: "a", LONG_NAME + "1": "c"}, {LONG_NAME: "b", LONG_NAME + "1": "d"})
    assert {(("a",), "b"), (("c",), "d")} <= set(others)


def test_a_credential_counts_in_pieces_and_not_where_one_request_has_all_of_it() -> None:
    one, other = (credentials.github(random.Random(seed)) for seed in (1, 2))  # noqa: S311 - repeatable, not secret
    for before, text, found in (
        (one[:20], one[20:], ("github_token",)),
        (one, other, ()),
        (one, "next page", ()),
        ("", other, ()),
    ):
        joined = (JoinedText((before,), text, ".params.q"),)
        assert assess(EmbeddedModel.SECRETS, {"a": 1}, joined=joined).issues == found


def test_what_header_fields_make_is_left_out_with_them() -> None:
    windows = RequestWindows(lambda: 0.0)
    for number in (1, 2):
        call: JsonValue = {
            "http": {"headers": {"authorization": "[masked]", "x-note": f"n{number}"}},
            "params": {"q": f"q{number}"},
        }
        sent = {"authorization": [f"token {number}"], "cookie": [f"cookie {number}"]}
        joined = windows.enter("org", "agent", windows.read(str(number), JudgedContent(call, sent=sent).by_field()))
    content = JudgedContent({}, joined=joined)
    tokens, cookies = ".http.sent.authorization[0]", ".http.sent.cookie[0]"
    places = {".http.headers.x-note", tokens, cookies, ".params.q", "*"}
    assert {one.place for one in content.joined_without(())} == places
    assert {one.place for one in content.joined_without(("authorization",))} == places - {tokens}
    assert {one.place for one in content.joined_without(("x-note", "cookie"))} == {tokens, ".params.q", "*"}


def test_pieces_in_one_request_are_found_whatever_came_before() -> None:
    token = credentials.gitlab(random.Random(3))  # noqa: S311 - repeatable, not secret
    windows = RequestWindows(lambda: 0.0)
    for number, params in enumerate(({"a": "hello"}, {"a": token[:12], "b": token[12:]})):
        value: JsonValue = {"params": {**params}}
        joined = windows.enter("org", "agent", windows.read(str(number), value))
    assert assess(EmbeddedModel.SECRETS, value, joined=joined).issues == ("gitlab_token",)


def test_a_token_that_was_allowed_does_not_reach_into_the_next_request() -> None:
    token = credentials.jwt(random.Random(4))  # noqa: S311 - repeatable, not secret
    joined = (JoinedText((token,), "txn1PQx7LmTz0bC4xYp", "*"),)
    assert assess(EmbeddedModel.SECRETS, {"a": 1}, joined=joined).issues == ()
    cut = (JoinedText((token[:30],), token[30:], "*"),)
    assert assess(EmbeddedModel.SECRETS, {"a": 1}, joined=cut).issues == ("json_web_token",)


def test_beginnings_far_back_do_not_hide_a_near_one() -> None:
    """None of them can be the beginning of what ends here."""
    token = credentials.github(random.Random(1))  # noqa: S311 - repeatable, not secret
    decoys = ["gh" + "p_" + "." * 240] * 16
    joined = (JoinedText((*decoys, "hello", token[:20]), token[20:], ".body"),)
    assert assess(EmbeddedModel.SECRETS, {"a": 1}, joined=joined).issues == ("github_token",)


def test_a_request_beside_one_with_a_credential_is_as_it_would_be_alone() -> None:
    windows = RequestWindows(lambda: 0.0)
    token = credentials.gitlab(random.Random(4))  # noqa: S311 - repeatable, not secret
    bodies: list[JsonValue] = [{"a": f"the key is {token} .", "b": "1"}, {"limit": "250", "page": "eyJkaXJlY3Rpb24i"}]
    for number, body in enumerate(bodies):
        value: JsonValue = {"params": body}
        joined = windows.enter("org", "agent", windows.read(str(number), value))
    assert any(token in before for one in joined for before in one.before)
    assert not assess(EmbeddedModel.SECRETS, value, joined=joined).issues


def test_a_credential_with_the_next_field_behind_it_is_found_once() -> None:
    token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ3ZWIiLCJleHAiOjE3OTMwMDAwMDB9.4fQ9xZr7Lm2Wv8Kc1Tn6Yb3Hs5Jd0Pq"
    value: JsonValue = {"params": {"a": token, "b": "openid", "c": "groups"}}
    found = assess(EmbeddedModel.SECRETS, value).inspection.findings
    assert [(one.kind, one.place.path) for one in found] == [("json_web_token", "$.params.a")]


def test_what_went_where_it_may_is_not_sent_on_in_halves() -> None:
    token = credentials.gitlab(random.Random(5))  # noqa: S311 - repeatable, not secret
    for first in ({"a": token}, {"a": "hello", "note": token}, {"b": "hello"}):
        windows = RequestWindows(lambda: 0.0)
        for number, params in enumerate((first, {"a": token[:14], "note": "x"}, {"a": token[14:], "note": "y"})):
            value: JsonValue = {"params": {**params}}
            joined = windows.enter("org", "agent", windows.read(str(number), value))
        assert assess(EmbeddedModel.SECRETS, value, joined=joined).issues == ("gitlab_token",)
