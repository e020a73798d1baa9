"""What Git's own client sends is read as what it asks for; what it never sends is refused, or no read."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.draft import ActionDraft, Effect
from headgate.protocols.git import Change, read_push
from headgate.protocols.git_pack import PushedCommits
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.match import CatalogueIndex
from tests.e2e.git_server import GitServer, commit, git, git_server

_FETCH = "application/x-git-upload-pack-request"
_PUSH = "application/x-git-receive-pack-request"
_OLD, _NEW, _ZERO = "a" * 40, "b" * 40, "0" * 40


def read(method: str, target: str, body: bytes = b"", content_type: str | None = None, **headers: str) -> ActionDraft:
    path, _, query = target.partition("?")
    given = [(b"Content-Type", content_type.encode())] if content_type else []
    given += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return interpret(
        HttpCall(method, "https", "git.example.com", 443, path, query, tuple(given), body), CatalogueIndex([])
    )


def facts(draft: ActionDraft) -> JsonObject:
    assert draft.facts is not None
    return {name: draft.params[name] for name in ("repository", "updates", "command", "wants") if name in draft.params}


def line(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return f"{len(data) + 4:04x}".encode() + data


def push(*commands: str, capabilities: str = "report-status", pack: bytes = b"") -> bytes:
    first, *others = commands
    return line(f"{first}\0 {capabilities}") + b"".join(line(one) for one in others) + b"0000" + pack


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    with git_server(tmp_path_factory.mktemp("repositories")) as started:
        yield started


@pytest.fixture
def clone(server: GitServer, tmp_path: Path) -> Path:
    name = f"{tmp_path.name}.git"
    server.create(name)
    git(tmp_path, "clone", "--quiet", f"{server.url}/{name}", "work")
    server.requests.clear()
    return tmp_path / "work"


def pushed(server: GitServer, clone: Path, *words: str) -> ActionDraft:
    """The last push of Git's client, as the gate reads it."""
    server.requests.clear()
    git(clone, "push", "--quiet", "origin", *words)
    method, path, body = next(one for one in reversed(server.requests) if one[1].endswith("/git-receive-pack"))
    return read(method, path, body, _PUSH)


def test_a_branch_is_created_extended_forced_and_deleted(server: GitServer, clone: Path) -> None:
    first = commit(clone, "one")
    created = pushed(server, clone, "main")
    assert (created.tool, created.operation, created.effect) == ("git", "push", Effect.WRITE)
    update = {"ref": "refs/heads/main", "change": "create", "old": _ZERO, "new": first, "fast_forward": False}
    assert facts(created) == {"repository": f"{clone.parent.name}.git", "updates": [update]}

    second = [commit(clone, f"two {number}") for number in range(5)][-1]
    extended = pushed(server, clone, "main")
    assert facts(extended)["updates"] == [
        {**update, "change": "update", "old": first, "new": second, "fast_forward": True}
    ]

    forced_to = commit(clone, "another", amend=True)
    forced = pushed(server, clone, "--force", "main")
    assert facts(forced)["updates"] == [
        {**update, "change": "update", "old": second, "new": forced_to, "fast_forward": False}
    ]

    git(clone, "tag", "v1")
    pushed(server, clone, "v1", "main:side")
    deleted = pushed(server, clone, ":side", "v1:refs/tags/v2")
    assert deleted.effect is Effect.DESTRUCTIVE
    changes = {one["ref"]: one["change"] for one in facts(deleted)["updates"]}
    assert changes == {"refs/heads/side": "delete", "refs/tags/v2": "create"}


def test_a_merge_of_what_the_server_has_is_a_fast_forward(server: GitServer, clone: Path) -> None:
    commit(clone, "base")
    git(clone, "push", "--quiet", "origin", "main")
    git(clone, "checkout", "--quiet", "-b", "side")
    commit(clone, "side")
    git(clone, "checkout", "--quiet", "main")
    (clone / "other").write_text("x")
    git(clone, "add", "other")
    git(clone, "commit", "--quiet", "-m", "main")
    git(clone, "merge", "--quiet", "--no-edit", "side")
    [update] = facts(pushed(server, clone, "main"))["updates"]
    assert (update["change"], update["fast_forward"]) == ("update", True)


