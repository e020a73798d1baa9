"""Catalogues that cannot be meant are refused, with the file and the path to the member."""

from pathlib import Path

import pytest

from headgate.kernel.errors import ValidationError
from headgate.tools.load import load_catalogue, load_catalogues

_HEAD = "tool: t\ndescription: d\nhosts: [h.example]\n"
_GRAPHQL = (
    "{{operation: o, protocol: graphql, path: /g, {kind}: do, effect: write, description: d, document: '{document}'}}"
)
_DOCUMENT = "mutation($a: Int) {do(a: $a) {b}}"


def _graphql(document: str = _DOCUMENT, kind: str = "mutation") -> str:
    return _GRAPHQL.format(kind=kind, document=document)


_REST = "{operation: o, method: GET, path: '/{rest...}', effect: read, description: d}"
_ENTRY = "{operation: o, method: GET, path: /a, effect: read, description: d}"


def _write(folder: Path, text: str, name: str = "c.yaml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_an_entry_names_what_is_seen_first_or_its_catalogue_does(tmp_path: Path) -> None:
    own = _ENTRY.replace("}", ", facts: [name]}")
    other = _ENTRY.replace("operation: o", "operation: p").replace("/a", "/b")
    text = _HEAD + f"facts: [id, title]\nentries: [{own}, {other}]\n"
    entries = load_catalogue(_write(tmp_path, text)).entries
    assert [entry.facts for entry in entries] == [("name",), ("id", "title")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a mapping is required"),
        ("[", "not acceptable YAML"),
        ("tool: t\ntool: u\n", "is there twice"),
        (_HEAD + "entires: []\n", "entires: unknown"),
        ("description: d\nhosts: [h]\n", "tool: a text is required"),
        ("tool: T\ndescription: d\nhosts: [h]\n", "tool: 'T' does not match"),
        ("tool: http\ndescription: d\nhosts: [h]\n", "reserved"),
        ("tool: mcp_x\ndescription: d\nhosts: [h]\n", "reserved"),
        ("tool: t\ndescription: d\n", "hosts: at least one"),
        ("tool: t\ndescription: d\nhosts: [H.example]\n", "hosts: 'H.example'"),
        (_HEAD + "unlisted_reads: 1\n", "true or false"),
        (_HEAD + "encoded_slashes: kept\n", "encoded_slashes: true or false"),
        (_HEAD + f"encoded_slashes: true\nentries: [{_REST}]\n", "cannot be used with encoded_slashes"),
        (_HEAD + "body: xml\n", "'xml' is not one of"),
        (_HEAD + "entries: [1]\n", r"entries\[0\]: a mapping"),
        (_HEAD + f"entries: [{_ENTRY[:-1]}, efect: read}}]\n", r"entries\[0\].efect: unknown"),
        (_HEAD + "entries: [{operation: o, method: GET, path: /a, description: d}]\n", "effect: a text is required"),
        (_HEAD + f"entries: [{_ENTRY.replace('GET', 'get')}]\n", "not a method in upper case"),
        (_HEAD + f"entries: [{_ENTRY.replace('GET', 'HEAD')}]\n", "HEAD is what GET is"),
        (_HEAD + f"entries: [{_ENTRY.replace('GET', '[]')}]\n", "at least one method"),
        (_HEAD + f"entries: [{_ENTRY.replace(': o,', ': unlisted_x,')}]\n", "begins like"),
        (_HEAD + f"entries: [{_ENTRY.replace('/a', 'a')}]\n", "begins with /"),
        (_HEAD + f"entries: [{_ENTRY.replace('/a', '/a/')}]\n", "begins with /"),
        (_HEAD + f"entries: [{_ENTRY.replace('/a', '"/{a...}/b"')}]\n", "must be the last"),
        (_HEAD + f"entries: [{_ENTRY.replace('/a', '"/{a}/{a}"')}]\n", "there twice"),
        (_HEAD + f"entries: [{_ENTRY.replace('/a', '"/x{a}"')}]\n", "neither a literal nor one variable"),
        (_HEAD + f"entries: [{_ENTRY[:-1]}, expected_status: [99]}}]\n", "99 is not a status"),
        (_HEAD + f"entries: [{_ENTRY[:-1]}, expected_status: 200}}]\n", "a list of statuses"),
        (_HEAD + f"entries: [{_ENTRY[:-1]}, when: {{header: {{a: b}}}}}}]\n", "when.header: unknown"),
        (_HEAD + f"entries: [{_ENTRY[:-1]}, when: {{body: {{a: 2026-01-01}}}}}}]\n", "date is not a value of JSON"),
        (_HEAD + f"entries: [{_ENTRY[:-1]}, mutation: do}}]\n", "no member of an entry whose protocol is rest"),
        (_HEAD + f"entries: [{_ENTRY.replace(': o,', ': several,')}]\n", "several root fields"),
        (_HEAD + f"entries: [{_ENTRY[:-1]}, success: {{ok: true}}}}]\n", "success.ok: unknown"),
        (_HEAD + f"entries: [{_ENTRY[:-1]}, success: {{body: {{}}}}}}]\n", "at least one member"),
        (_HEAD + "success: yes\n" + f"entries: [{_ENTRY}]\n", "success: a mapping is required"),
        (_HEAD + f"entries: [{_graphql()[:-1]}, method: POST}}]\n", "no member of an entry whose protocol is graphql"),
        (_HEAD + f"entries: [{_graphql()[:-1]}, query: do}}]\n", "either query or mutation"),
        (_HEAD + f"entries: [{_graphql().replace('effect: write', 'effect: read')}]\n", "a mutation is never a read"),
        (_HEAD + f"entries: [{_graphql('mutation {')}]\n", "Syntax Error"),
        (_HEAD + f"entries: [{_graphql('query {do}')}]\n", "must be one mutation with the root field do alone"),
        (_HEAD + f"entries: [{_graphql('mutation {do also}')}]\n", "the root field do alone"),
        (_HEAD + f"entries: [{_graphql('mutation {do: other}')}]\n", "the root field do alone"),
        (_HEAD + f"entries: [{_graphql('mutation {it: do}')}]\n", "another name"),
        (_HEAD + f"entries: [{_graphql('mutation {do(a: 1)}')}]\n", "each argument a variable"),
        (_HEAD + f"entries: [{_graphql('mutation($a: Int, $b: Int) {do(a: $a)}')}]\n", "each variable must be"),
        (_HEAD + f"entries: [{_graphql('mutation($a: Int) {do(b: $a)}')}]\n", "each variable must be"),
    ],
)
def test_refused(tmp_path: Path, text: str, message: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(ValidationError, match=message) as caught:
        load_catalogue(path)
    assert str(path) in caught.value.message


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (f"[{_ENTRY}, {_ENTRY}]", "the same calls are listed"),
        (f"[{_graphql()}, {_graphql()}]", "the same calls are listed"),
        (f"[{_ENTRY.replace('GET', 'POST').replace('/a', '/g')}, {_graphql()}]", "reads the body otherwise"),
        (f"[{_ENTRY}, {_ENTRY.replace('/a', '/A')}]", "differ only in upper and lower case"),
        (f"[{_ENTRY}, {_ENTRY[:-1]}, when: {{query: {{a: b}}}}, body: raw}}]", "reads the body otherwise"),
    ],
)
def test_entries_that_contradict_each_other_are_refused(tmp_path: Path, entries: str, message: str) -> None:
    _write(tmp_path, f"{_HEAD}entries: {entries}\n")
    with pytest.raises(ValidationError, match=message):
        load_catalogues(tmp_path)


