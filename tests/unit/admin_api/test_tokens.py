"""Forged, borrowed, outdated and ambiguous tokens: a table of attacks, and the few tokens that pass."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from msgspec.structs import replace

from admin_api.claims import ClaimNames
from admin_api.jwks import FixedKeys, VerificationKey, algorithms_of
from admin_api.tokens import TokenVerifier, TrustedIssuer
from headgate.kernel.errors import UnauthorizedError
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
T = int(NOW.timestamp())
ISSUER, AUDIENCE = "https://id.example.com", "headgate"

ED = ed25519.Ed25519PrivateKey.generate()
RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
STRANGER = ed25519.Ed25519PrivateKey.generate()

KEYS = FixedKeys(
    {
        "ed": VerificationKey(ED.public_key(), algorithms_of(ED.public_key())),
        "rsa": VerificationKey(RSA.public_key(), algorithms_of(RSA.public_key())),
        "ec": VerificationKey(EC.public_key(), algorithms_of(EC.public_key())),
        "rs256 only": VerificationKey(RSA.public_key(), frozenset({"RS256"})),
    }
)
TRUSTED = TrustedIssuer(ISSUER, AUDIENCE, KEYS)
PARTIES = replace(TRUSTED, authorized_parties=frozenset({"cli"}))
CLAIMS: dict[str, object] = {
    "iss": ISSUER,
    "aud": AUDIENCE,
    "sub": "alice",
    "org_id": "org_1",
    "roles": ["approver", "someone else's role"],
    "aal": "aal2",
    "email": "alice@example.com",
    "email_verified": True,
    "iat": T,
    "exp": T + 60,
}


def encode(part: object) -> str:
    text = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def sign(header: object, claims: object) -> str:
    """Any header and any claims, however odd, under the issuer's own key."""
    signed = f"{encode(header)}.{encode(claims)}"
    return f"{signed}.{encode(ED.sign(signed.encode()))}"


def mint(**changes: object) -> str:
    claims = {name: value for name, value in (CLAIMS | changes).items() if value is not None}
    return jwt.encode(claims, ED, algorithm="EdDSA", headers={"kid": "ed"})


def with_hmac_of(public_key: bytes) -> str:
    signed = f"{encode({'alg': 'HS256', 'typ': 'JWT', 'kid': 'rsa'})}.{encode(CLAIMS)}"
    return f"{signed}.{encode(hmac.digest(public_key, signed.encode(), hashlib.sha256))}"


RSA_PEM = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
GOOD_HEADER = {"alg": "EdDSA", "kid": "ed"}
GOOD = sign(GOOD_HEADER, CLAIMS)


async def verify(token: str, trusted: TrustedIssuer = TRUSTED):
    return await TokenVerifier([trusted], clock=lambda: NOW).verify(Secret(token))


@pytest.mark.parametrize(
    ("algorithm", "key", "key_id"),
    [("EdDSA", ED, "ed"), ("RS256", RSA, "rsa"), ("PS256", RSA, "rsa"), ("ES256", EC, "ec")],
)
async def test_tokens_that_pass(algorithm: str, key: object, key_id: str) -> None:
    token = jwt.encode(CLAIMS, key, algorithm=algorithm, headers={"kid": key_id})  # type: ignore[arg-type] - the table's
    verified = await verify(token)
    assert verified.identity.org_id == "org_1"
    assert verified.identity.subject == "alice"
    assert verified.identity.email == "alice@example.com"
    assert verified.identity.roles == {Role.APPROVER}
    assert verified.aal == "aal2"


