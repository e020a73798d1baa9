"""Microsoft's regorus engine for Rego policies, strict canonical JSON, the record's quick check,
the index of where values were first seen, and what detectors look for in every call."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, final

class JsonError(ValueError):
    """A text that is not strict JSON, or a value that has no canonical JSON; says where and what."""

class PatternError(ValueError):
    """A regular expression that cannot be compiled; says why."""

class RegoError(ValueError):
    """A policy that is refused before it is evaluated: syntax, limits, recursion, unknown builtins, arity."""

    message: str
    path: str
    line: int | None
    column: int | None
    snippet: str
    def __init__(self, message: str, path: str, line: int | None, column: int | None, snippet: str) -> None: ...

class EvaluationError(RuntimeError):
    """A policy that could not be evaluated; kind: error, time_limit, memory_limit, panic or input."""

    reason: str
    kind: str
    def __init__(self, reason: str, kind: str) -> None: ...

class InputError(EvaluationError, JsonError):
    """An input or data document that is not strict JSON; kind: input."""

    def __init__(self, reason: str, kind: str = "input") -> None: ...

def parse_json(text: bytes) -> object:
    """One RFC 8259 text as Python objects; integers exact. Raises JsonError."""

def canonical_json(value: object) -> bytes:
    """RFC 8785, with integers exact whatever their size. Raises JsonError."""

@final
class Input:
    """A parsed input, shared between policies; ``input.action`` is the whole input once more."""

    def __new__(cls, text: bytes) -> Input:
        """Raises InputError."""

@final
class Data:
    """The documents that policies read as ``data.…``, shared between them."""

    def __new__(cls, text: bytes) -> Data:
        """Raises InputError."""

@final
class Policy:
    """A policy, compiled and checked, with an engine of its own."""

    def __new__(
        cls,
        source: str,
        *,
        path: str = "policy.rego",
        data: Data | None = None,
        libraries: Sequence[tuple[str, str]] = (),
        time_limit_milliseconds: int = 50,
        memory_limit_bytes: int = 67_108_864,
    ) -> Policy:
        """``libraries`` are pairs of path and source. Raises RegoError."""

    @property
    def package(self) -> str:
        """``hg.p1``"""

    @property
    def rules(self) -> list[str]:
        """Names of the rules of its own package, functions left out."""

    def decide(self, input: Input | bytes) -> bytes:  # noqa: A002 - the word of Rego
        """A JSON object with those of deny, require_approval, allow, reason, risk_level, approval and capture that are
        defined; the last three only where one of the first three says something. Raises EvaluationError.
        """

    def query(self, rule: str, input: Input | bytes) -> bytes:  # noqa: A002 - the word of Rego
        """The value of one rule as JSON; empty where it is undefined. Raises EvaluationError."""

    def ast(self) -> bytes:
        """The engine's syntax tree of the policy, as JSON."""

def engine_version() -> str:
    """The version of the regorus crate."""

def builtins() -> dict[str, int]:
    """The builtins that a policy may call, with the number of their arguments; README.md tells of their limits."""

def blocked_builtins() -> dict[str, str]:
    """The builtins of OPA that are left out on purpose, with the reason."""

type WindowRow = tuple[
    int, bytes, bytes, int,
    bytes | None, bytes | None, bytes | None, bytes | None, int | None, int | None, bytes | None, bytes | None,
]  # fmt: skip
"""The chain's row: number, header, hash, time of sealing; then the month's: identifier, type, action, agent, time of
making, time of sealing, salt, payload. Texts are bytes; times are microseconds since 2000, as PostgreSQL keeps them."""

def lz4_block(content: bytes) -> bytes:
    """The content as an LZ4 block behind its length (four bytes, big-endian). Raises ValueError for 4 GiB and more."""

def from_lz4_block(block: bytes, bytes_max: int) -> bytes:
    """What ``lz4_block`` was given. Raises ValueError for other bytes, and for a content of more than ``bytes_max``."""