def test_two_catalogues_for_one_host_are_refused(tmp_path: Path) -> None:
    _write(tmp_path, _HEAD, "one.yaml")
    _write(tmp_path, _HEAD.replace("tool: t", "tool: u"), "two.yaml")
    with pytest.raises(ValidationError, match=r"two.yaml: h.example is covered by .*one.yaml already"):
        load_catalogues(tmp_path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="cannot be read"):
        load_catalogue(tmp_path / "none.yaml")


def test_no_catalogues_is_an_index_of_nothing(tmp_path: Path) -> None:
    assert load_catalogues(tmp_path).for_host("h.example") is None


def test_a_query_and_a_mutation_of_one_name_are_two(tmp_path: Path) -> None:
    _write(tmp_path, f"{_HEAD}entries: [{_graphql()}, {_graphql('{do}', 'query').replace(': o,', ': p,')}]\n")
    assert {"o", "p"} <= load_catalogues(tmp_path).tools["t"].keys()


def test_a_file_is_read_anew_when_it_says_something_else(tmp_path: Path) -> None:
    _write(tmp_path, f"{_HEAD}entries: [{_ENTRY}]\n")
    before = load_catalogues(tmp_path)
    assert load_catalogues(tmp_path) is before
    _write(tmp_path, f"{_HEAD}entries: [{_ENTRY.replace('operation: o', 'operation: p')}]\n")
    assert list(load_catalogues(tmp_path).tools["t"]) == ["p"]
    assert list(before.tools["t"]) == ["o"]