@pytest.mark.parametrize(
    ("attack", "token", "message"),
    [
        ("no signature at all", f"{encode({'alg': 'none', 'kid': 'ed'})}.{encode(CLAIMS)}.", "algorithm"),
        ("none, in another case", f"{encode({'alg': 'nOnE', 'kid': 'ed'})}.{encode(CLAIMS)}.", "algorithm"),
        ("the signature left out", GOOD.rpartition(".")[0] + ".", "signature"),
        ("the public key as an HMAC's secret", with_hmac_of(RSA_PEM), "algorithm"),
        ("ES512", jwt.encode(CLAIMS, ec.generate_private_key(ec.SECP521R1()), "ES512", {"kid": "ec"}), "algorithm"),
        ("another key under the same id", jwt.encode(CLAIMS, STRANGER, "EdDSA", {"kid": "ed"}), "signature"),
        ("an unknown key id", jwt.encode(CLAIMS, ED, "EdDSA", {"kid": "other"}), "does not publish"),
        ("a path as key id", jwt.encode(CLAIMS, ED, "EdDSA", {"kid": "../../dev/null"}), "does not publish"),
        ("no key id", jwt.encode(CLAIMS, ED, "EdDSA"), "kid"),
        ("a key id that is no text", sign({"alg": "EdDSA", "kid": 7}, CLAIMS), "kid"),
        ("the RSA key's id with EdDSA", jwt.encode(CLAIMS, ED, "EdDSA", {"kid": "rsa"}), "not for"),
        ("an algorithm that its key excludes", jwt.encode(CLAIMS, RSA, "PS256", {"kid": "rs256 only"}), "not for"),
        (
            "a key of the attacker's in the header",
            jwt.encode(
                CLAIMS,
                STRANGER,
                "EdDSA",
                {
                    "kid": "ed",
                    "jwk": {"kty": "OKP", "crv": "Ed25519", "x": encode(STRANGER.public_key().public_bytes_raw())},
                },
            ),
            "signature",
        ),
        (
            "key addresses of the attacker's",
            jwt.encode(
                CLAIMS,
                STRANGER,
                "EdDSA",
                {"kid": "mine", "jku": "https://evil.example/k", "x5u": "https://evil.example/c"},
            ),
            "does not publish",
        ),
        ("a critical extension", sign(GOOD_HEADER | {"crit": ["exp"], "exp": 1}, CLAIMS), "crit"),
        ("an unencoded payload", sign(GOOD_HEADER | {"crit": ["b64"], "b64": False}, CLAIMS), "crit"),
        ("another issuer", mint(iss="https://evil.example.com"), "issuer"),
        ("the issuer with a slash", mint(iss=ISSUER + "/"), "issuer"),
        ("no issuer", mint(iss=None), "issuer"),
        ("an issuer that is a list", sign(GOOD_HEADER, CLAIMS | {"iss": [ISSUER]}), "issuer"),
        ("another audience", mint(aud="somebody else"), "audience"),
        ("other audiences", mint(aud=["a", "b"]), "audience"),
        ("no audience", mint(aud=None), "audience"),
        ("two audiences, given to nobody", mint(aud=["another", AUDIENCE]), "azp"),
        ("two audiences, given to a stranger", mint(aud=["another", AUDIENCE], azp="another"), "azp"),
        ("given to a list", sign(GOOD_HEADER, CLAIMS | {"aud": ["a", AUDIENCE], "azp": ["headgate"]}), "azp"),
        ("expired", mint(exp=T - 31), "expired"),
        ("no expiry", mint(exp=None), "no expiry"),
        ("an expiry in text", sign(GOOD_HEADER, CLAIMS | {"exp": str(T + 60)}), "exp is not a time"),
        ("an expiry that is true", sign(GOOD_HEADER, CLAIMS | {"exp": True}), "exp is not a time"),
        ("not yet valid", mint(nbf=T + 31), "not valid yet"),
        ("issued in the future", mint(iat=T + 31), "not valid yet"),
        ("nobody", mint(sub=None), "names no subject"),
        ("an empty subject", mint(sub=""), "names no subject"),
        ("a subject with NUL", mint(sub="alice\0"), "names no subject"),
        ("no organization", mint(org_id=None), "no organization"),
        ("an organization that is a list", sign(GOOD_HEADER, CLAIMS | {"org_id": ["org_1"]}), "no organization"),
        (
            "a claim twice",
            sign(GOOD_HEADER, json.dumps(CLAIMS).encode()[:-1] + b', "sub": "bob"}'),
            "malformed",
        ),
        ("a header member twice", sign(b'{"alg":"none","alg":"EdDSA","kid":"ed"}', CLAIMS), "malformed"),
        ("claims that are a list", sign(GOOD_HEADER, [CLAIMS]), "malformed"),
        ("claims that are not JSON", sign(GOOD_HEADER, b"alice"), "malformed"),
        ("not base64url", f"{encode(GOOD_HEADER)}.!!!!.{'A' * 86}", "malformed"),
        (
            "one character of the signature changed",
            GOOD[:-5] + ("A" if GOOD[-5] != "A" else "B") + GOOD[-4:],
            "signature",
        ),
        ("a signature with bits that nobody reads", GOOD[:-1] + chr(ord(GOOD[-1]) + 1), "malformed"),
        ("a signature with a line end in it", GOOD[:-5] + "\n" + GOOD[-5:], "malformed"),
        ("a signature with padding", GOOD + "==", "malformed"),
        ("a signature in the other alphabet", GOOD.rpartition(".")[0] + "." + "+" * 86, "malformed"),
        ("claims with padding", GOOD.replace(".", "=.", 2), "malformed"),
        ("deeply nested", sign(GOOD_HEADER, b'{"a":' * 2000 + b"1" + b"}" * 2000), "malformed"),
        ("encrypted (five parts)", "a.b.c.d.e", "expected an API key or a JWT"),
        ("not a token", "alice", "expected an API key or a JWT"),
        ("far too long", GOOD + "A" * 20_000, "expected an API key or a JWT"),
    ],
)
async def test_tokens_that_do_not(attack: str, token: str, message: str) -> None:
    with pytest.raises(UnauthorizedError, match=message):
        await verify(token)


