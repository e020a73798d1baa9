"""Discord's HTTP interface for what a bot asks of it, answering as its reference says.

https://docs.discord.com/developers/resources/message (2,000 characters, nonce of 25 with ``enforce_nonce``),
…/resources/channel (threads: 160004 where there is one), …/components/reference (five buttons a row, custom_id of 100),
…/topics/rate-limits, and …/interactions/receiving-and-responding (Ed25519).
"""

import json
import time
from dataclasses import dataclass, field
from typing import Any

import jsonschema
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.integration.outgoing.fake_platform import Answered, Asked, FakePlatform

TOKEN, CHANNEL = "discord-token", "123456789012345678"
KEY = Ed25519PrivateKey.generate()
_BUTTON = {
    "type": "object",
    "required": ["type", "style", "label"],
    "properties": {
        "type": {"const": 2},
        "style": {"enum": [1, 2, 3, 4, 5]},
        "label": {"maxLength": 80},
        "custom_id": {"maxLength": 100, "minLength": 1},
        "url": {"maxLength": 512},
    },
    "oneOf": [
        {"required": ["custom_id"], "properties": {"style": {"enum": [1, 2, 3, 4]}}},
        {"required": ["url"], "properties": {"style": {"const": 5}}},
    ],
    "additionalProperties": False,
}
_MESSAGE = {
    "type": "object",
    "required": ["content", "allowed_mentions"],
    "additionalProperties": False,
    "properties": {
        "content": {"type": "string", "minLength": 1, "maxLength": 2000},
        "nonce": {"type": "string", "maxLength": 25},
        "enforce_nonce": {"type": "boolean"},
        "allowed_mentions": {"const": {"parse": []}},
        "components": {
            "type": "array",
            "maxItems": 5,
            "items": {
                "type": "object",
                "required": ["type", "components"],
                "properties": {
                    "type": {"const": 1},
                    "components": {"type": "array", "minItems": 1, "maxItems": 5, "items": _BUTTON},
                },
            },
        },
    },
}


@dataclass
class FakeDiscord(FakePlatform):
    """``messages``: by channel, the newest last; ``forgets_nonces``: as after a few minutes."""

    messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    threads: set[str] = field(default_factory=set)
    forgets_nonces: bool = False
    others: int = 0

    def document(self, people: dict[str, str] | None = None, **changes: Any) -> dict[str, Any]:
        return {
            "enabled": True, "base_url": self.base_url, "channel_id": CHANNEL, "bot_token": TOKEN,
            "public_key": KEY.public_key().public_bytes_raw().hex(), "people": people or {}, **changes,
        }  # fmt: skip

    def respond(self, asked: Asked) -> Answered:
        if asked.headers.get("authorization") != f"Bot {TOKEN}":
            return Answered(401, {"message": "401: Unauthorized", "code": 0})
        match asked.method, asked.path.strip("/").split("/"):
            case "GET", ["users", "@me"]:
                return Answered(200, {"id": "1", "username": "headgate"})
            case "POST", ["channels", channel, "messages"] if channel == CHANNEL or channel in self.threads:
                return self._post(channel, asked.body)
            case "GET", ["channels", channel, "messages"]:
                return self._list(channel, asked.query)
            case "PATCH", ["channels", channel, "messages", message]:
                jsonschema.validate(asked.body, _MESSAGE)
                found = next(one for one in self.messages[channel] if one["id"] == message)
                found |= asked.body
                return Answered(200, found)
            case "POST", ["channels", channel, "messages", message, "threads"]:
                assert len(asked.body["name"]) <= 100
                if message in self.threads:
                    error = {"message": "A thread has already been created for this message", "code": 160004}
                    return Answered(400, error)
                self.threads.add(message)
                return Answered(201, {"id": message, "parent_id": channel})
        return Answered(404, {"message": "Unknown Channel", "code": 10003})

    def _post(self, channel: str, body: dict[str, Any]) -> Answered:
        jsonschema.validate(body, _MESSAGE)
        there = self.messages.setdefault(channel, [])
        same = [one for one in there if one["nonce"] == body["nonce"] and body["enforce_nonce"]]
        if same and not self.forgets_nonces:
            return Answered(200, same[0])
        message = {"components": [], **body, "id": str(2000 + sum(map(len, self.messages.values())))}
        there.append(message)
        return Answered(200, message)

    def _list(self, channel: str, query: dict[str, str]) -> Answered:
        """The newest first, at most two a page."""
        newest = [{"id": str(9000 - at), "components": [], "content": ""} for at in range(self.others)]
        newest += list(reversed(self.messages.get(channel, [])))
        before = query.get("before")
        ids = [one["id"] for one in newest]
        start = 0 if before is None else ids.index(before) + 1
        return Answered(200, newest[start : start + 2])

    @property
    def asking(self) -> list[dict[str, Any]]:
        return self.messages.get(CHANNEL, [])

    def texts(self, message: dict[str, Any]) -> list[str]:
        return [one["content"].replace("\\", "") for one in self.messages.get(message["id"], [])]


def pressed(
    custom_id: str, account: str = "80351110224678912", *, reason: str | None = None, **changes: Any
) -> dict[str, Any]:
    data: dict[str, Any] = {"custom_id": custom_id, "component_type": 2}
    if reason is not None:
        data = {
            "custom_id": custom_id,
            "components": [{"type": 1, "components": [{"type": 4, "custom_id": "reason", "value": reason}]}],
        }
    member = {"user": {"id": account, "username": "ada"}}
    return {"type": 3 if reason is None else 5, "id": str(time.time_ns()), "member": member, "data": data, **changes}


def signed(
    payload: dict[str, Any], *, key: Ed25519PrivateKey = KEY, age_seconds: float = 0
) -> tuple[bytes, dict[str, str]]:
    body, at = json.dumps(payload).encode(), str(int(time.time() - age_seconds))
    signature = key.sign(at.encode() + body).hex()
    return body, {"X-Signature-Ed25519": signature, "X-Signature-Timestamp": at, "Content-Type": "application/json"}
