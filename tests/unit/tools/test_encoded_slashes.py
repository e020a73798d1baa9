"""``%2F`` in a path is refused, except for hosts whose catalogue has ``encoded_slashes``; Git beside an API."""

from pathlib import Path

import pytest

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.draft import ActionDraft, Effect
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

_STORE = """tool: store
description: Objects under any name
hosts: [store.example]
encoded_slashes: true
entries:
  - {operation: get_object, method: GET, path: "/b/{bucket}/o/{name}", effect: read, description: Get an object}
"""


@pytest.fixture(name="read", scope="module")
def _read(tmp_path_factory: pytest.TempPathFactory):
    folder: Path = tmp_path_factory.mktemp("catalogues")
    (folder / "store.yaml").write_text(_STORE)
    catalogue = load_catalogues(folder)

    def read(host: str, path: str, query: str = "", method: str = "GET") -> ActionDraft:
        return interpret(HttpCall(method, "https", host, 443, path, query, (), b""), catalogue)

    return read


def test_a_variable_holds_the_slash(read) -> None:
    found = read("store.example", "/b/photos/o/2026%2fmay%2Fone.jpg")
    assert (found.operation, found.params) == ("get_object", {"bucket": "photos", "name": "2026/may/one.jpg"})
    assert found.read_call is not None and found.read_call.path == "/b/photos/o/2026%2Fmay%2Fone.jpg"


@pytest.mark.parametrize("host", ["api.github.com", "other.example", "registry.npmjs.org"])
def test_elsewhere_an_encoded_slash_is_refused(read, host: str) -> None:
    with pytest.raises(AmbiguousRequestError, match="A catalogue of the host with encoded_slashes"):
        read(host, "/b/photos/o/2026%2Fone.jpg")


def test_git_beside_an_api_stays_git(read) -> None:
    listed = read("gitlab.com", "/acme/app.git/info/refs", "service=git-receive-pack")
    assert (listed.tool, listed.operation) == ("git", "list_refs")
    page = read("gitlab.com", "/acme/app")
    assert (page.tool, page.operation, page.effect) == ("gitlab", "unlisted_get", Effect.READ)


@pytest.mark.parametrize("name", ["2026%2F%2Fone.jpg", "%2Fone.jpg", "2026%2f", "%2F"])
def test_nothing_beside_an_encoded_slash_is_refused(read, name: str) -> None:
    with pytest.raises(AmbiguousRequestError, match="encoded slashes"):
        read("store.example", f"/b/photos/o/{name}")


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("POST", "/acme%2Fapp.git/git-receive-pack", ""),
        ("POST", "/acme/app.git%2fgit-receive-pack", ""),
        ("POST", "/acme%2Fapp.git/git-upload-pack", ""),
        ("POST", "/acme%2Fapp.git/info/lfs/objects/batch", ""),
        ("GET", "/acme/app.git/info%2Frefs", "service=git-receive-pack"),
    ],
)
def test_git_has_no_encoded_slash(read, method: str, path: str, query: str) -> None:
    with pytest.raises(AmbiguousRequestError, match="an address of Git"):
        read("gitlab.com", path, query, method)
