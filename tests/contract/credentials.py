"""The credential with which an operation can succeed: a fresh token of an administrator, or an agent's key."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import httpx

from headgate.kernel.clock import system_clock
from headgate.kernel.public_roots import public_roots
from headgate.organizations.local_issuer import LocalIssuer
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID, Role

AGENTS_OWN: Final = frozenset(
    {
        ("POST", "/v1/actions"),
        ("POST", "/v1/actions/{id}/take"),
        ("POST", "/v1/actions/{id}/cancel"),
        ("POST", "/v1/actions/{id}/outcome"),
    }
)
"""Only the agent whose action it is may do these."""


@dataclass(frozen=True)
class Credentials:
    """Each request has a person of its own: requests that end sessions, deactivate people, change their roles or remove
    their factors do not shut out the requests after them."""

    issuer: LocalIssuer
    agent_key: str = ""

    def headers(self, method: str, path: str) -> dict[str, str]:
        if (method.upper(), path) in AGENTS_OWN:
            return {"X-Agent-Key": self.agent_key}
        return {"Authorization": f"Bearer {self.token(f'contract-{secrets.token_hex(8)}')}"}

    def token(self, subject: str, roles: Iterable[Role] = (Role.ADMIN, Role.BREAK_GLASS, Role.OPERATOR)) -> str:
        """Second factor included."""
        return self.issuer.mint(
            org_id=DEFAULT_ORGANIZATION_ID,
            subject=subject,
            roles=roles,
            now=system_clock(),
            lifetime=timedelta(hours=2),
            email=f"{subject}@example.com",
            aal="aal2",
        ).reveal()


def with_new_agent(url: str, issuer: LocalIssuer) -> Credentials:
    """With the key of a new agent, which no request names by chance."""
    name = f"contract-{secrets.token_hex(4)}"
    headers = {"Authorization": f"Bearer {Credentials(issuer).token(name)}"}
    made = httpx.post(f"{url}/admin/agents", verify=public_roots(), json={"name": name}, headers=headers)
    return Credentials(issuer, str(made.raise_for_status().json()["api_key"]["key"]))
