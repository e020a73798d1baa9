"""Supabase Auth: its admin API, with the project's service-role key.

Paths and members follow the service's own description, openapi.yaml of github.com/supabase/auth, and
https://supabase.com/docs/reference/javascript/auth-admin-mfa-deletefactor, which says that removing a verified factor
signs its owner out everywhere; ``logout?scope=others`` is for those who had none.
"""

from typing import Final

import httpx

from headgate.kernel.secrets import Secret
from headgate.mfa.model import Person
from headgate.mfa.providers.requests import ask, entries, segment

_NAME: Final = "Supabase Auth"
_GONE: Final = frozenset({404})
_SIGNED_OUT: Final = frozenset({401, 403, 404})


class SupabaseFactors:
    """``url``: the project's, without ``/auth/v1``."""

    def __init__(self, client: httpx.AsyncClient, url: str, service_key: Secret) -> None:
        self._client = client
        self._url = f"{url}/auth/v1"
        self._service_key = service_key

    async def count_totp(self, person: Person) -> int:
        return sum(one.get("status") == "verified" for one in await self._totp(person))

    async def remove_totp(self, person: Person) -> int:
        removed = 0
        for factor in await self._totp(person):
            path = f"{self._factors(person)}/{segment(factor.get('id'))}"
            await ask(self._client, _NAME, "DELETE", path, headers=self._admin(), accepted=_GONE)
            removed += factor.get("status") == "verified"
        return removed

    async def close_other_sessions(self, person: Person) -> None:
        """With the person's own token; one that is signed out already has closed nothing it could. Whoever came with a
        browser's session has none of the provider's here."""
        if person.token is None:
            return
        headers = {"apikey": self._service_key.reveal(), "authorization": f"Bearer {person.token.reveal()}"}
        url = f"{self._url}/logout"
        await ask(self._client, _NAME, "POST", url, headers=headers, params={"scope": "others"}, accepted=_SIGNED_OUT)

    async def _totp(self, person: Person) -> list[dict[str, object]]:
        answer = await ask(self._client, _NAME, "GET", self._factors(person), headers=self._admin())
        return [one for one in entries(answer, _NAME) if one.get("factor_type") == "totp"]

    def _factors(self, person: Person) -> str:
        return f"{self._url}/admin/users/{segment(person.subject)}/factors"

    def _admin(self) -> dict[str, str]:
        key = self._service_key.reveal()
        return {"apikey": key, "authorization": f"Bearer {key}"}