def seal_events(
    org: bytes,
    seq: int,
    previous: bytes,
    sealed: int,
    seed: bytes,
    events: Sequence[tuple[bytes, bytes, bytes, bytes, bytes]],
) -> tuple[bytes, bytes, bytes, bytes]:
    """Identifiers, headers, hashes and salts of events, each as the elements of a PostgreSQL binary array.

    ``seq``: of the first event; ``previous``: the hash of the event before; ``sealed``: microseconds since 2000;
    ``seed``: 32 random bytes. An event is its type, action, agent, time and payload, as such elements. Raises
    ValueError for an event that a header cannot describe.
    """

def check_window(
    org: bytes, seq: int, previous: bytes, sealed: int | None, rows: list[WindowRow]
) -> tuple[list[bytes], int | None]:
    """The hashes of the events that are exactly what was sealed, up to the first that may not be, and when the last of
    them was sealed. ``seq`` is the number that the first must have, ``previous`` the hash that it must name."""

def leaf_hashes(entries: list[bytes]) -> list[bytes]:
    """SHA-256(0 ‖ entry) of each: the leaves of a tree (RFC 6962, section 2.1)."""

def complete_root(hashes: list[bytes]) -> bytes:
    """The root over a power of two of hashes. Raises ValueError."""

class ProvenanceIndex:
    """Which values each subject was shown, and by which source first. Values (mail addresses, URLs, hosts, numbers of
    accounts and telephones, names in quotes, ids) are kept as hashes under ``key`` only.

    Bounded: ``values_max`` values altogether (about 40 bytes each; of the owner with the most values, the subjects that
    were shown something longest ago are forgotten; the word that a subject begins with names its owner),
    ``subject_values_max`` trusted and as many untrusted values of a subject (the oldest make room).
    Methods raise RuntimeError where the engine fails.
    """

    def __init__(self, key: bytes, values_max: int, subject_values_max: int) -> None:
        """``key``: 16 bytes. Raises ValueError."""

    def __len__(self) -> int:
        """The values of all subjects."""

    def observe(self, subject: str, now: int, text: bytes, source: int, trusted: bool) -> bytes:
        """Reads what ``source`` showed to ``subject``. The hashes of the values that were new, eight bytes each."""

    def absorb(self, subject: str, now: int, hashes: bytes, source: int, trusted: bool) -> None:
        """Takes over what ``observe`` gave in another process. Raises ValueError."""

    def look_up(self, subjects: list[str], texts: list[str]) -> list[tuple[int, bool, bool] | None]:
        """For each text where its value was first seen, the first of ``subjects`` that knows it: source, whether it is
        trusted, whether the value itself was shown (or only its host). A text with several values is untrusted where
        one of them is, and trusted where all of them are. None: not all of it was shown by anybody."""

    def forget(self, subject: str) -> None:
        """Forgets what this subject was shown."""

    def forget_unused(self, before: int) -> None:
        """Forgets the subjects that were shown nothing since then (the ``now`` of ``observe``)."""

    @staticmethod
    def overlap(text: bytes) -> bytes:
        """The end of a chunk that is to be read again before the next one: a value may lie in both."""

@final
class ByteMatch:
    """What a ``BytePattern`` matched. ``lastindex``: the group that closed last."""

    @property
    def lastindex(self) -> int | None: ...
    def __getitem__(self, group: int) -> bytes | Any:
        """The bytes of a group; as Python's ``re``, None for one that took no part."""

    def groups(self) -> tuple[bytes | Any, ...]: ...
    def start(self, group: int = 0) -> int:
        """-1 for a group that took no part."""

    def end(self, group: int = 0) -> int: ...
    def span(self, group: int = 0) -> tuple[int, int]: ...

