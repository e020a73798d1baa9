"""Texts that are made to cost time: each meets some step of an inspection with the worst that it can be given."""

import base64
import gzip
import json
import random
import string
from urllib.parse import quote

from tests.labelled.encoded import zipped


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
        "wider at the end": "a" * (size - 4) + "\U0001f600",
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
        "separated hex": repeat("41:42 "),
        "hex beginnings": repeat("67 68 70 5f "),
        "hexdump lines": repeat("00000000: 4142 4344 4546 4748  ABCDEFGH\n"),
        "base32": repeat("MFRGGZDFMZTWQ2LK "),
        "base32 in lower case": repeat("mfrggzdfmztwq2lk."),
        "base85 tokens": repeat("F*2M7/c~>Xa0d#;B9 fG "),
        "base85 in one": repeat("F*2M7+EqJ!tA9@xG=Zc"),
        "decimals": repeat("65, 66, 67, "),
        "binary": repeat("01000001 "),
        "binary in one": repeat("01000001"),
        "spaced letters": repeat("a b c d e f g h i j k l "),
        "joined strings": repeat("'a' + "),
        "quoted-printable": repeat("=41"),
        "soft breaks": repeat("a=\r\n"),
        "entities": repeat("&#65;"),
        "ampersands": repeat("&a"),
        "tags": repeat("a<b>"),
        "open tags": repeat("a<b "),
        "code points": repeat("U+0041 "),
        "backwards": repeat("_phg a-sk "),
        "rotated": repeat("tuc_ nxvn NXVN "),
        "accented words": repeat("e\u0301\u0430 "),
        "gzip magics": base64.b64encode((b"\x1f\x8b\x08\x00" * size)[: size * 3 // 4]).decode(),
        "zip magics": base64.b64encode((b"PK\x03\x04" * size)[: size * 3 // 4]).decode(),
        "beginnings in fields": json.dumps(["ghp_"] * (size // 8)),
        "short fields": json.dumps(["a1"] * (size // 6)),
        "context": repeat("ssn nhs sin cpf nif bsn 123456789 "),
        "wide tables": repeat("a," * 490 + "\n"),
        "narrow tables": repeat("name,mail\n"),
        "labels": repeat("name: x\n"),
        "card digits": "".join(rng.choices("4 0123456789", k=size)),
    }  # fmt: skip


def hostile_parameters(size: int) -> dict[str, str]:
    """Of the query of a call, each of about ``size`` characters."""
    return {
        "empty lines": "\n" * size,
        "parentheses": "\ndef a(" + ")" * size,
        "a long name": "\nclass " + "a" * size,
        "rows of a database": "\nINSERT INTO " + "x" * size,
        "quotes in JSON": base64.b64encode(('{"' + '\\"' * (size * 3 // 8)).encode()).decode(),
        "percent of percent": "%25252541" * (size // 9),
        "one token": "A" * size,
        "births": "1.1.1950 " * (size // 9),
        "names": "Anna Maria, " * (size // 12),
    }


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


def _nested_zip() -> bytes:
    data = zipped([("a", b"a" * 1_000_000)])
    for _ in range(8):
        data = zipped([(f"{number}.zip", data) for number in range(4)])
    return data[: 1 << 20]


HOSTILE_FILES = {
    "zip bomb": zipped([(f"{number}", b"a" * 2_000_000) for number in range(20)]),
    "nested zip": _nested_zip(),
    "zip headers": (b"PK\x03\x04" + b"\0" * 26) * 30_000,
    "zip of many members": zipped([(f"{number}", b"a") for number in range(2000)]),
    "gzip members": gzip.compress(b"a", mtime=0) * 20_000 + b"\xff\xfe\0",
    "tar headers": (b"a".ljust(124, b"\0") + b"0" * 11 + b"\0" + b"0" * 121 + b"ustar\0" + b"\0" * 249) * 2000,
    "pdf streams": b"%PDF-1.7\n\xff" + b"stream\nendstream\n" * 50_000,
    "pdf strings": b"%PDF-1.7\n\xff" + b"(" * 800_000,
    "pdf maps": b"%PDF-1.7\n\xff stream\nbeginbfrange" + b"<0000><ffff><0041>" * 40_000 + b"endbfrange\nendstream",
    "pdf many maps": b"%PDF-1.7\n\xff" + b"stream\nbeginbfrange<0000><ffff><0041>endbf\nendstream\n" * 400,
    "pdf wide maps": b"%PDF-1.7\n\xff stream\nbeginbfrange" + b"<0000><7fff><0041>" * 40_000 + b"endbfrange\nendstream",
    "pdf long strings": b"%PDF-1.7\n\xffstream\n"
    + b"".join(b"beginbfrange<%02x><ff><0041>endbf\n" % at for at in range(16))
    + b"endstream\nstream\n"
    + (b"<" + b"41" * 16_000 + b">") * 30
    + b"\nendstream",
    "pdf long string": b"%PDF-1.7\n\xff"
    + b"".join(b"stream\nbeginbfrange<00><ff><%02x%02x>endbf\nendstream\n" % (at, at) for at in range(64))
    + b"stream\n<"
    + b"41" * 400_000
    + b">\nendstream",
    "noise": random.Random(8).randbytes(1 << 20),  # noqa: S311 - repeatable, not secret
}
