"""However an answer is cut, a credential in it is masked, and everything else is as it was."""

import base64
import itertools
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.connections.credential import CertificateCredential, ValueCredential
from headgate.connections.echoes import EchoMask, echo_mask
from headgate.kernel.secrets import Secret

_VISIBLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40)


@given(_VISIBLE, st.binary(max_size=40), st.binary(max_size=40), st.lists(st.integers(0, 200), max_size=6))
def test_in_pieces_as_in_one(secret: str, before: bytes, after: bytes, cuts: list[int]) -> None:
    mask = echo_mask(ValueCredential(Secret(secret)))
    whole = before + secret.encode() + after
    stream = mask.stream()
    edges = [0, *sorted(min(one, len(whole)) for one in cuts), len(whole)]
    pieces = [stream.feed(whole[start:end]) for start, end in itertools.pairwise(edges)]
    masked = b"".join([*pieces, stream.finish()])
    assert len(masked) == len(whole)
    assert secret.encode() not in masked or "*" in secret


@given(_VISIBLE, st.binary(max_size=30), st.binary(max_size=30))
def test_base64_however_it_is_aligned(secret: str, before: bytes, after: bytes) -> None:
    """What stays readable of it are the characters that also hold bits of the neighbours: less than a secret."""
    mask = echo_mask(ValueCredential(Secret(secret)))
    coded = base64.b64encode(before + secret.encode() + after)
    masked = mask.mask(coded)
    inner = base64.b64encode(secret.encode())[4:-8]
    assert len(inner) < 8 or len(before) % 3 or inner not in masked


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6))
def test_what_holds_none_passes_unchanged(data: bytes, cuts: list[int]) -> None:
    mask = echo_mask(ValueCredential(Secret("a-secret-that-no-random-bytes-hold")))
    stream = mask.stream()
    edges = [0, *sorted(min(one, len(data)) for one in cuts), len(data)]
    pieces = [stream.feed(data[start:end]) for start, end in itertools.pairwise(edges)]
    assert b"".join([*pieces, stream.finish()]) == data


def test_an_event_is_not_held_back() -> None:
    stream = echo_mask(ValueCredential(Secret("tok_12345678"))).stream()
    assert stream.feed(b"data: hello\n\n") == b"data: hello\n\n"
    assert stream.feed(b"data: tok_12") == b"data: "
    assert stream.feed(b"x\n\n") == b"tok_12x\n\n"


@pytest.mark.parametrize(
    "quoted",
    [
        r"a1+b2/c3==d4\u0026e5".replace("+", r"\u002B"),  # .NET
        r"a1+b2/c3\u003d\u003dd4\u0026e5",  # Gson
        r"a1+b2/c3==d4\u0026e5",  # Go
        "a1+b2&#x2F;c3&#x3D;&#x3D;d4&amp;e5",  # mustache
        "a1&#43;b2/c3==d4&amp;e5",  # Go's templates
        "a1%252Bb2%252Fc3%253D%253Dd4%2526e5",
        "61312B62322F63333D3D6434266535",
    ],
)
def test_what_other_writers_make_of_it(quoted: str) -> None:
    mask = echo_mask(ValueCredential(Secret("a1+b2/c3==d4&e5")))
    assert mask.mask(b"you sent " + quoted.encode()) == b"you sent " + b"*" * len(quoted)


_SECRET = "tok=live/9f8e7d6c5b4a+s3cr3t"
_TWICE = quote(quote(_SECRET, safe=""), safe="")
_MIME = base64.encodebytes(b"you sent " * 6 + _SECRET.encode() + b" to us").decode()


