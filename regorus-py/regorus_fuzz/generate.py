"""Rules that call builtins with whatever there is: most of what can go wrong is in their arguments."""

import json
from random import Random

from regorus import builtins

PACKAGE = "package fuzz\n"

TEXTS = [
    "",
    "a",
    "abc",
    "é",
    "日本語",
    "\u0000",
    "\U0001f600",
    "%",
    "%s %d %v",
    "%-999.999f",
    "{{.a}}",
    "{{range .}}",
    "a.b.c",
    "10.0.0.0/8",
    "::/0",
    "::ffff:1.2.3.4/97",
    "1.2.3.4",
    "2001:db8::1",
    "1.2.3-rc.1+b",
    "10Mi",
    "-1e308K",
    "2006-01-02",
    "2024-02-30T25:61:61Z",
    "1h-2m",
    "Mon, 02 Jan",
    "[a-z]+(b|c)*",
    "(((a+)+)+)+",
    "[",
    "*.{a,b}.**",
    "{{a,b},{c}}",
    "a+b*[c-d]",
    "eyJhbGciOiJIUzI1NiJ9.e30.AAAA",
    "eyJhbGciOiJub25lIn0.e30.",
    "a.b.c.d",
    "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    '{"keys": [{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}]}',
    '{"kty":"RSA","n":"AQ","e":"AQ"}',
    '{"kty":"oct","k":"YQ"}',
    '{"alg":"HS256"}',
    "http://u:p@[::1]:80/%41?q#f",
    "%zz",
    "query { a(b: {c: [1 $d]}) ...F }",
    "type A implements B & C { d: [E!]! }",
    "---\n- &a [1]\n- *a",
    "a: [",
    "\t",
    "00000000-0000-1000-8000-000000000000",
    "QUJD",
    "QUI=",
    "!!",
    "616263",
    "x" * 2_000,
    "America/New_York",
    "Europe/Nowhere",
    "utf8",
    "ANSIC",
    "9" * 400,
    "1e400",
    "0x1F",
    "1_000",
    "-0",
    "NaN",
]
NUMBERS = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "63",
    "64",
    "65",
    "255",
    "1000",
    "-9223372036854775808",
    "9223372036854775807",
    "18446744073709551616",
    "123456789012345678901234567890",
    "0.1",
    "-0.5",
    "1e18",
    "1.5e300",
    "1700000000000000000",
]
LEAVES = [
    *NUMBERS,
    "true",
    "false",
    "null",
    "input",
    "input.params",
    "input.params.list",
    "data.limits",
    "set()",
    "{}",
    "[]",
    '{"a": 1, "b": [2]}',
    '[[1, 2], ["a"]]',
    "{1, 2, 3}",
    "numbers.range(1, 50)",
    "time.now_ns()",
    '{"algorithm": "x"}',
    '{"secret": "a"}',
    '["/a", "b/c"]',
    '[{"op": "add", "path": "/a", "value": 1}]',
    "[1.5, 2]",
]
OPERATORS = ["+", "-", "*", "/", "%", "|", "&", "==", "!=", "<", ">=", "=", ":=", "in"]


def expression(random: Random, depth: int = 0) -> str:
    """An expression of any type."""
    choice = random.random()
    if depth > 3 or choice < 0.35:
        return json.dumps(random.choice(TEXTS), ensure_ascii=False) if random.random() < 0.5 else random.choice(LEAVES)
    if choice < 0.8:
        name, arity = random.choice(BUILTINS)
        if random.random() < 0.02:
            arity += random.choice([-1, 1])
        return f"{name}({', '.join(expression(random, depth + 1) for _ in range(arity))})"
    inner = expression(random, depth + 1)
    return random.choice(
        [
            f"[{inner}, {expression(random, depth + 1)}]",
            f"{{{inner}}}",
            f'{{"k": {inner}}}',
            f"[y | some y in {inner}]",
            f"{{y: {inner} | some y in {expression(random, depth + 1)}}}",
            f"({inner} {random.choice(OPERATORS[:7])} {expression(random, depth + 1)})",
            f"count({inner})",
        ]
    )


def statement(random: Random) -> str:
    """A line of a body."""
    left, right = expression(random), expression(random, 2)
    return random.choice(
        [
            left,
            f"not {left}",
            f"x{random.randrange(3)} := {left}",
            f"{left} {random.choice(OPERATORS)} {right}",
            f"some z{random.randrange(3)} in {left}",
            f"every e in {left} {{ e != {right} }}",
            f"{left} with input.params as {right}",
        ]
    )


def policy(random: Random) -> str:
    """A policy of some rules."""
    rules = []
    for index in range(random.randint(1, 4)):
        head = random.choice(["deny", "allow", "deny contains m", f"h{index}", f"f{index}(x)", "reason := r"])
        body = [statement(random) for _ in range(random.randint(1, 4))]
        extra = {"deny contains m": ["m := 1"], "reason := r": ['r := "a"']}.get(head, [])
        rules.append(f"{head} if {{\n\t" + "\n\t".join(body + extra) + "\n}")
    return PACKAGE + "\n".join(rules) + "\n"


BUILTINS = sorted(builtins().items())
