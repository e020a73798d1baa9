"""Package indexes: which package, which version and what becomes of it, as each ecosystem's own client asks."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError, ValidationError
from headgate.protocols import package_pypi
from headgate.protocols.draft import ActionDraft, Effect
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogue
from headgate.tools.match import CatalogueIndex

HOST = "index.example"
EFFECTS = {
    "metadata": Effect.READ,
    "install": Effect.READ,
    "publish": Effect.WRITE,
    "change": Effect.WRITE,
    "remove": Effect.DESTRUCTIVE,
}


@pytest.fixture(scope="module")
def catalogues(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CatalogueIndex]:
    folder = tmp_path_factory.mktemp("catalogues")
    return {one: named(folder, one) for one in ("cargo", "go", "maven", "npm", "pypi")}


def named(folder: Path, protocol: str, more: str = "") -> CatalogueIndex:
    file = folder / f"{protocol}.yaml"
    file.write_text(f"tool: index\ndescription: An index\nprotocol: {protocol}\nhosts: [{HOST}]\n{more}")
    return CatalogueIndex([load_catalogue(file)])


def read(
    catalogue: CatalogueIndex, method: str, path: str, body: bytes = b"", content_type: str | None = None
) -> ActionDraft:
    headers = () if content_type is None else ((b"Content-Type", content_type.encode()),)
    return interpret(HttpCall(method, "https", HOST, 443, path, "", headers, body), catalogue)


def told(draft: ActionDraft) -> tuple[Any, ...] | None:
    if draft.facts is None:
        assert draft.operation.startswith("unlisted_")
        assert draft.effect is not Effect.READ
        return None
    facts = parse_strict(draft.facts.shown)
    assert isinstance(facts, dict)
    assert draft.facts.member == "package"
    assert draft.operation == f"package_{facts['action']}"
    assert draft.effect is EFFECTS[str(facts["action"])]
    assert draft.params["name"] == facts["name"], "approvers see it"
    return facts["action"], facts["name"], facts["version"]


READS = [
    ("pypi", "/simple/", ("metadata", None, None)),
    ("pypi", "/simple/Flask.Login_X/", ("metadata", "flask-login-x", None)),
    ("pypi", "/pypi/requests/2.31.0/json", ("metadata", "requests", "2.31.0")),
    ("pypi", "/packages/aa/bb/Foo_Bar-1.0.2-py3-none-any.whl", ("install", "foo-bar", "1.0.2")),
    ("pypi", "/packages/aa/bb/Foo_Bar-1.0.2-1-py3-none-any.whl", ("install", "foo-bar", "1.0.2")),
    ("pypi", "/packages/aa/bb/foo_bar-1.0.tar.gz", ("install", "foo-bar", "1.0")),
    ("pypi", "/packages/aa/bb/foo_bar-1.0-py3-none-any.whl.metadata", ("metadata", "foo-bar", "1.0")),
    ("pypi", "/packages/aa/bb/other.txt", None),
    ("npm", "/left-pad", ("metadata", "left-pad", None)),
    ("npm", "/left-pad/latest", ("metadata", "left-pad", "latest")),
    ("npm", "/@acme%2fui", ("metadata", "@acme/ui", None)),
    ("npm", "/%40acme%2Fui", ("metadata", "@acme/ui", None)),
    ("npm", "/@acme/ui", ("metadata", "@acme/ui", None)),
    ("npm", "/@acme/ui/-/ui-1.2.3.tgz", ("install", "@acme/ui", "1.2.3")),
    ("npm", "/JSONStream/-/JSONStream-1.3.5.tgz", ("install", "JSONStream", "1.3.5")),
    ("npm", "/left-pad/-/right-pad-1.0.0.tgz", None),
    ("npm", "/-/ping", ("metadata", None, None)),
    ("npm", "/-/package/left-pad/dist-tags", ("metadata", "left-pad", None)),
    ("npm", "/-/npm/v1/tokens", None),
    ("cargo", "/config.json", ("metadata", None, None)),
    ("cargo", "/se/rd/serde_json", ("metadata", "serde-json", None)),
    ("cargo", "/3/l/log", ("metadata", "log", None)),
    ("cargo", "/se/rd/other", None),
    ("cargo", "/api/v1/crates/Serde_JSON/1.0.0/download", ("install", "serde-json", "1.0.0")),
    ("cargo", "/crates/serde/serde-1.0.0.crate", ("install", "serde", "1.0.0")),
    ("cargo", "/crates/serde/other-1.0.0.crate", None),
    ("go", "/github.com/!burnt!sushi/toml/@v/list", ("metadata", "github.com/BurntSushi/toml", None)),
    ("go", "/github.com/!burnt!sushi/toml/@v/v1.2.0.zip", ("install", "github.com/BurntSushi/toml", "v1.2.0")),
    ("go", "/golang.org/x/text/@v/v0.3.0.mod", ("metadata", "golang.org/x/text", "v0.3.0")),
    ("go", "/golang.org/x/text/@latest", ("metadata", "golang.org/x/text", None)),
    ("go", "/github.com/BurntSushi/toml/@v/v1.2.0.zip", None),
    ("go", "/@v/v1.2.0.zip", None),
    ("maven", "/org/acme/app/1.0/app-1.0.jar", ("install", "org.acme:app", "1.0")),
    ("maven", "/org/acme/app/1.0/app-1.0-sources.jar", ("install", "org.acme:app", "1.0")),
    ("maven", "/org/acme/app/1.0/app-1.0.pom.sha1", ("metadata", "org.acme:app", "1.0")),
    ("maven", "/org/acme/app/maven-metadata.xml", ("metadata", "org.acme:app", None)),
    ("maven", "/org/acme/app/1.0-SNAPSHOT/maven-metadata.xml", ("metadata", "org.acme:app", "1.0-SNAPSHOT")),
    ("maven", "/org/acme/app/1.0-SNAPSHOT/app-1.0-20261127.120000-1.jar", ("install", "org.acme:app", "1.0-SNAPSHOT")),
    ("maven", "/org/acme/app/1.0/other-1.0.jar", None),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "path", "expected"), READS)
def test_what_is_asked_for(
    catalogues: dict[str, CatalogueIndex], protocol: str, path: str, expected: tuple[Any, ...] | None
) -> None:
    assert told(read(catalogues[protocol], "GET", path)) == expected
    if expected is not None:
        assert told(read(catalogues[protocol], "HEAD", path)) == expected


def multipart(*fields: tuple[str, str, str | None]) -> bytes:
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"'
        + ("" if file is None else f'; filename="{file}"\r\nContent-Type: application/octet-stream')
        + f"\r\n\r\n{value}\r\n"
        for name, value, file in fields
    ]
    return ("".join(parts) + "--b--\r\n").encode()


def upload(name: str = "Foo.Bar", file: str = "foo_bar-1.0.tar.gz", *more: tuple[str, str, str | None]) -> bytes:
    fields = ((":action", "file_upload", None), ("name", name, None), ("version", "1.0", None), ("content", "x", file))
    return multipart(*fields, *more)


def test_an_upload_to_pypi(catalogues: dict[str, CatalogueIndex]) -> None:
    form = "multipart/form-data; boundary=b"
    draft = read(catalogues["pypi"], "POST", "/legacy/", upload(), form)
    assert told(draft) == ("publish", "foo-bar", "1.0")
    for body in (
        upload(file="other-1.0.tar.gz"),
        upload("Foo", "foo-1.0.tar.gz", ("name", "bar", None)),
        upload("Foo", "foo-1.0.tar.gz", ("Name", "bar", None)),
        upload("Foo", "foo-1.0.tar.gz", ("content", "y", "bar-1.0.tar.gz")),
    ):
        with pytest.raises(AmbiguousRequestError):
            read(catalogues["pypi"], "POST", "/legacy/", body, form)
    other = multipart((":action", "submit", None))
    assert told(read(catalogues["pypi"], "POST", "/legacy/", other, form)) is None


def npm_package(name: str = "@acme/ui", **changes: object) -> bytes:
    versions = {"1.0.0": {"name": name, "version": "1.0.0"}}
    document = {"_id": name, "name": name, "versions": versions, "_attachments": {"ui-1.0.0.tgz": {"data": "x"}}}
    return json.dumps(document | changes).encode()


def test_publishing_to_npm(catalogues: dict[str, CatalogueIndex]) -> None:
    npm, kind = catalogues["npm"], "application/json"
    assert told(read(npm, "PUT", "/@acme%2fui", npm_package(), kind)) == ("publish", "@acme/ui", "1.0.0")
    deprecated = npm_package(_attachments={})
    assert told(read(npm, "PUT", "/@acme%2fui", deprecated, kind)) == ("change", "@acme/ui", None)
    assert told(read(npm, "DELETE", "/@acme%2fui/-rev/1-a")) == ("remove", "@acme/ui", None)
    assert told(read(npm, "DELETE", "/@acme/ui/-/ui-1.0.0.tgz/-rev/1-a")) == ("remove", "@acme/ui", "1.0.0")
    tag = read(npm, "PUT", "/-/package/@acme%2fui/dist-tags/latest", b'"1.0.0"', kind)
    assert told(tag) == ("change", "@acme/ui", "1.0.0")
    for body in (
        npm_package("other"),
        npm_package(_id="other"),
        npm_package(versions={"1.0.0": {"name": "other"}}),
        npm_package(versions={"1.0.0": {"version": "2.0.0"}}),
        npm_package(versions={"1.0.0": {}, "2.0.0": {}}),
        b"[]",
    ):
        with pytest.raises(AmbiguousRequestError):
            read(npm, "PUT", "/@acme%2fui", body, kind)
    with pytest.raises(AmbiguousRequestError):
        read(npm, "DELETE", "/@acme/ui/-/other-1.0.0.tgz/-rev/1-a")


def crate(metadata: object, file: bytes = b"crate") -> bytes:
    text = metadata if isinstance(metadata, bytes) else json.dumps(metadata).encode()
    return len(text).to_bytes(4, "little") + text + len(file).to_bytes(4, "little") + file


def test_publishing_to_cargo(catalogues: dict[str, CatalogueIndex]) -> None:
    cargo = catalogues["cargo"]
    body = crate({"name": "My_Crate", "vers": "0.1.0", "deps": []})
    assert told(read(cargo, "PUT", "/api/v1/crates/new", body)) == ("publish", "my-crate", "0.1.0")
    assert told(read(cargo, "DELETE", "/api/v1/crates/a/0.1.0/yank")) == ("remove", "a", "0.1.0")
    assert told(read(cargo, "PUT", "/api/v1/crates/a/owners", b'{"users":["eve"]}')) == ("change", "a", None)
    for broken in (
        body + b"x",
        body[:-1],
        crate({"name": "a"}),
        crate(b'{"name":"a","name":"b","vers":"1.0.0"}'),
        crate({"name": "../a", "vers": "1.0.0"}),
        b"",
    ):
        with pytest.raises(AmbiguousRequestError):
            read(cargo, "PUT", "/api/v1/crates/new", broken)


def test_deploying_to_maven(catalogues: dict[str, CatalogueIndex]) -> None:
    maven = catalogues["maven"]
    assert told(read(maven, "PUT", "/org/acme/app/1.0/app-1.0.jar", b"x")) == ("publish", "org.acme:app", "1.0")
    assert told(read(maven, "PUT", "/org/acme/app/1.0/app-1.0.jar.md5", b"x")) == ("publish", "org.acme:app", "1.0")
    assert told(read(maven, "DELETE", "/org/acme/app/1.0/app-1.0.jar")) == ("remove", "org.acme:app", "1.0")
    with pytest.raises(AmbiguousRequestError):
        read(maven, "PUT", "/org/acme/app/1.0/other-1.0.jar", b"x")


def test_an_index_below_a_path(tmp_path: Path) -> None:
    catalogue = named(tmp_path, "maven", "roots: [/repository/releases, /repository]\n")
    path = "/repository/releases/org/acme/app/1.0/app-1.0.jar"
    assert told(read(catalogue, "GET", path)) == ("install", "org.acme:app", "1.0")
    assert told(read(catalogue, "GET", "/repositoryx/org/acme/app/1.0/app-1.0.jar")) is None
    for root in ("releases", "/a/../b", "/a/"):
        with pytest.raises(ValidationError, match="roots"):
            named(tmp_path, "maven", f"roots: [{root}]\n")
    with pytest.raises(ValidationError, match="roots"):
        named(tmp_path, "aws", "roots: [/a]\n")
    with pytest.raises(ValidationError, match="has no entries"):
        named(tmp_path, "npm", "entries: [{operation: a, method: GET, path: /a, effect: read, description: x}]\n")


def test_what_is_no_request_of_the_protocol_is_not_a_read(catalogues: dict[str, CatalogueIndex]) -> None:
    for protocol, catalogue in catalogues.items():
        assert told(read(catalogue, "POST", "/x", b"data", "text/plain")) is None, protocol
        with pytest.raises(AmbiguousRequestError):
            read(catalogue, "GET", "/a%2525/b")
    assert told(read(catalogues["npm"], "GET", "/left-pad", b"{}", "application/json")) is None, "with a body"
    with pytest.raises(AmbiguousRequestError):
        read(catalogues["pypi"], "GET", "/@acme%2fui")


_FILES = st.from_regex(
    r"[A-Za-z0-9_.+!-]{1,20}-[0-9A-Za-z_.+!]{1,8}(-py3-none-any\.whl|\.tar\.gz|\.zip)", fullmatch=True
)


@given(file=_FILES)
def test_a_files_name_is_read_as_the_installer_reads_it(file: str) -> None:
    """The other reader: ``packaging``, which pip uses."""
    found = package_pypi.file_of(file)
    try:
        if file.endswith(".whl"):
            expected = parse_wheel_filename(file)[0]
            version = file.split("-")[1]
        else:
            expected = parse_sdist_filename(file)[0]
            version = re.sub(r"\.(tar\.gz|zip)$", "", file).rpartition("-")[2]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return
    if found is not None:
        assert found == (expected, version)


@given(name=st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,20}[A-Za-z0-9])?", fullmatch=True))
def test_a_name_is_normalised_as_the_installer_does(name: str) -> None:
    assert package_pypi.normalise(name) == canonicalize_name(name)


@given(path=st.text(st.sampled_from("ab/@!%2fF40-._~v1.tgzip"), max_size=30), data=st.data())
def test_nothing_but_a_read_of_a_known_form_reads(
    catalogues: dict[str, CatalogueIndex], path: str, data: st.DataObject
) -> None:
    protocol = data.draw(st.sampled_from(sorted(catalogues)))
    method = data.draw(st.sampled_from(["GET", "PUT", "POST", "DELETE"]))
    try:
        draft = read(catalogues[protocol], method, "/" + quote(path, safe="/%@!~"))
    except HeadgateError:
        return
    package = told(draft)
    assert method == "GET" or draft.effect is not Effect.READ
    assert package is None or package[1] is None or "%" not in package[1]


def test_metadata_that_an_index_without_regard_to_case_reads_otherwise(catalogues: dict[str, CatalogueIndex]) -> None:
    """Gitea decodes it in Go, where the last spelling of a name counts."""
    for metadata in ({"name": "mine", "vers": "1.0.0", "Name": "evil"}, {"name": "mine", "vers": "1", "VERS": "2"}):
        with pytest.raises(AmbiguousRequestError, match="the package's metadata"):
            read(catalogues["cargo"], "PUT", "/api/v1/crates/new", crate(metadata))
    for body in (
        npm_package(Name="evil"),
        npm_package(_ID="evil"),
        npm_package(Versions={"2.0.0": {}}),
        npm_package(_attachments={}, _Attachments={"evil": {}}),
        npm_package(versions={"1.0.0": {"name": "@acme/ui", "Name": "evil"}}),
    ):
        with pytest.raises(AmbiguousRequestError, match="the package's"):
            read(catalogues["npm"], "PUT", "/@acme%2fui", body, "application/json")
