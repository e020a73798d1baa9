"""Texts that are made to cost time: each meets some step of an inspection with the worst that it can be given."""

import base64
import gzip
import json
import random
import string
from urllib.parse import quote


def hostile_texts(size: int) -> dict[str, str]:
    """Each of about ``size`` bytes in UTF-8."""
    rng = random.Random(7)  # noqa: S311 - repeatable, not secret

    def repeat(one: str) -> str:
        return one * (size // len(one.encode()))

    return {
        "one letter": repeat("a"),
        "a.a.a.": repeat("a."),
        "a@a@a@": repeat("a@"),
        "digits": repeat("1"),
        "digits and spaces": repeat("1 2 34 "),
        "grouped digits": repeat("4111 1111 1111 "),
        "dotted digits": repeat("1.2.3."),
        "colons": repeat("ab:cd:"),
        "phones": repeat("tel +49 30 123456 "),
        "phone words": repeat("tel 0123456789 "),
        "bare phones": repeat("phone 1234567 "),
        "keywords": repeat("password="),
        "assignments": repeat("token=abc1234567890defGHI "),
        "quotes": repeat("secret:\"'\""),
        "urls": repeat("a://b:c@"),
        "colon slashes": repeat("://"),
        "near keys": repeat("sk-aaaaaaaaaaaaaaaaaaaaaaT3BlbkFJ"),
        "token starts": repeat("eyJ.eyJ."),
        "pem starts": repeat("-----BEGIN PRIVATE KEY-----"),
        "born": repeat("born 1.1.19 "),
        "ibans": repeat("DE00 0000 0000 0000 0000 00 "),
        "marks": repeat("\u0301\u0327"),
        "expanding": repeat("\ufdfa"),
        "zero width": repeat("a\u200b"),
        "brackets": repeat("["),
        "nested json": "[" * (size // 2) + "]" * (size // 2),
        "many values": json.dumps([100000 + one for one in range(size // 8)]),
        "json in json": _nested_json(size),
        "escapes": repeat("\\u0041"),
        "backslashes": repeat('\\"'),
        "percent": repeat("%41"),
        "percent of percent": repeat("%2525"),
        "base64 of base64": _nested_base64(size),
        "gzip bomb": base64.b64encode(gzip.compress(b"a" * 40_000_000)).decode()[: size // 4 * 4],
        "many base64": " ".join(base64.b64encode(b"phone 030 1234567").decode() for _ in range(size // 25)),
        "percent of keywords": quote("password: Aa1!bcd " * 40, safe="") * (size // 1000),
        "random letters": "".join(rng.choices(string.ascii_letters + string.digits + "+/", k=size)),
        "random bytes": "".join(rng.choices([chr(one) for one in range(0x20, 0x250)], k=size // 2)),
        "random marks": "".join(rng.choices([chr(one) for one in range(0x300, 0x36F)], k=size // 2)),
        "random digits": "".join(rng.choices("0123456789 .-/+()", k=size)),
        "context": repeat("ssn nhs sin cpf nif bsn 123456789 "),
        "card digits": "".join(rng.choices("4 0123456789", k=size)),
    }  # fmt: skip


def _nested_json(size: int) -> str:
    text = "x"
    while len(text) < size:
        text = json.dumps([text])
    return text[:size] if len(text) > 2 * size else text


def _nested_base64(size: int) -> str:
    data = b"password: nothing"
    while len(data) < size * 3 // 4:
        data = base64.b64encode(data + b" " + data)
    return data.decode()
