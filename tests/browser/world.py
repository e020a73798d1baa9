"""What is there to be looked at: calls that wait and were decided, short ones and hostile ones."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from headgate.kernel.public_roots import public_roots
from tests.browser.outsiders import captured, pull_request, refused_messages, uploaded
from tests.e2e.clients import Administrator, Agent
from tests.e2e.instance import Instance

HOSTILE: Final = (
    "</pre></textarea></title></script><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)><svg onload=alert(3)>",
    "javascript:alert(4)//{{7*7}}${7*7}<%= 7*7 %>",
    "invoice\u202efdp.exe\u202c\u2066hidden\u2069",
    "zero\u200bwidth\u200c\u200d\ufeffjoiners\u00ad",
    "control\u0001\u001b[31mred\u001b[0m\u007f\u0085",
    "tags\U000e0041\U000e0042 variation\ufe0f",
    "Z" + "\u0300\u0301\u0302\u0303" * 40,
    "long" * 2_000,
)
"""In every text that an agent, a destination or a ticket can write."""


class World:
    """``names`` fills the braces of a page's path."""

    def __init__(self, instance: Instance, administrator: Administrator) -> None:
        self._instance = instance
        self._administrator = administrator
        self._agent_key: str = instance.runtime["agent_key"]
        self.names: dict[str, str] = {}
        self.names["agent_id"] = str(instance.runtime["agent_id"])
        self.names["action_id"] = self.submit("merge_pull_request", {"repo": "acme/site"})["id"]
        self.names["event_id"] = administrator.get("/admin/audit")["data"][0]["id"]
        endpoint = {"url": "https://hooks.example.com/headgate"}
        self.names["webhook_id"] = administrator.api.post("/admin/webhooks", json=endpoint).json()["id"]
        self._meet_outsiders()
        self.names["refused_webhook_id"], self.names["refused_message_id"] = refused_messages(administrator, HOSTILE)
        self.names["policy_id"] = administrator.get("/admin/policies")["data"][0]["id"]
        content = {"name": HOSTILE[1], "description": HOSTILE[3], "type": "content_safety", "prompt": HOSTILE[0]}
        made = administrator.api.post("/admin/nlp-policies", json=content).json()
        self.names["content_policy_id"] = made["id"]
        self.names["approval_id"] = self.held({"repo": "acme/site", "number": 482})
        self.names["decided_approval_id"] = self.held({"repo": "acme/release-" + "x" * 80})
        assert administrator.approve(self.names["decided_approval_id"]).status_code == 200
        group = {"name": "release-managers", "description": HOSTILE[0], "members": ["ana@example.com"]}
        self.names["group_name"] = administrator.api.post("/admin/approver-groups", json=group).json()["name"]
        self.names["integration"] = "github"
        self.names["user_id"] = administrator.get("/admin/users")["data"][0]["id"]
        connection = {"name": "stripe", "kind": "bearer", "hosts": ["api.example.com"], "agents": ["*"]}
        connection |= {"account": HOSTILE[0] + HOSTILE[3], "credentials": {"secret": "long-enough"}}
        self.names["connection_id"] = administrator.api.post("/v1/connections", json=connection).json()["id"]
        self.notify({})
        self.names["channel"], self.names["rule"] = "on-call", "1"
        told = administrator.api.post("/admin/settings/notifications/test", json={"channel": "on-call"})
        self.names["message_id"] = told.json()["id"]
        self.names["grant_id"] = self._granted([{"param": HOSTILE[0], "one_of": list(HOSTILE[1:7])}], HOSTILE[3])
        self.names["revoked_grant_id"] = self._granted([], HOSTILE[1])
        revoked = administrator.api.delete(
            f"/admin/grants/{self.names['revoked_grant_id']}", params={"reason": HOSTILE[4]}
        )
        assert revoked.is_success, revoked.text
        self.names["denied_action_id"] = self.submit("delete_repo", {"owner": "acme", "repo": "old-site"})["id"]
        self._broke_the_glass()
        carried_out = self.submit("get", {"url": "https://api.example.com/a"}, tool="http")
        self.names["execution_id"] = carried_out["execution"]["id"]
        self._make_hostile()
        self.names["sign_in_path"] = urlsplit(self.sign_in_link(HOSTILE[1] + HOSTILE[3], "viewer")).path

    def notify(self, channels: Mapping[str, object]) -> None:
        """By the channel and the rule that pages show, and by further channels."""
        channel = {"kind": "apprise", "url": "ntfys://nowhere.invalid/topic", "recipient": "ana@example.com"}
        routes = [{"channels": ["on-call"], "tools": [HOSTILE[0]]}]
        settings = {"channels": {"on-call": channel, **channels}, "routes": routes}
        assert self._administrator.api.put("/admin/settings/notifications", json=settings).is_success

    def held(self, params: Mapping[str, object], *, reason: str = "monthly run", key: str | None = None) -> str:
        """The approval that a new call waits for."""
        approval_id: str = self.submit("merge_pull_request", params, reason=reason, key=key)["approval_id"]
        return approval_id

    def submit(
        self,
        operation: str,
        params: Mapping[str, object],
        *,
        reason: str = "monthly run",
        key: str | None = None,
        tool: str = "github",
    ) -> dict[str, Any]:
        body = {"tool": tool, "operation": operation, "params": params, "context": {"reason": reason}}
        return self._as_agent("/v1/actions", body, key or self._agent_key)

    def carry_out(self, action_id: str, operation: str, params: Mapping[str, object]) -> None:
        """Takes an approved call of ``held``, and reports that it failed."""
        body = {"tool": "github", "operation": operation, "params": params, "context": {"reason": "monthly run"}}
        self._as_agent(f"/v1/actions/{action_id}/take", body, self._agent_key)
        outcome = {"status": "failed", "error": "it was merged before"}
        self._as_agent(f"/v1/actions/{action_id}/outcome", outcome, self._agent_key)

    def _as_agent(self, path: str, body: Mapping[str, object], key: str) -> dict[str, Any]:
        answer = httpx.post(
            self._instance.runtime["api_url"] + path,
            verify=public_roots(),
            headers={"x-agent-key": key},
            json=body,
            trust_env=False,
            timeout=30,
        )
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def _granted(self, conditions: Sequence[Mapping[str, object]], reason: str) -> str:
        """Of an operation that no test calls."""
        call = {"agent_id": self.names["agent_id"], "tool": "github", "operation": "rename_repo"}
        bounds = {"max_uses": 5, "expires_in_seconds": 86_400, "reason": reason}
        bound = {"param": HOSTILE[0], "at_most": 5000}
        body = call | bounds | {"conditions": conditions, "sum": bound}
        made = self._administrator.api.post("/admin/grants", json=body)
        assert made.status_code == 201, made.text
        grant_id: str = made.json()["id"]
        return grant_id

    def _broke_the_glass(self) -> None:
        """Once, and reviewed, so that no page says that it is open."""
        token = self._instance.command("token", "--user", "frida@example.com", "--role", "break_glass").strip()
        frida = Administrator(self._instance, token=token)
        given = {"action_id": self.names["denied_action_id"], "reason": HOSTILE[0] + HOSTILE[3]}
        opened = frida.api.post("/admin/break-glass", json=given)
        frida.close()
        assert opened.status_code == 201, opened.text
        review = {"outcome": "not_justified", "note": HOSTILE[1] + HOSTILE[4]}
        reviewed = self._administrator.api.post(f"/admin/break-glass/{opened.json()['id']}/review", json=review)
        assert reviewed.is_success, reviewed.text

    def sign_in_link(self, user: str, *roles: str) -> str:
        words = [word for role in roles for word in ("--role", role)]
        # The tests of all pages may take longer than the ten minutes that a link is valid for otherwise.
        return self._instance.command("login", "--user", user, "--minutes", "60", *words).strip().splitlines()[-1]

    def _meet_outsiders(self) -> None:
        """A destination and a ticket, every text of them hostile."""
        agent = Agent(self._instance)
        newest, other, *_ = captured(self._administrator, agent, HOSTILE)
        for name, body, media_type in (
            ("text", "".join(HOSTILE).encode() * 8, "text/plain"),
            ("bytes", "\0".join(HOSTILE).encode() + bytes(range(256)) * 20, "application/octet-stream"),
        ):
            held = uploaded(self._administrator, agent, body, media_type)
            self.names[f"{name}_action_id"], self.names[f"{name}_approval_id"] = held["action_id"], held["id"]
            assert self._administrator.deny(held["id"], "Not this file.").status_code == 200
        agent.close()
        self.names["exchange_id"], self.names["other_exchange_id"] = newest["id"], other["id"]
        self.names["captured_action_id"] = newest["action_id"]
        self.names["ticket_approval_id"] = pull_request(self._administrator, self.names["agent_id"], HOSTILE)
        approval = self._administrator.approval(self.names["ticket_approval_id"])
        self.names["ticket_action_id"] = approval["action_id"]

    def _make_hostile(self) -> None:
        """An agent, calls of it, decisions about them and a policy, all with hostile texts."""
        agent = self._administrator.new_agent(HOSTILE[1] + HOSTILE[3])
        key = agent["api_key"]["key"]
        params = {f"field {number}": text for number, text in enumerate(HOSTILE)} | {HOSTILE[1]: HOSTILE[0]}
        self.names["hostile_agent_id"] = agent["id"]
        called = self.submit("merge_pull_request", params, reason=HOSTILE[0] + HOSTILE[3], key=key)
        self.names["hostile_action_id"], self.names["hostile_approval_id"] = called["id"], called["approval_id"]
        self.names["hostile_decided_id"] = self.held({"repo": HOSTILE[0] + HOSTILE[3]}, key=key)
        denied = self._administrator.deny(self.names["hostile_decided_id"], HOSTILE[0] + HOSTILE[3])
        assert denied.status_code == 200, denied.text
        policy = {
            "name": HOSTILE[0] + HOSTILE[3],
            "description": HOSTILE[1],
            "rego_policy": f"package hostile\n\n# {HOSTILE[0]}\nallow if false\n",
            "enabled": False,
            "change_note": HOSTILE[1] + HOSTILE[3],
        }
        made = self._administrator.api.post("/admin/policies", json=policy)
        assert made.status_code == 201, made.text
        self.names["hostile_policy_id"] = made.json()["id"]
