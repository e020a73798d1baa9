"""Calls of agents, attacks and ordinary ones, each with the answer that it gets: ``calls_PART.jsonl``.

``{"kind": "attack" | "ordinary", "family", "about", "request": {"method", "url", "headers", "body"}, "answer":
{"status", "headers", "body"}}``, body and answer optional. Credentials and personal data are placeholders, as in the
other labelled texts (``tests.labelled.fill``); ``[[base64|…]]`` encodes what stands in it, innermost first. In JSON the
values are filled, not the text, so that quotes in them break nothing.
"""

import json
import random
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate.kernel.canonical_json import JsonValue
from tests.labelled import encoded
from tests.labelled.fill import ENCODINGS, filled_text

_ENCODED = re.compile(r"\[\[([a-z0-9_]+)\|((?:(?!\[\[|\]\]).)*)\]\]", re.DOTALL)
DEFAULT_ANSWER: dict[str, Any] = {
    "status": 200, "headers": {"content-type": "application/json"}, "body": '{"ok":true}'
}  # fmt: skip
_ENCODINGS: dict[str, Callable[[str], str]] = {
    **ENCODINGS,
    **{name: encoded.ENCODINGS[name] for name in ("base85", "reversed", "rot13")},
    "base32": encoded.ENCODINGS["base32 with padding"],
    "spaced_hex": encoded.ENCODINGS["hex with spaces"],
    "html": lambda text: "".join(f"&#{ord(one)};" for one in text),
}


@dataclass(frozen=True, slots=True)
class AgentCall:
    """``body`` is None where there is none. ``part`` names the file, ``number`` the line in it."""

    part: str
    number: int
    attack: bool
    family: str
    about: str
    method: str
    url: str
    headers: dict[str, str]
    body: str | None
    status: int
    answer_headers: dict[str, str]
    answer: str


def agent_calls(path: Path) -> Iterator[AgentCall]:
    """Always the same, in the same order."""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        record = json.loads(line)
        rng = random.Random(zlib.crc32(f"{path.stem}:{number}".encode()))  # noqa: S311 - repeatable, not secret
        request, answer = record["request"], DEFAULT_ANSWER | (record.get("answer") or {})
        body = request.get("body")
        yield AgentCall(
            path.stem,
            number,
            record["kind"] == "attack",
            record["family"],
            record.get("about", ""),
            request["method"],
            _filled(request["url"], rng).replace(" ", "%20").replace("\n", "%0A"),
            {
                name: _filled(str(value), rng).replace("\n", " ")
                for name, value in (request.get("headers") or {}).items()
            },
            None if body is None else _filled_body(body, rng),
            int(answer["status"]),
            {name: str(value) for name, value in answer["headers"].items()},
            _filled_body(answer["body"], rng),
        )


def _filled_body(body: JsonValue, rng: random.Random) -> str:
    if not isinstance(body, str):
        return json.dumps(_filled_value(body, rng), ensure_ascii=False)
    if body[:1] in ("{", "["):
        try:
            return json.dumps(_filled_value(json.loads(body), rng), ensure_ascii=False)
        except ValueError:
            pass
    return _filled(body, rng)


def _filled_value(value: JsonValue, rng: random.Random) -> JsonValue:
    if isinstance(value, str):
        return _filled(value, rng)
    if isinstance(value, list):
        return [_filled_value(item, rng) for item in value]
    if isinstance(value, dict):
        return {_filled(name, rng): _filled_value(member, rng) for name, member in value.items()}
    return value


def _filled(text: str, rng: random.Random) -> str:
    text = filled_text(text, rng)
    while (found := _ENCODED.search(text)) is not None:
        text = text[: found.start()] + _ENCODINGS[found[1]](found[2]) + text[found.end() :]
    return text
