"""A whole instance behind a company's forward proxy: calls, approvals and failures."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.instance import running
from tests.e2e.upstream import serving
from tests.forward_proxy import ForwardProxy, forward_proxy
from tests.integration.outgoing.receivers import write_certificate

NAME = "service.example.com"
PASSWORD = "s3cr3t-of-the-proxy"


@contextmanager
def corporate_proxy() -> Iterator[ForwardProxy]:
    """In a thread: the tests here wait for the instance in theirs."""
    loop = asyncio.new_event_loop()
    ready, made = threading.Event(), []
    stop = asyncio.Event()

    async def serve() -> None:
        async with forward_proxy() as proxy:
            made.append(proxy)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield made[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def test_an_instance_behind_a_corporate_proxy(tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path, NAME)
    with corporate_proxy() as corporate, serving(certificate) as upstream:
        corporate.reach, corporate.credentials = ("127.0.0.1", upstream.port), f"gate:{PASSWORD}"
        settings = {
            "HEADGATE_UPSTREAM_PROXY_URL": f"http://gate:{PASSWORD}@127.0.0.1:{corporate.port}",
            "HEADGATE_UPSTREAM_PROXY_RESOLUTION": "proxy",
            "HEADGATE_PROXY_WORKERS": "1",
        }
        with (
            running(tmp_path, certificate, **settings) as instance,
            closing(Administrator(instance)) as administrator,
            closing(Agent(instance)) as agent,
        ):
            assert agent.call("GET", f"https://{NAME}/read").status_code == 200
            held = agent.call_later("POST", f"https://{NAME}/pay", json={"amount": 9})
            approval = administrator.pending("/pay")
            assert administrator.approve(approval["id"]).status_code == 200
            assert held.result().status_code == 200
            assert administrator.settled(approval["action_id"])["execution"]["status"] == "succeeded"
            assert [one.path for one in upstream.received] == ["/read", "/pay"]
            assert set(corporate.asked) == {f"{NAME}:443"}

            corporate.credentials = "gate:another"
            refused = agent.call("GET", f"https://{NAME}/after")
            assert (refused.status_code, error_of(refused)["code"]) == (502, "UPSTREAM_FAILED")
            (action,) = administrator.actions_of("/after")
            ended = administrator.settled(action["id"])
            assert ended["status"] == "failed"
            assert "not sent: " in ended["execution"]["error"]
            assert "(407)" in ended["execution"]["error"]
            log = instance.log.read_text()
            assert "upstream_proxy_failed" in log
            assert PASSWORD not in log
            assert PASSWORD not in refused.text
