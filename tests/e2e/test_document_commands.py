"""The commands of the documents, typed as a reader types them, show what the documents say."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headgate.demo.certificates import write_service_certificate
from headgate.demo.service import InvoiceService
from tests.command_blocks import ROOT, blocks, pages
from tests.e2e.clients import Administrator, Agent
from tests.e2e.instance import Instance, running
from tests.e2e.reader import Reader, Shell
from tests.e2e.waiting import wait_for

RUN = {page: found for page in pages() if (found := [one for one in blocks(page) if one.reason is None])}
FIRST = "getting-started"  # it shows an instance that nobody has used
NEWEST = {
    "apr": "SELECT approval_id FROM approvals WHERE status = 'pending' ORDER BY approval_id DESC LIMIT 1",
    "act": "SELECT action_id FROM actions WHERE status = 'completed' AND operation = 'post' ORDER BY 1 DESC LIMIT 1",
    "denied": "SELECT action_id FROM actions WHERE status = 'denied' ORDER BY action_id DESC LIMIT 1",
    "evt": "SELECT header::jsonb ->> 'id' FROM audit_chain ORDER BY seq DESC LIMIT 1",
    "exc": "SELECT exchange_id FROM traffic_exchanges ORDER BY exchange_id DESC LIMIT 1",
    "grt": "SELECT grant_id FROM grants ORDER BY grant_id DESC LIMIT 1",
    "brk": "SELECT pass_id FROM break_glass ORDER BY pass_id DESC LIMIT 1",
    "nlp": "SELECT policy_id FROM nlp_policies ORDER BY policy_id DESC LIMIT 1",
}
OF_DENIED = {"break-glass"}
MADE = {
    "apr": ("POST", "/payments"),
    "act": ("POST", "/orders"),
    "denied": ("DELETE", "/invoices/42"),
    "exc": ("GET", "/invoices"),
}
PAYMENT = {"to": "Globex", "amount": 9000}
SAVED = re.compile(r"Save this as `([\w.]+)`:\n\n```\w+\n(.*?)```", re.DOTALL)
FILES = {
    "my_agent.py": "",
    "token.txt": "Splunk of-a-test",
    ".curlrc": "silent\nshow-error\n",
    "labelled.jsonl": '{"content": "mail maria@example.com", "expected": "match"}\n',
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[InvoiceService, Path]]:
    """The demonstration's service, and the certificate to trust."""
    root, certificate = write_service_certificate(tmp_path_factory.mktemp("service"), "127.0.0.1")
    started = InvoiceService(certificate)
    started.start()
    yield started, root
    started.stop()


@pytest.fixture(scope="module")
def read_instance(tmp_path_factory: pytest.TempPathFactory, service: tuple[InvoiceService, Path]) -> Iterator[Instance]:
    """An instance of its own, because the pages change settings."""
    with running(tmp_path_factory.mktemp("instance"), service[1]) as started:
        with closing(Administrator(started)) as administrator:
            administrator.allow_destinations({"host": "127.0.0.1", "ports": [service[0].port], "private": True})
        yield started


@pytest.fixture
def reader(
    read_instance: Instance, service: tuple[InvoiceService, Path], tmp_path: Path, page: Path
) -> Iterator[Reader]:
    runtime = read_instance.runtime
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "HEADGATE_RUNTIME_FILE": str(read_instance.runtime_file),
        "COLUMNS": "200",
    }
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for name, text in SAVED.findall(page.read_text("utf-8")):
        (tmp_path / name).write_text(text)
    for folder in ("config", ".venv", "docs", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    url = service[0].url
    replacements = {
        "https://tool.test:8443": url,
        "https://httpbin.org/post": f"{url}/payments",
        "https://api.github.com/zen": f"{url}/invoices",
        "8443": str(service[0].port),
        "http://127.0.0.1:8470": runtime["api_url"],
        # The month of the page has no events here.
        "2026-10-01": f"{datetime.now(UTC):%Y-%m-01}",
        "2026-10-31": f"{datetime.now(UTC):%Y-%m-%d}",
        "hg_…": runtime["agent_key"],
        "python my_agent.py": "python my_agent.py < /dev/null",
    }
    with (
        closing(Agent(read_instance)) as agent,
        closing(Administrator(read_instance)) as administrator,
        closing(Shell(tmp_path, environment)) as of_agent,
        closing(Shell(tmp_path, environment)) as of_person,
    ):

        def newest(prefix: str) -> str:
            """What an id of this kind stands for; a call is made where there is none of it."""
            if prefix == "agt":
                return str(runtime["agent_id"])
            if prefix == "key":
                return of_person.run("headgate audit key show")[1].split()[0]
            kind = "denied" if prefix == "act" and page.stem in OF_DENIED else prefix
            query = NEWEST[kind]
            found = read_instance.rows(query)
            if not found and kind in MADE and not (kind == "apr" and reader.write_again()):
                method, path = MADE[kind]
                call = agent.call_later(method, url + path, json=PAYMENT)
                if kind == "act":
                    administrator.approve(administrator.pending(path)["id"])
                if call.result().status_code == 403 and kind == "act":  # the hold was over before the approval
                    agent.call(method, url + path, json=PAYMENT)
                found = wait_for(lambda: read_instance.rows(query), f"there is a new {kind}")
            found = found or read_instance.rows(query) or [{"id": f"{prefix}_missing"}]
            return str(next(iter(found[0].values())))

        of_agent.run('eval "$(headgate env)"')
        of_person.run(f"API={runtime['api_url']} KEY={runtime['agent_key']}")
        of_person.run("TOKEN=$(headgate token --user ada@example.com --role admin)")
        reader = Reader(of_agent, of_person, newest, replacements)
        yield reader


@pytest.mark.timeout(240)
@pytest.mark.parametrize("page", sorted(RUN, key=lambda page: page.stem != FIRST), ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page: Path, reader: Reader) -> None:
    wrong: list[str] = []
    for block in RUN[page]:
        for command in block.commands:
            wrong += [f"{block.page}:{block.line}\n{difference}" for difference in reader.type(command)]
    assert not wrong, "\n\n".join(wrong)
