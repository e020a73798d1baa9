# ruff: noqa: E501, D103, E731, RUF001, RUF100, S104, C420 - lines of data, and letters that look alike
"""Calls of every builtin whose value a library decides, with arguments of its types and some of none."""

from collections.abc import Callable
from random import Random

Make = Callable[[Random], object]

LETTERS = [*"aabbcABCzZ019 .,-_/%=&+:;@#?*{}[]()\\\"'<>|~^$!\n\t\r", "é", "É", "ß", "ẞ", "İ", "ı", "ς", "σ", "Σ", "ŉ", "ǆ", "ǅ", "ﬁ", "日",
           "\U0001f600", "\u0301", "\u00a0", "\u2028", "\u3000", "\ufeff", "\u200b", "\x00", "\x7f", "\u0085", "\u019b", "\ua7dc"]  # fmt: skip
WORDS = [
    "",
    "a",
    "b",
    "ab",
    "abc",
    "foo",
    "foobar",
    "FooBar",
    "a.b.c",
    "a/b/c",
    "ÀÉÎ",
    "straße",
    "İstanbul",
    "日本語",
    "x" * 40,
    " a b ",
    "null",
    "1",
    "true",
]
WHOLE = [
    0,
    0,
    1,
    1,
    2,
    3,
    5,
    7,
    10,
    16,
    100,
    -1,
    -2,
    -7,
    255,
    1000,
    2**31,
    2**53,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64,
    10**18,
    10**20,
    123456789012345678901,
]
FRACTIONS = [
    0.0,
    0.1,
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    -2.5,
    3.7,
    1e21,
    1e20,
    1.5e300,
    123456.789,
    0.1 + 0.2,
    100000000.5,
    1e6 + 0.5,
    3.0,
    1e3,
    4.35,
    2.675,
]


def text(random: Random) -> str:
    if random.random() < 0.35:
        return random.choice(WORDS)
    few = random.sample(LETTERS, random.choice([2, 4, 8, len(LETTERS)]))
    return "".join(random.choice(few) for _ in range(random.choice([0, 1, 2, 3, 5, 8, 13])))


def plain(random: Random) -> str:
    """Few different letters: much of it matches."""
    return "".join(random.choice("aab.b/ é") for _ in range(random.choice([0, 1, 1, 2, 3, 5, 8])))


def whole(random: Random) -> int:
    return random.choice(WHOLE) if random.random() < 0.7 else random.randrange(-20, 200)


def small(random: Random) -> int:
    return random.randrange(-3, 12)


def number(random: Random) -> float:
    """As RFC 8785 spells them, without a point for whole ones: OPA keeps `1.0` as it is written, here it is 1."""
    choice = random.random()
    if choice < 0.5:
        return whole(random)
    found = random.choice(FRACTIONS) if choice < 0.8 else round(random.uniform(-1000, 1000), random.randrange(0, 8))
    return int(found) if found % 1 == 0 and abs(found) < 1e21 else found


def leaf(random: Random) -> object:
    return random.choice([text, plain, number, whole, lambda _: random.choice([None, True, False])])(random)


def anything(random: Random, depth: int = 0) -> object:
    choice = random.random()
    if depth > 2 or choice < 0.5:
        return leaf(random)
    size = random.choice([0, 1, 2, 3])
    if choice < 0.68:
        return [anything(random, depth + 1) for _ in range(size)]
    if choice < 0.8:
        return {"$set": [anything(random, depth + 1) for _ in range(size)]}
    return {
        random.choice([*"abcAB", "é", "a/b", "a~b", "10", "9", ""]): anything(random, depth + 1) for _ in range(size)
    }


def list_of(make: Make, sizes: tuple[int, ...] = (0, 1, 2, 3, 5)) -> Make:
    return lambda random: [make(random) for _ in range(random.choice(sizes))]


def set_of(make: Make) -> Make:
    return lambda random: {"$set": [make(random) for _ in range(random.choice([0, 1, 2, 3, 5]))]}


