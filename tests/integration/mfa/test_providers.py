"""Each adapter against its provider's fake: factors gone, other sessions ended, and one that fails costs nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import httpx
import pytest
from msgspec.structs import replace

from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ConflictError, UnavailableError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.mfa.codes import shown
from headgate.mfa.hashing import Hasher
from headgate.mfa.model import AssuranceLevel, Person
from headgate.mfa.providers.model import FactorProvider
from headgate.mfa.providers.settings import open_provider, provider_settings
from headgate.mfa.recovery import RecoveryCodes
from tests.integration.mfa.fake_providers import (
    CLIENT_ID,
    CLIENT_SECRET,
    SERVICE_KEY,
    FakeAuth0,
    FakeKeycloak,
    FakeProvider,
    FakeSupabase,
)

# Identifiers with what must be escaped in a path.
SUBJECT = "auth0|5f/x y"
PLAIN = "0b8e5d9a-1f5e-4a39-8f5e-2d1c6d1f0a11"
KINDS = {
    "supabase": (FakeSupabase, "https://acme.supabase.test/auth/v1", PLAIN),
    "keycloak": (FakeKeycloak, "https://sso.test/auth/realms/acme", PLAIN),
    "auth0": (FakeAuth0, "https://acme.auth0.test/", SUBJECT),
}


def _factors(kind: str) -> list[dict[str, object]]:
    """Two active TOTP factors, one that was begun, and something else that must stay."""
    if kind == "supabase":
        made = [
            ("f1", "totp", "verified"),
            ("f2", "totp", "verified"),
            ("f3", "totp", "unverified"),
            ("f4", "phone", "verified"),
        ]
        return [{"id": one, "factor_type": kind_, "status": status} for one, kind_, status in made]
    if kind == "keycloak":
        return [{"id": "c1", "type": "otp"}, {"id": "c2", "type": "otp"}, {"id": "c3", "type": "password"}]
    others = [{"id": f"phone|{number}", "type": "phone", "confirmed": True} for number in range(60)]
    return [
        *others,
        {"id": "totp|dev_1", "type": "totp", "confirmed": True},
        {"id": "totp|dev_2", "type": "totp", "confirmed": True},
        {"id": "totp|dev_3", "type": "totp", "confirmed": False},
    ]


@dataclass
class Setup:
    kind: str
    fake: FakeProvider
    client: httpx.AsyncClient
    provider: FactorProvider
    person: Person


@pytest.fixture(params=list(KINDS))
async def setup(request: pytest.FixtureRequest, organization) -> AsyncIterator[Setup]:
    make, issuer, subject = KINDS[request.param]
    fake = make(factors={subject: _factors(request.param)}, sessions={subject: ["own", "s2", "s3"], "bob": ["b1"]})
    secret = Secret(SERVICE_KEY if request.param == "supabase" else CLIENT_SECRET)
    url = issuer.rstrip("/") if request.param == "auth0" else None
    settings = provider_settings(request.param, issuer=issuer, url=url, client_id=CLIENT_ID, secret=secret)
    assert settings is not None
    person = Person(
        organization.org_id, "usr_1", issuer, subject, "alice@example.com", SYSTEM, AssuranceLevel.AAL2,
        Secret("own"), session_id="own",
    )  # fmt: skip
    async with fake.client() as client:
        yield Setup(request.param, fake, client, open_provider(settings, client), person)


def _recovery(setup: Setup, database: Database) -> RecoveryCodes:
    return RecoveryCodes(database, Hasher(), {setup.person.issuer: setup.provider}, system_clock)


async def test_factors_are_counted_and_removed_and_nothing_else(setup: Setup) -> None:
    subject = setup.person.subject
    others = [one for one in setup.fake.factors[subject] if "totp" not in one.values() and "otp" not in one.values()]
    assert await setup.provider.count_totp(setup.person) == 2
    assert await setup.provider.remove_totp(setup.person) == 2
    assert setup.fake.factors[subject] == others
    assert await setup.provider.remove_totp(setup.person) == 0
    assert setup.fake.tokens_made <= 1


async def test_other_sessions_end_and_ones_own_goes_on(setup: Setup) -> None:
    await setup.provider.close_other_sessions(setup.person)
    assert setup.fake.sessions == {setup.person.subject: ["own"], "bob": ["b1"]}
    await setup.provider.close_other_sessions(setup.person)


async def test_more_sessions_than_one_page(setup: Setup) -> None:
    setup.fake.sessions[setup.person.subject] = ["own", *(f"s{number}" for number in range(120))]
    await setup.provider.close_other_sessions(setup.person)
    assert setup.fake.sessions[setup.person.subject] == ["own"]


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
async def test_a_provider_that_refuses_costs_neither_code_nor_attempt(
    setup: Setup, api_database: Database, status: int
) -> None:
    recovery = _recovery(setup, api_database)
    [code, *_] = (await recovery.generate(setup.person)).codes
    setup.fake.failing = status
    for _ in range(6):
        with pytest.raises(UnavailableError, match=r"[Nn]othing was consumed") as refused:
            await recovery.verify(setup.person, shown(code))
        assert SERVICE_KEY not in refused.value.message and CLIENT_SECRET not in refused.value.message
    setup.fake.failing = None
    done = await recovery.verify(setup.person, shown(code))
    assert (done.factors_removed, done.codes_voided) == (2, 9)
    with pytest.raises(ValidationError):
        await recovery.verify(setup.person, shown(code))


async def test_a_provider_that_does_not_answer(setup: Setup, api_database: Database) -> None:
    recovery = _recovery(setup, api_database)
    [code, *_] = (await recovery.generate(setup.person)).codes
    async with httpx.AsyncClient() as nobody:
        settings = provider_settings(
            setup.kind,
            issuer="http://127.0.0.1:9/realms/acme",
            url="http://127.0.0.1:9",
            client_id=CLIENT_ID,
            secret=Secret("x"),
        )
        assert settings is not None
        silent = RecoveryCodes(
            api_database, Hasher(), {setup.person.issuer: open_provider(settings, nobody)}, system_clock
        )
        with pytest.raises(UnavailableError, match="does not answer"):
            await silent.verify(setup.person, shown(code))
    assert (await recovery.verify(setup.person, shown(code))).factors_removed == 2


async def test_a_password_alone_purges_only_where_no_factor_is_left(setup: Setup, api_database: Database) -> None:
    from headgate.kernel.errors import ForbiddenError  # noqa: PLC0415

    recovery, weak = _recovery(setup, api_database), replace(setup.person, level=AssuranceLevel.AAL1)
    await recovery.generate(setup.person)
    with pytest.raises(ForbiddenError):
        await recovery.purge(weak)
    await setup.provider.remove_totp(setup.person)
    assert await recovery.purge(weak) == 10


class _Meanwhile:
    """A provider in front of whose last answer something else happens."""

    def __init__(self, provider: FactorProvider, happens: Callable[[], Awaitable[object]]) -> None:
        self._provider = provider
        self._happens = happens

    async def count_totp(self, person: Person) -> int:
        return await self._provider.count_totp(person)

    async def remove_totp(self, person: Person) -> int:
        return await self._provider.remove_totp(person)

    async def close_other_sessions(self, person: Person) -> None:
        await self._provider.close_other_sessions(person)
        await self._happens()


async def test_codes_that_end_while_one_is_used_leave_on_record_what_it_did(
    setup: Setup, api_database: Database, superuser
) -> None:
    """Who has stolen a password and a code would otherwise remove the factors, purge the codes meanwhile, and be seen
    doing neither: the sessions of the owner would go on, and nobody be told."""
    plain, weak = _recovery(setup, api_database), replace(setup.person, level=AssuranceLevel.AAL1)
    [code, *_] = (await plain.generate(setup.person)).codes
    provider = _Meanwhile(setup.provider, lambda: plain.purge(weak))
    recovery = RecoveryCodes(api_database, Hasher(), {setup.person.issuer: provider}, system_clock)
    with pytest.raises(ConflictError, match="2 factors are removed"):
        await recovery.verify(weak, shown(code))
    found = superuser.execute(
        "SELECT event_type FROM journal WHERE org_id = %s ORDER BY journal_id", [setup.person.org_id]
    )
    assert [one for (one,) in found] == ["mfa_codes.generated", "mfa_codes.purged", "mfa_factor.removed"]
    closed = superuser.execute("SELECT user_id FROM closed_sessions WHERE org_id = %s", [setup.person.org_id])
    assert closed.fetchall() == [(setup.person.user_id,)]


async def test_without_a_provider_the_issuers_people_are_told_so(setup: Setup, api_database: Database) -> None:
    recovery = RecoveryCodes(api_database, Hasher(), {}, system_clock)
    with pytest.raises(UnavailableError, match="HEADGATE_MFA_PROVIDER"):
        await recovery.verify(setup.person, "7KQ2-M4XW-9TBC")


async def test_a_plan_without_sessions(organization) -> None:
    fake = FakeAuth0(sessions={SUBJECT: ["own", "s2"]}, has_session_api=False)
    settings = provider_settings(
        "auth0", issuer="https://acme.auth0.test/", url="https://acme.auth0.test", client_id=CLIENT_ID,
        secret=Secret(CLIENT_SECRET),
    )  # fmt: skip
    assert settings is not None
    person = Person(
        organization.org_id, "usr_1", settings.issuer, SUBJECT, None, SYSTEM, AssuranceLevel.AAL1, Secret("own"), "own"
    )
    async with fake.client() as client:
        await open_provider(settings, client).close_other_sessions(person)
    assert fake.sessions[SUBJECT] == ["own", "s2"]
