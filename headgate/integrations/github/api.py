"""GitHub's REST API: answers a deployment protection rule, and sets a check of a pull request.

https://docs.github.com/en/rest/actions/workflow-runs (review custom deployment protection rules),
https://docs.github.com/en/rest/checks/runs (create, update, list for a Git reference; pages by ``Link``), and
https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api. One check is kept for each commit and
name, with its mark as ``external_id``. It shows the strictest state of the requests that share it (``reported``). A
repeated answer to a rule changes nothing.
"""

import hashlib
import re
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from headgate.integrations.github.app_token import app_jwt, github_api, installation_token
from headgate.integrations.github.reported import reported
from headgate.integrations.github.settings import GitHubSettings
from headgate.integrations.github.webhook import PointKind
from headgate.integrations.model import Item, Notice, Opened, Request
from headgate.integrations.platform_api import PlatformApi, PlatformError, list_at, text_at
from headgate.integrations.shown_text import code, cut
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.client import OutgoingClient

_CONCLUSIONS: Final = {"approved": "success", "denied": "failure", "expired": "timed_out"}
_STATES: Final = {"approved": "approved", "denied": "rejected", "expired": "rejected"}
_COMMENT_CHARACTERS: Final = 900
_SUMMARY_CHARACTERS: Final = 60_000
_NEXT: Final = re.compile(r'<([^<>]+)>; rel="next"')
_MOST_PAGES: Final = 20
_REPLACED: Final[JsonObject] = {
    "status": "completed",
    "conclusion": "cancelled",
    "output": {"title": "Replaced by a newer check", "summary": "Another request at this commit needs a decision."},
}


class _Run(Struct, frozen=True):
    check_id: int
    is_completed: bool


class GitHubChecks(Struct, frozen=True):
    """``tracker.Tracker`` without opening: the GitHub item causes the approval request, not the other way round."""

    client: OutgoingClient
    settings: GitHubSettings
    private_key: Secret
    rules: DestinationRules
    clock: Clock

    async def find(self, approval_id: str) -> Opened | None:
        return None

    async def open(self, request: Request) -> Opened:
        raise PlatformError("nothing_to_open", is_final=True)

    async def tell(self, item: Item, notice: Notice, *, again: bool) -> None:
        notice = reported(item, notice)
        detail = item.opened.detail
        if detail.get("kind") == PointKind.DEPLOYMENT.value:
            await self._answer_rule(detail, notice)
        else:
            await self._put_check(item, detail, notice)

    async def verified_email(self, account: str) -> str | None:
        return None

    async def who_am_i(self) -> str:
        found = (await self._as_app().call("GET", "/app")).document
        return text_at(found, "slug") or text_at(found, "name") or ""

    async def _answer_rule(self, detail: JsonObject, notice: Notice) -> None:
        api = await self._installed(detail, {"deployments": "write"})
        body: JsonObject = {
            "environment_name": str(detail["environment"]),
            "comment": f"{notice.title}. {notice.text}"[:_COMMENT_CHARACTERS],
        }
        if notice.outcome is not None:
            body["state"] = _STATES[notice.outcome]
        path = f"/repos/{detail['repository']}/actions/runs/{detail['run']}/deployment_protection_rule"
        await api.call("POST", path, body)

    async def _put_check(self, item: Item, detail: JsonObject, notice: Notice) -> None:
        api = await self._installed(detail, {"checks": "write"})
        repository, sha, name = (str(detail[one]) for one in ("repository", "sha", "check_name"))
        mark = hashlib.sha256((item.opened.report_key or item.approval_id).encode()).hexdigest()
        body: JsonObject = {
            "name": name,
            "external_id": mark,
            "output": {"title": notice.title, "summary": code(cut(notice.text, _SUMMARY_CHARACTERS))},
        }
        if notice.outcome is None:
            body["status"] = "in_progress"
        else:
            body |= {"status": "completed", "conclusion": _CONCLUSIONS[notice.outcome]}
        newest = await self._newest_run(api, repository, sha, name, mark)
        if newest is not None and newest.is_completed and notice.outcome is None:
            # GitHub reopens no completed run. Withdrawing it first leaves no success if the next call fails.
            await api.call("PATCH", f"/repos/{repository}/check-runs/{newest.check_id}", _REPLACED)
            newest = None
        if newest is None:
            await api.call("POST", f"/repos/{repository}/check-runs", body | {"head_sha": sha})
        else:
            await api.call("PATCH", f"/repos/{repository}/check-runs/{newest.check_id}", body)

    async def _newest_run(self, api: PlatformApi, repository: str, sha: str, name: str, mark: str) -> _Run | None:
        path = (
            f"/repos/{repository}/commits/{quote(sha, safe='')}/check-runs"
            f"?check_name={quote(name, safe='')}&filter=all&per_page=100"
        )
        if self.settings.app_id.isdecimal():
            path += f"&app_id={self.settings.app_id}"  # so that runs of other apps cannot fill the pages
        newest: _Run | None = None
        for _ in range(_MOST_PAGES):
            answer = await api.call("GET", path)
            for one in list_at(answer.document, "check_runs"):
                check_id = one.get("id") if isinstance(one, dict) else None
                if isinstance(check_id, int) and text_at(one, "external_id") == mark:
                    run = _Run(check_id, text_at(one, "status") == "completed")
                    newest = run if newest is None else max(newest, run, key=lambda run: run.check_id)
            following = _NEXT.search(answer.response.header("link") or "")
            if following is None or not following[1].startswith(api.base_url + "/"):
                return newest
            path = following[1].removeprefix(api.base_url)
        raise PlatformError("too_many_pages")

    def _as_app(self) -> PlatformApi:
        token = app_jwt(self.settings.app_id, self.private_key, self.clock())
        return github_api(self.client, self.settings.base_url, token, self.rules)

    async def _installed(self, detail: JsonObject, permissions: dict[str, str]) -> PlatformApi:
        installation = detail.get("installation")
        if not isinstance(installation, int):
            raise PlatformError("no_installation", is_final=True)
        token = await installation_token(self._as_app(), installation, str(detail["repository"]), permissions)
        return github_api(self.client, self.settings.base_url, token, self.rules)