def one_of(*makes: Make) -> Make:
    return lambda random: random.choice(makes)(random)


def choice_of(*values: object) -> Make:
    return lambda random: random.choice(values)


def mostly(make: Make) -> Make:
    return lambda random: make(random) if random.random() < 0.97 else anything(random)


def object_of(make: Make) -> Make:
    return lambda random: {
        random.choice(["a", "b", "ab", "é", ".", "a/b", "x", "0"]): make(random) for _ in range(random.randrange(4))
    }


def pieces(*parts: str, least: int = 1, most: int = 4) -> Make:
    return lambda random: "".join(random.choice(parts) for _ in range(random.randint(least, most)))


def damaged(make: Make) -> Make:
    """With a character changed, at times."""

    def one(random: Random) -> object:
        made = make(random)
        if not isinstance(made, str) or not made or random.random() < 0.7:
            return made
        at = random.randrange(len(made))
        return (
            made[:at]
            + random.choice(["", "=", "-", "_", " ", "\n", "+", "0", ".", "x", "%", made[at] * 2])
            + made[at + 1 :]
        )

    return one


FLAGS = ["", "", "", "-", "+", "#", "0", " ", "+ ", "-0", "#0", "0-"]
VERBS = [*"vvvdddsssqfgexXobctTUuGEFp", "!", "z", "%", "é", ""]


def sprintf_format(random: Random) -> str:
    parts = []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        width = random.choice(["", "", "", "", "1", "5", "12", "*", "[1]", "[2]", "[9]", "[", "[1]*"])
        precision = random.choice(["", "", "", "", ".", ".0", ".1", ".2", ".5", ".12", ".*", ".[1]*"])
        if random.random() < 0.8:
            width, precision = random.choice(["", "", "3", "8"]), random.choice(["", "", ".2", ".0", ".3"])
        parts.append(
            random.choice(["", "a", "é "]) + "%" + random.choice(FLAGS) + width + precision + random.choice(VERBS)
        )
    return "".join(parts) + random.choice(["", "", "b", "%"])


LAYOUTS = ["2006-01-02", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.999999999Z07:00", "Mon, 02 Jan 2006 15:04:05 MST", "Mon, 02 Jan 2006 15:04:05 -0700",
           "Monday, 02-Jan-06 15:04:05 MST", "Mon Jan _2 15:04:05 2006", "Mon Jan 02 15:04:05 -0700 2006", "3:04PM", "3:04pm", "15:04:05.000", "15:04:05.000000",
           "15:04:05.999", "15:04:05,000", "02 Jan 06 15:04 -0700", "Jan _2 15:04:05", "2006-002", "2006-__2", "1/2/06", "RFC3339", "RFC3339Nano", "ANSIC", "UnixDate",
           "RubyDate", "RFC822", "RFC822Z", "RFC850", "RFC1123", "RFC1123Z", "Kitchen", "Stamp", "StampMilli", "DateTime", "DateOnly", "TimeOnly", "Layout", "January 2, 2006", "2006-01-02 15:04:05 -07", "Z0700", "-07:00:00", "Z07:00:00",
           "06-1-2 3:4:5 PM", "Monday", "Jan", "", "no layout", "20060102150405", "%Y-%m-%d", "2006-01-02T15:04:05.000Z", "01/02 03:04:05PM '06 -0700"]  # fmt: skip
