"""A credential is found wherever a request carries it, by the code that judges live calls."""

import json
import random
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from headgate.gate.judge_content import judge
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.transport import open_client
from headgate.kernel.clock import system_clock
from headgate.nlp_policies.evaluate import Evaluator
from headgate.nlp_policies.model import NlpDraft, NlpPolicy, NlpPolicyType, NlpResult, OnMatch, Scope
from headgate.policies.model import Verdict
from headgate.protocols.draft import ActionDraft
from headgate.protocols.http_call import HttpCall
from headgate.protocols.websocket import message_draft
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues
from tests.labelled import credentials, encoded

SECRET = credentials.github(random.Random(46))  # noqa: S311 - repeatable, not secret
_PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 2
_NOW = datetime(2026, 11, 1, tzinfo=UTC)


def call(
    *headers: tuple[str, str], host: str = "api.example.com", path: str = "/notes", query: str = "", body: bytes = b""
) -> HttpCall:
    fields = [("Host", host), ("Content-Length", str(len(body))), *headers]
    raw = tuple((name.encode(), value.encode()) for name, value in fields)
    return HttpCall("POST", "https", host, 443, path, query, raw, body)


def form(*pieces: tuple[str, bytes]) -> HttpCall:
    body = b"".join(
        b"--b\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + data + b"\r\n"
        for head, data in pieces
    )
    return call(("Content-Type", "multipart/form-data; boundary=b"), body=body + b"--b--\r\n")


def json_call(value: object) -> HttpCall:
    return call(("Content-Type", "application/json"), body=json.dumps(value).encode())


async def judged(sent: HttpCall, **fields: object) -> NlpResult:
    return await judged_draft(interpret(sent, load_catalogues()), **fields)


async def judged_draft(action: ActionDraft, **fields: object) -> NlpResult:
    given = {"type": NlpPolicyType.CONTENT_SAFETY, "model": "secrets", "threshold": 0.6, **fields}
    draft = NlpDraft("No secrets", **given)
    policy = NlpPolicy("org_1", "nlp_1", 1, draft, _NOW, _NOW)
    async with open_client() as client:
        evaluator = Evaluator(Judges(client), DailyBudgets(system_clock), deadline_seconds=30)
        [result] = await judge(evaluator, [policy], action, {})
    return result


LOCATIONS = {
    "authorization": lambda text: call(("Authorization", f"Bearer {text}")),
    "proxy field": lambda text: call(("X-Api-Key", text)),
    "cookie": lambda text: call(("Cookie", f"theme=dark; note={text}; lang=en")),
    "any header": lambda text: call(("X-Trace-Note", text)),
    "header name": lambda text: call((text.replace("=", ""), "1")),
    "user agent": lambda text: call(("User-Agent", f"curl/8.1 ({text})")),
    "path": lambda text: call(path="/files/" + quote(text, safe="") + "/raw"),
    "query": lambda text: call(query="q=" + quote(text, safe="")),
    "query name": lambda text: call(query=quote(text, safe="") + "=1"),
    "json value": lambda text: json_call({"a": [{"b": text}]}),
    "json name": lambda text: json_call({text: 1}),
    "form": lambda text: call(
        ("Content-Type", "application/x-www-form-urlencoded"), body=b"a=1&b=" + quote(text, safe="").encode()
    ),
    "text": lambda text: call(("Content-Type", "text/plain"), body=f"Please keep {text} for later".encode()),
    "part": lambda text: form(('name="a"', b"1"), ('name="b"', text.encode())),
    "file name": lambda text: form((f'name="a"; filename="{text}"', b"1")),
    "part beside a picture": lambda text: form(
        ('name="a"; filename="a.png"', _PICTURE), ('name="b"', text.encode())
    ),
    "picture": lambda text: form(('name="a"; filename="a.png"', _PICTURE + text.encode() + b"\0")),
}  # fmt: skip

# Where line breaks, quotes or other scripts cannot stand.
_ANY_TEXT = ("json value", "query", "form", "text", "part")


@pytest.mark.parametrize("where", LOCATIONS)
async def test_a_credential_is_found_wherever_it_leaves(where: str) -> None:
    result = await judged(LOCATIONS[where](SECRET))

    assert result.issues == ("github_token",)
    assert result.decision is Verdict.REQUIRE_APPROVAL


@pytest.mark.parametrize("where", ["cookie", "authorization", "path", "query", "json name", "file name", "part"])
@pytest.mark.parametrize("how", ["base64", "base64url", "hex", "base32", "percent", "reversed", "rot13"])
async def test_a_credential_in_one_token_is_found_everywhere(where: str, how: str) -> None:
    if (where, how) == ("file name", "percent"):
        how = "hex"  # a percent sign in a file name is refused before anything is judged
    result = await judged(LOCATIONS[where](encoded.ENCODINGS[how](SECRET)))

    assert result.issues == ("github_token",)