@pytest.mark.parametrize(
    ("trusted", "claims", "expected"),
    [
        (TRUSTED, {"exp": T - 29}, "org_1"),
        (TRUSTED, {"nbf": T + 29, "iat": T + 29}, "org_1"),
        (TRUSTED, {"aud": ["another", AUDIENCE], "azp": AUDIENCE}, "org_1"),
        (TRUSTED, {"azp": "any client, for us alone"}, "org_1"),
        (PARTIES, {"azp": "cli"}, "org_1"),
        (PARTIES, {"azp": AUDIENCE}, "org_1"),
        (PARTIES, {"client_id": "cli"}, "org_1"),  # RFC 9068, section 2.2
        (PARTIES, {"aud": ["another", AUDIENCE], "azp": "cli"}, "org_1"),
        (replace(TRUSTED, default_organization="org_9"), {"org_id": None}, "org_9"),
        (replace(TRUSTED, organizations=frozenset({"org_1"})), {}, "org_1"),
        (replace(TRUSTED, claims=ClaimNames(organization="tenant")), {"tenant": "org_2"}, "org_2"),
        (
            replace(TRUSTED, claims=ClaimNames(organization="https://example.com/org")),
            {"https://example.com/org": "org_3"},
            "org_3",
        ),
    ],
)
async def test_what_a_configured_issuer_may_say(
    trusted: TrustedIssuer, claims: dict[str, object], expected: str
) -> None:
    assert (await verify(mint(**claims), trusted)).identity.org_id == expected


async def test_an_issuer_speaks_for_its_organizations_only() -> None:
    with pytest.raises(UnauthorizedError, match="does not belong to its issuer"):
        await verify(mint(org_id="org_2"), replace(TRUSTED, organizations=frozenset({"org_1"})))


