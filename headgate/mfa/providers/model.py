"""What recovering asks of an identity provider, whichever it is.

Each of these may be done again: a verification whose process died is repeated, and removing what is not there any more
is no error.
"""

from typing import Protocol

from headgate.mfa.model import Person


class FactorProvider(Protocol):
    """Every method raises UnavailableError where the provider is out of reach or refuses."""

    async def count_totp(self, person: Person) -> int:
        """How many active TOTP factors they have."""
        ...

    async def remove_totp(self, person: Person) -> int:
        """Remove them all, those that were begun and not finished too; how many active ones that were."""
        ...

    async def close_other_sessions(self, person: Person) -> None:
        """All but the one of ``person.token``, as far as the provider tells sessions apart."""
        ...