@pytest.mark.parametrize("where", _ANY_TEXT)
@pytest.mark.parametrize("how", encoded.ENCODINGS)
async def test_a_credential_is_found_however_it_is_written(where: str, how: str) -> None:
    result = await judged(LOCATIONS[where](encoded.ENCODINGS[how](SECRET)))

    assert result.issues == ("github_token",)


@pytest.mark.parametrize("how", encoded.FILES)
@pytest.mark.parametrize("where", ["body", "part", "base64"])
async def test_a_credential_is_found_in_files(where: str, how: str) -> None:
    data = encoded.FILES[how](SECRET)
    sent = {
        "body": lambda: call(("Content-Type", "application/octet-stream"), body=data),
        "part": lambda: form(('name="a"; filename="a.bin"', data)),
        "base64": lambda: json_call({"file": encoded.ENCODINGS["base64"](data.decode("latin-1"), "latin-1")}),
    }[where]()

    result = await judged(sent)

    assert result.issues == ("github_token",)


@pytest.mark.parametrize("where", ["cookie", "authorization"])
async def test_a_header_that_the_policy_leaves_out_is_not_looked_at(where: str) -> None:
    token = credentials.gitlab(random.Random(47))  # noqa: S311 - repeatable, not secret

    result = await judged(LOCATIONS[where](token), scope=Scope(except_headers=("authorization", "cookie")))

    assert (result.issues, result.decision) == ((), Verdict.ALLOW)


@pytest.mark.parametrize("how", encoded.UNSCANNABLE)
@pytest.mark.parametrize(
    ("on_unscannable", "decision"),
    [(None, Verdict.DENY), (Verdict.REQUIRE_APPROVAL, Verdict.REQUIRE_APPROVAL), (Verdict.ALLOW, Verdict.ALLOW)],
)
async def test_the_policy_says_what_becomes_of_what_nobody_can_open(how, on_unscannable, decision) -> None:
    sent = call(("Content-Type", "application/octet-stream"), body=encoded.UNSCANNABLE[how](SECRET))

    result = await judged(sent, on_error=Verdict.DENY, on_unscannable=on_unscannable)

    assert (result.decision, result.error) == (decision, "unscannable")


async def test_what_is_found_in_a_file_that_cannot_be_opened_wholly_counts() -> None:
    sent = call(("Content-Type", "image/png"), body=_PICTURE + SECRET.encode() + b"\0")

    result = await judged(sent, on_match=OnMatch.DENY, on_unscannable=Verdict.ALLOW)

    assert result.decision is Verdict.DENY


async def test_a_bound_is_not_unscannable() -> None:
    bomb = encoded.zipped([("a.txt", b"a" * 30_000_000)])
    sent = call(("Content-Type", "application/zip"), body=bomb)

    result = await judged(sent, on_error=Verdict.DENY, on_unscannable=Verdict.ALLOW)

    assert (result.decision, result.error) == (Verdict.DENY, "not_inspected")


def message(content: bytes, *, is_text: bool) -> ActionDraft:
    """One of a WebSocket's client."""
    fields = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    raw = tuple((name.encode(), value.encode()) for name, value in fields.items())
    handshake = interpret(HttpCall("GET", "https", "stream.example", 443, "/live", "", raw, b""), load_catalogues())
    assert handshake.read_call is not None
    return message_draft(handshake.read_call, content, is_text=is_text)


_FILLING = "nothing to see " * 5_000
MESSAGES = {
    "short text": (SECRET.encode(), True),
    "JSON": (json.dumps({"a": [{"b": SECRET}]}).encode(), True),
    "long text": (f"{_FILLING}{SECRET}".encode(), True),
    "long JSON": (json.dumps({"a": _FILLING, "b": SECRET}).encode(), True),
    "text as bytes": (SECRET.encode(), False),
    "bytes": (_PICTURE + SECRET.encode() + b"\0", False),
    "archive": (encoded.FILES["tar.xz"](SECRET), False),
}


@pytest.mark.parametrize("how", MESSAGES)
async def test_a_credential_is_found_in_a_message_of_a_websocket(how: str) -> None:
    content, is_text = MESSAGES[how]
    result = await judged_draft(message(content, is_text=is_text))

    assert (result.issues, result.decision) == (("github_token",), Verdict.REQUIRE_APPROVAL)


@pytest.mark.parametrize("how", encoded.UNSCANNABLE)
async def test_a_message_that_nobody_can_open_is_unscannable(how: str) -> None:
    result = await judged_draft(message(encoded.UNSCANNABLE[how](SECRET), is_text=False))

    assert (result.decision, result.error) == (Verdict.REQUIRE_APPROVAL, "unscannable")
