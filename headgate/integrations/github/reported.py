"""Builds the report to GitHub for a request that shares a check or an answer with others. Pure.

A check belongs to a commit and a name, not to a pull request, and the newest run of a name counts
(https://docs.github.com/en/rest/checks/runs, https://docs.github.com/en/pull-requests/reference/status-checks). An
answer to a protection rule applies to every deployment that waits in the run and environment
(https://docs.github.com/en/rest/actions/workflow-runs). The report therefore has the strictest state of all requests.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from headgate.integrations.github.webhook import PointKind
from headgate.integrations.model import Item, Notice, Standing
from headgate.kernel.visible_text import visible

_STRICTEST_FIRST: Final = ("denied", "expired", None, "approved")
_TITLES: Final[Mapping[str | None, str]] = {
    "denied": "Denied",
    "expired": "Expired without a decision",
    None: "Waiting for approval",
    "approved": "Allowed",
}
_STATES: Final[Mapping[str | None, str]] = {
    "denied": "denied",
    "expired": "expired without a decision",
    None: "waiting for approval",
}
_EDITED: Final = "A reviewer edited the action. The approval does not cover the change at GitHub."
_LISTED: Final = 20


def reported(item: Item, notice: Notice) -> Notice:
    """``notice`` with the outcome, title and text of the strictest state among those that share the item's report."""
    own = next((one for one in item.standings if one.approval_id == item.approval_id), None)
    others = [one for one in item.standings if one is not own and one.outcome in _STATES]
    if item.opened.detail.get("kind") == PointKind.DEPLOYMENT.value:
        # A rejected run can be run again under the same number, so an earlier denial must not count.
        others = [one for one in others if one.outcome is None]
    outcomes = [None if own is None else own.outcome, *(one.outcome for one in others)]
    outcome = min(outcomes, key=_STRICTEST_FIRST.index)
    lines = _lines(others)
    if own is not None and own.is_edited and own.outcome == "denied":
        lines.append(_EDITED)
    title = notice.title if outcome == notice.outcome else _TITLES[outcome]
    return replace(notice, title=title, text="\n".join([*lines, notice.text]), outcome=outcome)


def _lines(others: Sequence[Standing]) -> list[str]:
    listed = [f"{_name(one)}: {_STATES[one.outcome]}" for one in others[:_LISTED]]
    more = len(others) - len(listed)
    return [*listed, f"and {more} more"] if more else listed


def _name(standing: Standing) -> str:
    base = standing.opened.detail.get("base")
    key = standing.opened.external_key
    return visible(key if base is None else f"{key} into {base}")
