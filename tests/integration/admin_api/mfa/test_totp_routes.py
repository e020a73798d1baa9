"""The second factor of the local issuer: enrolment, aal2 by a code, a code once, unenrolment that purges."""

import asyncio

import pytest

from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.mfa.totp import code_at, step_of
from headgate.organizations.model import Role

PATH = "/v1/mfa/totp"
CODES = "/v1/mfa/recovery-codes"


def _code(secret: str, around: int = 0) -> str:
    return code_at(Secret(secret), step_of(system_clock()) + around)


async def _enrolled(gate, client):
    """The secret, and a client whose token says aal2."""
    begun = (await client.post(f"{PATH}/enrol")).json()
    return begun["secret"], await _exchanged(gate, client, "activate", _code(begun["secret"]))


async def _exchanged(gate, client, route: str, code: str):
    done = await client.post(f"{PATH}/{route}", json={"code": code})
    assert done.status_code == 200, done.text
    return gate.client(Authorization=f"Bearer {done.json()['token']}")


async def _roles(gate, subject: str) -> list[str]:
    users = (await gate.person("root").get("/admin/users?limit=200")).json()["data"]
    return next(one["roles"] for one in users if one["subject"] == subject)


async def test_enrol_activate_and_step_up(gate, person) -> None:
    weak = person()
    assert (await weak.get(PATH)).json() == {"active": False, "activated_at": None}
    secret, strong = await _enrolled(gate, weak)
    assert (await strong.get(PATH)).json()["active"] is True
    assert (await strong.post(f"{CODES}/generate")).status_code == 200
    later = person()
    assert (await later.post(f"{CODES}/generate")).status_code == 403
    code = _code(secret, 1)
    stepped = await later.post(f"{PATH}/step-up", json={"code": code})
    assert (stepped.status_code, stepped.json()["aal"]) == (200, "aal2")
    # The same code, and an earlier one, are used up.
    for used in (code, _code(secret), _code(secret, -1)):
        assert (await later.post(f"{PATH}/step-up", json={"code": used})).status_code == 400


async def test_a_stepped_up_token_has_the_rights_of_the_one_presented(gate, person) -> None:
    secret, _ = await _enrolled(gate, person(role=Role.ADMIN))
    stepped = await person(role=Role.VIEWER).post(f"{PATH}/step-up", json={"code": _code(secret, 1)})
    viewer = gate.client(Authorization=f"Bearer {stepped.json()['token']}")
    assert (await viewer.get("/admin/keys")).status_code == 403


@pytest.mark.parametrize("times", [1, 2])
async def test_stepping_up_an_older_token_brings_no_role_back(gate, person, times: int) -> None:
    """What is kept of a person stays what their newest token said: keys, links and votes go by it."""
    older = person("bob", role=Role.APPROVER)
    secret, _ = await _enrolled(gate, older)
    assert (await person("bob", role=Role.VIEWER).get(PATH)).status_code == 200
    assert await _roles(gate, "bob") == ["viewer"]
    older = await _exchanged(gate, older, "step-up", _code(secret, 1))
    for _ in range(times - 1):
        secret, older = await _enrolled(gate, older)
    gate.api.let_pass(61)
    assert (await older.get("/v1/approvals?status=pending")).status_code == 200
    assert await _roles(gate, "bob") == ["viewer"]
    assert (await older.get("/auth/session")).json()["roles"] == ["approver"]


async def test_activating_with_an_older_token_brings_no_role_back(gate, person) -> None:
    older = person("bob", role=Role.APPROVER)
    assert (await older.get(PATH)).status_code == 200
    assert (await person("bob", role=Role.VIEWER).get(PATH)).status_code == 200
    _, strong = await _enrolled(gate, older)
    gate.api.let_pass(61)
    assert (await strong.get(PATH)).status_code == 200
    assert await _roles(gate, "bob") == ["viewer"]


async def test_a_token_after_a_step_up_is_the_newest(gate, person) -> None:
    await _enrolled(gate, person("bob", role=Role.VIEWER))
    assert (await person("bob", role=Role.APPROVER).get(PATH)).status_code == 200
    assert await _roles(gate, "bob") == ["approver"]


async def test_of_ten_at_once_with_one_code_one_steps_up(gate, person) -> None:
    secret, _ = await _enrolled(gate, person())
    client, code = person(), _code(secret, 1)
    answers = await asyncio.gather(
        *(client.post(f"{PATH}/step-up", json={"code": code}, timeout=60) for _ in range(10))
    )
    assert [one.status_code for one in answers].count(200) == 1


async def test_a_factor_is_replaced_only_by_who_has_it(gate, person) -> None:
    _, strong = await _enrolled(gate, person())
    assert (await person().post(f"{PATH}/enrol")).status_code == 403
    assert (await person().delete(PATH)).status_code == 403
    assert (await strong.post(f"{PATH}/enrol")).status_code == 200
    assert (await person().post(f"{PATH}/activate", json={"code": "000000"})).status_code == 403


async def test_unenrolment_purges_the_codes(gate, person) -> None:
    _, strong = await _enrolled(gate, person())
    await strong.post(f"{CODES}/generate")
    assert (await person().delete(CODES)).status_code == 403  # a factor is left: a password is not enough
    assert (await strong.delete(PATH)).json() == {"factors_removed": 1, "codes_purged": 10}
    assert (await person().get(PATH)).json()["active"] is False


