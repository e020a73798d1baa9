"""Builtins that the engine lacks: one line for each that a policy could be wrong about."""

import json

import pytest
from regorus import EvaluationError, Policy, RegoError

P = "package p\n"


def value(expression: str, document: object = None) -> object:
    """The value of an expression; None where it is undefined."""
    policy = Policy(P + f"x := {expression}", time_limit_milliseconds=2_000)
    answer = policy.query("x", json.dumps(document or {}).encode())
    return json.loads(answer) if answer else None


def refusal(expression: str, document: object = None) -> str:
    with pytest.raises(EvaluationError) as caught:
        value(expression, document)
    assert caught.value.kind == "error"
    return caught.value.reason


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # RFC 1321, FIPS 180 and RFC 4231.
        ('crypto.md5("abc")', "900150983cd24fb0d6963f7d28e17f72"),
        ('crypto.sha1("abc")', "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ('crypto.sha256("abc")', "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            'crypto.hmac.sha256("what do ya want for nothing?", "Jefe")',
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        ('crypto.hmac.md5("what do ya want for nothing?", "Jefe")', "750c783e6ab0b503eaa86e310a5db738"),
        ('crypto.hmac.equal("a", "a")', True),
        ('crypto.hmac.equal("a", "b")', False),
        ('crypto.hmac.equal("a", "ab")', False),
        # Go's big.Float: sums with 64 bits of a mantissa, products with 53.
        ("sum([0.1, 0.2])", 0.3),
        ("sum({0.1, 0.7, 1})", 1.8),
        ("sum([1.5, -1.5])", 0),
        ("sum([5e-324, 1])", 1),
        ("sum([0.5, 9007199254740990])", 9007199254740990.0),  # a double rounds half to even, once
        ("sum([-0.1, -0.2, -0.3])", -0.6),
        ("product([-1.5, -293.960113])", 440.9401695),
        ("product([123456.789, -2.5])", -308641.97250000003),
        ("product([0.5, 2])", 1),
        ("object.subset([1, 1], {1, 2})", True),
        ("object.subset([], set())", False),
        ("object.subset([1], set())", True),
        ('to_number("0.1")', 0.1),
        ('uri.is_valid("http://a/#\\n")', True),
        # Networks, with what Go takes for one.
        ('net.cidr_contains("10.0.0.0/8", "10.1.2.3")', True),
        ('net.cidr_contains("10.0.0.0/8", "11.0.0.0/16")', False),
        ('net.cidr_contains("10.0.0.0/8", "10.0.0.0/7")', False),
        ('net.cidr_contains("::/0", "10.0.0.1")', False),
        # The last address of ::/80 maps one of IPv4, which IPv6 networks do not hold; by prefixes they do.
        ('net.cidr_contains("::/80", "::/80")', True),
        ('net.cidr_contains("::/0", "::/80")', True),
        ('net.cidr_contains("::/80", "::/79")', False),
        ('net.cidr_contains("::/80", "::ffff:10.0.0.1")', False),
        ('net.cidr_contains_matches("::/0", "::/80")', [["::/0", "::/80"]]),
        ('net.cidr_contains("10.0.0.0/8", "::ffff:10.0.0.1")', True),
        ('net.cidr_contains("::ffff:10.0.0.0/104", "10.0.0.1")', True),
        ('net.cidr_is_valid("10.0.0.0/+8")', False),
        ('net.cidr_is_valid("10.0.0.0/08")', True),
        ('net.cidr_is_valid("010.0.0.0/8")', False),
        ('net.cidr_is_valid("fe80::1%eth0/64")', False),
        ("net.cidr_is_valid(8)", False),
        ('net.cidr_intersects("10.0.0.0/8", "10.1.0.0/16")', True),
        ('net.cidr_intersects("10.0.0.0/8", "11.0.0.0/16")', False),
        ('net.cidr_expand("192.168.0.1/30")', [f"192.168.0.{last}" for last in range(4)]),
        ('net.cidr_expand("2001:db8::/127")', ["2001:db8::", "2001:db8::1"]),
        ('net.cidr_merge(["192.0.128.0/24", "192.0.129.0/24"])', ["192.0.128.0/23"]),
        ('net.cidr_merge(["10.1.2.3", "10.0.0.0/9"])', ["10.0.0.0/8"]),
        ('net.cidr_contains_matches("1.1.1.0/24", "1.1.1.128")', [["1.1.1.0/24", "1.1.1.128"]]),
        ('net.cidr_contains_matches(["1.1.0.0/16", ["2.0.0.0/8", "x"]], {"2.1.1.1"})', [[1, "2.1.1.1"]]),
        # Patterns that could match the same text.
        ('regex.globs_match("a.*", "ab")', True),
        ('regex.globs_match("[a-z]+", "[0-9]*")', False),
        ('regex.globs_match("a*", "a+b")', False),
        ('regex.globs_match(".*.*.*.*.*.*.*.*.*.*x", ".*.*.*.*.*.*.*.*.*.*y")', False),
        # Where the engine's own fail.
        ('regex.template_match("aaaa{.*}b", "a", "{", "}")', False),
        ('regex.template_match("urn:foo:{.*}", "urn:foo:bar:baz", "{", "}")', True),
        ('regex.template_match("u<[0-9]{2}>.", "u12.", "<", ">")', True),
        ('regex.template_match("u<[0-9]{2}>.", "u12x", "<", ">")', False),
        ('sprintf("½ %d", [1])', "½ 1"),
        # Where the engine's own differ from OPA's.
        ('time.add_date(time.parse_rfc3339_ns("2024-01-31T10:00:00Z"), 0, 1, 0)', 1709373600000000000),
        ('time.add_date(time.parse_rfc3339_ns("2024-02-29T00:00:00Z"), 1, 0, 0)', 1740787200000000000),
        ("time.add_date(-1, -7, 100, 3)", 42249599999999999),
        ('time.add_date([time.parse_rfc3339_ns("2024-01-15T00:00:00Z"), "UTC"], 0, 1, 0)', 1707955200000000000),
        ('json.remove({"a": {"b": 1, "c": 2}}, ["/a/b"])', {"a": {"c": 2}}),
        ('json.remove({"a": [1, 2, {"b": 3}]}, ["a/0", "a/2/b"])', {"a": [2, {}]}),
        ('json.remove({"a/b": 1, "c": 2}, ["/a~1b", []])', {"c": 2}),
        ('json.filter({"a": {"b": 1, "c": 2}, "d": 3}, ["/a/b", "a"])', {"a": {"b": 1, "c": 2}}),
        ('json.filter({"a": [1, {"b": 2, "c": 3}]}, [["a", "1", "c"]])', {"a": [{"c": 3}]}),
        ('json.filter({"a": 1}, [[]])', {}),
        ('json.marshal("<a&b>")', '"\\u003ca\\u0026b\\u003e"'),
        ('urlquery.encode("a b*~/é")', "a+b%2A~%2F%C3%A9"),
        ('urlquery.decode("a+b%2A")', "a b*"),
        ('urlquery.encode_object({"b": ["*", "c d"], "a": "~", "s": {"y", "x"}})', "a=~&b=%2A&b=c+d&s=x&s=y"),
        ('urlquery.decode_object("a=1&b&a=%2A&&")', {"a": ["1", "*"], "b": [""]}),
        ('glob.quote_meta("a*{b,c}[d]?\\\\")', "a\\*\\{b,c\\}\\[d\\]\\?\\\\"),
        ('glob.match(glob.quote_meta("{a,b}"), [], "a")', False),
        ('glob.match(glob.quote_meta("{a,b}"), [], "{a,b}")', True),
        # Later additions to the language.
        ("array.flatten([1, [2, [3]], []])", [1, 2, [3]]),
        ('strings.split_n("a.b.c", ".", 2)', ["a", "b"]),
        ('strings.split_n("a.b.c", ".", -2)', ["b", "c"]),
        ('strings.split_n("a.b.c", ".", 9)', ["a", "b", "c"]),
        ('uuid.parse("00000000-0000-4000-8000-000000000000")', {"variant": "RFC4122", "version": 4}),
        ('uuid.parse("00000000-0000-4000-8000-00000000000x")', None),
        ("uri.is_valid(1)", False),
        ('uri.is_valid("")', False),
        ('uri.is_valid("http://a:b/")', False),
        ('uri.is_valid("http://[::1]:80/%41")', True),
        ('uri.is_valid("http://u:p@x::1]:80/")', False),
        ('uri.is_valid("https://a:1:2/")', False),
        ('uri.parse("postgresql://a:1,b:2/x").port', "2"),
        (
            'uri.parse("https://user:pw@Example.com:8443/a%2Fb/c?x=1#top")',
            {
                "scheme": "https",
                "hostname": "Example.com",
                "port": "8443",
                "path": "/a/b/c",
                "raw_path": "/a%2Fb/c",
                "raw_query": "x=1",
                "fragment": "top",
            },
        ),
        ('uri.parse("//evil.example/x").hostname', "evil.example"),
        ('uri.parse("https://a.example/b%21").raw_path', "/b!"),
        ('uri.parse("https://a.example/b%21%2F").raw_path', "/b%21%2F"),
        ('uri.parse("http://a]b:80/").hostname', "a]b"),
        ('uri.parse("mailto:a@b.c")', {"scheme": "mailto"}),
        # Templates.
        ('strings.render_template("{{.a}}", {"a": 2023})', "2023"),
        ('strings.render_template("{{range $i, $n := .n}}{{if $i}}, {{end}}{{$n}}{{end}}", {"n": ["a", "b"]})', "a, b"),
        ('strings.render_template("a {{- /* no */ -}} b", {})', "ab"),
        ('strings.render_template("{{if eq .a `x`}}yes{{else if .b}}b{{else}}no{{end}}", {"a": "y", "b": ""})', "no"),
        ('strings.render_template("{{with .a.b}}{{.}}{{$.c}}{{end}}", {"a": {"b": 1}, "c": true})', "1true"),
        ('strings.render_template("{{len .a}}{{index .a 1}}", {"a": ["x", "y"]})', "2y"),
        ('strings.render_template("{{.a}}{{.b}}", {"a": [1, "x"], "b": {"k": null}})', "[1 x]map[k:<nil>]"),
        # Documents of GraphQL.
        ('graphql.parse_query("mutation { drop }").Operations[0].Operation', "mutation"),
        (
            'graphql.parse_query("{ a: b(c: [1, $d]) @e }").Operations[0].SelectionSet[0]',
            {
                "Alias": "a",
                "Name": "b",
                "Arguments": [
                    {
                        "Name": "c",
                        "Value": {
                            "ExpectedTypeHasDefault": False,
                            "Kind": 8,
                            "Raw": "",
                            "Children": [
                                {"Name": "", "Value": {"ExpectedTypeHasDefault": False, "Kind": 1, "Raw": "1"}},
                                {"Name": "", "Value": {"ExpectedTypeHasDefault": False, "Kind": 0, "Raw": "d"}},
                            ],
                        },
                    }
                ],
                "Directives": [{"Name": "e", "Location": ""}],
            },
        ),
        ('graphql.schema_is_valid("type A { b: C }")', False),
        ('graphql.schema_is_valid("type A { b: Int }")', True),
        ('graphql.schema_is_valid("type A { b: Int b: Int }")', False),
        ('graphql.schema_is_valid("interface I { a: Int } type A implements I { b: Int }")', False),
        ("graphql.schema_is_valid(1)", False),
        # Paths of a graph.
        ('graph.reachable_paths({"a": ["b"], "b": []}, {"a"})', [["a", "b"]]),
        ('graph.reachable_paths({"a": ["b"]}, {"a"})', [["a"]]),
    ],
)
def test_values(expression: str, expected: object) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("crypto.sha256(1)", "operand 1 must be string but got number"),
        ('crypto.hmac.sha256("a", null)', "operand 2 must be string but got null"),
        ('net.cidr_contains("10.0.0.0", "10.0.0.1")', "invalid CIDR address"),
        ('net.cidr_contains("10.0.0.0/8", "no")', "not a valid textual representation"),
        ('net.cidr_merge(["2001:db8::1"])', "IPv6 invalid: needs prefix length"),
        ('net.cidr_contains_matches(["10.0.0.0/8", []], "10.0.0.1")', "element must be string or non-empty array"),
        ('net.cidr_expand("::/0")', "more than 65536 addresses"),
        ('net.cidr_expand("10.0.0.0/15")', "more than 65536 addresses"),
        ("net.cidr_contains_matches([x | some x in r], [x | some x in r])", "operand 1: element must be string"),
        ('regex.globs_match(trim("a]", " "), "b")', "set-close"),
        ('regex.globs_match(trim("+a", " "), "b")', "flag '+' must be preceded"),
        ('regex.globs_match(trim("a\\\\", " "), "b")', "ends with a"),
        ('regex.globs_match(trim("[z-a]", " "), "b")', "out of order"),
        ('regex.globs_match(concat("", ["a" | some _ in r]), "b")', "more than 256 bytes"),
        ('strings.render_template("{{.a}}", {})', "no entry for key"),
        ('strings.render_template("{{", {})', "unclosed action"),
        ('strings.render_template("{{.a | printf}}", {"a": 1})', "pipelines"),
        ('strings.render_template("{{define \\"x\\"}}{{end}}", {})', "define is not available"),
        ('strings.render_template("{{range .a}}{{range $.a}}{{range $.a}}x{{end}}{{end}}{{end}}", {"a": r})', "steps"),
        ('graphql.parse_query("{ a")', "Expected Name, found <EOF> in GraphQL string at location 1:4"),
        ('graphql.parse_query(concat("", ["{ a " | some _ in numbers.range(1, 100)]))', "nested more than 40 deep"),
        ('graphql.parse_schema("type A {}")', "expected at least one definition"),
        (
            "graph.reachable_paths({x: [y | some y in n; y != x] | n := numbers.range(1, 200); some x in n}, [1])",
            "steps",
        ),
        ('urlquery.decode("%zz")', "invalid URL escape"),
        ('urlquery.decode_object("a;b")', "semicolon"),
        ('units.parse("1_000")', "no number"),
        ('units.parse("1.5123456789Ei")', "a result with more digits than a double has"),
        ('units.parse("1.510123456789")', "more than ten decimals"),
        ('units.parse(".e3")', "no number"),
        ('units.parse_bytes("1234567890P")', "a result with more digits than a double has"),
        ('to_number("12345678901234567890.0")', "a number of more digits than a double has"),
        ('to_number("0e123456789012345678905")', "an exponent of more than nine characters"),
        ("sum([0.5, 9007199254740992])", "a result that would be rounded in OPA"),
        ("sum([y | some x in numbers.range(1, 10001); y := x / 2])", "more than 10000 numbers"),
        ('units.parse("10e10000000Ei")', "an exponent of more than two digits"),
        ('units.parse_bytes(".")', "a fraction of a byte"),
        ('substring("abc", 0.5, 1)', "operand 2 must be integer number"),
        ("object.subset([], {})", "must be of the same type"),
        ('json.remove([1], ["0"])', "operand 1 must be object"),
        ('json.filter({"a": 1}, [1])', "must contain string paths"),
        ('time.parse_ns("日本語", "a")', "beyond ASCII"),
        ('indexof("abc", "")', "empty search character"),
        ("time.add_date(0, 9000, 0, 0)", "outside of valid range"),
        ('uri.parse("http://a b/")', "invalid character in host name"),
        ('uri.parse("http://a/%zz")', "invalid URL escape"),
    ],
)
def test_errors(expression: str, reason: str) -> None:
    text = P + "r := numbers.range(1, 1000)\n" + f"allow if {expression}"
    with pytest.raises(EvaluationError) as caught:
        Policy(text, time_limit_milliseconds=2_000).decide(b"{}")
    assert caught.value.kind == "error"
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("allow if crypto.sha256()", 10, "crypto.sha256 takes 1 argument, not 0"),
        ('allow if io.jwt.decode("a", x, y)', 10, "io.jwt.decode takes 1 argument, not 3"),
        ('allow if io.jwt.decoded("a")', 10, "unknown function io.jwt.decoded"),
        ('allow if graphql.is_valid("a", "b")', 10, "graphql.is_valid is not available"),
        ('allow if crypto.sha256("a") == "b" with crypto.sha256 as "b"', 41, "cannot be replaced"),
        ("f(x) := x\nallow if f(1) with f as crypto.sha256", 25, "cannot be replaced"),
        ('allow if http.get("a") with http.get as true', 10, "unknown function http.get"),
        ("allow if 1 == 1 with http.gett as true", 22, "unknown function http.gett"),
    ],
)
def test_refused_at_creation(text: str, column: int, message: str) -> None:
    with pytest.raises(RegoError) as caught:
        Policy(P + text)
    assert message in caught.value.message
    assert caught.value.line == 1 + len(text.splitlines())
    assert caught.value.column == column


def test_the_last_argument_may_name_the_result() -> None:
    policy = Policy(
        P
        + 'deny contains x if crypto.sha256("abc", x)\n'
        + 'deny contains "parsed" if {\n\turi.parse(\n\t\tinput.uri, # an address\n\t\t{"hostname": host},\n\t)\n'
        + '\thost == "a"\n}\n'
        + 'allow if not crypto.sha256("abc", "x")'
    )
    answer = json.loads(policy.decide(b'{"uri": "//a"}'))
    assert answer["deny"] == ["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "parsed"]
    assert answer["allow"] is True


def test_a_long_line_is_read() -> None:
    assert Policy(P + f'allow if input.key == "{"x" * 40_000}"').decide(b"{}") == b"{}"
