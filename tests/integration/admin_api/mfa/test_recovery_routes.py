"""Recovery codes through the API: who may, how often, once each, and what is left of them in database and record."""

import asyncio
import re

import pytest

from headgate.agents.scopes import Scope
from tests.integration.admin_api.mfa.signed_out import until_signed_out

PATH = "/v1/mfa/recovery-codes"
ALL = [("POST", f"{PATH}/generate"), ("GET", f"{PATH}/status"), ("POST", f"{PATH}/verify"), ("DELETE", PATH)]


async def _codes(client) -> list[str]:
    answer = await client.post(f"{PATH}/generate")
    assert answer.status_code == 200, answer.text
    return answer.json()["codes"]


async def _verify(client, code: str):
    return await client.post(f"{PATH}/verify", json={"code": code}, timeout=60)


def _events(superuser, org_id: str) -> list[str]:
    """In the journal, in order: nothing is applied here."""
    found = superuser.execute(
        "SELECT event_type FROM journal WHERE org_id = %s AND event_type LIKE 'mfa%%' ORDER BY journal_id", [org_id]
    )
    return [event_type for (event_type,) in found.fetchall()]


async def test_from_ten_codes_to_one_used(gate, person, superuser) -> None:
    strong = person(aal="aal2")
    codes = await _codes(strong)
    assert len(set(codes)) == 10
    assert all(re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}", one) for one in codes)
    status = (await strong.get(f"{PATH}/status")).json()
    assert (status["unused"], status["total"]) == (10, 10)
    used = await _verify(person(), codes[3].lower().replace("-", " "))
    assert used.status_code == 200, used.text
    assert used.json() == {"verified": True, "factors_removed": 0, "codes_voided": 9, "other_sessions_closed": True}
    assert (await person(aal="aal2").get(f"{PATH}/status")).json()["total"] == 0
    again = await _verify(person(), codes[3])
    assert (again.status_code, again.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert _events(superuser, gate.org_id) == [
        "mfa_codes.generated", "mfa_code.used", "mfa_codes.purged", "mfa.refused",
    ]  # fmt: skip


async def test_which_session_each_route_needs(gate, person) -> None:
    weak = person()
    for method, path in ALL[:2]:
        refused = await weak.request(method, path)
        assert (refused.status_code, refused.json()["error"]["details"]["required_aal"]) == (403, "aal2"), path
    for odd in ("aal2", "aal3"):
        assert (await person(aal=odd).get(f"{PATH}/status")).status_code == 200
    for odd in ("", "AAL2", "aal9", "2", "urn:aal2"):
        assert (await person(aal=odd).get(f"{PATH}/status")).status_code == 403
    key = await gate.key(Scope.ADMIN)
    for method, path in ALL:
        refused = await key.request(method, path, json={"code": "7KQ2-M4XW-9TBC"} if path.endswith("/verify") else None)
        assert refused.status_code == 403, path
        assert "not an API key" in refused.json()["error"]["message"]
        assert (await gate.client().request(method, path)).status_code == 401
        assert (await gate.as_agent.request(method, path)).status_code == 403  # a valid key, and no person


async def test_both_answers_say_the_same_moment(person) -> None:
    strong = person(aal="aal2")
    made = (await strong.post(f"{PATH}/generate")).json()
    assert (await strong.get(f"{PATH}/status")).json()["generated_at"] == made["generated_at"]


async def test_new_codes_void_the_old_ones_and_a_purge_all(person) -> None:
    strong = person(aal="aal2")
    old = await _codes(strong)
    new = await _codes(strong)
    assert (await _verify(person(), old[0])).status_code == 400
    assert (await _verify(strong, new[0])).status_code == 200
    assert (await strong.delete(PATH)).json() == {"purged": 0}  # they ended with the factor
    assert (await person(aal="aal2").get(f"{PATH}/status")).json() == {"unused": 0, "total": 0, "generated_at": None}
    assert (await _verify(person(), new[1])).status_code == 400
    # Nothing is left to recover from, so that a password is enough.
    assert (await person().delete(PATH)).json() == {"purged": 0}


async def test_of_fifty_verifications_of_one_code_one_succeeds(person) -> None:
    codes = await _codes(person(aal="aal2"))
    clients = [person() for _ in range(50)]
    answers = await asyncio.gather(*(_verify(client, codes[0]) for client in clients))
    statuses = [one.status_code for one in answers]
    assert statuses.count(200) == 1
    assert set(statuses) <= {200, 400, 401, 429}
    assert (await person(aal="aal2").get(f"{PATH}/status")).json()["unused"] == 0


async def test_five_wrong_ones_lock_this_person_and_nobody_else(gate, person, superuser) -> None:
    codes = await _codes(person(aal="aal2"))
    other = await _codes(person("bob", "aal2"))
    weak = person()
    for _ in range(5):
        assert (await _verify(weak, "0000-0000-0000")).status_code == 400
    locked = await _verify(weak, codes[0])
    assert (locked.status_code, locked.json()["error"]["code"]) == (429, "RATE_LIMITED")
    assert 0 < int(locked.headers["Retry-After"]) <= 900
    assert (await _verify(person("bob"), other[0])).status_code == 200
    assert _events(superuser, gate.org_id).count("mfa.locked") == 1
    # Of the wrong form is no guess.
    assert (await _verify(person("carol"), "nonsense")).status_code == 400
    superuser.execute(
        "UPDATE mfa_attempts SET locked_until = now() - interval '1 second' WHERE org_id = %s", [gate.org_id]
    )
    assert (await _verify(person(), codes[0])).status_code == 200


async def test_another_persons_code_is_no_code(person) -> None:
    theirs = await _codes(person("bob", "aal2"))
    await _codes(person(aal="aal2"))
    assert (await _verify(person(), theirs[0])).status_code == 400


async def test_other_sessions_are_closed_and_the_one_that_asked_goes_on(person) -> None:
    earlier, strong = person(), person(aal="aal2")
    codes = await _codes(strong)
    asking = person()
    assert (await _verify(asking, codes[0])).status_code == 200
    for closed in (earlier, strong):
        await until_signed_out(closed)
    assert (await asking.get("/v1/mfa/totp")).status_code == 200
    assert (await person().get("/v1/mfa/totp")).status_code == 200


async def test_no_code_is_stored_recorded_or_told(gate, person, superuser) -> None:
    codes = await _codes(person("bob", aal="aal2"))
    await _verify(person(), (await _codes(person(aal="aal2")))[0])
    [rows] = superuser.execute(
        "SELECT (SELECT coalesce(string_agg(t::text, ''), '') FROM mfa_recovery_codes t WHERE org_id = %s)"
        " || (SELECT string_agg(payload, '') FROM journal WHERE org_id = %s)",
        [gate.org_id, gate.org_id],
    ).fetchall()
    assert not any(one.replace("-", "") in rows[0].upper().replace("-", "") for one in codes)


@pytest.mark.parametrize("body", [{}, {"code": 1}, {"code": ""}, {"code": "0" * 65}, {"code": "0", "extra": 1}, []])
async def test_bad_bodies(person, body: object) -> None:
    answer = await person().post(f"{PATH}/verify", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
