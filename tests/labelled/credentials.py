"""Credentials that open nothing: right in form and checksum, made from a seed, put together from parts.

No literal here has the form of a credential, so that scanners of this repository find none.
"""

import base64
import json
import random
import string
import zlib
from collections.abc import Callable

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_URL_SAFE = string.ascii_letters + string.digits + "_-"
_BASE64 = string.ascii_letters + string.digits + "+/"
_WORDS = ["falcon", "river", "copper", "lantern", "meadow", "violet", "harbor", "pixel", "walnut", "comet", "saffron"]


def take(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def base62(number: int, length: int) -> str:
    found = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        found.append(BASE62[digit])
    return "".join(reversed(found))


def with_checksum(prefix: str, body: str) -> str:
    return prefix + body + base62(zlib.crc32(body.encode()), 6)


def github(rng: random.Random, letter: str = "p") -> str:
    return with_checksum("gh" + letter + "_", take(rng, BASE62, 30))


def github_fine(rng: random.Random) -> str:
    return "github" + "_pat_" + take(rng, BASE62, 22) + "_" + take(rng, BASE62, 59)


def npm(rng: random.Random) -> str:
    return with_checksum("np" + "m_", take(rng, BASE62, 30))


def headgate(rng: random.Random) -> str:
    body = base62(rng.getrandbits(256), 43)
    return with_checksum("h" + "g_", body)


def aws_id(rng: random.Random, kind: str = "KIA") -> str:
    return "A" + kind + take(rng, string.ascii_uppercase + "234567", 16)


def aws_secret(rng: random.Random) -> str:
    return take(rng, _BASE64, 40)


def slack(rng: random.Random, letter: str = "b") -> str:
    return (
        "xo" + "x" + letter + f"-{take(rng, string.digits, 12)}-{take(rng, string.digits, 13)}-" + take(rng, BASE62, 24)
    )


def slack_webhook(rng: random.Random) -> str:
    upper = string.ascii_uppercase + string.digits
    path = "/".join(("services", "T" + take(rng, upper, 9), "B" + take(rng, upper, 10), take(rng, BASE62, 24)))
    return "https://hooks." + "slack.com/" + path


def stripe(rng: random.Random, kind: str = "sk", mode: str = "live") -> str:
    return "_".join((kind, mode, "51" + take(rng, BASE62, 48)))


def stripe_webhook(rng: random.Random) -> str:
    return "wh" + "sec_" + take(rng, BASE62, 32)


def google(rng: random.Random) -> str:
    return "AI" + "za" + "Sy" + take(rng, _URL_SAFE, 33)


def google_oauth_secret(rng: random.Random) -> str:
    return "GOC" + "SPX-" + take(rng, _URL_SAFE, 28)


def gitlab(rng: random.Random) -> str:
    return "gl" + "pat-" + take(rng, BASE62, 20)


def openai(rng: random.Random) -> str:
    return "sk-" + "proj-" + take(rng, _URL_SAFE, 60) + "T3Blbk" + "FJ" + take(rng, _URL_SAFE, 60)


def openai_old(rng: random.Random) -> str:
    return "s" + "k-" + take(rng, BASE62, 20) + "T3Blbk" + "FJ" + take(rng, BASE62, 20)


def anthropic(rng: random.Random) -> str:
    return "sk-" + "ant-" + "api03-" + take(rng, _URL_SAFE, 93) + "AA"


def hugging_face(rng: random.Random) -> str:
    return "h" + "f_" + take(rng, string.ascii_letters, 34)


def sendgrid(rng: random.Random) -> str:
    return ".".join(("S" + "G", take(rng, _URL_SAFE, 22), take(rng, _URL_SAFE, 43)))


def pypi(rng: random.Random) -> str:
    return "py" + "pi-" + "AgEIcHlwaS5vcmc" + take(rng, _URL_SAFE, 120)


def digitalocean(rng: random.Random) -> str:
    return "do" + "p_v1_" + take(rng, "0123456789abcdef", 64)


def telegram(rng: random.Random) -> str:
    return take(rng, "123456789", 10) + ":AA" + take(rng, _URL_SAFE, 33)


def azure_storage(rng: random.Random) -> str:
    key = base64.b64encode(rng.randbytes(64)).decode()
    return f"DefaultEndpointsProtocol=https;AccountName={rng.choice(_WORDS)}data;Account" + "Key=" + key


def azure_client_secret(rng: random.Random) -> str:
    return take(rng, BASE62, 3) + "8" + "Q~" + take(rng, _URL_SAFE, 34)


def jwt(rng: random.Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")

    claims = {"sub": take(rng, string.digits, 8), "iat": 1700000000, "exp": 1800000000}
    signature = base64.urlsafe_b64encode(rng.randbytes(32)).decode().rstrip("=")
    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims)}.{signature}"


def private_key(rng: random.Random, kind: str = "RSA ") -> str:
    body = base64.b64encode(rng.randbytes(600)).decode()
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    head = kind + "PRIVATE" + " KEY"
    return f"-----BEGIN {head}-----\n{lines}\n-----END {head}-----"


def password(rng: random.Random) -> str:
    """As a person chooses one: two words, a number, a sign."""
    return f"{rng.choice(_WORDS).title()}{rng.choice('!#%-_.')}{rng.choice(_WORDS)}{rng.randint(10, 9999)}"


def random_password(rng: random.Random, length: str = "18") -> str:
    return take(rng, string.ascii_letters + string.digits + "!#%*+-_", int(length) - 2) + "7x"


def hex_secret(rng: random.Random, length: str = "32") -> str:
    return take(rng, "0123456789abcdef", int(length))


def opaque(rng: random.Random, length: str = "40") -> str:
    return take(rng, BASE62, int(length))


def database_url(rng: random.Random, scheme: str = "postgresql") -> str:
    return f"{scheme}" + "://" + f"{rng.choice(_WORDS)}:{opaque(rng, '14')}@db.{rng.choice(_WORDS)}.internal:5432/app"


def https_login(rng: random.Random) -> str:
    return "https" + "://" + f"{rng.choice(_WORDS)}:{opaque(rng, '16')}@git.{rng.choice(_WORDS)}.example/team/app.git"


def basic(rng: random.Random) -> str:
    pair = f"{rng.choice(_WORDS)}:{opaque(rng, '12')}".encode()
    return "Basic " + base64.b64encode(pair).decode()


LABELLED: dict[str, Callable[..., str]] = {
    function.__name__: function
    for function in (
        github, github_fine, npm, headgate, aws_id, aws_secret, slack, slack_webhook, stripe, stripe_webhook, google,
        google_oauth_secret, gitlab, openai, openai_old, anthropic, hugging_face, sendgrid, pypi, digitalocean,
        telegram, azure_storage, azure_client_secret, jwt, private_key, password, random_password, hex_secret, opaque,
        database_url, https_login, basic,
    )
}  # fmt: skip