def test_cloning_and_fetching_are_reads(server: GitServer, clone: Path, tmp_path: Path) -> None:
    commit(clone, "one")
    git(clone, "push", "--quiet", "origin", "main")
    server.requests.clear()
    for version in ("0", "2"):
        address = f"{server.url}/{clone.parent.name}.git"
        git(tmp_path, "-c", f"protocol.version={version}", "clone", "--quiet", address, f"copy{version}")
    drafts = [
        read(method, path, body, _FETCH if method == "POST" else None, git_protocol="version=2")
        for method, path, body in server.requests
    ]
    assert {(draft.tool, draft.operation, draft.effect) for draft in drafts} == {
        ("git", "list_refs", Effect.READ), ("git", "fetch", Effect.READ),
    }  # fmt: skip
    assert {draft.params.get("command") for draft in drafts} == {None, "ls-refs", "fetch"}
    assert all(draft.params["wants"] >= 1 for draft in drafts if draft.params.get("command") == "fetch")


def test_a_large_push_is_tried_first_with_nothing() -> None:
    probe = read("POST", "/a.git/git-receive-pack", b"0000", _PUSH)
    assert (probe.operation, probe.effect, probe.params["updates"]) == ("probe", Effect.READ, [])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"0000PACK",
        b"hello",
        b"0003",
        b"000g",
        b"-001",
        line(f"{_OLD} {_NEW} refs/heads/main"),
        line(f"{_OLD} {_NEW} refs/heads/main\0 a"),
        push(f"{_OLD} {_NEW} refs/heads/main")[:-4],
        push(f"{_OLD} {_NEW}"),
        push(f"{_OLD[:39]} {_NEW} refs/heads/main"),
        push(f"{_OLD} {'b' * 64} refs/heads/main"),
        push(f"{_ZERO} {_ZERO} refs/heads/main"),
        push(f"{_OLD} {_NEW} refs/heads/main", f"{_OLD} {_NEW} refs/heads/main"),
        push(f"{_OLD} {_NEW} refs/heads/a b"),
        push(f"{_OLD} {_NEW} refs/heads/" + "x" * 1_100),
        push(*(f"{_OLD} {_NEW} refs/heads/{number}" for number in range(1_001))),
        push(f"{_OLD} {_NEW} refs/heads/main", f"{_OLD} {_NEW} refs/heads/side\0 b"),
        line("push-cert\0 report-status\n") + b"0000",
        line(f"{_OLD} {_NEW} ".encode() + b"refs/heads/\xff\0 a") + b"0000",
        push(f"{_OLD} {_NEW} refs/heads/main", capabilities="push-options"),
        b"0001" + push(f"{_OLD} {_NEW} refs/heads/main"),
    ],
)
def test_a_push_that_cannot_be_read_whole_is_refused(body: bytes) -> None:
    with pytest.raises(AmbiguousRequestError, match="the push cannot be read"):
        read("POST", "/a.git/git-receive-pack", body, _PUSH)


@pytest.mark.parametrize("name", ["git-receive-pack;x=1", "Git-Receive-Pack", "GIT-UPLOAD-PACK;", "git-upload-pack;a"])
def test_an_address_that_only_some_servers_take_for_one_of_gits_is_refused(name: str) -> None:
    with pytest.raises(AmbiguousRequestError, match="some servers take it for an address of Git"):
        read("POST", f"/a.git/{name}", push(f"{_OLD} {_NEW} refs/heads/main"), _PUSH)


@pytest.mark.parametrize("address", ["git-receive-pack", "git-upload-pack"])
def test_what_says_that_it_is_a_dns_query_is_refused_at_gits_addresses(address: str) -> None:
    """Not every Git server looks at the type."""
    with pytest.raises(AmbiguousRequestError, match=r"as a DNS query and as one of Git.s"):
        read("POST", f"/a.git/{address}", push(f"{_OLD} {_NEW} refs/heads/main"), "application/dns-message")


def test_what_servers_take_is_read() -> None:
    shallow = line(f"shallow {_OLD}")
    upper = push(f"{_OLD.upper()} {_NEW} refs/heads/main", capabilities="agent=git/2\n")
    [update] = read_push(shallow + upper).updates
    assert (update.ref, update.change, update.old) == ("refs/heads/main", Change.UPDATE, _OLD)
    for content_type in (None, "text/plain"):
        assert read("POST", "/a.git/git-receive-pack", push(f"{_OLD} {_ZERO} refs/heads/x"), content_type).effect is (
            Effect.DESTRUCTIVE
        )
    with pytest.raises(AmbiguousRequestError, match="content coding"):
        read("POST", "/a.git/git-receive-pack", b"0000", _PUSH, content_encoding="gzip")


