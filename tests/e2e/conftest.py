"""One instance for all tests that leave it whole; each test calls paths of its own.

It is the package's, not the session's: it would run beside all tests that come after, and even idle it takes a twelfth
of a processor.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headgate.demo.certificates import write_service_certificate
from tests.e2e.clients import Administrator, Agent
from tests.e2e.instance import Instance, running
from tests.e2e.upstream import Upstream, serving
from tests.small_classifier import write_classifier

LOOPBACK = {"host": "127.0.0.1", "private": True}
INDEX_HOST = "127.0.0.2"
INDEX = (
    f"tool: python_index\ndescription: A package index\nprotocol: pypi\nhosts: [{INDEX_HOST}]\n"
    "roots: [/repository/python]\n"
)
NPM_HOST = "127.0.0.3"
NPM_INDEX = f"tool: npm_index\ndescription: A registry\nprotocol: npm\nhosts: [{NPM_HOST}]\n"
FORGE_HOST = "127.0.0.4"
FORGE = (
    f"tool: forge\ndescription: A forge\nhosts: [{FORGE_HOST}]\nencoded_slashes: true\nentries:\n"
    '  - {operation: get_project, method: GET, path: "/projects/{project}", effect: read, description: Get a project}\n'
)
STORE = "tool: store\ndescription: An object store\nprotocol: aws\nhosts: [localhost]\n"
HELD_FOR = """package e2e.{name}

# Calls that a test decides while they are held wait for it, however busy the machine is; others need no waiting.
require_approval contains "a reviewer decides" if {{
    startswith(input.http.path, "/{name}/")
    input.http.method != "GET"
}}

approval := {{"hold_seconds": {seconds}}}
"""


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(the root, the upstream's certificate with its key), for 127.0.0.1."""
    return write_service_certificate(tmp_path_factory.mktemp("certificates"), "127.0.0.1")


@pytest.fixture(scope="session")
def upstream(certificates: tuple[Path, Path]) -> Iterator[Upstream]:
    with serving(certificates[1]) as server:
        yield server


@pytest.fixture(scope="package")
def instance(tmp_path_factory: pytest.TempPathFactory, certificates: tuple[Path, Path]) -> Iterator[Instance]:
    folder = tmp_path_factory.mktemp("instance")
    settings = {
        "HEADGATE_PROXY_WORKERS": "2",
        "HEADGATE_CLASSIFIERS_DIR": str(write_classifier(folder / "classifiers" / "small").parent),
    }
    catalogues = folder / "data" / "catalogues"
    catalogues.mkdir(parents=True)
    (catalogues / "store.yaml").write_text(STORE)
    (catalogues / "index.yaml").write_text(INDEX)
    (catalogues / "npm_index.yaml").write_text(NPM_INDEX)
    (catalogues / "forge.yaml").write_text(FORGE)
    with running(folder, certificates[0], **settings) as started:
        with closing(Administrator(started)) as administrator:
            administrator.allow_destinations(LOOPBACK)
            administrator.add_policy(HELD_FOR.format(name="patient", seconds=90), priority=500)
            administrator.add_policy(HELD_FOR.format(name="impatient", seconds=0), priority=500)
        yield started


@pytest.fixture
def administrator(instance: Instance) -> Iterator[Administrator]:
    with closing(Administrator(instance)) as administrator:
        yield administrator


@pytest.fixture
def agent(instance: Instance) -> Iterator[Agent]:
    with closing(Agent(instance)) as agent:
        yield agent


_numbers = itertools.count(1)


@pytest.fixture
def new_path(request: pytest.FixtureRequest) -> Callable[[], str]:
    """A path that no other call uses, with the test's name in it."""
    return lambda: f"/{request.node.name.partition('[')[0]}/{next(_numbers)}"


@pytest.fixture
def path(new_path: Callable[[], str]) -> str:
    return new_path()


@pytest.fixture
def patient_path(new_path: Callable[[], str]) -> str:
    """As ``path``; a write there is held until somebody decides."""
    return "/patient" + new_path()


@pytest.fixture
def impatient_path(new_path: Callable[[], str]) -> str:
    """As ``path``; a write there is answered with APPROVAL_PENDING at once."""
    return "/impatient" + new_path()
