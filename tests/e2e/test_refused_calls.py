"""A call that was refused before it was an action is named in the record, with where it was for."""

import subprocess
from contextlib import closing

from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.instance import Instance, one_more_proxy
from tests.e2e.upstream import Upstream

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f0A"


def test_the_record_says_where_a_refused_call_was_for(
    instance: Instance, administrator: Administrator, upstream: Upstream
) -> None:
    created = administrator.new_agent("refused")
    plain = f"http://10.1.2.3/latest/{TOKEN}?role=admin"
    with administrator.without_content_policies(), one_more_proxy(instance) as proxy:
        with closing(Agent(instance, key=created["api_key"]["key"], proxy_url=proxy)) as agent:
            for _ in range(3):
                assert error_of(agent.call("GET", plain))["code"] == "DESTINATION_BLOCKED"
            refused = agent.call("POST", f"{upstream.url}/a%2fb?x=1", content=b"{}")
            assert error_of(refused)["code"] == "REQUEST_AMBIGUOUS"
        with closing(Agent(instance, key="hg_nobody", proxy_url=proxy)) as nobody:
            assert nobody.call("GET", plain).status_code == 407
    # The process has written what it counted when it stopped.
    listed = administrator.get("/admin/audit", event_type="request.refused", agent=created["id"])["data"]
    events = {one["data"]["code"]: one["data"] for one in listed}
    assert set(events) == {"DESTINATION_BLOCKED", "REQUEST_AMBIGUOUS"}
    blocked = events["DESTINATION_BLOCKED"]
    assert (blocked["count"], len(blocked["calls"])) == (3, 1)
    call = blocked["calls"][0]
    assert (call["method"], call["host"], call["port"], call["query"]) == ("GET", "10.1.2.3", 80, ["role"])
    assert call["path"].startswith("/latest/")
    assert TOKEN not in str(listed)
    ambiguous = events["REQUEST_AMBIGUOUS"]["calls"][0]
    assert (ambiguous["host"], ambiguous["path"]) == ("127.0.0.1", "/a%2fb")
    assert "encoded slash" in ambiguous["reason"]
    shown = instance.try_subcommand("audit", "list", "--type", "request.refused", "--agent", created["id"]).stdout
    assert "GET 10.1.2.3/latest/" in shown
    assert "and 2 more" in shown


def test_a_client_that_refuses_the_certificate_is_named(
    instance: Instance, administrator: Administrator, upstream: Upstream
) -> None:
    created = administrator.new_agent("distrustful")
    key = created["api_key"]["key"]
    with one_more_proxy(instance) as proxy:
        command = ["curl", "-sS", "-x", proxy.replace("://", f"://agent:{key}@"), f"{upstream.url}/refused"]
        done = subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
        assert done.returncode == 60, done.stderr
    assert upstream.of("/refused") == []
    (event,) = administrator.get("/admin/audit", event_type="request.refused", agent=created["id"])["data"]
    assert (event["data"]["code"], event["data"]["count"]) == ("CERTIFICATE_REFUSED", 1)
    (call,) = event["data"]["calls"]
    assert (call["method"], call["host"], call["port"]) == ("CONNECT", "127.0.0.1", upstream.port)
    said = instance.try_command("doctor").stdout
    assert f"distrustful: 127.0.0.1 port {upstream.port}: client does not accept Headgate's certificate" in said
    assert "probably does not trust Headgate's authority" in said