@final
class BytePattern:
    """A regular expression over bytes that are UTF-8, in the syntax of RE2 and Go, with the methods of Python's ``re``:
    leftmost-first, in linear time. ``pos`` and ``endpos`` bound the match; ``^``, ``$`` and ``\\b`` look at the whole
    text. It is compiled when a match is first asked for, where the methods raise PatternError if it is too large."""

    def __new__(cls, pattern: bytes) -> BytePattern:
        """Raises PatternError for what is no pattern."""

    @property
    def pattern(self) -> bytes: ...
    @property
    def groups(self) -> int: ...
    def search(self, text: bytes, pos: int = 0, endpos: int = ...) -> ByteMatch | None: ...
    def search_start(self, text: bytes, pos: int, last: int, endpos: int) -> ByteMatch | None:
        """The match that begins first, at ``pos`` or later, but not behind ``last``."""

    def match(self, text: bytes, pos: int = 0, endpos: int = ...) -> ByteMatch | None: ...
    def fullmatch(self, text: bytes) -> ByteMatch | None: ...
    def finditer(self, text: bytes, pos: int = 0, endpos: int = ...) -> Iterator[ByteMatch]: ...
    def findall(self, text: bytes) -> list[bytes]: ...
    def sub(self, replacement: bytes | Callable[[ByteMatch], bytes], text: bytes) -> bytes:
        """``replacement`` is taken as it is: it has no escapes."""

@final
class PatternSet:
    """Patterns of which one pass over a text tells which match it. Of a text that takes too many states nothing is
    told. A pattern is in the first set that it is given to."""

    def __new__(cls, patterns: Sequence[BytePattern]) -> PatternSet:
        """Raises PatternError."""

@final
class SetMatches:
    """What a set tells of one text, when a pattern of the set is first asked for a match in it. It is the attribute
    ``matches`` of the text, of a class of ``bytes``: the methods of a pattern that matches nowhere do not read it."""

    def __new__(cls, patterns: PatternSet) -> SetMatches: ...

@final
class DigitTexts(Iterator[tuple[int, int, bytes]]):
    """The texts that the digits of a base spell in ``text``, whatever stands between them, at each alignment: where
    they begin and end, and what they spell. Twelve printable bytes in a row count, and what begins as a packed file
    does. Lines after a text are the text without what a word beside it may have added."""

    def __new__(cls, text: bytes, base: Literal["hex", "base64", "base64url", "base32"]) -> DigitTexts: ...
    def __next__(self) -> tuple[int, int, bytes]: ...

def base85_texts(text: bytes) -> list[tuple[int, int, bytes]]:
    """What tokens of twenty characters or more spell in base85 (RFC 1924, Ascii85, Z85): from where to where the token
    stands, and a text as in ``texts_in``."""

def long_words(text: bytes, bytes_min: int) -> list[tuple[int, int]]:
    """From where to where so many letters and digits of ASCII or more stand in a row."""

def texts_in(data: bytes) -> list[bytes]:
    """What is printable in decoded bytes, and what is packed in them."""

def container_of(data: bytes) -> str | None:
    """The kind of a container by its first bytes; None: none that is known."""

def as_text(data: bytes) -> str | None:
    """The text that these bytes are in UTF-8 or UTF-16; None where they are no text."""

def from_hexadecimal(token: bytes) -> bytes | None:
    """What one token encodes, with 0x before it or without; None where it is none."""

def from_base64(token: bytes) -> bytes | None:
    """What one token encodes (RFC 4648), in both alphabets, padded or not, broken into lines or not; None where it is
    none."""

def encoded_tokens(text: bytes) -> list[tuple[int, int, str, bytes]]:
    """From where to where tokens stand that encode a text or a container, in which base, and what they encode."""

def edges_of(text: str) -> str:
    """What of a text may go on in another: all of a short one, else its beginning and its end. Of sentences a few words
    at each end: what stands between them is a text by itself."""

def joined_lines(pieces: list[str], beginnings: BytePattern, least_end: int) -> str:
    """All in one, and then a line from each beginning of a credential to each end of a piece after it, from the
    character ``least_end`` on: what stands beside it is another text, and no part of a longer word."""

