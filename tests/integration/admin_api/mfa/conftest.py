"""People with tokens of either assurance level."""

from collections.abc import Callable
from datetime import timedelta

import httpx
import pytest

from headgate.kernel.clock import system_clock
from headgate.organizations.local_issuer import open_local_issuer
from headgate.organizations.model import Role

type Person = Callable[..., httpx.AsyncClient]


@pytest.fixture
def person(gate) -> Person:
    """A client with a new token: ``person("bob", "aal2")``."""

    def make(name: str = "alice", aal: str = "aal1", role: Role = Role.VIEWER) -> httpx.AsyncClient:
        issuer = open_local_issuer(gate.api.settings.data.issuer)
        token = issuer.mint(
            org_id=gate.org_id,
            subject=name,
            roles=[role],
            now=system_clock(),
            lifetime=timedelta(minutes=30),
            email=f"{name}@example.com",
            aal=aal,
        )
        return gate.client(Authorization=f"Bearer {token.reveal()}")

    return make