@pytest.mark.parametrize("capability", ["push-options", "push-options=1"])
def test_push_options_are_read(capability: str) -> None:
    """GitLab merges by them, so that approvers and policies must see them."""
    options = line("merge_request.create\n") + line("merge_request.merge_when_pipeline_succeeds") + b"0000"
    body = push(f"{_OLD} {_NEW} refs/heads/x", capabilities=f"report-status {capability}", pack=options)
    shown = read("POST", "/a.git/git-receive-pack", body, _PUSH).params["options"]
    assert shown == ["merge_request.create", "merge_request.merge_when_pipeline_succeeds"]
    behind_a_nul = push(f"{_OLD} {_NEW} refs/heads/x", capabilities="report-status\0push-options", pack=options)
    assert read_push(behind_a_nul).options == []


@pytest.mark.parametrize("options", [line("x") * 101, line("x" * 1_100), line(b"\xff")])
def test_push_options_that_cannot_be_shown_are_refused(options: bytes) -> None:
    with pytest.raises(AmbiguousRequestError, match="push option"):
        read_push(push(f"{_OLD} {_NEW} refs/heads/x", capabilities="push-options", pack=options + b"0000"))


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        (b"secret data", _FETCH, None),
        (line("note=secret") + b"0000", _FETCH, None),
        (line("want " + _OLD) + b"00", _FETCH, None),
        (line("want " + _OLD) + b"0000", "text/plain", None),
        (line("want " + _OLD) + b"0000", None, None),
    ],
)
def test_what_no_client_asks_is_no_read(body: bytes, content_type: str | None, encoding: str | None) -> None:
    draft = read("POST", "/a.git/git-upload-pack", body, content_type)
    assert (draft.operation, draft.effect, draft.params["wants"]) == ("fetch", Effect.WRITE, None)


def test_large_files_are_counted() -> None:
    body = b'{"operation": "%s", "objects": [{"oid": "a", "size": 5}, {"oid": "b", "size": 7}]}'
    lfs = "application/vnd.git-lfs+json"
    up = read("POST", "/a.git/info/lfs/objects/batch", body % b"upload", lfs)
    down = read("POST", "/a.git/info/lfs/objects/batch", body % b"download", lfs)
    assert [(one.operation, one.effect) for one in (up, down)] == [
        ("lfs_upload", Effect.WRITE), ("lfs_download", Effect.READ),
    ]  # fmt: skip
    assert (up.params["objects"], up.params["bytes"]) == (2, 12)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/a.git/git-receive-pack"),
        ("GET", "/a.git/info/refs"),
        ("GET", "/a.git/info/refs?service=git-archive"),
        ("GET", "/a.git/info/refs?service=git-upload-pack&service=git-upload-pack"),
        ("POST", "/a.git/git-receive-pack/x"),
        ("POST", "/a.git/info/lfs/objects/batch"),
    ],
)
def test_other_calls_stay_what_they_were(method: str, target: str) -> None:
    assert read(method, target).tool == "http"


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    for data in (body, push(f"{_OLD} {_NEW} refs/heads/main", pack=body), b"PACK\0\0\0\x02\0\0\0\x01" + body):
        with suppress(AmbiguousRequestError):
            read_push(data)
        assert not PushedCommits(data, is_sha1=True).lead_back(_NEW, _OLD)


@pytest.mark.parametrize(
    "body",
    [
        b'{"operation":"download","Operation":"upload","objects":[]}',
        b'{"Operation":"upload"}',
        b'{"operation":"upload","objects":[],"Objects":[{"oid":"a","size":9}]}',
        b'{"operation":"upload","objects":[{"oid":"a","size":1,"Size":9}]}',
    ],
)
def test_a_batch_request_in_another_spelling_is_refused(body: bytes) -> None:
    """Servers of Git LFS in Go decode without regard to case."""
    with pytest.raises(AmbiguousRequestError, match="the Git LFS request"):
        read("POST", "/a.git/info/lfs/objects/batch", body, "application/vnd.git-lfs+json")
