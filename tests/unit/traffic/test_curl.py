"""Commands that a person pastes: what an agent wrote is never run."""

import shlex
import subprocess
from typing import Any

import pytest

from headgate.kernel.secrets import MASK
from headgate.traffic.curl import curl_command


def document(**changes: object) -> dict[str, Any]:
    request: dict[str, object] = {
        "method": "POST",
        "scheme": "https",
        "host": "api.example.com",
        "port": 443,
        "path": "/a",
        "query": "",
        "headers": [],
        "body": "",
        "size_bytes": 0,
        "is_whole": True,
    }
    return {"v": 1, "request": request | changes, "response": None, "error": None}


def words_in_bash(command: str) -> list[str]:
    """What bash would start, instead of starting it."""
    shown = subprocess.run(
        ["bash", "-c", 'curl() { printf "%s\\0" "$@"; }; ' + command], capture_output=True, text=True, check=True
    )
    return shown.stdout.split("\0")[:-1]


def test_placeholders_stand_for_what_was_masked() -> None:
    made = curl_command(
        document(
            query=f"key={MASK}&q=1",
            headers=[["Authorization", MASK], ["Host", "api.example.com"], ["X-Empty", ""], ["content-length", "9"]],
            body=f'{{"password":"{MASK}"}}',
        )
    )
    assert shlex.split(made) == [
        *("curl", "--globoff", "--path-as-is", "--request", "POST"),
        *("--url", "https://api.example.com:443/a?key=<QUERY>&q=1"),
        *("--header", "Authorization: <AUTHORIZATION>", "--header", "X-Empty;"),
        *("--data-raw", '{"password":"<BODY>"}'),
    ]


@pytest.mark.parametrize(
    "hostile",
    [
        "'; touch /tmp/owned; '",
        "$(touch /tmp/owned)",
        "`touch /tmp/owned`",
        '" && rm -rf / #',
        "@/etc/passwd",
        "{a,b}[1-9]",
        "-o/etc/passwd",
        "line\nbreak\\'x'",
        "\x1b]0;title\x07\x9b31m",
        "\u202eevil\u200b",
        "--upload-file /etc/passwd",
        "!history",
        "\\",
        "%s%n",
    ],
)
@pytest.mark.parametrize("place", ["path", "query", "header", "body"])
def test_whatever_an_agent_wrote_stays_one_word(hostile: str, place: str) -> None:
    changes: dict[str, object] = {place: hostile}
    if place == "header":
        changes = {"headers": [["X-Note", hostile]]}
    if place == "path":
        changes = {"path": "/" + hostile}
    command = curl_command(document(**changes))
    assert all(ord(character) >= 0x20 and not 0x7F <= ord(character) <= 0x9F for character in command)
    words = words_in_bash(command)
    assert words[:6] == ["--globoff", "--path-as-is", "--request", "POST", "--url", words[5]]
    expected = {"path": "/" + hostile, "query": f"/a?{hostile}", "body": hostile, "header": f"X-Note: {hostile}"}[place]
    assert any(word in (expected, f"https://api.example.com:443{expected}") for word in words), words
    assert len(words) == (6 if place in ("path", "query") else 8)


def test_what_was_not_captured_is_said() -> None:
    assert curl_command(document(body=None, size_bytes=5)).endswith("# its body was not captured")
    assert curl_command(document(body="abc", size_bytes=5, is_whole=False)).endswith("# only the beginning of its body")


def test_a_head_request_waits_for_no_body() -> None:
    assert "--head" in shlex.split(curl_command(document(method="HEAD")))
    assert "--request" not in curl_command(document(method="HEAD"))
    assert "--request HEAD" in curl_command(document(method="HEAD", body="a", size_bytes=1)), "curl refuses both"