TIMES = ["2023-11-14", "2023-11-14T22:13:20Z", "2023-11-14T22:13:20.5+02:00", "Tue, 14 Nov 2023 22:13:20 UTC", "Tue, 14 Nov 2023 22:13:20 +0200", "Tuesday, 14-Nov-23 22:13:20 UTC",
         "Tue Nov 14 22:13:20 2023", "Tue Nov  4 22:13:20 2023", "10:13PM", "10:13pm", "22:13:20.123", "22:13:20.123456", "14 Nov 23 22:13 +0200", "Nov  4 22:13:20", "2023-318", "11/4/23",
         "November 14, 2023", "2023-11-14 22:13:20 +02", "2024-02-29", "2023-02-29", "2023-13-01", "2023-11-31", "0000-01-01T00:00:00Z", "1677-09-21T00:12:43Z", "2262-04-11T23:47:16Z", "9999-12-31T23:59:59Z",
         "2023-11-14t22:13:20z", "2023-11-14 22:13:20Z", "2023-11-14T22:13:60Z", "2023-11-14T24:00:00Z", "2023-11-14T22:13:20,5Z", "2023-11-14T22:13:20.123456789012Z", "2023-11-14T22:13:20+24:00", "2023-11-14T2:13:20Z", "20231114221320", "1", "", "2023-11-14T22:13:20-00:00", "2023-11-14T22:13:20.Z"]  # fmt: skip
NANOSECONDS = [
    0,
    1,
    -1,
    10**9,
    1_700_000_000 * 10**9,
    1_700_000_000_123_456_789,
    1_700_000_000_500_000_000,
    -62_135_596_800 * 10**9,
    951_782_400 * 10**9,
    -86_400 * 10**9,
    2**63 - 1,
    -(2**63),
    2**63,
    1_698_541_200 * 10**9,
    1_711_846_800 * 10**9,
]
ZONES = [
    "UTC",
    "",
    "Local",
    "America/New_York",
    "Europe/Berlin",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "America/St_Johns",
    "Etc/GMT+5",
    "EST",
    "Pacific/Apia",
    "Europe/Nowhere",
    "utc",
    "GMT",
]


def nanoseconds(random: Random) -> object:
    return random.choice(NANOSECONDS) if random.random() < 0.6 else random.randrange(-(10**18), 4 * 10**18)


def moment(random: Random) -> object:
    choice = random.random()
    if choice < 0.5:
        return nanoseconds(random)
    if choice < 0.97:
        return [nanoseconds(random), random.choice(ZONES)]
    return anything(random)


def formatted(random: Random) -> object:
    if random.random() < 0.25:
        return moment(random)
    return [nanoseconds(random), random.choice(ZONES), random.choice(LAYOUTS)]


def moment_for_diff(random: Random) -> object:
    return moment(random)


def layout_and_time(random: Random) -> list[object]:
    at = random.randrange(len(TIMES)) if random.random() < 0.5 else None
    return [random.choice(LAYOUTS), TIMES[at] if at is not None else random.choice(TIMES)]


