"""Patterns over bytes: the same matches as RE2's, for generated patterns and texts, and what is refused."""

import random
import threading
import time

import pytest
import re2
from regorus import ByteMatch, BytePattern, PatternError, PatternSet, SetMatches

_ATOMS = [
    b"a",
    b"b",
    b"k",
    b"S",
    b"\\d",
    b"\\w",
    b"\\s",
    b"\\b",
    b"\\B",
    b".",
    b"^",
    b"$",
    b"[a-c]",
    b"[^b\\s]",
    b"\\xfc",
    "Ü".encode(),
    b"[[(]",
    b"\\.",
]
_REPEATS = [b"", b"", b"", b"*", b"+", b"?", b"{2}", b"{0,3}", b"*?", b"+?"]
_FLAGS = [b"", b"", b"(?i)", b"(?s)", b"(?m)", b"(?im)"]
_PARTS = [*map(str.encode, "aabbcckKsS019_ .\n[(\0üÜ\u212a"), b"\xff", b"\xc3"]


def _pattern(chance: random.Random, depth: int = 0) -> bytes:
    parts = []
    for _ in range(chance.randint(1, 4)):
        if depth < 2 and chance.random() < 0.35:
            inner = b"|".join(_pattern(chance, depth + 1) for _ in range(chance.randint(1, 2)))
            parts.append((b"(" if chance.random() < 0.6 else b"(?:") + inner + b")" + chance.choice(_REPEATS))
        else:
            atom = chance.choice(_ATOMS)
            parts.append(atom if atom in (b"^", b"$", b"\\b", b"\\B") else atom + chance.choice(_REPEATS))
    return b"".join(parts)


def _places(found: "ByteMatch | re2._Match", groups: int) -> list[tuple[int, int]]:
    return [found.span(group) for group in range(groups + 1)]


@pytest.mark.parametrize("seed", range(20))
def test_the_same_matches_as_re2(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    compared = 0
    for _ in range(250):
        source = chance.choice(_FLAGS) + _pattern(chance)
        text = b"".join(chance.choice(_PARTS) for _ in range(chance.randint(0, 24)))
        start, end = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
        expected, ours = re2.compile(source), BytePattern(source)
        assert ours.groups == expected.groups
        for method in ("finditer", "findall"):
            theirs = getattr(expected, method)(text)
            if method == "finditer":
                assert [_places(one, ours.groups) for one in ours.finditer(text)] == [
                    _places(one, ours.groups) for one in theirs
                ], (source, text)
            else:
                assert ours.findall(text) == theirs
        for method in ("search", "match"):
            one, other = getattr(ours, method)(text, start, end), getattr(expected, method)(text, start, end)
            assert (one is None) == (other is None), (method, source, text, start, end)
            if one is not None:
                assert _places(one, ours.groups) == _places(other, ours.groups), (method, source, text, start, end)
                assert one.lastindex == other.lastindex
                assert one.groups() == other.groups()
                compared += 1
        whole = expected.fullmatch(text)
        assert (ours.fullmatch(text) is None) == (whole is None), (source, text)
        assert ours.sub(b"<\\1>", text) == expected.sub(lambda _: b"<\\1>", text)
        assert ours.sub(lambda found: found[0].upper(), text) == expected.sub(lambda found: found[0].upper(), text)
    assert compared > 50


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (b"(a", "missing closing )"),
        (b"a{1001}", "invalid repeat count"),
        (b"a**", "invalid nested repetition"),
        (b"(?=a)", "invalid or unsupported Perl syntax"),
        (b"\xff", "not UTF-8"),
        (b"[b-a]", "invalid character class range"),
    ],
)
def test_what_is_refused_and_why(pattern: bytes, reason: str) -> None:
    with pytest.raises(PatternError, match="^.*" + reason.replace(")", r"\)")):
        BytePattern(pattern)


def test_a_pattern_that_is_too_large_when_compiled_is_refused_when_it_is_first_used() -> None:
    pattern = BytePattern(b"(?:(?:[a-z0-9]{1000}|[^x]{999}){1})" * 900)

    for use in (pattern.search, pattern.match, pattern.fullmatch, pattern.findall):
        with pytest.raises(PatternError, match="bytes when compiled"):
            use(b"a")
    with pytest.raises(PatternError, match="bytes when compiled"):
        next(pattern.finditer(b"a"))


def test_a_group_that_took_no_part_and_one_that_is_not_there() -> None:
    found = BytePattern(b"(a)|(b)").search(b"xb")

    assert found is not None
    assert (found[0], found[1], found[2], found.groups()) == (b"b", None, b"b", (None, b"b"))
    assert (found.start(1), found.end(1), found.span(2), found.lastindex) == (-1, -1, (1, 2), 2)
    for wrong in (3, -1):
        with pytest.raises((IndexError, OverflowError)):
            found[wrong]