def joined_fields(buffers: list[TextBuffer], beginnings: BytePattern, characters_max: int) -> str | None:
    """The edges of all texts that were not decoded from others, in lines as ``joined_lines`` makes them: first all in
    their order, then those whose names differ in a number only. None where there is one text."""

def integer_lists(value: object, length: int, values_max: int) -> list[tuple[str | None, bytes]]:
    """The lists of so many whole numbers from 0 to 255, each with the name of the member that holds it; None for the
    value itself. Looks at so many values, and into no longer list."""

JOINED_CREDENTIAL_CHARACTERS_MAX: int
"""Of a credential that ``joined_lines`` puts together from several pieces."""

JOINED_ENDS_MAX: int
"""Ends of pieces that ``joined_lines`` tries for one beginning of a credential."""

JOINED_LINES_CHARACTERS_MAX: int
"""Of all lines of ``joined_lines`` but the first."""

LISTED_LABEL_BYTES_MAX: int
"""Of the label before a word that ``ListedWords`` looks at."""

LISTED_LINES_MAX: int
"""Lines of one word that ``ListedWords`` looks at."""

TEXT_SEPARATOR: bytes
"""Between two texts of a ``TextBuffer``."""

@final
class TextBuffer:
    """Texts in one buffer, with a separator between two, each with its label before it and the way to it. ``label``
    makes the label of a member from its name and the name above it (None: there is nothing above).

    An origin is the caller's: where a text, or a value that was walked, came from. A text is outermost that was not
    decoded from another."""

    def __new__(cls, label: Callable[[str, str | None], bytes]) -> TextBuffer: ...
    def __len__(self) -> int: ...
    @property
    def size(self) -> int:
        """Bytes, with a separator after each text."""

    def add(
        self, origin: object, name: str | None, label: bytes, value: bytes, is_folded: bool, is_outermost: bool
    ) -> None: ...
    def walk(
        self, value: object, origin: object, is_outermost: bool, bytes_max: int, pieces_max: int
    ) -> Iterator[tuple[str, tuple[str | int, ...]]]:
        """Adds the ordinary texts of a JSON value, in their order: in ASCII, not like JSON, within the limits; large
        whole numbers and lists of codes of characters are texts too. Yields the others, each with the way to it; none
        after one that has no place."""

    def bytes(self, first: int) -> bytes:
        """From this piece on."""

    def index_at(self, offset: int) -> int:
        """Of the piece that holds the byte."""

    def piece(self, index: int) -> tuple[Any, tuple[str | int, ...] | None, bool, int, int, int]:
        """Its origin, the way from the origin to it (None: it was added), whether it is folded, and where it begins,
        where its value begins, and where it ends."""

@final
class LabelledPieces:
    """The values of a buffer by the labels before them (``name: ``)."""

    def __new__(cls, buffer: bytes, bytes_max: int) -> LabelledPieces:
        """Labels and values of at most so many bytes."""

    @property
    def labels(self) -> list[bytes]:
        """Each once, in the order of the buffer."""

    def places(self, number: int) -> list[tuple[int, int]]:
        """From where to where the values of a label stand."""

    @property
    def several_lines(self) -> list[tuple[int, int, int]]:
        """Where a piece of several lines begins, its value begins, and it ends."""

@final
class ListedWords:
    """Words of a list that stand in lists: values of one word each."""

    def __new__(cls, known: set[bytes]) -> ListedWords:
        """In lower case."""

    def holds(self, text: bytes, words_min: int) -> bool:
        """Whether so many words of a text are known."""

    def search(self, buffer: bytes, words_min: int) -> list[list[tuple[int, int]]]:
        """For each label, digits aside, where the known words stand if so many stood in a row."""