DURATIONS = pieces(
    "1",
    "2.5",
    ".5",
    "h",
    "m",
    "s",
    "ms",
    "us",
    "µs",
    "μs",
    "ns",
    "-",
    "+",
    "1h",
    "30m",
    "0",
    "1.5h",
    "999999999h",
    "d",
    " ",
    "1.",
    "1e3s",
    least=1,
    most=4,
)
SEMVER = damaged(
    pieces(
        "1.2.3",
        "1.0.0",
        "0.0.0",
        "10.20.30",
        "-alpha",
        "-alpha.1",
        "-rc.10",
        "-rc.9",
        "-1",
        "-01",
        "+build",
        "+b.1",
        "-",
        ".1",
        "1.2",
        "v1.2.3",
        "1.02.3",
        "-alpha.beta",
        "99999999999999999999.0.0",
        least=1,
        most=2,
    )
)
ADDRESSES = [
    "10.0.0.1",
    "10.0.0.0",
    "10.1.2.3",
    "192.168.0.1",
    "255.255.255.255",
    "0.0.0.0",
    "::1",
    "::",
    "2001:db8::1",
    "2001:db8::",
    "::ffff:10.0.0.1",
    "fe80::1%eth0",
    "010.0.0.1",
    "10.0.0",
    "1.2.3.4.5",
    "2001:DB8::1",
    "::ffff:0a00:1",
]
NETWORKS = [
    "10.0.0.0/8",
    "10.0.0.0/24",
    "10.0.0.1/24",
    "10.0.1.0/24",
    "10.0.0.0/32",
    "10.0.0.128/25",
    "0.0.0.0/0",
    "192.168.0.0/16",
    "::/0",
    "2001:db8::/32",
    "2001:db8::/120",
    "2001:db8::80/121",
    "::ffff:10.0.0.0/104",
    "::ffff:10.0.0.0/120",
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/08",
    "10.0.0.0/+8",
    "10.0.0/8",
    "fe80::%eth0/64",
    "172.16.0.0/30",
    "172.16.0.4/30",
    "172.16.0.0/29",
]
UNITS = damaged(
    pieces(
        "1",
        "10",
        "0",
        "1.5",
        ".5",
        "-2",
        "+3",
        "1e3",
        "1E2",
        "K",
        "k",
        "m",
        "M",
        "Mi",
        "mi",
        "Ki",
        "KI",
        "G",
        "Gi",
        "T",
        "Ti",
        "P",
        "Pi",
        "E",
        "Ei",
        "KB",
        "kb",
        "KiB",
        "MB",
        "mB",
        "GB",
        "b",
        "B",
        " ",
        "0.1",
        "100",
        "123456789",
        '"',
        least=1,
        most=3,
    )
)
HEX = damaged(pieces("61", "62", "ff", "FF", "e9", "c3a9", "0a", "00", "E2", least=0, most=5))
BASE64 = damaged(
    one_of(
        pieces("YQ==", "YWI=", "YWJj", "w6k=", "_-8=", "+/8=", "/w==", "YR==", "YWJ", "YQ", "Zm9v", least=1, most=2),
        text,
    )
)
JSON = damaged(
    pieces(
        "1",
        "-0",
        "0.10",
        "1e5",
        "1E+2",
        '"a"',
        '"\\u00e9"',
        '"\\ud83d\\ude00"',
        '"\\ud800"',
        "null",
        "true",
        "[1,2]",
        '{"a":1}',
        '{"a":1,"a":2}',
        "[]",
        " ",
        "\n",
        "[1,]",
        "01",
        "12345678901234567890",
        '"\t"',
        "NaN",
        '{"b":{"a":[1.0,null]}}',
        least=1,
        most=2,
    )
)
YAML = pieces("a: 1\n", "b: [1, two, 3.0]\n", "c: yes\n", "d: on\n", "e: ~\n", "f: null\n", "g: 0x1F\n", "h: 0o17\n", "i: 017\n", "j: 1_000\n", "k: 1e3\n", "l: .5\n", "m: .inf\n", "n: 2023-01-01\n", "o: 12:30:45\n", 'p: "x\\ty"\n', "q: 'it''s'\n", "r: |\n  a\n  b\n", "s: >\n  a\n  b\n", "t: {a: b, c: 1}\n", "u: !!str 1\n", "v: true # c\n", "- a\n", "- b: 1\n", "1: a\n", "true: b\n", "a: 2\n", "---\nw: 1\n", "x:\n  y: 1\n", "z: -0\n", "aa: +1\n", "bb: 1.0\n", "cc: NO\n", "dd: y\n", "ee: 0b101\n", "ff: 1e400\n", "gg: =\n", "hh: <<\n", least=1, most=3)  # fmt: skip
QUERY = pieces(
    "a=1",
    "b=",
    "c",
    "&",
    "&&",
    "=",
    "%20",
    "+",
    "%zz",
    "a=2",
    ";",
    "é",
    "%C3%A9",
    "%ff",
    "/",
    "?",
    "a%3Db=c",
    "*",
    "~",
    "'",
    least=1,
    most=5,
)
GLOB = pieces(
    "a",
    "b",
    "ab",
    "*",
    "**",
    "?",
    ".",
    "/",
    ":",
    "[ab]",
    "[!ab]",
    "[a-c]",
    "[^a]",
    "{a,b}",
    "{a,*}",
    "{,a}",
    "{ab,b.*}",
    "\\*",
    "\\",
    "é",
    "[",
    "]",
    "{",
    "}",
    ",",
    "-",
    "!",
    "*.",
    ".*",
    "{a,{b,ab}}",
    "{a.b,**}",
    "日",
    least=0,
    most=5,
)
GLOB_TEXT = pieces("a", "b", "ab", ".", "/", ":", "é", "c", "*", "\\", "[", "{", ",", "日", "-", "\n", least=0, most=6)
CONCAT = one_of(list_of(plain), set_of(plain))


