"""Keycloak: its admin REST API, as a confidential client with a service account that has ``manage-users``.

Paths and members follow https://www.keycloak.org/docs-api/latest/rest-api/index.html (Users: credentials and sessions;
Realms Admin: ``DELETE /sessions/{session}``). The token's ``sid`` is the id of its session.
"""

from typing import Final

import httpx

from headgate.kernel.secrets import Secret
from headgate.mfa.model import Person
from headgate.mfa.providers.machine_token import MachineToken
from headgate.mfa.providers.requests import ask, entries, segment

_NAME: Final = "Keycloak"
_GONE: Final = frozenset({404})


class KeycloakFactors:
    """``issuer``: of the realm, ``https://host/realms/NAME``, also where the server lives below a path."""

    def __init__(self, client: httpx.AsyncClient, issuer: str, client_id: str, secret: Secret) -> None:
        base, _, realm = issuer.rpartition("/realms/")
        self._client = client
        self._realm = f"{base}/admin/realms/{segment(realm)}"
        token_url = f"{issuer}/protocol/openid-connect/token"
        self._token = MachineToken(client, _NAME, token_url, {"client_id": client_id}, secret)

    async def count_totp(self, person: Person) -> int:
        return len(await self._otp(person))

    async def remove_totp(self, person: Person) -> int:
        found = await self._otp(person)
        for credential in found:
            url = f"{self._user(person)}/credentials/{segment(credential.get('id'))}"
            await ask(self._client, _NAME, "DELETE", url, headers=await self._token.headers(), accepted=_GONE)
        return len(found)

    async def close_other_sessions(self, person: Person) -> None:
        answer = await ask(
            self._client, _NAME, "GET", f"{self._user(person)}/sessions", headers=await self._token.headers()
        )
        for session in entries(answer, _NAME):
            if session.get("id") == person.session_id:
                continue
            url = f"{self._realm}/sessions/{segment(session.get('id'))}"
            await ask(self._client, _NAME, "DELETE", url, headers=await self._token.headers(), accepted=_GONE)

    async def _otp(self, person: Person) -> list[dict[str, object]]:
        url = f"{self._user(person)}/credentials"
        answer = await ask(self._client, _NAME, "GET", url, headers=await self._token.headers())
        return [one for one in entries(answer, _NAME) if one.get("type") == "otp"]

    def _user(self, person: Person) -> str:
        return f"{self._realm}/users/{segment(person.subject)}"
