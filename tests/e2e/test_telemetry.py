"""What a real collector of OpenTelemetry receives of a proxy process, and what its destination does."""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from headgate.kernel.public_roots import public_roots
from tests.e2e.clients import Administrator, Agent
from tests.e2e.instance import Instance, one_more_api, one_more_proxy
from tests.e2e.upstream import Upstream
from tests.e2e.waiting import wait_for
from tests.free_port import free_port
from tests.go_program import build_go_program

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
MALFORMED = [f"00-{TRACE}-{PARENT}", f"00-{'0' * 32}-{PARENT}-01", "ff-x", f"00-{'g' * 52}"]
SECRET = "sk_live_51Nbv3dQw9zXk2TyUaPq8Rst"


@dataclass(frozen=True)
class Collector:
    url: str
    file: Path

    def received(self) -> list[dict[str, Any]]:
        whole, _, _ = self.file.read_text().rpartition("\n")  # the collector may be in the middle of a line
        return [json.loads(line) for line in whole.splitlines()]

    def spans(self) -> list[dict[str, Any]]:
        resources = [one for export in self.received() for one in export.get("resourceSpans", [])]
        return [span for one in resources for scope in one["scopeSpans"] for span in scope["spans"]]

    def trace_of(self, action_id: str) -> dict[str, dict[str, Any]] | None:
        """The spans of a call by name, the root as ``root``; None: it has not arrived."""
        for root in self.spans():
            if _attributes(root).get("headgate.action_id") == action_id:
                children = [one for one in self.spans() if one.get("parentSpanId") == root["spanId"]]
                return {"root": root, **{one["name"]: one for one in children}}
        return None


