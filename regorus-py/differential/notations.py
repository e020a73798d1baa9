# ruff: noqa: E501, D103, E731, RUF001, RUF100, S104, C420 - lines of data, and letters that look alike
"""Texts in the notations that builtins read: versions, networks, units, JSON, globs, paths."""

from random import Random

from differential.formats import sprintf_format
from differential.values import anything, damaged, leaf, list_of, one_of, pieces, plain, set_of, text

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
