"""PUT /admin/settings/github: a GitHub App whose deployments and pull requests need approval."""

from dataclasses import dataclass
from typing import ClassVar

from headgate.integrations.members import flag, member, names, text, url

AGENT = "agt_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@dataclass(frozen=True, slots=True)
class GitHubSettings:
    """``repositories`` and ``environments`` are patterns with ``*``; events that match none are ignored."""

    SECRETS: ClassVar[dict[str, str]] = {
        "private_key": "The App's private key, in PEM.",
        "webhook_secret": "The App's webhook secret.",
    }

    enabled: bool = member(flag(), "Require approval for deployments and pull requests.", False)
    base_url: str = member(
        url(), "The address of GitHub's API; https://HOST/api/v3 for an Enterprise Server.", "https://api.github.com",
        is_destination=True,
    )  # fmt: skip
    app_id: str = member(text(40, "[A-Za-z0-9._]+", "123456"), "The id or the client ID of the app.")
    agent_id: str = member(
        text(40, AGENT, "agt_01938a5e-7c00-7000-8000-000000000001"),
        "The agent that submits the requests. Its policies decide.",
    )
    repositories: tuple[str, ...] = member(names(), "For example example/* or example/shop.", ())
    environments: tuple[str, ...] = member(names(), "The environments whose deployments need approval.", ("*",))
    protect_deployments: bool = member(flag(), "Answer deployment protection rules.", True)
    check_pull_requests: bool = member(
        flag(), "Add a check to pull requests and merge groups that waits for approval.", False
    )
    check_name: str = member(
        text(100),
        "The name of the check. {base} stands for the base branch. Without {base}, the check of one branch also"
        " satisfies the rules of other branches until their webhook arrives.",
        "Headgate ({base})",
    )