def glob(random: Random) -> list[object]:
    separators = random.choice([None, None, [], [], ["."], ["/"], [":"], [".", "/"], ["a"], ["é"], ["ab"], [1]])
    return [GLOB(random), separators, GLOB_TEXT(random)]


def sprintf(random: Random) -> list[object]:
    items = list_of(anything if random.random() < 0.4 else leaf, (0, 1, 1, 1, 2, 3))(random)
    return [sprintf_format(random), items]


def path(random: Random) -> object:
    if random.random() < 0.6:
        return "/".join(
            random.choice(["a", "b", "0", "1", "é", "a~1b", "-", "", "10"])
            for _ in range(random.choice([1, 1, 2, 2, 3]))
        )
    return [random.choice(["a", "b", 0, 1, "0", True, "a/b"]) for _ in range(random.randrange(4))]


def document(random: Random, depth: int = 0) -> object:
    if depth > 2 or random.random() < 0.3:
        return random.choice([1, 2, "a", None, True, [], {}])
    if random.random() < 0.35:
        return [document(random, depth + 1) for _ in range(random.randrange(4))]
    if random.random() < 0.1:
        return {"$set": [random.choice([1, "a", "b", 2]) for _ in range(3)]}
    return {
        random.choice(["a", "b", "é", "a/b", "0", "1"]): document(random, depth + 1)
        for _ in range(random.randrange(1, 4))
    }


def object_document(random: Random) -> object:
    return {name: document(random, 1) for name in random.sample(["a", "b", "é", "a/b", "0"], random.randrange(5))}


def patches(random: Random) -> list[object]:
    operation = lambda: (
        {"op": random.choice(["add", "remove", "replace", "move", "copy", "test", "ad"]), "path": path(random)}
        | random.choice([{}, {"value": document(random, 2)}])
        | random.choice([{}, {"from": path(random)}])
    )  # noqa: E731
    with_slash = lambda made: (
        made
        if random.random() < 0.2
        else {**made, **{key: "/" + made[key] for key in ("path", "from") if isinstance(made.get(key), str)}}
    )  # noqa: E731
    return [document(random), [with_slash(operation()) for _ in range(random.randrange(3))]]


def marshal_options(random: Random) -> list[object]:
    options: dict[str, object] = {}
    if random.random() < 0.7:
        options["pretty"] = random.choice([True, False])
    if random.random() < 0.5:
        options["indent"] = random.choice(["", " ", "  ", "\t", "a"])
    if random.random() < 0.5:
        options["prefix"] = random.choice(["", ">", "  "])
    if random.random() < 0.05:
        options["other"] = 1
    return [anything(random), options]


def arguments(*makes: Make) -> Callable[[Random], list[object]]:
    return lambda random: [mostly(make)(random) for make in makes]


def exactly(*makes: Make) -> Callable[[Random], list[object]]:
    """For builtins that have no end in OPA where an argument is large."""
    return lambda random: [make(random) for make in makes]


TEXT_PAIR = arguments(one_of(text, plain), one_of(text, plain))
PLAIN_PAIR = arguments(plain, plain)
GRAPH = object_of(one_of(list_of(choice_of("a", "b", "x", "0", "é")), set_of(choice_of("a", "b", "x"))))
ANY_LIST = one_of(list_of(anything), set_of(anything))

