"""The one entry for a call, whatever the order of the entries."""

import itertools
from pathlib import Path

import pytest

from headgate.kernel.errors import AmbiguousRequestError
from headgate.tools.load import load_catalogue
from headgate.tools.match import CatalogueIndex

_PATHS = ("/a/b", "/a/{x:int}", "/a/{x}", "/a/{x}/c", "/{rest...}", "/a/{x}/{y...}", "/")


def _index(folder: Path, paths: tuple[str, ...], hosts: str = "[h.example]") -> CatalogueIndex:
    entries = "".join(
        f'  - {{operation: o{_PATHS.index(path)}, method: GET, path: "{path}", effect: read, description: d}}\n'
        for path in paths
    )
    (folder / "c.yaml").write_text(f"tool: t\ndescription: d\nhosts: {hosts}\nentries:\n{entries}")
    return CatalogueIndex([load_catalogue(path) for path in sorted(folder.glob("*.yaml"))])


@pytest.mark.parametrize(
    ("path", "expected", "values"),
    [
        ("/", "/", ()),
        ("/a/b", "/a/b", ()),
        ("/a/5", "/a/{x:int}", ("5",)),
        ("/a/0", "/a/{x:int}", ("0",)),
        ("/a/05", "/a/{x}", ("05",)),
        ("/a/1234567890123456789", "/a/{x}", ("1234567890123456789",)),
        ("/a/\u0665", "/a/{x}", ("\u0665",)),
        ("/a/x", "/a/{x}", ("x",)),
        ("/a/b/c", "/a/{x}/c", ("b",)),
        ("/a/5/c", "/a/{x}/c", ("5",)),
        ("/a/b/d", "/a/{x}/{y...}", ("b", "d")),
        ("/a/b/d/e", "/a/{x}/{y...}", ("b", "d/e")),
        ("/a", "/{rest...}", ("a",)),
        ("/z/y", "/{rest...}", ("z/y",)),
    ],
)
def test_the_most_specific_template_answers(tmp_path: Path, path: str, expected: str, values: tuple[str, ...]) -> None:
    for order in itertools.islice(itertools.permutations(_PATHS), 0, 5040, 997):
        host = _index(tmp_path, order).for_host("h.example")
        assert host is not None
        match = host.find("GET", path)
        assert match is not None
        assert (match.entries[0].operation, match.values) == (f"o{_PATHS.index(expected)}", values)


def test_no_template_no_answer(tmp_path: Path) -> None:
    host = _index(tmp_path, ("/a/b",)).for_host("h.example")
    assert host is not None
    for path in ("/", "/a", "/a/b/c", "/b"):
        assert host.find("GET", path) is None
    assert host.find("POST", "/a/b") is None
    assert host.find("HEAD", "/a/b") is not None


def test_a_literal_in_other_case_is_refused(tmp_path: Path) -> None:
    host = _index(tmp_path, ("/a/b", "/a/{x}")).for_host("h.example")
    assert host is not None
    for path in ("/A/b", "/a/B"):
        with pytest.raises(AmbiguousRequestError):
            host.find("GET", path)


@pytest.mark.parametrize(
    ("host", "covered"),
    [
        ("h.example", True),
        ("x.h.example", False),
        ("sub.wild.example", True),
        ("a.b.wild.example", True),
        ("wild.example", False),
        ("notwild.example", False),
        ("h.example.evil.test", False),
    ],
)
def test_hosts(tmp_path: Path, host: str, covered: bool) -> None:
    index = _index(tmp_path, ("/",), '[h.example, "*.wild.example"]')
    assert (index.for_host(host) is not None) is covered