async def test_what_a_factor_had_proved_ends_with_it(gate, person) -> None:
    """Of the token that removed it, too: it says aal2, and there is nothing left that it could have been."""
    _, strong = await _enrolled(gate, person())
    assert (await strong.delete(PATH)).status_code == 200
    gate.api.let_pass(0.6)
    answer = await strong.post(f"{CODES}/generate")
    assert (answer.status_code, answer.json()["error"]["details"]["aal"]) == (403, "aal1")
    assert (await strong.get(PATH)).json()["active"] is False
    _, again = await _enrolled(gate, strong)
    assert (await again.post(f"{CODES}/generate")).status_code == 200
    assert (await strong.post(f"{CODES}/generate")).status_code == 403
    # A factor that is replaced, likewise.
    begun = (await again.post(f"{PATH}/enrol")).json()
    assert (await again.post(f"{PATH}/activate", json={"code": _code(begun["secret"])})).status_code == 200
    gate.api.let_pass(0.6)
    assert (await again.post(f"{CODES}/generate")).status_code == 403


async def test_wrong_codes_from_one_place_lock_that_place_and_an_administrator_unlocks(gate, person) -> None:
    secret, _ = await _enrolled(gate, person("sam"))
    thief, owner = person("sam"), person("sam")
    thief.headers["X-Forwarded-For"], owner.headers["X-Forwarded-For"] = "198.51.100.1", "203.0.113.1"
    wrong = next(one for one in ("000000", "111111") if one not in {_code(secret, around) for around in range(-2, 3)})
    statuses = [(await thief.post(f"{PATH}/step-up", json={"code": wrong})).status_code for _ in range(7)]
    assert statuses == [400] * 5 + [429] * 2
    assert (await owner.post(f"{PATH}/step-up", json={"code": _code(secret, 1)})).status_code == 200
    # From five places the person is locked, everywhere; what a locked place sends counts no more.
    for place in range(2, 7):
        thief.headers["X-Forwarded-For"] = f"198.51.100.{place}"
        for _ in range(5):
            assert (await thief.post(f"{PATH}/step-up", json={"code": wrong})).status_code == 400
    locked = await owner.post(f"{PATH}/step-up", json={"code": wrong})
    assert locked.status_code == 429
    user = (await owner.get("/auth/session")).json()["user_id"]
    root = person("root", role=Role.ADMIN)
    told = (await root.get("/admin/audit", params={"event_type": "mfa.locked"})).json()["data"]
    assert {one["data"]["source"] for one in told} == {None, *(f"198.51.100.{place}" for place in range(1, 6))}
    assert (await person("sam", role=Role.ADMIN).post(f"/admin/users/{user}/unlock")).status_code == 409
    assert (await root.post(f"/admin/users/{user}/unlock")).json() == {"unlocked": ["totp"]}
    assert (await root.post(f"/admin/users/{user}/unlock")).json() == {"unlocked": []}
    assert (await owner.post(f"{PATH}/step-up", json={"code": wrong})).status_code == 400


async def test_a_recovery_code_removes_the_factor_and_its_secret(gate, person, superuser) -> None:
    secret, strong = await _enrolled(gate, person())
    codes = (await strong.post(f"{CODES}/generate")).json()["codes"]
    weak = person()
    recovered = await weak.post(f"{CODES}/verify", json={"code": codes[0]})
    assert recovered.json()["factors_removed"] == 1
    assert (await weak.post(f"{PATH}/step-up", json={"code": _code(secret)})).status_code == 409
    kept = superuser.execute("SELECT name FROM vault_secrets WHERE org_id = %s", [gate.org_id]).fetchall()
    assert kept == []


async def test_wrong_codes_lock(gate, person) -> None:
    secret, _ = await _enrolled(gate, person())
    client = person()
    wrong = next(one for one in ("000000", "111111") if one not in {_code(secret, around) for around in range(-2, 3)})
    for _ in range(5):
        assert (await client.post(f"{PATH}/step-up", json={"code": wrong})).status_code == 400
    assert (await client.post(f"{PATH}/step-up", json={"code": _code(secret)})).status_code == 429


@pytest.mark.own_api
async def test_without_the_master_key_only_second_factors_are_refused(gate, person) -> None:
    await _enrolled(gate, person())
    keys = gate.api.settings.data.master_keys
    await asyncio.to_thread(keys.write_text, '{"current": "k9", "keys": {"k9": "' + "A" * 43 + '="}}')
    client = person()
    refused = await client.post(f"{PATH}/step-up", json={"code": "123456"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert "master key" in refused.json()["error"]["message"]
    assert (await client.get(PATH)).status_code == 200
    assert (await gate.as_agent.post("/v1/actions", json={"tool": "read", "operation": "x", "params": {}})).is_success


@pytest.mark.parametrize("code", ["12345", "1234567", "12345a", "\uff11\uff12\uff13\uff14\uff15\uff16", 123456, None])
async def test_bad_codes(person, code: object) -> None:
    answer = await person().post(f"{PATH}/step-up", json={"code": code})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