BUILTINS: dict[str, Callable[[Random], list[object]]] = {
    **{name: arguments(number) for name in ("abs", "ceil", "floor", "round")},
    **{name: arguments(whole, whole) for name in ("bits.and", "bits.or", "bits.xor")},
    "bits.lsh": exactly(whole, small),
    "bits.rsh": exactly(whole, small),
    "bits.negate": arguments(whole),
    "format_int": arguments(number, choice_of(2, 8, 10, 16, 3)),
    "numbers.range": exactly(small, small),
    "numbers.range_step": exactly(small, small, small),
    "to_number": arguments(one_of(number, pieces("1", "-", "0", ".", "e", "E", "5", "+", " ", "0x", "_", "Inf", "NaN", "12345678901234567890"), leaf)),
    **{name: arguments(ANY_LIST) for name in ("count", "max", "min", "sort")},
    "sum": arguments(one_of(list_of(number), set_of(number), list_of(whole))),
    "product": arguments(one_of(list_of(number), list_of(whole))),
    "array.concat": arguments(list_of(anything), list_of(anything)),
    "array.flatten": arguments(list_of(anything)),
    "array.reverse": arguments(list_of(anything)),
    "array.slice": arguments(list_of(anything), small, small),
    **{name: arguments(one_of(set_of(set_of(leaf)), set_of(set_of(small)))) for name in ("intersection", "union")},
    "base64.decode": arguments(BASE64),
    "base64.is_valid": arguments(BASE64),
    "base64url.decode": arguments(BASE64),
    **{name: arguments(text) for name in ("base64.encode", "base64url.encode", "base64url.encode_no_pad", "hex.encode", "crypto.sha256", "crypto.md5")},
    "hex.decode": arguments(HEX),
    "concat": arguments(plain, CONCAT),
    **{name: TEXT_PAIR for name in ("contains", "endswith", "startswith", "trim", "trim_left", "trim_right", "trim_prefix", "trim_suffix", "split", "indexof", "indexof_n", "strings.count")},
    **{f"{name}|": PLAIN_PAIR for name in ("contains", "endswith", "startswith", "trim", "trim_left", "trim_right", "trim_prefix", "trim_suffix", "split", "indexof", "indexof_n", "strings.count")},
    "strings.split_n": arguments(plain, plain, small),
    **{name: arguments(text) for name in ("lower", "upper", "trim_space", "strings.reverse", "glob.quote_meta", "urlquery.encode")},
    "replace": arguments(plain, plain, plain),
    "strings.replace_n": arguments(object_of(plain), plain),
    "strings.any_prefix_match": arguments(one_of(plain, list_of(plain), set_of(plain)), one_of(plain, list_of(plain), set_of(plain))),
    "strings.any_suffix_match": arguments(one_of(plain, list_of(plain), set_of(plain)), one_of(plain, list_of(plain), set_of(plain))),
    "substring": arguments(text, small, small),
    "sprintf": sprintf,
    "sprintf|": sprintf,
    "sprintf||": sprintf,
    "glob.match": glob,
    "glob.match|": glob,
    "glob.match||": glob,
    "json.is_valid": arguments(JSON),
    "json.unmarshal": arguments(JSON),
    "json.marshal": arguments(anything),
    "json.marshal_with_options": marshal_options,
    "json.filter": lambda random: [object_document(random), random.choice([list_of(path), set_of(path)])(random)],
    "json.remove": lambda random: [object_document(random), random.choice([list_of(path), set_of(path)])(random)],
    "json.patch": patches,
    "yaml.marshal": arguments(anything),
    "yaml.unmarshal": arguments(YAML),
    "yaml.is_valid": arguments(YAML),
    "object.get": lambda random: [document(random), random.choice([path(random), random.choice(["a", "b", 0, 1])]), anything(random)],
    "object.keys": arguments(object_document),
    "object.remove": arguments(object_document, one_of(list_of(choice_of("a", "b", 0)), set_of(choice_of("a", "b")), object_document)),
    "object.filter": arguments(object_document, one_of(list_of(choice_of("a", "b", 0)), set_of(choice_of("a", "b")), object_document)),
    "object.subset": arguments(document, document),
    "object.union": arguments(object_document, object_document),
    "object.union_n": arguments(list_of(object_document)),
    "semver.compare": arguments(SEMVER, SEMVER),
    "semver.is_valid": arguments(SEMVER),
    "time.parse_ns": layout_and_time,
    "time.parse_ns|": layout_and_time,
    "time.parse_rfc3339_ns": arguments(damaged(choice_of(*TIMES))),
    "time.parse_duration_ns": arguments(DURATIONS),
    "time.format": lambda random: [formatted(random)],
    "time.format|": lambda random: [formatted(random)],
    **{name: lambda random: [moment(random)] for name in ("time.date", "time.clock", "time.weekday")},
    "time.add_date": lambda random: [moment(random), random.randrange(-30, 30), random.randrange(-30, 30), random.randrange(-400, 400)],
    "time.diff": lambda random: [moment(random), moment(random)],
    "units.parse": arguments(UNITS),
    "units.parse_bytes": arguments(UNITS),
    "urlquery.decode": arguments(QUERY),
    "urlquery.decode_object": arguments(QUERY),
    "urlquery.encode_object": arguments(object_of(one_of(text, list_of(text), set_of(text)))),
    "net.cidr_contains": arguments(damaged(choice_of(*NETWORKS)), damaged(choice_of(*NETWORKS, *ADDRESSES))),
    "net.cidr_intersects": arguments(damaged(choice_of(*NETWORKS)), damaged(choice_of(*NETWORKS))),
    "net.cidr_is_valid": arguments(damaged(choice_of(*NETWORKS, *ADDRESSES))),
    "net.cidr_merge": arguments(one_of(list_of(choice_of(*NETWORKS, *ADDRESSES)), set_of(choice_of(*NETWORKS[:6])))),
    "net.cidr_expand": exactly(choice_of("10.0.0.0/30", "10.0.0.9/31", "::/126", "2001:db8::/128", "10.0.0.0/28", "x")),
    "net.cidr_contains_matches": arguments(one_of(choice_of(*NETWORKS), list_of(choice_of(*NETWORKS)), set_of(choice_of(*NETWORKS))), one_of(choice_of(*NETWORKS, *ADDRESSES), list_of(choice_of(*NETWORKS, *ADDRESSES)))),
    "graph.reachable": arguments(GRAPH, one_of(list_of(choice_of("a", "b", "x")), set_of(choice_of("a", "q")))),
    "graph.reachable_paths": arguments(GRAPH, one_of(list_of(choice_of("a", "b", "x")), set_of(choice_of("a", "q")))),
    **{name: arguments(anything) for name in ("is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string", "type_name")},
    "uuid.parse": arguments(damaged(choice_of("00000000-0000-1000-8000-000000000000", "{f47ac10b-58cc-4372-a567-0e02b2c3d479}", "urn:uuid:f47ac10b-58cc-1372-a567-0e02b2c3d479", "f47ac10b58cc4372a5670e02b2c3d479", "F47AC10B-58CC-2372-8567-0E02B2C3D479"))),
    "uri.is_valid": arguments(damaged(choice_of("http://u:p@[::1]:80/%41?q#f", "https://a.b/c?d=e", "//a", "a:b", "/a b", "http://a:b", "", "%zz", "mailto:x@y"))),
    "uri.parse": arguments(damaged(choice_of("http://u:p@[::1]:80/%41?q#f", "https://a.b/c?d=e", "//a", "a:b", "/a b", "http://a:b", "", "%zz", "mailto:x@y"))),
    "regex.globs_match": arguments(pieces("a", "b", "[a-c]", ".", "*", "+", "[ab]", "\\*", "é"), pieces("a", "b", "[a-c]", ".", "*", "+", "[ab]", "\\*", "é")),
}  # fmt: skip


def call(random: Random) -> tuple[str, list[object]]:
    """One call of one of them."""
    name = random.choice(list(BUILTINS))
    return name.rstrip("|"), BUILTINS[name](random)
