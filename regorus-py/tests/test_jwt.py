"""Tokens: made by another library, and by those who would like to make them."""

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID
from regorus import EvaluationError, Policy

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
P256, P384, P521 = (ec.generate_private_key(curve()) for curve in (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1))
ED25519 = ed25519.Ed25519PrivateKey.generate()
SECRET = "a secret of more than thirty-two bytes, for HS256, and of sixty-four for HS512"
CLAIMS = {"iss": "headgate", "aud": ["agents"], "sub": "a", "exp": 4_000_000_000, "nbf": 1_000_000_000}


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def certificate(key: rsa.RSAPrivateKey) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "headgate")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def json_key(algorithm: str, key: object, **members: str) -> dict[str, object]:
    return {**json.loads(jwt.get_algorithm_by_name(algorithm).to_jwk(key)), **members}


def part(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def ask(expression: str, **document: object) -> object:
    policy = Policy(f"package p\nx := {expression}", time_limit_milliseconds=2_000)
    return json.loads(policy.query("x", json.dumps(document).encode()))


def refusal(expression: str, **document: object) -> str:
    with pytest.raises(EvaluationError) as caught:
        ask(expression, **document)
    assert caught.value.kind == "error"
    return caught.value.reason


KEYS = {"RS": RSA, "PS": RSA, "ES256": P256, "ES384": P384, "ES512": P521, "EdDSA": ED25519}
ASYMMETRIC = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


@pytest.mark.parametrize("algorithm", ASYMMETRIC)
def test_each_algorithm_verifies_what_another_library_signed(algorithm: str) -> None:
    key = KEYS.get(algorithm) or KEYS[algorithm[:2]]
    token = jwt.encode(CLAIMS, key, algorithm, headers={"kid": "k1"})
    function = f"io.jwt.verify_{algorithm.lower()}(input.token, input.key)"
    jwks = json.dumps({"keys": [json_key(algorithm, key.public_key(), kid="k1", alg=algorithm)]})
    assert ask(function, token=token, key=pem(key)) is True
    assert ask(function, token=token, key=jwks) is True
    assert ask(function, token=token[:-8] + "AAAAAAAA", key=pem(key)) is False
    assert ask(function, token=token, key=pem(OTHER_RSA)) is False
    constraints = {"cert": jwks, "alg": algorithm, "iss": "headgate", "aud": "agents"}
    answer = ask("io.jwt.decode_verify(input.token, input.constraints)", token=token, constraints=constraints)
    assert answer == [True, {"alg": algorithm, "kid": "k1", "typ": "JWT"}, CLAIMS]


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_secrets(algorithm: str) -> None:
    token = jwt.encode(CLAIMS, SECRET, algorithm)
    function = f"io.jwt.verify_{algorithm.lower()}(input.token, input.key)"
    assert ask(function, token=token, key=SECRET) is True
    assert ask(function, token=token, key=SECRET + "x") is False


def test_a_certificate() -> None:
    token = jwt.encode(CLAIMS, RSA, "RS256")
    assert ask("io.jwt.verify_rs256(input.token, input.key)", token=token, key=certificate(RSA)) is True
    assert ask("io.jwt.verify_rs256(input.token, input.key)", token=token, key=certificate(OTHER_RSA)) is False


VERIFY = "io.jwt.decode_verify(input.token, input.constraints)"
NOTHING = [False, {}, {}]


def test_a_public_key_is_no_secret() -> None:
    """Signed with HMAC and the public key, which everybody knows, as the secret."""
    public = pem(RSA)
    head, claims = part({"alg": "HS256", "typ": "JWT"}), part(CLAIMS)
    forged = f"{head}.{claims}." + urlsafe_b64encode(
        jwt.get_algorithm_by_name("HS256").sign(f"{head}.{claims}".encode(), public.encode())
    ).decode().rstrip("=")
    assert ask(VERIFY, token=forged, constraints={"cert": public}) == NOTHING
    assert ask(VERIFY, token=forged, constraints={"cert": public, "alg": "RS256"}) == NOTHING
    assert ask("io.jwt.verify_rs256(input.token, input.key)", token=forged, key=public) is False
    # The same with the key as a JSON Web Key.
    jwks = json.dumps({"keys": [json_key("RS256", RSA.public_key())]})
    assert ask(VERIFY, token=forged, constraints={"cert": jwks}) == NOTHING


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE"])
def test_a_token_without_a_signature_is_an_error(algorithm: str) -> None:
    token = f"{part({'alg': algorithm})}.{part(CLAIMS)}."
    for key in ({"cert": pem(RSA)}, {"secret": SECRET}):
        assert "unknown JWS algorithm" in refusal(VERIFY, token=token, constraints=key)
    assert ask("io.jwt.verify_rs256(input.token, input.key)", token=token, key=pem(RSA)) is False
    assert ask("io.jwt.verify_hs256(input.token, input.key)", token=token, key="") is False


def test_a_secret_is_no_public_key() -> None:
    token = jwt.encode(CLAIMS, RSA, "RS256")
    assert "incorrect public key type" in refusal(VERIFY, token=token, constraints={"secret": SECRET})


@pytest.mark.parametrize(
    ("claims", "constraints", "is_met"),
    [
        ({}, {}, True),
        ({"exp": 10}, {"time": 9_999_999_999}, True),
        ({"exp": 10}, {"time": 10_000_000_000}, False),
        ({"exp": 10}, {}, False),
        ({"nbf": 10}, {"time": 10_000_000_000}, True),
        ({"nbf": 10}, {"time": 9_999_999_999}, False),
        ({"nbf": 4_000_000_000}, {}, False),
        ({"aud": "a"}, {}, False),  # meant for somebody, and nobody says that it is us
        ({"aud": "a"}, {"aud": "a"}, True),
        ({"aud": ["b", "a"]}, {"aud": "a"}, True),
        ({"aud": ["b"]}, {"aud": "a"}, False),
        ({}, {"aud": "a"}, False),
        ({"iss": "a"}, {"iss": "a"}, True),
        ({"iss": "b"}, {"iss": "a"}, False),
        ({}, {"iss": "a"}, False),
        ({}, {"alg": "HS512"}, False),
    ],
)
def test_constraints(claims: dict[str, object], constraints: dict[str, object], is_met: bool) -> None:
    token = jwt.encode(claims, SECRET, "HS256")
    answer = ask(VERIFY, token=token, constraints={"secret": SECRET, **constraints})
    assert answer == ([True, {"alg": "HS256", "typ": "JWT"}, claims] if is_met else NOTHING)


@pytest.mark.parametrize(
    ("constraints", "reason"),
    [
        ({}, "no key constraint"),
        ({"secret": ""}, "no key constraint"),
        ({"secret": "a", "cert": pem(RSA)}, "duplicate key constraints"),
        ({"secret": "a", "issuer": "b"}, "unknown token validation constraint: issuer"),
        ({"secret": "a", "time": -1}, "must not be negative"),
        ({"secret": "a", "time": "now"}, "must be a number"),
        ({"secret": 1}, "secret constraint: must be a string"),
        ({"cert": "no"}, "failed to parse a JWK key (set)"),
        ({"cert": pem(RSA) + "more"}, "extra data after a PEM certificate block"),
        ({"cert": json.dumps({"keys": [{"kty": "oct", "k": "YQ"}] * 33})}, "more than 32 keys"),
        ({"cert": json.dumps({"kty": "RSA", "e": "AQAB", "n": "_" * 2_000})}, "more than 8192 bits"),
    ],
)
def test_constraints_that_cannot_be_met(constraints: dict[str, object], reason: str) -> None:
    token = jwt.encode({}, SECRET, "HS256")
    assert reason in refusal(VERIFY, token=token, constraints=constraints)


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        ({"alg": "HS256", "crit": ["exp"], "exp": 1}, NOTHING),
        ({"typ": "JWT"}, NOTHING),
        ({"alg": "HS256", "crit": []}, "crit: must be a nonempty list"),
        ({"alg": 1}, "alg: must be a string"),
        ({"alg": "HS256", "enc": "A128GCM"}, "JWE object, which is not supported"),
        ("[1]", "not an Object"),
        ("no", "invalid JSON"),
    ],
)
def test_headers(header: object, answer: object) -> None:
    token = f"{part(header)}.{part({})}.AAAA"
    if isinstance(answer, str):
        assert answer in refusal(VERIFY, token=token, constraints={"secret": SECRET})
    else:
        assert ask(VERIFY, token=token, constraints={"secret": SECRET}) == answer


