"""Secrets are masked, whatever their place; what is none stays as it was."""

import json
import time

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.actions.masking import WORK_MAX, Masker, default_masker, mask
from headgate.actions.masking_rules import compile_rules, masking_rules
from headgate.configuration.yaml_document import parse_document
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import MASK

_ALNUM = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6kL9nO2qR5tU8xA1"
CREDENTIALS = {
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "github": "ghp_" + _ALNUM[:36],
    "github_fine_grained": "github_pat_" + _ALNUM[:30],
    "gitlab": "glpat-" + _ALNUM[:20],
    "slack": "xoxb-123456789012-" + _ALNUM[:24],
    "slack_webhook": "https://hooks.slack.com/services/T0123ABCD/B0123ABCD/" + _ALNUM[:24],
    "stripe": "sk_live_" + _ALNUM[:24],
    "openai": "sk-proj-" + _ALNUM[:48],
    "anthropic": "sk-ant-api03-" + _ALNUM[:48],
    "google": "AIza" + _ALNUM[:35],
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + _ALNUM[:43],
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    "pem_alone": "-----BEGIN PRIVATE KEY-----\nMIIEow",
    "headgate": "hg_" + _ALNUM[:49],
    "bearer": "Bearer " + _ALNUM[:20],
    "discord": "https://discord.com/api/webhooks/123456789012345678/" + _ALNUM + _ALNUM[:17],
    "telegram": "https://api.telegram.org/bot123456789:" + _ALNUM[:35],
    "npm": "npm_" + _ALNUM[:36],
    "url": "https://user:hunter2@example.com/x",
}


@pytest.mark.parametrize("credential", CREDENTIALS.values(), ids=CREDENTIALS)
@pytest.mark.parametrize(
    "frame", ["{}", "see {} here", "\n{}", '"{}"', "a\\{}", "é{} ", "({})", "?next=a%3D{}", "b'\\x0a{}'"]
)
def test_credentials_are_masked_wherever_they_stand(credential: str, frame: str) -> None:
    text = frame.replace("{}", credential)
    values: list[JsonValue] = [text, [text], {"a": {"b": [text]}}, {text: 1}]
    for value in values:
        masked = mask(canonical_bytes(value))
        assert MASK.encode() in masked
        for secret in (credential[-16:], _ALNUM[:16], "hunter2", "MIIEow"):
            assert secret not in credential or secret.encode() not in masked
    assert json.dumps(text)[1:-1].encode() not in mask(canonical_bytes({"nested": json.dumps({"a": text})}))


@pytest.mark.parametrize(
    "name",
    [
        *("password", "Password", "db_password", "dbPassword", "token", "access_token", "accessToken"),
        *("client-secret", "api_key", "apiKey", "apikey", "X-Api-Key", "private.key", "secrets", "credentials"),
        *("pwd", "otp", "jwt", "authorization", "Cookie", "set-cookie", "aws_secret_access_key", "AccountKey"),
    ],
)
def test_members_with_a_secret_name(name: str) -> None:
    assert parse_strict(mask(canonical_bytes({name: "x1"}))) == {name: MASK}
    nested: JsonValue = {"a": [{name: {"value": "x1", "n": 5, "on": True, "none": None, "empty": "", "l": ["x2"]}}]}
    assert parse_strict(mask(canonical_bytes(nested))) == {
        "a": [{name: {"value": MASK, "n": MASK, "on": True, "none": None, "empty": "", "l": [MASK]}}]
    }


@pytest.mark.parametrize("value", ["\\x", '"x', " x", "[x", "\nx", "x", "é", "[m", "[masked", "[masked]x"])
def test_whatever_the_secret_begins_with(value: str) -> None:
    assert parse_strict(mask(canonical_bytes({"password": value}))) == {"password": MASK}


@pytest.mark.parametrize(
    "value",
    [
        {"page_token": "abc", "next_page_token": "abc", "progressToken": 1, "cancellation_token": "x"},
        {"max_tokens": 100, "prompt_tokens": 5, "tokenizer": "x"},
        {"secretary": "y", "passwords_policy": "strict", "keyboard": "z"},
        {"password": "", "token": None, "secret": True},
        {"text": "the token was there: fine", "note": "task-management-for-the-next-quarter-and-more"},
        {"url": "https://example.com/a:b@c?x=1", "time": "12:30", "skus": ["sk-1"]},
        {"authorization": MASK},
        [1, 2.5, None, True, "plain"],
    ],
)
def test_what_is_no_secret_stays(value: JsonValue) -> None:
    assert parse_strict(mask(canonical_bytes(value))) == value


