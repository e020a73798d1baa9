"""The index of where values were first seen: which spellings are one value, who counts as first, what is forgotten."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import regorus
from hypothesis import given
from hypothesis import strategies as st

KEY = bytes(16)
STRANGER, PERSON = 1, 2


def index(values_max: int = 1000, subject_values_max: int = 1000) -> regorus.ProvenanceIndex:
    return regorus.ProvenanceIndex(KEY, values_max, subject_values_max)


def origin(shown: str, carried: str, *, trusted: bool = False) -> tuple[int, bool, bool] | None:
    known = index()
    known.observe("a", 0, shown.encode(), STRANGER, trusted)
    return known.look_up(["a"], [carried])[0]


@pytest.mark.parametrize(
    ("shown", "carried"),
    [
        ("Write to Eve@Evil.example, please.", "eve@evil.example"),
        (r'{"to":"eve\u0040evil.example"}', "eve@evil.example"),
        ("<a href='mailto:eve&#64;evil.example?subject=x'>", "eve@evil.example"),
        ("<a href='mailto:eve&#x40;evil&period;example'>", "EVE@EVIL.EXAMPLE"),
        ("next=eve%40evil.example", "eve@evil.example"),
        ("see https://Evil.example:443/Drop/?id=ab12cd#x", "https://evil.example/drop"),
        (r"https:\/\/evil.example\/drop", "http://evil.example/drop?data=1"),
        ("evil.example/drop", "https://evil.example/drop"),
        ("https://h.example/?next=99887766", "99887766"),
        ("call +49 170 1234567 now", "+491701234567"),
        ("call +49-170-1234567 now", "+49 170 1234567"),
        ("4111 1111 1111 1111", "4111111111111111"),
        ("IBAN DE89 3704 0044 0532 0130 00.", "DE89370400440532013000"),
        ("DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
        ("id=inv_2024_77;x", "inv_2024_77"),
        ("open report_final.pdf", "report_final.pdf"),
        ("host 10.1.2.3", "http://10.1.2.3/x", ),
        ("a;b@c.example;d", "b@c.example"),
        ('{"name": "Bob  Smith"}', "bob smith"),
    ],
)  # fmt: skip
def test_one_value_in_two_spellings(shown: str, carried: str) -> None:
    found = origin(shown, carried)
    assert found is not None
    assert found[:2] == (STRANGER, False)


@pytest.mark.parametrize(
    ("shown", "carried"),
    [
        ("the quick brown fox is well-known", "the quick brown fox"),
        ('{"status": "done", "name": "value"}', "done"),
        ("in 2024 about 1234 of them", "1234"),
        ("eve@evil.example", "eve@other.example"),
        ("", "eve@evil.example"),
        ("eve@evil.example", ""),
    ],
)
def test_what_tells_nothing_apart_has_no_origin(shown: str, carried: str) -> None:
    assert origin(shown, carried) is None


def test_an_address_at_a_host_that_only_a_stranger_named() -> None:
    assert origin("write to eve@evil.example", "carol@evil.example") == (STRANGER, False, False)
    assert origin("write to eve@mail.example", "carol@mail.example", trusted=True) is None


def test_one_stranger_makes_the_text_a_strangers() -> None:
    known = index()
    known.observe("a", 0, b"bob@corp.example", PERSON, trusted=True)
    known.observe("a", 0, b"eve@evil.example", STRANGER, trusted=False)
    texts = ["bob@corp.example", "bob@corp.example, eve@evil.example", "bob@corp.example new@corp.example"]
    assert known.look_up(["a"], texts) == [(PERSON, True, True), (STRANGER, False, True), None]


@pytest.mark.parametrize("first_is_trusted", [True, False])
def test_the_first_counts(first_is_trusted: bool) -> None:
    known = index()
    fresh = known.observe("a", 0, b"bob@corp.example", 7, first_is_trusted)
    assert len(fresh) > 0
    assert known.observe("a", 1, b"bob@corp.example", 8, not first_is_trusted) == b""
    assert known.look_up(["a"], ["bob@corp.example"]) == [(7, first_is_trusted, True)]


def test_subjects_know_nothing_of_each_other() -> None:
    known = index()
    known.observe("a", 0, b"eve@evil.example", STRANGER, trusted=False)
    assert known.look_up(["b"], ["eve@evil.example"]) == [None]
    assert known.look_up(["b", "a"], ["eve@evil.example"]) == [(STRANGER, False, True)]


def test_a_subject_is_forgotten() -> None:
    known = index()
    for subject in ("a", "b"):
        known.observe(subject, 0, b"inv_1", STRANGER, trusted=False)
    known.forget("a")
    known.forget("nobody")
    assert known.look_up(["a"], ["inv_1"]) == [None]
    assert known.look_up(["b"], ["inv_1"]) == [(STRANGER, False, True)]
    assert len(known) == 1


def test_another_process_takes_over_what_was_observed() -> None:
    one, other = index(), index()
    hashes = one.observe("a", 0, b"eve@evil.example", STRANGER, trusted=False)
    other.absorb("a", 0, hashes, 9, trusted=False)
    assert other.look_up(["a"], ["eve@evil.example"]) == [(9, False, True)]
    with pytest.raises(ValueError, match="eight bytes"):
        other.absorb("a", 0, hashes[:-1], 9, trusted=False)
    keyed = regorus.ProvenanceIndex(b"another key 0123", 10, 10)
    keyed.absorb("a", 0, hashes, 9, trusted=False)
    assert keyed.look_up(["a"], ["eve@evil.example"]) == [None]


def test_strangers_cannot_push_out_what_was_trusted() -> None:
    known = index(1000, 10)
    known.observe("a", 0, b"bob@corp.example", PERSON, trusted=True)
    for number in range(500):
        known.observe("a", 0, f"eve{number}@evil{number}.example".encode(), STRANGER, trusted=False)
    assert known.look_up(["a"], ["bob@corp.example", "eve499@evil499.example", "eve0@evil0.example"]) == [
        (PERSON, True, True), (STRANGER, False, True), None,
    ]  # fmt: skip


def test_beyond_the_bound_what_strangers_showed_goes_first() -> None:
    known = index(20, 15)
    for number in range(15):
        known.observe("one a", 0, b"person_%d" % number, PERSON, trusted=True)
    for number in range(9):
        known.observe("one a", 1, b"stranger_%d" % number, STRANGER, trusted=False)
    looked = known.look_up(["one a"], [f"person_{number}" for number in range(15)])
    assert looked == [(PERSON, True, True)] * 15
    assert known.look_up(["one a"], ["stranger_0", "stranger_8"]) == [None, (STRANGER, False, True)]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 400)), max_size=300))
def test_all_together_are_bounded(shown: list[tuple[int, int]]) -> None:
    known = index(50, 40)
    for now, (subject, number) in enumerate(shown):
        known.observe(str(subject), now, b"inv_%d" % number, STRANGER, trusted=False)
        assert len(known) <= 50
        assert known.look_up([str(subject)], [f"inv_{number}"]) == [(STRANGER, False, True)]
    known.forget_unused(len(shown))
    assert len(known) == 0


def test_an_owner_makes_room_of_its_own_subjects() -> None:
    """Or one organization's agents could launder what strangers showed to another's."""
    known = index(1000, 100)
    known.observe("org_1 a", 0, b"eve@evil.example", STRANGER, trusted=False)
    for number in range(5000):
        known.observe(f"org_2 {number % 50}", 1 + number, b"inv_%d" % number, STRANGER, trusted=False)
    assert known.look_up(["org_1 a"], ["eve@evil.example"]) == [(STRANGER, False, True)]
    assert known.look_up(["org_2 49"], ["inv_4999"]) == [(STRANGER, False, True)]
    assert len(known) <= 1000


def test_the_only_subject_of_an_owner_makes_room_of_its_oldest_values() -> None:
    known = index(100, 1000)
    known.observe("org_1 a", 0, b"eve@evil.example", STRANGER, trusted=False)
    for number in range(500):
        known.observe("org_2 b", 1, b"inv_%d" % number, STRANGER, trusted=False)
    assert known.look_up(["org_1 a", "org_2 b"], ["eve@evil.example", "inv_499", "inv_0"]) == [
        (STRANGER, False, True), (STRANGER, False, True), None,
    ]  # fmt: skip
    assert len(known) <= 100


@given(st.binary(max_size=2000))
def test_any_bytes_are_read(text: bytes) -> None:
    known = index()
    known.observe("a", 0, text, STRANGER, trusted=False)
    known.look_up(["a"], [text.decode("utf-8", "replace")])
    assert text.endswith(regorus.ProvenanceIndex.overlap(text))
    assert len(regorus.ProvenanceIndex.overlap(text)) <= 256


def test_a_value_that_two_chunks_share() -> None:
    text = b"a text " * 200 + b"write to eve@evil.example today"
    for cut in range(len(text) - 30, len(text)):
        known = index()
        known.observe("a", 0, text[:cut], STRANGER, trusted=False)
        known.observe("a", 0, regorus.ProvenanceIndex.overlap(text[:cut]) + text[cut:], STRANGER, trusted=False)
        assert known.look_up(["a"], ["eve@evil.example"]) == [(STRANGER, False, True)]


def test_threads_share_an_index() -> None:
    known = index(100_000, 100_000)
    words = [f"inv_{number}" for number in range(2000)]

    def show(seed: int) -> None:
        for word in random.Random(seed).sample(words, len(words)):  # noqa: S311 - an order, no secret
            known.observe("a", 0, word.encode(), STRANGER, trusted=False)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(show, range(4)))
    assert len(known) == len(words)


def test_wrong_arguments() -> None:
    for arguments in ((b"short", 1, 1), (KEY, 0, 1), (KEY, 1, 0)):
        with pytest.raises((ValueError, TypeError)):
            regorus.ProvenanceIndex(*arguments)
