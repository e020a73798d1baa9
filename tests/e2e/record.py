"""What the record must say of everything that happened, whatever broke meanwhile."""

import json
from collections import Counter, defaultdict
from typing import Any

from tests.e2e.clients import Administrator
from tests.e2e.instance import Instance
from tests.e2e.load import Told
from tests.e2e.upstream import Upstream
from tests.e2e.waiting import wait_for

_NOT_SENT = ("not sent: ", "not forwarded: ")


def expect_whole_record(instance: Instance, administrator: Administrator, upstream: Upstream, told: Told) -> None:
    """Fails with what is missing."""
    verified = administrator.api.post("/admin/audit/verify", json={}, timeout=60)
    assert verified.status_code == 200, verified.text
    assert verified.json()["valid"], verified.text
    executions = _executions_by_path(instance)
    _expect_a_record_before_each_request(upstream, executions)
    events = _events_by_action(instance)
    for _, path in told.forwarded:
        assert any(
            {"action.submitted", "decision.made", "execution.started"} <= events[one["action_id"]].keys()
            for one in executions[path]
        ), f"{path} was answered and is not on record"
    for _, action_id in told.submitted:
        assert {"action.submitted", "decision.made"} <= events[action_id].keys(), action_id
    _expect_each_approval_used_once(instance, told)


def wait_until_nothing_runs(instance: Instance) -> list[dict[str, Any]]:
    """Until the worker has closed what dead processes left; returns what it closed so."""
    query = "SELECT (SELECT count(*) FROM executions WHERE status = 'running') + (SELECT count(*) FROM journal) AS n"
    wait_for(lambda: instance.rows(query)[0]["n"] == 0, "every execution has ended")
    return instance.rows(
        "SELECT e.execution_id, e.status, a.request::json #>> '{http,path}' AS path FROM executions e"
        " JOIN actions a USING (org_id, action_id) WHERE e.error LIKE 'outcome unknown: the process%%'"
    )


def _executions_by_path(instance: Instance) -> defaultdict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    rows = instance.rows(
        "SELECT a.action_id, e.started_at, e.error, a.request::json #>> '{http,path}' AS path"
        " FROM actions a JOIN executions e USING (org_id, action_id)"
    )
    for row in rows:
        found[row["path"]].append(row)
    return found


def _expect_a_record_before_each_request(
    upstream: Upstream, executions: defaultdict[str, list[dict[str, Any]]]
) -> None:
    arrived = defaultdict(list)
    for received in upstream.received:
        arrived[received.path].append(received.at)
    for path, times in arrived.items():
        started = sorted(
            one["started_at"].timestamp() for one in executions[path] if not (one["error"] or "").startswith(_NOT_SENT)
        )
        assert len(started) >= len(times), f"{path}: {len(times)} requests and {len(started)} executions"
        for at, before in zip(sorted(times), started, strict=False):
            assert before <= at, f"{path} arrived before its execution was recorded"


def _events_by_action(instance: Instance) -> defaultdict[str, Counter[str]]:
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in instance.rows("SELECT action_id, event_type FROM audit_events WHERE action_id IS NOT NULL"):
        found[row["action_id"]][row["event_type"]] += 1
    return found


def _expect_each_approval_used_once(instance: Instance, told: Told) -> None:
    uses: Counter[str] = Counter()
    approved = set()
    rows = instance.rows("SELECT event_type, payload FROM audit_events WHERE payload LIKE '%%approval%%'")
    for row in rows:
        data = json.loads(row["payload"])["data"]
        if row["event_type"] == "execution.started" and "approval_id" in data:
            uses[data["approval_id"]] += 1
        if "approval_given_back" in data:
            uses[data["approval_given_back"]] -= 1
        if row["event_type"] == "approval.approved":
            approved.add(data["approval_id"])
    assert {approval_id: count for approval_id, count in uses.items() if count > 1} == {}
    assert set(told.approved) <= approved, "an approval was acknowledged and is not on record"