def test_the_key_with_the_name_in_the_header_is_the_one() -> None:
    token = jwt.encode({}, RSA, "RS256", headers={"kid": "b"})
    keys = [json_key("RS256", OTHER_RSA.public_key(), kid="b"), json_key("RS256", RSA.public_key(), kid="a")]
    assert ask(VERIFY, token=token, constraints={"cert": json.dumps({"keys": keys})}) == NOTHING
    assert ask(VERIFY, token=token, constraints={"cert": json.dumps({"keys": keys[1:]})})[0] is True
    other_use = json.dumps({"keys": [keys[1] | {"alg": "RS384"}]})
    assert ask(VERIFY, token=token, constraints={"cert": other_use}) == NOTHING


def test_a_token_in_a_token() -> None:
    inner = jwt.encode({"a": 1}, SECRET, "HS256")
    head, body = part({"alg": "HS256", "cty": "JWT"}), part(inner)
    key = {"kty": "oct", "k": part(SECRET)}
    outer = ask(
        "io.jwt.encode_sign_raw(input.head, input.body, input.key)",
        head=json.dumps({"alg": "HS256", "cty": "JWT", "typ": "none"}),
        body=inner,
        key=json.dumps(key),
    )
    assert ask(VERIFY, token=outer, constraints={"secret": SECRET})[2] == {"a": 1}
    assert ask("io.jwt.decode(input.token)", token=f"{head}.{body}.AAAA")[1] == {"a": 1}
    assert ask(VERIFY, token=f"{head}.{body}.AAAA", constraints={"secret": SECRET}) == NOTHING


