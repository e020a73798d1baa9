"""``headgate approvals watch`` on a terminal: the open requests one after the other, each decided by a key."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct, field

from headgate.cli.api_client import ApiClient
from headgate.cli.approval_text import call_text, stated_risk, time_left
from headgate.cli.tables import safe
from headgate.cli.terminal import colored
from headgate.client import operations
from headgate.kernel.clock import Clock
from headgate.kernel.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.client.types import ApprovalDetailAnswer, ListedApprovalAnswer

_KEYS: Final = "[a] approve  [d] deny  [s] skip  [q] quit"
_LISTED: Final = 200


class Screen(Protocol):
    """A terminal. ``key``: within a second, or None. ``forget``: keys that were pressed before."""

    def say(self, text: str) -> None: ...

    def status(self, text: str) -> None: ...

    def key(self) -> str | None: ...

    def forget(self) -> None: ...

    def ask(self, question: str) -> str | None: ...


class Desk(Struct):
    """``changed``: whether something has happened to approvals since it was asked last."""

    client: ApiClient
    screen: Screen
    clock: Clock
    changed: Callable[[], bool]
    agent_id: str | None = None
    skipped: set[str] = field(default_factory=set)

    def sit(self) -> None:
        """Until q. Raises HeadgateError where the list cannot be had."""
        while True:
            waiting = self._waiting()
            if not waiting:
                if not self._wait_for_one():
                    return
            elif not self._decide(waiting[0], len(waiting)):
                return

    def _waiting(self) -> Sequence[ListedApprovalAnswer]:
        """Those for which an agent waits first, the one with the least time on top; then the oldest."""
        page = self.client.send(operations.list_approvals, status="pending", agent_id=self.agent_id, limit=_LISTED)
        found = [one for one in page["data"] if one["id"] not in self.skipped]
        return sorted(found, key=lambda one: (one["held_until"] is None, one["held_until"] or one["created_at"]))

    def _wait_for_one(self) -> bool:
        """False: the person leaves."""
        self.screen.status("No open requests. New requests appear here.  [q] quit")
        while not self.changed():
            if self.screen.key() == "q":
                return False
        return True

    def _decide(self, listed: ListedApprovalAnswer, count: int) -> bool:
        """False: the person leaves."""
        shown = self.client.send(operations.get_approval, listed["id"])
        for line in card(listed, shown, count):
            self.screen.say(line)
        self.screen.forget()  # A key that was pressed for the request before decides nothing about this one.
        until, what = listed["held_until"], "agent waits"
        if until is None:
            until, what = listed["expires_at"], "open"
        while True:
            self.screen.status(f"{_KEYS}    {what}, {time_left(until, self.clock())} left")
            key = self.screen.key()
            if key == "q":
                return False
            if key == "s":
                self.skipped.add(listed["id"])
                return True
            if key == "a" or (key == "d" and (reason := self._reason()) is not None):
                self._vote(shown, None if key == "a" else reason)
                return True
            if self.changed() and not self._is_open(listed["id"]):
                return True

    def _reason(self) -> str | None:
        """Asked until there is one, or Ctrl-D: back at the keys, letters of a reason typed late would decide."""
        while (reason := self.screen.ask("Reason (the agent sees it)")) is not None and not reason.strip():
            self.screen.say("A denial needs a reason. Enter one, or press Ctrl-D to go back.")
        return reason

    def _vote(self, shown: ApprovalDetailAnswer, denied_for: str | None) -> None:
        """About what was shown: what has changed since is refused, and shown anew."""
        try:
            if denied_for is None:
                answer = self.client.send(operations.approve_approval, shown["id"], {"digest": shown["digest"]})
                status, left = answer["status"], answer["required_approvals"] - answer["current_approvals"]
            else:
                denied = self.client.send(operations.deny_approval, shown["id"], {"reason": denied_for})
                status, left = denied["status"], 0
        except HeadgateError as error:
            self.screen.say(f"Not decided: {safe(error.message)}")
            self.skipped.add(shown["id"])
            return
        if status == "pending":
            self.skipped.add(shown["id"])
            self.screen.say(f"{shown['id']} has your approval; {left} more needed.")
        else:
            self.screen.say(f"{shown['id']} is {colored(safe(status))}.")

    def _is_open(self, approval_id: str) -> bool:
        status = self.client.send(operations.get_approval, approval_id)["status"]
        if status != "pending":
            self.screen.say(f"{approval_id} is {colored(safe(status))}, decided elsewhere.")
        return status == "pending"


def card(listed: ListedApprovalAnswer, shown: ApprovalDetailAnswer, count: int) -> list[str]:
    """What a reviewer needs to see, the request in full: hidden characters and secrets as the API writes them."""
    context = shown.get("context")
    request = shown["action"]["params"] if context is None else context["request"]
    risk = stated_risk(shown) or "not stated"
    votes = f", {shown['current_approvals']} of {shown['required_approvals']} approvals"
    lines = [
        "",
        f"{'─' * 40} {count} waiting",
        safe(listed["summary"]),
        "",
        f"call     {safe(call_text(shown['action']))}",
        f"agent    {safe(listed['agent_name'] or listed['agent_id'])}",
        f"risk     {colored(risk)}{votes if shown['required_approvals'] > 1 else ''}",
        f"why      {safe(shown['decision']['reason'])}",
        f"id       {shown['id']}",
    ]
    if context is not None and context["hidden_characters"]:
        lines.append(f"hidden   characters, shown as escapes below: {safe(', '.join(context['hidden_characters']))}")
    return [*lines, *json.dumps(request, indent=2).split("\n")]
