# ruff: noqa: E501, RUF001 - letters that look alike are what is compared
"""Regular expressions in Go's syntax, near it, and texts that they might match."""

from random import Random

CHARACTERS = [*"abcABkKsS019_-. \n\t/@:!é\u0661\u0130\u017f\u212aßẞσςΣ日\U0001f600\u2028\u0085", "\u01c5", "\ua7da"]
"""Among them: an Arabic-Indic digit, the Kelvin sign, a long s, all sigmas, a character of Unicode 16."""
ATOMS = [
    *"abcABkKsS019_-é日ßσ",
    ".", "^", "$", r"\b", r"\B", r"\A", r"\z", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S",
    r"\pL", r"\PL", r"\pN", r"\p{Lu}", r"\p{^Lu}", r"\p{Greek}", r"\P{Greek}", r"\p{Han}", r"\pZ", r"\pC", r"\p{Cn}",
    r"\p{Letter}", r"\p{uppercase letter}", r"\p{Any}", r"\p{ASCII}", r"\p{Assigned}", r"\p{Old_Italic}", r"\p{Grek}",
    r"\x41", r"\x{1F600}", r"\x{D800}", r"\x{110000}", r"\x4", r"\101", r"\1", r"\0", r"\07", r"\8", r"\n", r"\t", r"\v",
    r"\a", r"\f", r"\r", r"\e", r"\C", r"\Z", r"\G", r"\.", r"\-", r"\_", r"\é", r"\Qa.b\E", r"\Q[", r"\E", r"\Q\E",
    r"\Qab\E", "{", "}", "{,3}", "{a}", "{2", "]", "-", "&&", "~~", "--", "#", " ", "\n", "|", "||", "()", "(?:)", "\\",
]  # fmt: skip
CLASS_PARTS = [
    *"abkKsS09_-^.é日", "a-c", "A-Z", "a-z", "0-9", "é-ö", "z-a", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\pL",
    r"\PN", r"\p{Greek}", "&&", "--", "~~", "[", "[:alpha:]", "[:^digit:]", "[:word:]", "[:foo:]", "[:", r"\]", r"\\",
    r"\-", r"\n", r"\x41", r"\b", r"\z", r"\Q", "&&[b]", "a&&b", "\\x00-\U0010ffff", "-a", "a-", r"\x{D7FF}-\x{E000}",
    r"\x{D800}-\x{DFFF}", "&", "~", ":", " ", "\n",
]  # fmt: skip
REPEATS = [
    "*", "+", "?", "*?", "+?", "??", "{0}", "{1}", "{2}", "{0,1}", "{1,3}", "{2,}", "{0,}", "{2,4}?", "{3}?", "{01}",
    "{1001}", "{1000}", "{3,2}", "{,2}", "**", "+*", "{2}{2}", "{2}{3}?", "(?i)*", "{999999999999}",
]  # fmt: skip
GROUPS = [
    "(", "(", "(?:", "(?i:", "(?s:", "(?m:", "(?U:", "(?-i:", "(?im-s:", "(?P<n>", "(?<n>", "(?P<a1>", "(?P<é>", "(?<>",
    "(?=", "(?!", "(?<=", "(?P=n)", "(?P>n)", "(?#", "(?-:", "(?i-:", "(?x:", "(?ii:", "(?",
]  # fmt: skip
FLAGS = ["(?i)", "(?s)", "(?m)", "(?U)", "(?-i)", "(?ims)", "(?i-s)", "(?)", "(?-)", "(?--i)", "(?i-m-s)"]
REPLACEMENTS = [
    "", "x", "$0", "$1", "${1}", "$1x", "${1}x", "$n", "${n}", "$$", "$", "$10", "$01", "${", "${1", "${é}", "<$0>", "$é",
    "$2$1", "${n}-", "$-", "\\1", "$00", "${a1}$n",
]  # fmt: skip


def pattern(random: Random, depth: int = 0) -> str:
    """A pattern, in most cases one that Go takes."""
    parts = []
    for _ in range(random.choice([1, 1, 2, 2, 3, 4])):
        choice = random.random()
        if choice < 0.22 and depth < 4:
            head = random.choice(GROUPS[:9] if random.random() < 0.93 else GROUPS)
            tail = ")" if random.random() < 0.98 else ""
            part = head + pattern(random, depth + 1) + tail
        elif choice < 0.38:
            part = character_class(random)
        elif choice < 0.44:
            part = random.choice(FLAGS[:7] if random.random() < 0.95 else FLAGS)
        elif choice < 0.6:
            part = random.choice(ATOMS[:60] if random.random() < 0.9 else ATOMS)
        else:
            part = random.choice("abkKsS0é") if random.random() < 0.7 else random.choice(ATOMS[19:40])
        if random.random() < 0.35:
            part += random.choice(REPEATS[:15] if random.random() < 0.95 else REPEATS)
        parts.append(part)
        if random.random() < 0.15:
            parts.append("|")
    return "".join(parts)


def character_class(random: Random) -> str:
    """``[…]``"""
    parts = "".join(random.choice(CLASS_PARTS) for _ in range(random.choice([1, 1, 2, 3, 4])))
    return "[" + random.choice(["", "", "", "^"]) + parts + ("]" if random.random() < 0.985 else "")


def text(random: Random) -> str:
    """A text of the characters that patterns are about."""
    size = random.choice([0, 1, 2, 3, 5, 8, 13, 21])
    few = random.sample(CHARACTERS, random.choice([2, 3, 6, len(CHARACTERS)]))
    return "".join(random.choice(few) for _ in range(size))


def calls(random: Random) -> list[tuple[str, list[object]]]:
    """A pattern with every builtin that takes one, on some texts."""
    made = pattern(random)
    asked: list[tuple[str, list[object]]] = [("regex.is_valid", [made])]
    for _ in range(4):
        searched = text(random)
        wanted = random.choice([-1, -1, -1, 0, 1, 2])
        asked += [
            ("regex.match", [made, searched]),
            ("regex.find_all_string_submatch_n", [made, searched, wanted]),
        ]
    asked += [
        ("regex.find_n", [made, text(random), wanted]),
        ("regex.split", [made, text(random)]),
        ("regex.replace", [text(random), made, random.choice(REPLACEMENTS)]),
    ]
    return asked