def test_the_last_of_two_members_with_one_name_counts() -> None:
    token = f"{part('{"alg": "HS256"}')}.{part('{"a": 1, "a": 2}')}.AAAA"
    assert ask("io.jwt.decode(input.token)", token=token)[1] == {"a": 2}


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("abc", "no period separators"),
        ("a.b", "must have 3 sections, found 2"),
        ("a.b.c.d.e.f", "must have 3 sections, found 6"),
        (f"{part({})}!.{part({})}.AAAA", "JWT header had invalid encoding"),
        (f"{part({})}.!!!!.AAAA", "JWT payload had invalid encoding"),
        (f"{part({})}.{part({})}.!!!!", "JWT signature had invalid encoding"),
        ("a" * 300_000, "too large"),
    ],
)
def test_what_is_no_token(token: str, reason: str) -> None:
    assert reason in refusal("io.jwt.decode(input.token)", token=token)


@pytest.mark.parametrize("algorithm", ["RS256", "PS384", "ES256", "ES384", "ES512", "HS256"])
def test_signing(algorithm: str) -> None:
    key = SECRET.encode() if algorithm == "HS256" else KEYS.get(algorithm) or KEYS[algorithm[:2]]
    token = ask(
        "io.jwt.encode_sign(input.header, input.claims, input.key)",
        header={"alg": algorithm, "typ": "JWT"},
        claims={"a": "<b>"},
        key=json_key(algorithm, key),
    )
    public = SECRET if algorithm == "HS256" else key.public_key()
    assert jwt.decode(token, public, [algorithm]) == {"a": "<b>"}


@pytest.mark.parametrize(
    ("header", "payload", "reason"),
    [
        ('{"alg": "none"}', "{}", "unsupported signature algorithm"),
        ("{}", "{}", "unsupported signature algorithm"),
        ('{"alg": "dummy"}', "{}", "unknown signature algorithm"),
        ('{"alg": "HS256"}', "no", "type is JWT but payload is not JSON"),
        ('{"alg": "RS256"}', "{}", "another kind than the algorithm"),
        ("", "{}", "the text ends"),
    ],
)
def test_what_is_not_signed(header: str, payload: str, reason: str) -> None:
    key = json.dumps({"kty": "oct", "k": part(SECRET)})
    expression = "io.jwt.encode_sign_raw(input.header, input.payload, input.key)"
    assert reason in refusal(expression, header=header, payload=payload, key=key)