@pytest.mark.parametrize(
    "quoted",
    [
        _SECRET.encode("utf-16-le"),
        _SECRET.encode("utf-16-be"),
        _TWICE.encode(),
        _TWICE.lower().encode(),
        quote(_SECRET, safe=";,/?:@&=+$!'()*#").replace("%", "%25").encode(),
        "".join(f"%25{one:02x}" for one in _SECRET.encode()).encode(),
        b"tok=3Dlive/9f8e7d6c5b4a+s3cr3t",
        b"tok=3Dlive=2F9f8e7d6c5b4a=2Bs3cr3t",
    ],
)
def test_forms_that_are_found_whole(quoted: bytes) -> None:
    mask = echo_mask(ValueCredential(Secret(_SECRET)))
    assert mask.mask(b"you sent " + quoted + b".") == b"you sent " + b"*" * len(quoted) + b"."


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("inner_start", [0, 1, 2])
@pytest.mark.parametrize("url_safe", [False, True])
def test_base64_of_base64(start: int, inner_start: int, url_safe: bool) -> None:
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    whole = encode(b"x" * start + encode(b"y" * inner_start + _SECRET.encode() + b"zz") + b"ww")
    masked = echo_mask(ValueCredential(Secret(_SECRET))).mask(whole)
    # Cut at both edges, twice: less than a fifth of it stays.
    assert len(masked) == len(whole) and masked.count(b"*") > 0.6 * len(whole)


@pytest.mark.parametrize(
    "broken",
    [
        "tok=3Dlive/9f=\r\n8e7d6c5b4a+s3=\ncr3t",
        "tok=live/9f8e7d\n6c5b4a+s3cr3t",
        _MIME[:-1],
    ],
)
def test_line_breaks_hide_nothing_however_the_answer_is_cut(broken: str) -> None:
    mask = echo_mask(ValueCredential(Secret(_SECRET)))
    whole = b"you sent " + broken.encode() + b" so"
    masked = mask.mask(whole)
    assert len(masked) == len(whole) and masked.count(b"*") >= 24
    assert masked.count(b"\n") == whole.count(b"\n")
    for cut in range(len(whole)):
        stream = mask.stream()
        in_two = stream.feed(whole[:cut]) + stream.feed(whole[cut:]) + stream.finish()
        assert in_two.count(b"*") >= masked.count(b"*") or _is_within_first_bytes(whole, masked, cut)


def _is_within_first_bytes(whole: bytes, masked: bytes, cut: int) -> bool:
    """Cut at a line break within the first bytes of a form: a line must not wait for those."""
    first = masked.index(b"*")
    return whole[cut - 1 : cut] in b"=\r\n" and cut - first < 8


def test_an_empty_line_ends_what_is_held_back() -> None:
    stream = echo_mask(ValueCredential(Secret("ping-pong-ping"))).stream()
    assert stream.feed(b"data: ping\n\n") == b"data: ping\n\n"
    assert stream.feed(b"ping-\n") == b"" and stream.feed(b"off\n\n") == b"ping-\noff\n\n"


_LINES = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n" * 26
_PEM = f"-----BEGIN PRIVATE KEY-----\n{_LINES}-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize("ruled", [b"-" * 4000, b"- - " * 1000, b"%2D" * 1300, (b"-" * 70 + b"\n") * 60])
def test_a_text_full_of_a_keys_first_characters_costs_little_more_than_another(ruled: bytes) -> None:
    """Each piece of an answer is looked at while every other call waits."""
    mask = echo_mask(CertificateCredential("", Secret(_PEM)))
    another = b"the quick brown fox\n" * 200
    assert mask.pending(ruled) <= len(_PEM)
    assert _least_seconds(mask, ruled) < 15 * _least_seconds(mask, another)


def _least_seconds(mask: EchoMask, data: bytes) -> float:
    def once() -> float:
        begun = time.process_time()
        mask.pending(data)
        return time.process_time() - begun

    return min(once() for _ in range(5))


@pytest.mark.parametrize("cut", [1, 5, 31, 32, 33, 200, 1400])
def test_a_private_key_is_masked_however_its_answer_is_cut(cut: int) -> None:
    mask = echo_mask(CertificateCredential("", Secret(_PEM)))
    for form in (_PEM.encode(), _PEM.encode().replace(b"\n", b"\\n"), base64.b64encode(_PEM.encode())):
        stream = mask.stream()
        masked = stream.feed(b"key: " + form[:cut]) + stream.feed(form[cut:] + b" .") + stream.finish()
        assert len(masked) == len(form) + 7
        assert masked.count(b"*") >= len(form) - 4
