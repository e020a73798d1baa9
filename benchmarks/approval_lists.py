"""GET /v1/approvals with a million of them stored, by every filter; the bar is 20 ms.

``python -m benchmarks.approval_lists [--stored 1000000] [--rounds 50]``. One in 20,000 is of the rare agent.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from benchmarks.load.instance import Instance
from benchmarks.load.list_pages import measure_lists
from benchmarks.load.many_approvals import OFTEN_AGENT, RARE_AGENT, fill

_DAY: Final = timedelta(days=1)


def paths(_: Instance, __: int) -> list[str]:
    now = datetime.now(UTC)
    day = f"start_date={now - 5 * _DAY:%Y-%m-%d}&end_date={now - 5 * _DAY:%Y-%m-%d}"
    often, rare = "assignee=often@example.com", "assignee=rare@example.com"
    singles = ["", "risk_level=critical", "tool=tool_3", "tool=tool_40", "policy_id=pol_bench-3", often, rare, day]
    singles += [f"status={status}" for status in ("pending", "approved", "denied", "expired")]
    singles += [f"agent_id={OFTEN_AGENT}", f"agent_id={RARE_AGENT}"]
    pairs = [f"agent_id={OFTEN_AGENT}&{one}" for one in ("status=expired", "risk_level=critical", "tool=tool_40")]
    pairs += [f"status=pending&{one}" for one in ("risk_level=critical", "tool=tool_3", often, "policy_id=pol_bench-3")]
    pairs += ["status=denied&tool=tool_3", "status=approved&risk_level=critical", "status=expired&risk_level=high"]
    pairs += [f"status=denied&{day}", f"tool=tool_3&{often}", f"{day}&tool=tool_3", f"status=approved&{often}"]
    seldom = ["tool=tool_3&policy_id=pol_bench-4", "tool=tool_3&risk_level=medium"]
    seldom.append(f"agent_id={OFTEN_AGENT}&tool=tool_3")
    seldom += ["policy_id=pol_bench-3&risk_level=medium", "policy_id=pol_bench-3&status=denied"]
    seldom += [f"policy_id=pol_bench-3&{often}", f"tool=tool_10&{often}"]
    return [f"/v1/approvals?{query}" for query in (*singles, *pairs, *seldom, "offset=5000", "limit=200")]


if __name__ == "__main__":
    measure_lists(__doc__, fill, paths)