@final
class KeywordSearch:
    """Keywords in bytes, all in one pass, whatever their case in ASCII."""

    def __new__(cls, words: list[tuple[bytes, bool, bool]], word_bytes: bytes) -> KeywordSearch:
        """``words``: in lower case, and whether each begins and ends a word, which is made of ``word_bytes``."""

    def search(self, text: bytes, start: int = 0, stop: int | None = None) -> list[tuple[int, int]]:
        """Where each one ends, and its number, in the order of the ends; of those that end together, the longest
        first. Those that end after ``start``, and not after ``stop``."""

@final
class SignSearch:
    """Signs that words make where they stand close together.

    A word: its spelling, whether it begins and ends a word of the text, the slots that it stands for, those as a
    command, the signs that it may complete (none: a text ends there). A sign: its slots, within how many characters
    they stand, whether in this order, its weight. ``alphanumeric``: a byte for each character below U+0E00, 1 for those
    that go on a word. ``signs_before``, ``words_before``: what stands before a command."""

    def __new__(
        cls,
        words: Sequence[tuple[str, bool, bool, Sequence[int], Sequence[int], Sequence[int]]],
        signs: Sequence[tuple[Sequence[int], int, bool, float]],
        slots: int,
        bias: float,
        alphanumeric: bytes,
        signs_before: str,
        words_before: Sequence[str],
    ) -> SignSearch:
        """Raises ValueError for a slot or a sign that is not there."""

    def search(
        self, text: str, characters: int, over: float, wants_hits: bool, seconds_max: float
    ) -> tuple[list[tuple[int, int, bool]], list[tuple[int, int, int, frozenset[int], float]], bool]:
        """The words that were found, each with the character where it begins, its number, and whether it is a command;
        the windows of so many characters whose sum is above ``over``, one for each time that a sign is added: where it
        begins, where the word begins and ends that completed the sign, the signs, the sum; whether there was time for
        the whole text."""

@final
class FeatureWeights:
    """Learned weights of features. ``features``: as those of ``WindowNetwork``; ``weights``: floats of 8 bytes, little
    endian."""

    def __new__(cls, features: bytes, weights: bytes) -> FeatureWeights:
        """Raises ValueError where features do not ascend, or sizes do not match."""

    def __len__(self) -> int: ...
    def sum(self, keys: Sequence[int]) -> float:
        """Features that are not there weigh nothing."""

    def counts(self, before: int, keys: Sequence[int], own: Sequence[float], pair_factor: int) -> list[float]:
        """What each token of a text counts: ``own``, and the weight of it and the token before, of the first one the
        key ``before``. A token that repeats the one before counts nothing. Raises ValueError for two lengths."""

@final
class WindowNetwork:
    """Learned numbers of features, summed up over a window of pieces and divided by the root of its tokens, then hidden
    units, each 0 or more.

    ``features``: ascending unsigned integers of 4 bytes, little endian; ``numbers``: signed bytes, as many for each
    feature as a unit has weights. A unit: its weights, the weight of the signs, its bias, what it adds. The feature of
    two tokens in a row: the key of the first times ``pair_factor``, and the key of the second, of 32 bits."""

    def __new__(
        cls,
        features: bytes,
        numbers: bytes,
        units: Sequence[tuple[Sequence[float], float, float, float]],
        bias: float,
        smoothing_tokens: int,
        pair_factor: int,
    ) -> WindowNetwork:
        """Raises ValueError where features do not ascend, or sizes do not match."""

    def token(self, keys: Sequence[int]) -> bytes:
        """The record of a token: its key, the first of ``keys``, and the sums of the numbers of all. Features that are
        not there count nothing."""

    def log_odds(
        self, pieces: Sequence[tuple[int, bytes, Sequence[int]]], windows: Sequence[tuple[int, int, float]]
    ) -> list[float]:
        """What the network adds to the log odds of each window, the same on each machine. A piece: the key of the token
        before it, the records of its tokens, further features. A window: its first piece, the piece after its last,
        the log odds of its signs. Raises ValueError for a window of pieces that are not there."""
