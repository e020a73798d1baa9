"""What the engine would read otherwise than OPA, without a word: rewritten where it can be, else refused."""

import pytest
from regorus import Input, Policy, RegoError

INPUT = Input(b'{"x": {"a": {"b": 1}}, "names": ["a", "b"], "limit": 1}')


def denied(body: str, rules: str = "") -> bool:
    return Policy(f"package t\n\ndeny if {{ {body} }}\n{rules}").decide(INPUT) == b'{"deny":true}'


@pytest.mark.parametrize(
    "body",
    [
        '[path, value] := walk(input.x); value == 1; path == ["a", "b"]',
        "[path, value] = walk(input.x); value == 1",
        "walk(input.x) = [path, value]; value == 1",
        '[["a", key], 1] = walk(input.x); key == "b"',
        "node := walk(input.x); node[1] == 1",
        "[_, value] :=\n\twalk(input.x)\n value == 1",
        "walk(input.x, [_, 1])",
        "[1 | [_, value] := walk(input.x); value == 1] == [1]",
        "every name in input.names { [path, value] := walk(input.x); value == 1; name in path }; true",
    ],
)
def test_walk_gives_every_node(body: str) -> None:
    # The last one holds for "a" and "b", which are both on the way to 1.
    assert denied(body)


def test_a_walk_that_is_rewritten_keeps_lines_and_columns() -> None:
    with pytest.raises(RegoError) as caught:
        Policy("package t\n\ndeny if {\n\t[path, value] := walk(\n\t\tinput.x)\n\tunknown(value)\n}")
    assert (caught.value.line, caught.value.column) == (6, 2)


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("count(walk(input.x)) == 2", ""),
        ("some node in walk(input.x); node == 1", ""),
        ("walk(input.x)[1] == 1", ""),
        ("walk(input.x) == [[], {}]", ""),
        ("not walk(input.x, [[], {}])", ""),
        ("f(walk(input.x))", "f(node) if node[1] == 1"),
        ("f(input.x) with f as walk", "f(_) := 1"),
        # Without `:=` these names would mean what they mean around it.
        ("[path, value] := walk(input.x); value == 1", 'path := "rule"'),
        ("value = 2; [1 | [_, value] := walk(input.x)] == [1, 1, 1]", ""),
        ("f(2)", "f(value) if [1 | [_, value] := walk(input.x)] == [1, 1, 1]"),
    ],
)
def test_walk_elsewhere_is_refused(body: str, rules: str) -> None:
    with pytest.raises(RegoError, match="walk"):
        denied(body, rules)


@pytest.mark.parametrize(
    "statement",
    [
        "name = 7",
        "7 = name",
        "input.names[_] = name",
        '[name, other] = ["z", 1]',
        '{"a": name} = {"a": 7}',
        "other := [7]; other = [name]",
        'upper("z", name)',
        "same(7, name)",
        "walk(input.x, [_, name])",
        "count({1 | name = 7}) == 1",
        "not name = 7",
        "some name in [7]",
        "some name; name = 7",
        "name := 7",
        "every other in [1] { other == name; name = 7 }",
    ],
)
def test_a_name_of_every_is_not_bound_anew(statement: str) -> None:
    """The engine would find that the body holds for whatever the list has."""
    text = f"package t\n\nallow if {{ every name in input.names {{ {statement} }} }}\nsame(value) := value"
    with pytest.raises(RegoError, match="name is a name of every") as caught:
        Policy(text)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    "statement",
    [
        "name == upper(name)",
        "other := upper(name); other == name",
        "input.x[name]",
        'object.get({"a": 1}, name, 0) = 1',
    ],
)
def test_what_compares_a_name_of_every_compares(statement: str) -> None:
    assert Policy(f"package t\n\nallow if {{ every name in input.names {{ {statement} }} }}").decide(INPUT) != (
        b'{"allow":true}'
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('xs := {"a"}; "a", "a" in xs', "misses the members of a set"),
        ("not input.names[_] == 7", "var _ is unsafe"),
        ("not count(input.x[_]) == 7", "var _ is unsafe"),
        ("not { false }", "not { is a body"),
        ("0.1234567890123456789 > input.limit", "more digits than are kept"),
        ("1e-400 > 0", "more digits than are kept"),
        ('sprintf("%f", [1e2]) == "100.000000"', "leave exponent and last zeros out"),
        ('json.marshal({"a": [1.0]}) == "x"', "leave exponent and last zeros out"),
    ],
)
def test_others_are_refused(body: str, message: str) -> None:
    with pytest.raises(RegoError, match=message) as caught:
        denied(body)
    assert caught.value.line == 3


@pytest.mark.parametrize("keyword", ["not", "and", "nonsense"])
def test_an_unknown_keyword_is_not_imported(keyword: str) -> None:
    with pytest.raises(RegoError, match="a keyword must be one of"):
        Policy(f"package t\n\nimport future.keywords.{keyword}\n\nallow if true")


@pytest.mark.parametrize(
    "body",
    [
        '0, "a" in ["a", "b"]',
        '"a", 1 in {"a": 1}',
        "not 7 in input.names",
        "not [name | name := input.names[_]; name == 7] == [7]",
        "0.1 < 1.50; 3.141592653589793 > 1e0; 0.30000000000000004 > 0.3; 2.50 == 2.5",
        'sprintf("%v", [1.5]) == "1.5"',
    ],
)
def test_what_means_the_same_stays(body: str) -> None:
    assert denied(body)


@pytest.mark.parametrize("imported", ["future.keywords", "future.keywords.if", "future.keywords.in", "rego.v1"])
def test_imports_of_what_is_there_stay(imported: str) -> None:
    assert Policy(f"package t\n\nimport {imported}\n\nallow if true").decide(INPUT) == b'{"allow":true}'


def test_a_local_that_is_a_string_reads_the_member_of_that_name() -> None:
    """OPA's own case, whose member `on` older readers of YAML take for true."""
    rules = "\n".join(f'deny contains "{name}" if {{ k := "{name}"; input.{name}s[k].on == true }}' for name in "ab")
    document = b'{"as": {"a": {"on": false}}, "bs": {"b": {"on": true}}}'
    assert Policy(f"package t\n\n{rules}").decide(document) == b'{"deny":["b"]}'