def test_what_a_replacement_returns_is_bytes() -> None:
    with pytest.raises(TypeError):
        BytePattern(b"a").sub(lambda found: "text", b"a")  # type: ignore[arg-type, return-value]  # the test's point
    with pytest.raises(ZeroDivisionError):
        BytePattern(b"a").sub(lambda found: b"%d" % (1 // 0), b"a")


def test_a_text_that_backtracking_takes_for_ever_on_is_read_in_linear_time() -> None:
    text = b"a" * 100_000
    started = time.process_time()

    assert BytePattern(b"(a*)*(a*)*(a+)+$b").search(text) is None
    assert time.process_time() - started < 5


def test_other_threads_go_on_while_a_large_text_is_searched() -> None:
    pattern, text = BytePattern(b"(?i)(?:[a-z]+[0-9]){3}x"), b"abc1" * 4_000_000
    done = threading.Event()

    def search() -> None:
        assert pattern.search(text) is None
        done.set()

    threading.Thread(target=search).start()
    turns = 0
    while not done.is_set():
        time.sleep(0.001)
        turns += 1
    assert turns > 3


@pytest.mark.parametrize(
    ("pos", "last", "endpos", "span"),
    [(0, 9, 99, (2, 5)), (0, 2, 99, (2, 5)), (0, 1, 99, None), (3, 9, 99, (3, 5)), (0, 9, 4, None), (5, 99, 99, None)],
)
def test_a_match_that_has_to_begin_within_a_range(
    pos: int, last: int, endpos: int, span: tuple[int, int] | None
) -> None:
    found = BytePattern(rb"a{1,2}b").search_start(b"a aab", pos, last, endpos)
    assert (found and found.span()) == span


class _Text(bytes):
    matches: SetMatches


def _text(text: bytes, patterns: PatternSet) -> _Text:
    made = _Text(text)
    made.matches = SetMatches(patterns)
    return made


def _found(pattern: BytePattern, text: bytes, start: int, end: int) -> list[object]:
    one = [pattern.search(text, start, end), pattern.match(text, start, end), pattern.fullmatch(text)]
    one.append(pattern.search_start(text, start, end, len(text)))
    several = [*pattern.finditer(text), *pattern.finditer(text, start, end)]
    spans: list[object] = [found and _places(found, pattern.groups) for found in (*one, *several)]
    return [*spans, pattern.findall(text), pattern.sub(b"<>", text)]


@pytest.mark.parametrize("seed", range(6))
def test_a_text_that_knows_what_matches_it_has_the_same_matches(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    for _ in range(40):
        sources = [chance.choice(_FLAGS) + _pattern(chance) for _ in range(chance.randint(1, 8))]
        patterns, alone = ([BytePattern(source) for source in sources] for _ in range(2))
        together = PatternSet(patterns)
        for _ in range(8):
            text = b"".join(chance.choice(_PARTS) for _ in range(chance.randint(0, 24)))
            start, end = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
            for pattern, same in zip(patterns, alone, strict=True):
                known = _found(pattern, _text(text, together), start, end)
                assert known == _found(same, text, start, end), (pattern.pattern, text, start, end)


def test_what_is_known_of_a_text_is_not_looked_for_again() -> None:
    known, other, alone = BytePattern(b"a"), BytePattern(b"b"), BytePattern(b"a")
    PatternSet([alone])
    text = _text(b"b", PatternSet([known, other, alone]))
    assert known.search(text) is None

    same = _Text(b"ab")
    same.matches = text.matches
    assert [one.findall(same) for one in (known, other, alone)] == [[], [b"b"], [b"a"]]
    assert known.findall(_Text(b"ab")) == [b"a"]


def test_a_text_that_takes_too_many_states_is_read_by_each_pattern() -> None:
    """Each state is another choice of the places from which a match goes on: 2 ** 60 of them."""
    many, one = BytePattern(b"a[ab]{60}c"), BytePattern(b"b[ab]{3}d")
    together = PatternSet([many, one])
    chance = random.Random(3)  # noqa: S311 - repeatable, not secret
    started = time.thread_time()
    for _ in range(5):
        text = _text(bytes(chance.choices(b"ab", k=60_000)) + b"baaadc", together)
        assert (many.search(text), one.findall(text)) == (None, [b"baaad"])
    assert time.thread_time() - started < 5
    assert one.findall(_text(b"baaad", together)) == [b"baaad"]
