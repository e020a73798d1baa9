"""Auth0: its Management API v2, as a machine-to-machine application with the scopes ``read:authentication_methods``,
``delete:authentication_methods``, ``read:sessions`` and ``delete:sessions``.

Follows https://auth0.com/docs/secure/multi-factor-authentication/manage-mfa-auth0-apis/manage-authentication-methods-with-management-api
and https://auth0.com/docs/manage-users/sessions/manage-user-sessions-with-auth0-management-api (a session's id is the
claim ``sid``; lists are followed by their ``next``). Tenants whose plan has no session API answer 403: Headgate's own
refusal of earlier tokens is then all there is.
"""

from typing import Any, Final

import httpx

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.mfa.model import Person
from headgate.mfa.providers.machine_token import MachineToken
from headgate.mfa.providers.requests import ask, entries, segment

_NAME: Final = "Auth0"
_GONE: Final = frozenset({404})
_NOT_IN_PLAN: Final = 403
_PAGE: Final = 50
_MOST_PAGES: Final = 20


class Auth0Factors:
    """``url``: the tenant's domain, ``https://TENANT.auth0.com``."""

    def __init__(self, client: httpx.AsyncClient, url: str, client_id: str, secret: Secret) -> None:
        self._client = client
        self._api = f"{url}/api/v2"
        form = {"client_id": client_id, "audience": f"{self._api}/"}
        self._token = MachineToken(client, _NAME, f"{url}/oauth/token", form, secret)

    async def count_totp(self, person: Person) -> int:
        return sum(one.get("confirmed") is not False for one in await self._totp(person))

    async def remove_totp(self, person: Person) -> int:
        found = await self._totp(person)
        for method in found:
            url = f"{self._user(person)}/authentication-methods/{segment(method.get('id'))}"
            await ask(self._client, _NAME, "DELETE", url, headers=await self._token.headers(), accepted=_GONE)
        return sum(one.get("confirmed") is not False for one in found)

    async def close_other_sessions(self, person: Person) -> None:
        for session_id in await self._sessions(person):
            if session_id != person.session_id:
                url = f"{self._api}/sessions/{segment(session_id)}"
                await ask(self._client, _NAME, "DELETE", url, headers=await self._token.headers(), accepted=_GONE)

    async def _totp(self, person: Person) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        url = f"{self._user(person)}/authentication-methods"
        for page in range(_MOST_PAGES):
            answer = await ask(
                self._client, _NAME, "GET", url,
                headers=await self._token.headers(), params={"page": page, "per_page": _PAGE},
            )  # fmt: skip
            listed = entries(answer, _NAME)
            found += [one for one in listed if one.get("type") == "totp"]
            if len(listed) < _PAGE:
                return found
        raise UnavailableError(f"the identity provider ({_NAME}) lists more methods than a person has")

    async def _sessions(self, person: Person) -> list[str]:
        found: list[str] = []
        parameters: dict[str, str | int] = {"take": _PAGE}
        for _ in range(_MOST_PAGES):
            answer = await ask(
                self._client, _NAME, "GET", f"{self._user(person)}/sessions",
                headers=await self._token.headers(), params=parameters, accepted=frozenset({_NOT_IN_PLAN}),
            )  # fmt: skip
            if answer.status_code == _NOT_IN_PLAN:
                return []
            found += [str(one.get("id")) for one in entries(answer, _NAME, "sessions")]
            following = answer.json().get("next")
            if not isinstance(following, str) or not following:
                return found
            parameters["from"] = following
        return found

    def _user(self, person: Person) -> str:
        return f"{self._api}/users/{segment(person.subject)}"