@pytest.mark.parametrize(
    ("claim", "value", "roles"),
    [
        ("roles", "admin viewer", {Role.ADMIN, Role.VIEWER}),
        ("roles", None, set()),
        ("roles", ["Admin", 1, None, {"admin": True}], set()),
        ("roles", {"admin": True}, set()),
        ("realm_access", {"roles": ["auditor"]}, {Role.AUDITOR}),
    ],
)
async def test_roles(claim: str, value: object, roles: set[Role]) -> None:
    names = ClaimNames(roles="realm_access.roles" if claim == "realm_access" else "roles")
    verified = await verify(mint(**({"roles": None} | {claim: value})), replace(TRUSTED, claims=names))
    assert verified.identity.roles == roles


@pytest.mark.parametrize("verified", [False, None, "true", 1])
async def test_an_address_that_is_not_verified_is_nobodys(verified: object) -> None:
    assert (await verify(mint(email_verified=verified))).identity.email is None


async def test_whom_a_token_was_given_to() -> None:
    for claims in ({}, {"azp": "stranger"}, {"client_id": "stranger"}):
        with pytest.raises(UnauthorizedError, match="azp"):
            await verify(mint(**claims), PARTIES)


@pytest.mark.parametrize(
    ("claim", "value", "aal"),
    [
        ("aal", "aal1", "aal1"),
        ("aal", "aal9", None),
        ("aal", 2, None),
        ("acr", "urn:example:mfa", "aal2"),
        ("acr", "urn:example:password", None),
        ("amr", ["pwd"], None),
        ("amr", ["pwd", "otp", "mfa"], "aal2"),
        ("amr", ["pwd", "hwk", "mfa"], "aal3"),
        ("amr", [["mfa"], None], None),
    ],
)
async def test_how_a_person_proved_themselves(claim: str, value: object, aal: str | None) -> None:
    names = ClaimNames(aal=claim, aal_values={"urn:example:mfa": "aal2", "hwk": "aal3"})
    verified = await verify(mint(**({"aal": None} | {claim: value})), replace(TRUSTED, claims=names))
    assert verified.aal == aal


@pytest.mark.parametrize(("trusted", "roles"), [(False, {Role.ADMIN}), (True, {Role.ADMIN, Role.OPERATOR})])
async def test_not_every_issuer_names_operators(trusted: bool, roles: set[Role]) -> None:
    names = ClaimNames(role_values={"gate-operators": Role.OPERATOR})
    issuer = replace(TRUSTED, claims=names, names_operators=trusted)
    for claim in (["admin", "operator"], ["admin", "gate-operators"]):
        assert (await verify(mint(roles=claim), issuer)).identity.roles == roles


async def test_an_issuers_own_names_of_roles() -> None:
    names = ClaimNames(roles="groups", role_values={"cn=gate-admins": Role.ADMIN})
    verified = await verify(mint(groups=["cn=gate-admins", "viewer", "admins"]), replace(TRUSTED, claims=names))
    assert verified.identity.roles == {Role.ADMIN, Role.VIEWER}


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"nonce": "another"}, "nonce"), ({"nonce": None}, "nonce"), ({"aud": AUDIENCE}, "audience"),
     ({"aud": ["web", "x"], "azp": None}, "azp"), ({"azp": "another"}, "azp")],
)  # fmt: skip
async def test_an_id_token_answers_one_login_at_one_client(changes: dict[str, object], message: str) -> None:
    verifier = TokenVerifier([TRUSTED], clock=lambda: NOW)
    good: dict[str, object] = {"aud": "web", "nonce": "n", "azp": "web"}

    async def check(**claims: object) -> None:
        await verifier.verify_login(Secret(mint(**(good | claims))), issuer=ISSUER, client_id="web", nonce="n")

    await check()
    await check(azp=None)
    with pytest.raises(UnauthorizedError, match=message):
        await check(**changes)
    with pytest.raises(UnauthorizedError, match="another issuer"):
        await verifier.verify_login(Secret(mint(**good)), issuer="https://other", client_id="web", nonce="n")
