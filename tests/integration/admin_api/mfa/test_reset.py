"""An administrator resets the second factors of another person. The first factor is left, and no session."""

import json

from headgate.kernel.clock import system_clock
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.mfa.totp import code_at, step_of
from headgate.organizations.model import Role
from tests.integration.admin_api.mfa.signed_out import until_signed_out

PATH = "/v1/mfa/totp"
CODES = "/v1/mfa/recovery-codes"


async def _enrolled(gate, client):
    """A client whose token says aal2, and the person's id."""
    begun = (await client.post(f"{PATH}/enrol")).json()
    code = code_at(Secret(begun["secret"]), step_of(system_clock()))
    done = await client.post(f"{PATH}/activate", json={"code": code})
    assert done.status_code == 200, done.text
    strong = gate.client(Authorization=f"Bearer {done.json()['token']}")
    return strong, (await strong.get("/auth/session")).json()["user_id"]


def _has_passkey(superuser, org_id: str, user_id: str) -> str:
    passkey_id = new_id(IdPrefix.PASSKEY)
    superuser.execute(
        "INSERT INTO passkeys (org_id, passkey_id, user_id, credential_id, credential, user_handle, sign_count, name,"
        " created_at) VALUES (%s, %s, %s, %s, 'x', 'x', 0, 'Laptop', now())",
        [org_id, passkey_id, user_id, passkey_id.encode()],
    )
    return passkey_id


async def test_everything_is_removed_on_record_and_the_person_begins_anew(gate, person, superuser) -> None:
    strong, user = await _enrolled(gate, person("sam"))
    assert (await strong.post(f"{CODES}/generate")).status_code == 200
    passkey_id = _has_passkey(superuser, gate.org_id, user)
    root, path = person("root", role=Role.ADMIN), f"/admin/users/{user}/factors"
    before = (await root.get(path)).json()
    assert before.pop("authenticator_since") is not None
    assert before == {"managed_by": None, "passkeys": 1, "recovery_codes": 10}
    done = await root.delete(path)
    assert done.json() == {
        "authenticators_removed": 1,
        "passkeys_removed": 1,
        "codes_voided": 10,
        "sessions_ended": 0,
    }
    assert (await root.get(path)).json() == {
        "managed_by": None,
        "authenticator_since": None,
        "passkeys": 0,
        "recovery_codes": 0,
    }
    await until_signed_out(strong)
    kept = "SELECT name FROM vault_secrets WHERE org_id = %s"
    assert superuser.execute(kept, [gate.org_id]).fetchall() == []
    assert (await _enrolled(gate, person("sam")))[1] == user
    root_id = (await root.get("/auth/session")).json()["user_id"]
    for event_type, data in (
        ("mfa_factor.removed", {"type": "totp", "removed": 1}),
        ("passkey.removed", {"passkey_id": passkey_id}),
        ("mfa_codes.purged", {"voided": 10}),
    ):
        (event,) = (await root.get("/admin/audit", params={"event_type": event_type})).json()["data"]
        assert event["actor"]["id"] == root_id
        assert event["data"] == {"user_id": user, "email": "sam@example.com", **data}


async def test_an_unfinished_enrolment_is_none(gate, person) -> None:
    weak = person("sam")
    assert (await weak.post(f"{PATH}/enrol")).status_code == 200
    user = (await weak.get("/auth/session")).json()["user_id"]
    refused = await person("root", role=Role.ADMIN).delete(f"/admin/users/{user}/factors")
    assert (refused.status_code, refused.json()["error"]["message"]) == (409, "This user has no second factor.")
    assert (await weak.get(PATH)).status_code == 200


async def test_who_resets_and_whose(gate, new_gate, person) -> None:
    strong, user = await _enrolled(gate, person("sam"))
    path = f"/admin/users/{user}/factors"
    assert (await person("sam", role=Role.ADMIN).delete(path)).status_code == 409
    for role in (Role.VIEWER, Role.APPROVER, Role.AUDITOR):
        client = person("vic", role=role)
        assert [(await client.get(path)).status_code, (await client.delete(path)).status_code] == [403, 403]
    stranger = (await new_gate()).person()
    assert [(await stranger.get(path)).status_code, (await stranger.delete(path)).status_code] == [404, 404]
    assert (await strong.get(PATH)).json()["active"] is True


async def test_the_factors_of_an_identity_provider_are_reset_there(gate, person, superuser) -> None:
    weak = person("sam")
    user = (await weak.get("/auth/session")).json()["user_id"]
    superuser.execute("UPDATE users SET issuer = 'https://id.example.com' WHERE user_id = %s", [user])
    root, path = person("root", role=Role.ADMIN), f"/admin/users/{user}/factors"
    assert (await root.get(path)).json()["managed_by"] == "https://id.example.com"
    refused = await root.delete(path)
    assert refused.status_code == 409
    assert "https://id.example.com manages" in json.loads(refused.text)["error"]["message"]
