"""Git through the gate: a clone is a read, a push waits for a person who sees its refs, a policy protects a branch."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.git_server import GitServer, commit, git, git_server
from tests.e2e.instance import HOLD_SECONDS
from tests.e2e.waiting import wait_for

_PROTECTED = """package e2e.branches

protected := {"refs/heads/main"}

allow if {
    input.tool == "git"
    input.operation in {"push", "probe"}
}

deny contains "main takes fast-forwards only" if {
    some update in input.git.updates
    update.ref in protected
    update.change != "create"
    not update.fast_forward
}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, certificates: tuple[Path, Path]) -> Iterator[GitServer]:
    with git_server(tmp_path_factory.mktemp("repositories"), certificates[1]) as started:
        yield started


class Repository:
    """A repository of the server, and the agent's clone of it, through the gate."""

    def __init__(self, server: GitServer, agent: Agent, instance, folder: Path) -> None:
        self.name = f"{folder.name}.git"
        self._server = server
        server.create(self.name)
        self.clone = folder / "work"
        proxy = agent.proxy_url.replace("://", f"://agent:{quote(agent.key, safe='')}@")
        self._variables = {"HTTPS_PROXY": proxy, "GIT_SSL_CAINFO": instance.runtime["ca_cert"]}
        self.git("clone", "--quiet", f"{server.url}/{self.name}", "work", folder=folder)

    def git(self, *words: str, folder: Path | None = None, check: bool = True):
        return git(folder or self.clone, *words, check=check, **self._variables)

    def push(self, *words: str):
        return self.git("push", "origin", *words, check=False)

    @property
    def main(self) -> str:
        return self._server.ref(self.name, "refs/heads/main")


@pytest.fixture
def repository(server: GitServer, agent: Agent, instance, tmp_path: Path) -> Repository:
    return Repository(server, agent, instance, tmp_path)


def test_a_push_waits_for_a_person_who_sees_its_refs(repository: Repository, administrator: Administrator) -> None:
    first = commit(repository.clone, "one")
    held = repository.push("main")
    assert (held.returncode, repository.main) == (1, "")

    def asked() -> dict[str, object] | None:
        found = administrator.get("/v1/approvals", status="pending", tool="git")["data"]
        return next((one for one in found if repository.name in one["summary"]), None)

    approval = wait_for(asked, f"the push is held after {HOLD_SECONDS} s")
    assert approval["summary"].endswith(f"wants to push to {repository.name} at 127.0.0.1: create refs/heads/main.")
    assert administrator.approve(str(approval["id"])).status_code == 200
    assert repository.push("main").returncode == 0
    assert repository.main == first


def test_a_policy_protects_a_branch(repository: Repository, administrator: Administrator) -> None:
    with administrator.policy(_PROTECTED, priority=400):
        commit(repository.clone, "one")
        assert repository.push("main").returncode == 0
        second = commit(repository.clone, "two")
        assert repository.push("main").returncode == 0
        commit(repository.clone, "other", amend=True)
        for words in (("--force", "main"), (":main",), ("--force", "main:main", "main:side")):
            assert repository.push(*words).returncode == 1
        assert repository.main == second
        assert repository.push("main:side").returncode == 0


def test_a_push_that_cannot_be_read_never_arrives(repository: Repository, agent: Agent, server: GitServer) -> None:
    server.requests.clear()
    url = f"{server.url}/{repository.name}/git-receive-pack"
    refused = agent.call(
        "POST", url, content=b"push-cert", headers={"Content-Type": "application/x-git-receive-pack-request"}
    )
    assert (refused.status_code, error_of(refused)["code"]) == (400, "REQUEST_AMBIGUOUS")
    assert server.requests == []
