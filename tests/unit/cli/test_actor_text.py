"""One form of actor: a person's name and address, an agent's name, a key's id."""

import json
from typing import Any

import pytest

from headgate.cli.actor_text import People, actor_text
from headgate.cli.api_client import ApiClient
from headgate.cli.target import Target
from headgate.kernel.secrets import Secret
from tests.http_server import http_server

USERS = [
    {"id": "usr_1", "name": "Ann", "email": "ann@example.com"},
    {"id": "usr_2", "name": "Bob", "email": None},
    {"id": "usr_3", "name": None, "email": None},
    {"id": "usr_6", "name": "Eve\u202e", "email": "eve@example.com"},
    {"id": "usr_4", "name": "Ann <ann@example.com>", "email": "eve@example.com"},
]


@pytest.mark.parametrize(
    ("actor", "text"),
    [
        (None, "(erased)"),
        ({"type": "user", "id": "usr_1", "name": "ann@example.com"}, "ann@example.com"),
        ({"type": "user", "id": "usr_1", "name": None}, "usr_1"),
        ({"type": "user", "id": "usr_1", "name": "key_17"}, "key key_17"),
        ({"type": "system", "id": "key_17", "name": None}, "key key_17"),
        ({"type": "system", "id": "headgate", "name": None}, "headgate"),
        ({"type": "agent", "id": "agt_1", "name": "Courier\x1b[2J"}, "agent Courier\\u{1b}[2J"),
    ],
)
def test_an_actor_of_the_record(actor: Any, text: str) -> None:
    assert actor_text(actor) == text


@pytest.mark.parametrize(
    ("user_id", "email", "text"),
    [
        ("usr_1", None, "Ann <ann@example.com>"),
        ("usr_1", "ann@old.example.com", "Ann <ann@old.example.com>"),
        ("usr_2", None, "Bob"),
        ("usr_3", None, "usr_3"),
        ("usr_4", None, "eve@example.com"),
        ("usr_6", None, "Eve\\u{202e} <eve@example.com>"),
        ("usr_5", "old@example.com", "old@example.com"),
        ("key_17", None, "key key_17"),
        ("headgate", None, "headgate"),
    ],
)
def test_a_person(user_id: str, email: str | None, text: str) -> None:
    with http_server(lambda path, body: (200, "application/json", json.dumps({"data": USERS}).encode())) as url:
        assert People(ApiClient(Target(url, Secret("t")))).text(user_id, email) == text


def test_who_may_not_read_the_users_sees_addresses() -> None:
    refusal = json.dumps({"error": {"code": "FORBIDDEN", "message": "no"}}).encode()
    asked: list[str] = []

    def refuse(path: str, body: bytes) -> tuple[int, str, bytes]:
        asked.append(path)
        return 403, "application/json", refusal

    with http_server(refuse) as url:
        people = People(ApiClient(Target(url, Secret("t"))))
        assert people.text("usr_1", "ann@example.com") == "ann@example.com"
        assert people.text("usr_1") == "usr_1"
    assert len(asked) == 1