def _attributes(of: dict[str, Any]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values()), "") for one in of.get("attributes", [])}


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    folder = tmp_path_factory.mktemp("collector")
    program = build_go_program(Path(__file__).parents[1] / "collector", folder)
    port, file = free_port(), folder / "received.jsonl"
    with (folder / "collector.log").open("wb") as log:
        process = subprocess.Popen([program, f"127.0.0.1:{port}", file], stdout=log, stderr=log)

    def listens() -> bool:
        assert process.poll() is None, (folder / "collector.log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_for(listens, "the collector listens")
        yield Collector(f"http://127.0.0.1:{port}", file)
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def proxy_url(instance: Instance, collector: Collector) -> Iterator[str]:
    settings = {"HEADGATE_OTLP_ENDPOINT": collector.url, "OTEL_METRIC_EXPORT_INTERVAL": "500"}
    with one_more_proxy(instance, **settings) as url:
        yield url


@pytest.fixture(scope="module", autouse=True)
def _secrets_may_pass(instance: Instance) -> Iterator[None]:
    """What must not reach the collector has to reach the destination first."""
    with closing(Administrator(instance)) as administrator, administrator.without_content_policies():
        yield


@pytest.fixture
def traced(instance: Instance, proxy_url: str) -> Iterator[Agent]:
    with closing(Agent(instance, proxy_url=proxy_url)) as agent:
        yield agent


pytestmark = pytest.mark.timeout(700)  # the collector is compiled, once


def test_a_call_is_a_span_in_the_agents_trace_and_goes_on_to_the_destination(
    administrator: Administrator, traced: Agent, upstream: Upstream, collector: Collector, path: str
) -> None:
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=1"}
    assert traced.call("GET", f"{upstream.url}{path}?token={SECRET}", headers=headers).status_code == 200
    [action] = administrator.actions_of(path)
    spans = wait_for(partial(collector.trace_of, action["id"]), "the spans of the call")
    root, decision, forwarded = spans["root"], spans["decision"], spans["upstream"]
    assert (root["traceId"], root["parentSpanId"], root["name"]) == (TRACE, PARENT, "http.get")
    assert decision["traceId"] == forwarded["traceId"] == TRACE
    assert int(root["startTimeUnixNano"]) <= int(decision["startTimeUnixNano"])
    assert int(decision["endTimeUnixNano"]) <= int(forwarded["startTimeUnixNano"])
    assert int(forwarded["endTimeUnixNano"]) <= int(root["endTimeUnixNano"])
    said = _attributes(root)
    assert (said["headgate.decision"], said["http.response.status_code"]) == ("allow", "200")
    [received] = upstream.of(path)
    sent = {name.lower(): value for name, value in received.headers.items()}
    assert sent["traceparent"] == f"00-{TRACE}-{forwarded['spanId']}-01"
    assert sent["tracestate"] == "vendor=1"


def test_a_hold_is_a_span_between_two_decisions(
    administrator: Administrator, traced: Agent, upstream: Upstream, collector: Collector, patient_path: str
) -> None:
    call = traced.call_later("POST", upstream.url + patient_path, json={"card": SECRET})
    approval = administrator.pending(patient_path)
    administrator.approve(approval["id"])
    assert call.result().status_code == 200
    spans = wait_for(partial(collector.trace_of, approval["action_id"]), "the spans of the call")
    assert _attributes(spans["hold"])["headgate.approval_id"] == approval["id"]
    assert _attributes(spans["root"])["headgate.decision"] == "approved"
    # The one of the dictionary is the last: the decision about the use of the approval.
    assert int(spans["hold"]["endTimeUnixNano"]) <= int(spans["decision"]["startTimeUnixNano"])
    assert spans["root"].get("parentSpanId", "") == ""
    [received] = upstream.of(patient_path)
    assert "traceparent" not in {name.lower() for name in received.headers}


def test_a_refusal_is_an_error_with_its_code(
    administrator: Administrator, traced: Agent, upstream: Upstream, collector: Collector, path: str
) -> None:
    assert traced.call("DELETE", upstream.url + path).status_code == 403
    [action] = administrator.actions_of(path)
    spans = wait_for(partial(collector.trace_of, action["id"]), "the spans of the call")
    assert _attributes(spans["root"])["error.type"] == "ACTION_DENIED"
    assert spans["root"]["status"]["code"] == 2
    assert "upstream" not in spans


@pytest.mark.parametrize(
    "given", [f"00-{TRACE}-{PARENT}", "00-" + "0" * 32 + f"-{PARENT}-01", "ff-x", "00-" + "g" * 52]
)
def test_a_malformed_traceparent_is_ignored_and_stays_as_it_is(
    administrator: Administrator, traced: Agent, upstream: Upstream, collector: Collector, path: str, given: str
) -> None:
    assert traced.call("GET", upstream.url + path, headers={"traceparent": given}).status_code == 200
    [action] = administrator.actions_of(path)
    spans = wait_for(partial(collector.trace_of, action["id"]), "the spans of the call")
    assert spans["root"].get("parentSpanId", "") == ""
    assert spans["root"]["traceId"] != TRACE
    [received] = upstream.of(path)
    assert {name.lower(): value for name, value in received.headers.items()}["traceparent"] == given


def test_a_call_that_its_agent_does_not_sample_is_not_exported(
    administrator: Administrator, traced: Agent, upstream: Upstream, collector: Collector, new_path
) -> None:
    unsampled, sampled = new_path(), new_path()
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-00"}
    assert traced.call("GET", upstream.url + unsampled, headers=headers).status_code == 200
    assert traced.call("GET", upstream.url + sampled).status_code == 200
    [later] = administrator.actions_of(sampled)
    wait_for(partial(collector.trace_of, later["id"]), "the spans of the later call")
    [action] = administrator.actions_of(unsampled)
    assert collector.trace_of(action["id"]) is None
    [received] = upstream.of(unsampled)
    passed_on = {name.lower(): value for name, value in received.headers.items()}["traceparent"]
    assert passed_on.startswith(f"00-{TRACE}-") and passed_on.endswith("-00")


def test_metrics_and_masked_log_lines_arrive_and_no_secret_does(
    instance: Instance, traced: Agent, upstream: Upstream, collector: Collector, path: str
) -> None:
    headers = {"authorization": f"Bearer {SECRET}"}
    assert traced.call("GET", f"{upstream.url}{path}?key={SECRET}", headers=headers).status_code == 200

    def counted() -> list[dict[str, Any]]:
        resources = [one for export in collector.received() for one in export.get("resourceMetrics", [])]
        metrics = [metric for one in resources for scope in one["scopeMetrics"] for metric in scope["metrics"]]
        named = [one for one in metrics if one["name"] == "headgate_proxy_decisions"]
        return [point for one in named for point in one["sum"]["dataPoints"] if point["asDouble"] >= 1]

    points = wait_for(counted, "the decisions are counted")
    assert _attributes(points[-1])["decision"] in ("allow", "approved", "action_denied")
    with one_more_api(instance, HEADGATE_OTLP_ENDPOINT=collector.url) as api_url:
        # A line with what a client has sent, which has the form of a credential.
        answer = httpx.get(
            f"{api_url}/v1/actions/{SECRET}", verify=public_roots(), headers={"x-agent-key": SECRET}, trust_env=False
        )
        assert answer.status_code == 401

    def lines() -> list[str]:
        resources = [one for export in collector.received() for one in export.get("resourceLogs", [])]
        records = [record for one in resources for scope in one["scopeLogs"] for record in scope["logRecords"]]
        return [str(record["body"]["stringValue"]) for record in records]

    wait_for(lambda: any("proxy_ready" in line for line in lines()), "the lines of the proxy")
    wait_for(lambda: any("/v1/actions/" in line for line in lines()), "the line of the request with a credential")
    assert all(json.loads(line)["event"] for line in lines())
    text = collector.file.read_text()
    assert SECRET not in text
    assert instance.runtime["agent_key"] not in text


def test_a_collector_that_is_not_there_costs_a_call_nothing(instance: Instance, upstream: Upstream, new_path) -> None:
    with (
        one_more_proxy(instance, HEADGATE_OTLP_ENDPOINT=f"http://127.0.0.1:{free_port()}") as url,
        closing(Agent(instance, proxy_url=url)) as agent,
    ):
        for _ in range(20):
            path = new_path()
            assert agent.call("GET", upstream.url + path).status_code == 200
            assert len(upstream.of(path)) == 1
