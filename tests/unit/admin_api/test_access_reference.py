"""docs/reference/access.md says of every route who may call it."""

import re
from pathlib import Path

from admin_api.access import ACCESS, Access, Audience
from headgate.agents.keys import KEY_PATTERN
from headgate.agents.scopes import ROLE_SCOPES
from headgate.ratelimits.classes import DEFAULT_QUOTAS

TEXT = (Path(__file__).parents[3] / "docs" / "reference" / "access.md").read_text("utf-8")


def row(method: str, path: str, access: Access) -> str:
    scope = "" if access.scope is None else f"`{access.scope}`"
    scope += " or a webhook key" if access.webhook_keys else ""
    scope += ", or the owner of the agent" if access.or_owner else ""
    rate = "" if access.rate_class is None else access.rate_class.value
    return f"| {method} | `{path.replace('{}', '{id}')}` | {access.audience.value} | {scope} | {rate} |"


def test_every_route_is_in_the_reference() -> None:
    documented = re.findall(r"^\| (?:GET|POST|PUT|PATCH|DELETE|OPTIONS) \|.*$", TEXT, re.MULTILINE)
    expected = [
        row(method, path, access) for (method, path), access in ACCESS.items() if access.audience is not Audience.PAGES
    ]
    assert documented == expected, "\n".join(expected)


def test_roles_keys_and_quotas_are_as_they_are() -> None:
    for role, scopes in ROLE_SCOPES.items():
        assert f"| {role} | {', '.join(f'`{scope}`' for scope in sorted(scopes))} |" in TEXT
    assert f"`{KEY_PATTERN}`" in TEXT
    for name, quota in DEFAULT_QUOTAS.items():
        assert f"| {name} | {quota.count} in {quota.period_seconds} s |" in TEXT
