"""YAML is read strictly, and every error names its place."""

from pathlib import Path

import pytest
import yaml

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import parse_document, parse_value, read_document
from headgate.kernel.errors import ValidationError


def test_members() -> None:
    document = parse_document("a: x\nb: [y, z]\nc: {d: 1}\ne: [{f: g}]\n", where="file")
    assert document.text("a") == "x"
    assert document.text("none", "default") == "default"
    assert list(document.strings("a")) == ["x"]
    assert list(document.strings("b")) == ["y", "z"]
    assert list(document.strings("none")) == []
    assert document.section("c").members == {"d": 1}
    assert document.section("none").members == {}
    assert [one.text("f") for one in document.sections("e")] == ["g"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "is there twice"),
        ("1: a\n", "is not text"),
        ("a: !!python/object/apply:os.system [x]\n", "not acceptable YAML"),
        ("a: [\n", "not acceptable YAML"),
        ("- a\n", "a mapping is required"),
        ("a: {b: 2026-01-01}\n", "file.a.b: date is not a value of JSON"),
        ("a: [!!binary AAAA]\n", r"file.a\[0\]: bytes is not"),
        ("a: !!set {b, c}\n", "file.a: set is not"),
        ("a: !!str [b]\n", "not acceptable YAML"),
        ("a: &a {b: c}\nd: {<<: *a}\n", "not acceptable YAML"),
        ("a: {? [b] : c}\n", "is not text"),
        ("a: {2026-01-01: c}\n", "is not text"),
        # Deep enough to end a process that composes by recursion in C.
        pytest.param("[" * 1_000_000, "not acceptable YAML", id="brackets"),
        pytest.param("{a: " * 100_000, "not acceptable YAML", id="braces"),
        pytest.param("- " * 100_000 + "a", "not acceptable YAML", id="dashes"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        parse_document(text, where="file")


@pytest.mark.parametrize("key", ["number", "empty", "none"])
def test_a_text_is_required(key: str) -> None:
    document = parse_document("number: 1\nempty: ''\n", where="file")
    with pytest.raises(ValidationError, match=f"file.{key}: a text is required"):
        document.text(key)


def test_other_shapes() -> None:
    document = parse_document("a: {b: [1]}\n", where="file")
    with pytest.raises(ValidationError, match=r"file.a: a list of texts"):
        document.strings("a")
    with pytest.raises(ValidationError, match=r"file.a: a list is required"):
        document.sections("a")
    section = document.section("a")
    with pytest.raises(ValidationError, match=r"file.a.b: a mapping"):
        section.section("b")
    with pytest.raises(ValidationError, match=r"file.a.b: 1 is not a text"):
        section.strings("b")
    with pytest.raises(ValidationError, match=r"file.a.b\[0\]: a mapping"):
        section.sections("b")
    with pytest.raises(ValidationError, match=r"file.a.b: unknown; known here: c"):
        section.only("c")


@pytest.mark.parametrize("path", sorted(resource_path(".").rglob("*.yaml")), ids=lambda path: path.name)
def test_what_comes_with_headgate_reads_as_with_the_reader_in_python(path: Path) -> None:
    text = path.read_text("utf-8")
    assert parse_value(text, where="file") == yaml.safe_load(text)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xff")
    with pytest.raises(ValidationError, match="cannot be read"):
        read_document(path)


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "a: &a {b: *a}\n"])
def test_what_is_in_itself_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="not acceptable YAML"):
        parse_document(text, where="file")


def test_an_alias_is_its_value() -> None:
    assert parse_value("a: &a {b: [c]}\nd: [*a, *a]\n", where="file") == {"a": {"b": ["c"]}, "d": [{"b": ["c"]}] * 2}


@pytest.mark.parametrize(("begins", "ends"), [("[", "]"), ("{x: ", "}")])
def test_aliases_multiply_nothing(begins: str, ends: str) -> None:
    """Nine lines would stand for a thousand million texts, and a page of the dashboard reads what a person writes."""
    lines = [f"a0: &a0 [{', '.join('x' * 10)}]"]
    for number in range(1, 9):
        members = [f"{begins}*a{number - 1} {ends}"] * 10
        lines.append(f"a{number}: &a{number} [{', '.join(members)}]")
    with pytest.raises(ValidationError, match="aliases repeat more members"):
        parse_document("\n".join(lines), where="file")


@pytest.mark.parametrize("text", ["a,b,c,d", "{}", "[[[a]]]", "{a,b,c}", "a:\n-\n-\n-", "? a\n? b"])
def test_the_shortest_documents_have_fewer_members_than_characters(text: str) -> None:
    assert parse_value(text, where="file") == yaml.safe_load(text)