def test_the_clean_case_is_the_same_object() -> None:
    clean = canonical_bytes({"title": "x", "items": list(range(50))})
    assert mask(clean) is clean


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("access_token=abcd&page=2", f"access_token={MASK}&page=2"),
        ("a=1&api_key=abcd1234", f"a=1&api_key={MASK}"),
        ('{"password": "hunter2"}', f'{{"password": "{MASK}"}}'),
        ('{\\"password\\": \\"hunter2\\"}', f'{{\\"password\\": \\"{MASK}\\"}}'),
        ("DB_PASSWORD: hunter2\nx: y", f"DB_PASSWORD: {MASK}\nx: y"),
        ("page_token=abcd", "page_token=abcd"),
        ("https://u:p4ss@h/x", f"https://{MASK}@h/x"),
        ("nothing here", "nothing here"),
    ],
)
def test_texts(text: str, expected: str) -> None:
    assert default_masker().mask_text(text) == expected
    assert default_masker().mask_text(expected) == expected


@pytest.mark.parametrize("first", ["google", "npm", "telegram"])
def test_a_credential_glued_to_another_hides_neither(first: str) -> None:
    masked = mask(canonical_bytes(CREDENTIALS[first] + CREDENTIALS["aws"]))
    assert CREDENTIALS["aws"].encode() not in masked
    assert mask(masked) == masked


_NEEDLE = "password=hunter2abcd"
_FLOODS: dict[str, JsonValue] = {
    "one text": {"a": f"{_NEEDLE} " * 300_000},
    "many texts": [_NEEDLE] * 300_000,
    "texts without any": [_NEEDLE, *["a"] * 400_000, _NEEDLE],
    "one secret member": {"password": ["hunter2"] * 400_000},
    "names": {f"{_NEEDLE}{number}": 1 for number in range(100_000)},
    "credentials": " ".join([CREDENTIALS["github"]] * 100_000),
}


@pytest.mark.parametrize("flood", _FLOODS.values(), ids=_FLOODS)
def test_a_flood_of_secrets_costs_little_and_hides_none(flood: JsonValue) -> None:
    canonical = canonical_bytes(flood)
    began = time.process_time()
    masked = mask(canonical)
    # All agents' requests wait meanwhile. Without a bound these take from 2 seconds to hours (the names).
    assert time.process_time() - began < 1.5
    assert b"hunter2" not in masked
    assert CREDENTIALS["github"].encode() not in masked


@pytest.mark.parametrize(
    "text",
    ["password:\n  abcdef", "password\t= abcdef", "password=\x1fabcdef", "password=\\abcdef", "api_key:\r\nabcd"],
)
@pytest.mark.parametrize("levels", [0, 1, 2])
def test_a_secret_behind_what_json_escapes(text: str, levels: int) -> None:
    for _ in range(levels):
        text = json.dumps({"log": text})
    assert b"abcd" not in mask(canonical_bytes({"text": text}))


_SECRETS = st.sampled_from(list(CREDENTIALS.values())) | st.text(max_size=6)
_NAMES = st.sampled_from(["password", "apiKey", "page_token", "x", "cookie"]) | st.text(max_size=4)
_TEXTS = st.lists(_SECRETS | _NAMES | st.sampled_from(["=", ": ", '"', "\\", "\n", "\t", "\x1f", "&"]), max_size=5).map(
    "".join
)
_VALUES = st.recursive(
    _TEXTS | st.integers(0, 9) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES | _TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(_VALUES)
def test_the_first_look_misses_nothing_and_masking_twice_is_masking_once(value: JsonValue) -> None:
    try:
        canonical = canonical_bytes(value)
    except ValidationError:
        return
    # In canonical order: of two names that are credentials both, the first is "[masked]", the second "[masked] 2".
    walked = canonical_bytes(default_masker().mask_value(parse_strict(canonical)))
    assert mask(canonical) == walked
    assert mask(walked) == walked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("field_names: []\n", "at least one name"),
        ("field_names: [Pass-Word]\n", "must be in lower case"),
        ("fieldnames: [a]\n", "unknown"),
        (
            "field_names: [a]\nwhole_field_names: [b]\nharmless_field_names: [c]\ncredentials: {x: '('}\n",
            "RE2 does not accept",
        ),
    ],
)
def test_lists_that_cannot_be_used_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        compile_rules(parse_document(text, where="masking.yaml"))


def test_the_lists_that_come_with_headgate_are_usable() -> None:
    assert masking_rules().is_secret_name("password")


@pytest.mark.parametrize("credential", CREDENTIALS.values(), ids=CREDENTIALS)
@pytest.mark.parametrize("place", ["text", "name", "assigned", "member"])
def test_one_secret_among_many_small_texts_is_found_where_all_are_looked_at_together(
    credential: str, place: str
) -> None:
    hidden: dict[str, JsonValue] = {
        "text": {"note": credential},
        "name": {credential: 1},
        "assigned": {"note": "password=xyzzy-1234"},
        "member": {"dbPassword": "xyzzy-1234"},
    }
    items: list[JsonValue] = [{"id": number, "name": f"item {number}", "ok": True} for number in range(200)]
    value: list[JsonValue] = [*items, hidden[place], *items]
    masked = default_masker().mask_value(value)
    assert masked == [*items, default_masker().mask_value(hidden[place]), *items]
    text = json.dumps(masked)
    assert MASK in text
    assert "xyzzy" not in text
    assert _ALNUM[:16] not in text


def test_what_holds_no_secret_is_not_copied() -> None:
    value: JsonValue = {"items": [{"id": number, "prompt_tokens": number} for number in range(20_000)]}
    assert default_masker().mask_value(value) is value


class _Counting:
    """A pattern that counts how often it is asked."""

    def __init__(self, pattern: re2._Regexp) -> None:
        self.asked = 0
        self._pattern = pattern

    def search(self, text: str) -> re2._Match | None:
        self.asked += 1
        return self._pattern.search(text)


def test_of_names_without_end_no_more_are_asked_than_may_be() -> None:
    """Half a million of them in one call held every other one up for more than a second."""
    rules = masking_rules()
    counting = _Counting(rules.secret_name)
    value: JsonObject = {**{f"k{number}": 1 for number in range(50_000)}, "note": "password=xyzzy-1234"}
    masked = Masker(replace(rules, secret_name=counting)).mask_value(value)
    assert counting.asked <= 2 * WORK_MAX
    assert "xyzzy" not in json.dumps(masked)


@pytest.mark.parametrize(
    "text",
    [
        "<password>hunter2</password>",
        "<Password>\n  hunter2\n</Password>",
        '<db:clientSecret xsi:type="string">hunter2</db:clientSecret>',
        "<wsse:Password Type='x'><![CDATA[hunter2<x]]></wsse:Password>",
        "<otp>hunter2</otp>",
        "<credential><value>hunter2</value></credential>",
        '<add key="db_password" value="hunter2"/>',
        "<input type=text value='hunter2' name='api-key'>",
        '<parameter name="password">hunter2</parameter>',
        "<member><name>password</name>\n<value><string>hunter2</string></value></member>",
        "<dict><key>token</key><string>hunter2</string></dict>",
        '<login user="a" password="hunter2"/>',
        "a=1&user[password]=hunter2&b=2",
        "a=1&user%5Bpassword%5D=hunter2&b=2",
        "password[]=hunter2",
    ],
)
def test_secrets_in_markup_and_forms(text: str) -> None:
    for value in (text, {"body": text}, ["x", text]):
        once = mask(canonical_bytes(value))
        assert b"hunter2" not in once
        assert MASK.encode() in once
        assert mask(once) == once
    assert "hunter2" not in default_masker().mask_text(text)


@pytest.mark.parametrize("name", ["user[password]", "user[login][api_key]", "password[]", "tokens[0]", "card[otp]"])
def test_members_of_forms_with_a_secret_name(name: str) -> None:
    assert parse_strict(mask(canonical_bytes({name: ["x1"]}))) == {name: [MASK]}


@pytest.mark.parametrize(
    "text",
    [
        "<max_tokens>100</max_tokens>",
        "<password></password>",
        "<password/>",
        "<password>true</password>",
        "<p>the password is never shown</p>",
        '<input type="password" placeholder="Password">',
        "<name>tokenizer</name><value>fast</value>",
        "<page_token>abcdef</page_token>",
    ],
)
def test_markup_without_secrets_stays(text: str) -> None:
    sent = canonical_bytes({"body": text})
    assert parse_strict(mask(sent)) == {"body": text}


def test_what_is_light_is_read_before_what_is_beyond_the_bound() -> None:
    heavy: list[JsonValue] = [{"value": number} for number in range(WORK_MAX)]
    light: JsonObject = {
        "host": "api.example.com",
        "path": "/v1",
        "headers": {"x-api-key": "abcdefgh", "accept": "*/*"},
    }
    record: JsonObject = {"params": {"body": {"metrics": heavy, "last": "kept"}, **light}, "tool": "http"}
    masked = parse_strict(mask(canonical_bytes(record)))
    params = masked["params"]
    assert isinstance(params, dict) and isinstance(params["body"], dict)
    assert {name: params[name] for name in light} == light | {"headers": {"x-api-key": MASK, "accept": "*/*"}}
    assert (masked["tool"], params["body"]["last"]) == ("http", "kept")
    metrics = params["body"]["metrics"]
    assert isinstance(metrics, list) and metrics[-1] == MASK and 4_000 < len(metrics) < WORK_MAX
